"""Listens between nodes: passes on every byte, and keeps what those say who call."""

import socket
import threading

KEPT_MAX = 4 << 20


class Recorder:
    """A place that stands for another one. `calls` has the bytes of every caller, connection by connection."""

    def __init__(self, place, behind):
        self.place, self.behind, self.calls, self.is_on, self.open = place, behind, [], True, set()
        self.listener = socket.create_server(place, backlog=256)
        self.acceptor = threading.Thread(target=self.accept, daemon=True)
        self.acceptor.start()

    def accept(self):
        while True:
            try:
                caller, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.connect, args=(caller,), daemon=True).start()

    def connect(self, caller):
        try:
            called = socket.create_connection(self.behind, 5)
        except OSError:
            # As if nobody listened here.
            caller.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            caller.close()
            return
        for each in (caller, called):
            each.settimeout(None)
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        said, heard = bytearray(), bytearray()
        self.calls.append((said, heard))
        threading.Thread(target=self.pass_on, args=(called, caller, heard), daemon=True).start()
        self.pass_on(caller, called, said)

    def pass_on(self, source, sink, kept):
        try:
            while chunk := source.recv(1 << 16):
                if self.is_on and len(kept) < KEPT_MAX:
                    kept += chunk
                sink.sendall(chunk)
        except OSError:
            pass
        for each in (source, sink):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def recorded(self):
        """What was said so far, and answered where that can be read: what nobody has taken in may come late, once."""
        calls = [(bytes(said), bytes(heard)) for said, heard in self.calls if said]
        answered = [said if is_coded(said) else b"".join(requests_of(said)[: heard.count(b"HTTP/1.1 ")]) for said, heard in calls]
        return [call for call in answered if call]

    def close(self):
        self.is_on = False
        # Wakes the thread that waits, which keeps the port open.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.acceptor.join()
        self.listener.close()


def is_coded(said):
    return said[:1] == b"\x16"


def requests_of(call):
    """The requests of a connection, one by one, as they were sent; the last may not be whole."""
    found = []
    while call:
        head, mark, rest = call.partition(b"\r\n\r\n")
        if not mark:
            break
        lines = head.decode(errors="replace").lower().split("\r\n")
        length = next((int(line.split(":")[1]) for line in lines if line.startswith("content-length:")), None)
        is_open = any(line.startswith("transfer-encoding:") for line in lines)
        body = rest if is_open else rest[: length or 0]
        found.append(head + mark + body)
        call = b"" if is_open else rest[length or 0 :]
    return found
