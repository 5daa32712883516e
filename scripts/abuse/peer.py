"""Somebody who speaks as a node does: with a certificate, with a secret, with both, or with neither."""

import hashlib
import hmac
import json
import secrets as random

from . import web

FRAME_MAC = 32


class Peer:
    """Speaks under an address. Without `tls` in the clear, without a secret without a seal."""

    def __init__(self, name, address, tls=None, secret=None, headers=None, source=None):
        self.name, self.address, self.tls, self.headers, self.source = name, address, tls, headers or {}, source
        self.key, self.boot, self.number = secret and secret.encode(), random.token_hex(16), 0
        self.epochs = {}

    def client(self, host):
        return web.Client((host, 9300), self.tls, self.source)

    def seal(self, cluster, to, method, target, digest):
        """The headers that seal a request, and its mac."""
        if self.key is None:
            return {"zazen-address": self.address}, None
        self.number += 1
        name = cluster.encode().hex()
        epoch = self.epochs.get(to, "-")
        words = [epoch, self.boot, str(self.number), digest]
        text = "\n".join(["zazen-request-1", name, *words, method, target, "", self.address])
        mac = hmac.digest(self.key, text.encode(), "sha256").hex()
        return {"zazen-seal": " ".join([*words, mac]), "zazen-address": self.address}, mac

    def ask(self, cluster, to, method, target, body=b"", client=None):
        """Says something to the node on a host, once more if it says for which epoch a seal must be."""
        digest, client = hashlib.sha256(body).hexdigest(), client or self.client(to)
        for _ in range(2):
            headers, _ = self.seal(cluster, to, method, target, digest)
            kind = {"Content-Type": "application/json"} if method == "POST" else {}
            answer = client.ask(method, target, body, self.headers | headers | kind)
            if self.key is None or not self.learn(to, answer):
                break
        return answer

    def learn(self, to, answer):
        epoch = answer.headers.get("zazen-challenge")
        is_news = epoch is not None and self.epochs.get(to) != epoch
        if is_news:
            self.epochs[to] = epoch
        return is_news

    def tell(self, cluster, to, path, kind, body, client=None):
        text = json.dumps({"v": 1, "kind": kind, "body": body}).encode()
        return self.ask(cluster, to, "POST", f"/_zen/{path}", text, client)

    def link(self, cluster, to, frames, address=None, timeout=2):
        """Takes up a link and says these frames; gives the status, and whether the link was open afterwards."""
        for _ in range(2):
            headers, mac = self.seal(cluster, to, "POST", "/_zen/lifeline", "link")
            headers |= {"zazen-address": address} if address else {}
            status, challenged, is_open = self.hold(to, headers, mac, frames, timeout)
            if self.key is None or not challenged or not self.learn(to, challenged):
                break
        return status, is_open

    def hold(self, to, headers, mac, frames, timeout):
        lines = ["POST /_zen/lifeline HTTP/1.1", f"Host: {to}", "Transfer-Encoding: chunked"]
        lines += [f"{name}: {value}" for name, value in (self.headers | headers).items()]
        try:
            with web.connect((to, 9300), self.tls, self.source) as stream:
                stream.sendall("\r\n".join(lines).encode() + web.END)
                reader = web.Reader(stream)
                head = reader.until(web.END, web.time.monotonic() + timeout).decode(errors="replace").split("\r\n")
                status = int(head[0].split()[1])
                told = dict(line.lower().split(": ", 1) for line in head[1:] if ": " in line)
                if status != 200:
                    return status, web.Answer(status, told, b""), False
                for line in self.sealed(frames, mac):
                    stream.sendall(b"%x\r\n%s\r\n" % (len(line), line))
                return status, None, self.is_open(reader, timeout)
        except (OSError, ValueError, IndexError):
            return 0, None, False

    def sealed(self, frames, mac):
        """Frames as they are sent over a link."""
        key = mac and hmac.digest(self.key, f"zazen-link-1\nmaker\n{mac}".encode(), "sha256")
        for count, frame in enumerate(frames):
            tag = key and hmac.digest(key, count.to_bytes(8, "big") + frame, "sha256").hex()[:FRAME_MAC].encode() + b" "
            yield (tag or b"") + frame + b"\n"

    @staticmethod
    def is_open(reader, timeout):
        """Whether a link is open after all that was said: it ends with the last chunk, or with the connection."""
        until = web.time.monotonic() + timeout
        try:
            while b"0\r\n\r\n" not in reader.buffer[-5:]:
                if not reader.more(until):
                    return False
            return False
        except TimeoutError:
            return True
        except OSError:
            return False
