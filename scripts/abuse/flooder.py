"""A flood: connections that are left half open, garbage, slow writers and slow readers, from many addresses, at a steady rate.

It runs in a process of its own, and does the same to whatever listens.
"""

import asyncio
import contextlib
import random
import socket
import ssl
import time

HELLO = bytes.fromhex("16030100f8010000f40303") + bytes(40)
RECORD = bytes.fromhex("1703030100")
# How often what was closed is opened again, and how much garbage is thrown, each second.
OPENED, GARBAGE, SLOW = 400, 200, 40
STEPS = 50


class Flood:
    """What is done to these places until a time; `figures` is shared: held, garbage, opened, answered."""

    def __init__(self, places, tls, headers, connections, figures, seed):
        self.places, self.tls, self.headers, self.connections, self.figures = places, tls, headers, connections, figures
        self.random, self.turn, self.held = random.Random(seed), 0, 0

    def place(self):
        self.turn += 1
        return self.places[self.turn % len(self.places)]

    def source(self):
        pick = self.random.randrange
        return (f"127.{pick(16, 250)}.{pick(1, 250)}.{pick(1, 250)}", 0)

    async def connect(self, place):
        stream = socket.socket()
        stream.setblocking(False)
        stream.setsockopt(socket.IPPROTO_IP, 24, 1)  # IP_BIND_ADDRESS_NO_PORT
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        try:
            stream.bind(self.source())
            await asyncio.wait_for(asyncio.get_running_loop().sock_connect(stream, place), 5)
        except BaseException:
            stream.close()
            raise
        return stream

    async def secured(self, place):
        stream = await self.connect(place)
        return await asyncio.wait_for(asyncio.open_connection(sock=stream, ssl=self.tls, server_hostname=place[0], limit=1024), 10)

    async def half_open(self):
        """Says nothing, or half of what a handshake begins with, and stays until it is closed."""
        with contextlib.suppress(OSError, asyncio.TimeoutError):
            stream = await self.connect(self.place())
            self.held += 1
            self.figures[2] += 1
            try:
                if self.turn % 2:
                    await asyncio.get_running_loop().sock_sendall(stream, HELLO)
                while await asyncio.get_running_loop().sock_recv(stream, 1024):
                    pass
            finally:
                self.held -= 1
                stream.close()

    async def garbage(self):
        """Bytes that make no sense, and a moment to answer them."""
        with contextlib.suppress(OSError, asyncio.TimeoutError):
            stream = await self.connect(self.place())
            try:
                begin = (b"", RECORD, HELLO[:6], b"GET / HTTP/1.1\r\n", b"POST /_zen/ping HTTP/1.1\r\n")[self.turn % 5]
                await asyncio.get_running_loop().sock_sendall(stream, begin + self.random.randbytes(self.random.randrange(1, 3000)))
                self.figures[1] += 1
                await asyncio.wait_for(asyncio.get_running_loop().sock_recv(stream, 1024), 1)
                self.figures[3] += 1
            finally:
                stream.close()

    async def slow(self, number):
        """Sends a body byte by byte, or asks for much and reads it byte by byte, or stops in the middle of a head."""
        while True:
            with contextlib.suppress(OSError, asyncio.TimeoutError, ssl.SSLError, asyncio.IncompleteReadError):
                place = self.place()
                reader, writer = await self.secured(place)
                head = f"Host: {place[0]}\r\n{self.headers}"
                try:
                    if number % 3 == 0:
                        writer.write(f"PUT /_zazen/kv/slow HTTP/1.1\r\n{head}Content-Length: 1000\r\n\r\n".encode())
                        while not reader.at_eof():
                            writer.write(b"x")
                            await writer.drain()
                            await asyncio.sleep(1)
                    elif number % 3 == 1:
                        writer.write(f"GET /metrics HTTP/1.1\r\n{head}\r\n".encode() * 50)
                        while await reader.read(1):
                            await asyncio.sleep(1)
                    else:
                        writer.write(f"GET / HTTP/1.1\r\n{head}X-Half: ".encode())
                        await reader.read()
                finally:
                    writer.close()
            await asyncio.sleep(1)

    async def run(self, seconds):
        tasks, end, step = set(), time.monotonic() + seconds, 1 / STEPS

        def begin(work):
            task = asyncio.create_task(work)
            tasks.add(task)
            task.add_done_callback(tasks.discard)

        for number in range(SLOW):
            begin(self.slow(number))
        opening = 0
        while (now := time.monotonic()) < end:
            # Until all are there they are opened faster.
            rate = OPENED if self.held > self.connections * 0.9 else OPENED * 4
            opening = min(opening + rate / STEPS, self.connections - self.held)
            while opening >= 1:
                begin(self.half_open())
                opening -= 1
            for _ in range(GARBAGE // STEPS):
                begin(self.garbage())
            self.figures[0] = self.held
            await asyncio.sleep(max(0, step - (time.monotonic() - now)))
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def flood(places, authority, headers, connections, figures, seconds, seed):
    """All of it, in this process."""
    tls = ssl.create_default_context(cafile=authority)
    tls.minimum_version = ssl.TLSVersion.TLSv1_3
    asyncio.run(Flood(places, tls, headers, connections, figures, seed).run(seconds))
