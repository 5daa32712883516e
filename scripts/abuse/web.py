"""HTTP over sockets, with or without TLS: the bytes as they are, from any address of loopback."""

import socket
import ssl
import time
from dataclasses import dataclass

END = b"\r\n\r\n"


@dataclass
class Answer:
    """What came back; a status of 0 stands for none: the connection was not let in, or closed without a word."""

    status: int
    headers: dict
    body: bytes

    def text(self):
        return self.body.decode(errors="replace")


NONE = Answer(0, {}, b"")


def trusting(*authorities, certificate=None, key=None):
    """TLS for somebody who trusts these authorities, and shows this certificate."""
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    for each in authorities:
        context.load_verify_locations(each)
    if certificate:
        context.load_cert_chain(certificate, key)
    return context


def connect(place, tls=None, source=None, timeout=5):
    """A connection to a host and port, from this address."""
    stream = socket.create_connection(place, timeout, (source, 0) if source else None)
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return tls.wrap_socket(stream, server_hostname=place[0]) if tls else stream


class Reader:
    """Reads answers off a connection, until a time."""

    def __init__(self, stream):
        self.stream, self.buffer = stream, b""

    def more(self, until):
        """Waits for more; whether there is any. A time that is over is an OSError."""
        left = until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self.stream.settimeout(left)
        chunk = self.stream.recv(1 << 16)
        self.buffer += chunk
        return bool(chunk)

    def until(self, mark, until):
        while mark not in self.buffer:
            if not self.more(until):
                raise ConnectionError("closed")
        taken, self.buffer = self.buffer.split(mark, 1)
        return taken

    def exactly(self, count, until):
        while len(self.buffer) < count:
            if not self.more(until):
                raise ConnectionError("closed")
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def answer(self, timeout=5, is_head=False):
        """The next answer. Of a body that does not end in time there is as much as came."""
        until = time.monotonic() + timeout
        lines = self.until(END, until).decode(errors="replace").split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines[1:] if ": " in line)
        status = int(lines[0].split()[1])
        if is_head or status in (204, 304):
            return Answer(status, headers, b"")
        if "content-length" in headers:
            return Answer(status, headers, self.exactly(int(headers["content-length"]), until))
        if headers.get("transfer-encoding") != "chunked":
            return Answer(status, headers, b"")
        body = b""
        try:
            while size := int(self.until(b"\r\n", until), 16):
                body += self.exactly(size + 2, until)[:-2]
            self.until(b"\r\n", until)
        except TimeoutError:
            headers["connection"] = "close"
        return Answer(status, headers, body)


def request(method, target, headers=None, body=b"", host="localhost"):
    """The bytes of a request."""
    lines = [f"{method} {target} HTTP/1.1", f"Host: {host}", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return "\r\n".join(lines).encode() + END + body


class Client:
    """Somebody who asks one place, over a connection that is kept as long as it is good."""

    def __init__(self, place, tls=None, source=None, headers=None, timeout=5):
        self.place, self.tls, self.source, self.headers, self.timeout = place, tls, source, headers or {}, timeout
        self.stream = None

    def ask(self, method, target, body=b"", headers=None):
        """The answer, or NONE."""
        is_kept = self.stream is not None
        try:
            return self.once(method, target, body, headers)
        except (OSError, ValueError, IndexError):
            self.close()
        if not is_kept:
            return NONE
        return self.ask(method, target, body, headers)

    def once(self, method, target, body=b"", headers=None):
        """The answer; whatever goes wrong is an error."""
        if self.stream is None:
            self.stream = connect(self.place, self.tls, self.source, self.timeout)
            self.reader = Reader(self.stream)
        all_headers = self.headers | (headers or {})
        self.stream.settimeout(self.timeout)
        self.stream.sendall(request(method, target, all_headers, body, self.place[0]))
        answer = self.reader.answer(self.timeout, method == "HEAD")
        if answer.headers.get("connection") == "close":
            self.close()
        return answer

    def close(self):
        if self.stream is not None:
            self.stream.close()
            self.stream = None


def say(place, data, tls=None, source=None, timeout=5, answers=1):
    """Sends these bytes as they are, and gives the statuses of so many answers, or of those that come in time."""
    statuses = []
    try:
        with connect(place, tls, source, timeout) as stream:
            reader = Reader(stream)
            try:
                stream.sendall(data)
            except OSError:
                pass
            while len(statuses) < answers:
                statuses.append(reader.answer(timeout).status)
    except (OSError, ValueError, IndexError):
        pass
    return statuses
