"""Three real nodes under load: how they are asked, and what they take of the machine. For scripts/users-worst and soak-sizes."""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent


async def ask(port, method, path, body=b"", headers="", stream=None):
    """One request; on a connection that is kept if one is handed in. Gives the status, the body and the connection."""
    reader, writer = stream or await asyncio.open_connection("127.0.0.1", port, limit=1 << 26)
    kind = "" if not body or headers else "Content-Type: application/json\r\n"
    head = f"{method} {path} HTTP/1.1\r\nHost: n\r\n{kind}{headers}Content-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    await writer.drain()
    lines = (await reader.readuntil(b"\r\n\r\n")).decode(errors="replace").split("\r\n")
    fields = dict(line.lower().split(": ", 1) for line in lines[1:] if ": " in line)
    told = await reader.readexactly(int(fields.get("content-length", 0)))
    if fields.get("connection") == "close":
        writer.close()
        return int(lines[0].split()[1]), told, None
    return int(lines[0].split()[1]), told, (reader, writer)


async def tree(port, path):
    return json.loads((await ask(port, "GET", path))[1])


async def behave(port, took, failed):
    """Writes a small key and reads it back."""
    stream, turn = None, 0
    while True:
        turn += 1
        for request in (("PUT", "/_zazen/kv/well", str(turn).encode(), "Content-Type: text/plain\r\n"), ("GET", "/_zazen/kv/well")):
            began = time.monotonic()
            try:
                status, told, stream = await ask(port, *request, stream=stream)
                if status != 200:
                    failed.append(f"{request[0]} {status} {told[:200]!r}")
            except (OSError, asyncio.IncompleteReadError) as error:
                stream = None
                failed.append(repr(error))
            took.append((time.monotonic() - began) * 1000)
        await asyncio.sleep(0.05)


class Nodes:
    """Three real nodes, in a directory of their own."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="zazen-load.")
        # On machines of their own their threads would not compete with those of each other as if all were alike.
        self.environment = {**os.environ, "ZAZEN_DIR": self.dir, "NODES": "3", "ZAZEN_SESSION": "shared"}
        self.run("up")
        self.look()
        told = [self.run("curl", f"n{number}", "/_nodes/_local/http?filter_path=**.publish_address") for number in range(3)]
        self.ports = [int(text.split(":")[-1].split('"')[0]) for text in told]

    def look(self):
        """Which processes they are."""
        self.pids = [int(Path(self.dir, f"n{number}.pid").read_text()) for number in range(3)]

    def run(self, *arguments):
        told = subprocess.run([HERE / "cluster", *arguments], env=self.environment, capture_output=True, text=True, check=False)
        if told.returncode != 0:
            self.end()
            sys.exit(f"scripts/cluster {arguments[0]} failed: {told.stderr}")
        return told.stdout

    def end(self):
        subprocess.run([HERE / "cluster", "down", "--wipe"], env=self.environment, capture_output=True, check=False)

    def memory(self):
        """What each node holds, in MiB."""
        def resident(pid):
            lines = Path(f"/proc/{pid}/status").read_text().splitlines()
            return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))
        return [resident(pid) >> 10 for pid in self.pids]

    def descriptors(self):
        """How many files and sockets each node has open."""
        return [len(os.listdir(f"/proc/{pid}/fd")) for pid in self.pids]


def share(took, part):
    took = sorted(took)
    return took[min(len(took) - 1, int(len(took) * part))] if took else 0.0
