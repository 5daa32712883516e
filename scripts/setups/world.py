"""Real nodes for set-ups that are broken: files, processes, and mends that are carried out as they are printed."""

import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
import urllib.request
import zlib


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def is_free(port):
    with socket.socket() as probe:
        # Connections of a node that ended do not count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
            return True
        except OSError:
            return False


# What is said of a failure, with what to type, at the end of what a node prints.
FAILURE = re.compile(r"\[(?P<code>[a-z-]+)\](?:; to mend it(?: in (?P<file>\S+))?: (?P<line>.*))?$")

# Listens like a program that is no node.
LISTENER = """
import socket, sys
server = socket.socket()
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
server.bind(("127.0.0.1", int(sys.argv[1]))); server.listen(50); print(flush=True)
while True:
    peer, _ = server.accept()
    try:
        peer.recv(100); peer.sendall(b"220 mail ready\\r\\n"); peer.close()
    except OSError: pass
"""

# Holds the lock of a file.
HOLDER = """
import fcntl, sys, time
file = open(sys.argv[1], "a"); fcntl.flock(file, fcntl.LOCK_EX); print(flush=True)
time.sleep(600)
"""


def get(port, path, timeout=8):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=timeout) as answer:
            return json.load(answer)
    except (OSError, ValueError, http.client.HTTPException):
        return None


def put(port, path, body, method="PUT"):
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}", json.dumps(body).encode(), {"content-type": "application/json"}, method=method
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)


def wait(is_so, seconds):
    end = time.time() + seconds
    while time.time() < end:
        if is_so():
            return True
        time.sleep(0.1)
    return bool(is_so())


class Node:
    def __init__(self, world, name):
        self.world, self.name = world, name
        self.http, self.transport = free_port(), free_port()
        self.file = os.path.join(world.dir, f"{name}.yml")
        self.settings = {
            "cluster.name": world.cluster,
            "node.name": name,
            "path.data": os.path.join(world.dir, f"data-{name}"),
            "http.port": self.http,
            "transport.tcp.port": self.transport,
        }
        self.arguments = []
        self.prefix = []
        # From where it is started.
        self.cwd = world.dir
        self.process = None
        self.log = os.path.join(world.dir, f"{name}.log")
        # Where what the last launch prints begins, and whether something was done about it since.
        self.began, self.is_mended = 0, False

    def write(self):
        with open(self.file, "w") as file:
            for key, value in self.settings.items():
                file.write(f"{key}: {value}\n")

    def start(self):
        self.write()
        self.launch()

    def launch(self):
        log = open(self.log, "a")
        self.began, self.is_mended = log.tell(), False
        command = self.prefix + [self.world.binary, "start", "-c", self.file] + self.arguments
        self.process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True,
                                        cwd=self.cwd)
        # A process that ended and is not waited for looks as if it ran.
        threading.Thread(target=self.process.wait, daemon=True).start()

    def pid(self):
        """The process that has this node's file open as its configuration, whoever started it."""
        for name in os.listdir("/proc"):
            if name.isdigit():
                try:
                    words = open(f"/proc/{name}/cmdline", "rb").read().split(b"\0")
                except OSError:
                    continue
                if os.path.basename(words[0]) == os.path.basename(self.world.binary).encode() and self.file.encode() in words:
                    return int(name)
        return None

    def failure(self):
        """The verdict that the last launch printed, if it failed."""
        if self.is_mended or not self.process or self.process.poll() in (None, 0, -signal.SIGKILL, -signal.SIGTERM):
            return None
        with open(self.log) as log:
            log.seek(self.began)
            text = log.read().strip()
        told = FAILURE.search(text)
        summary = text.rsplit("error: ", 1)[-1]
        if not told:
            return dict(code="", node=self.name, summary=summary)
        file, line = told["file"], told["line"]
        mend = line and dict(line=line, file=file, is_setting=bool(file), node=self.name)
        return dict(code=told["code"], node=self.name, summary=summary, mend=mend)

    def read_again(self):
        """Where it listens may be said otherwise in its file."""
        if not os.path.exists(self.file):
            return
        for line in open(self.file):
            key, _, value = line.partition(":")
            if key in ("http.port", "transport.port", "transport.tcp.port") and value.strip().isdigit():
                setattr(self, key.split(".")[0], int(value))

    def kill(self, how=signal.SIGKILL):
        pid = self.pid()
        if pid:
            os.kill(pid, how)
            if how in (signal.SIGKILL, signal.SIGTERM):
                # One that is traced gives its ports back a little later.
                self.world.wait(lambda: self.pid() is None and is_free(self.http) and is_free(self.transport), 15)
        if self.process:
            self.process.poll()

    def wipe(self):
        shutil.rmtree(self.settings["path.data"], ignore_errors=True)

    def master(self):
        told = get(self.http, "/_cluster/state?local=true&filter_path=master_node,nodes", 3)
        return (told or {}).get("master_node")

    def members(self):
        told = get(self.http, "/_cluster/state?local=true&filter_path=nodes", 3)
        return {node["name"] for node in (told or {}).get("nodes", {}).values()}


class World:
    """Some nodes; n0, n1 and so on, that name each other as seed hosts."""

    def __init__(self, binary, directory, count=3, cluster="shop"):
        self.binary, self.dir, self.cluster = binary, os.path.join(directory, "conf"), cluster
        shutil.rmtree(directory, ignore_errors=True)
        os.makedirs(self.dir)
        self.nodes = [Node(self, f"n{number}") for number in range(count)]
        self.helpers = []
        # Directories that mends made elsewhere.
        self.made = []
        for node in self.nodes:
            node.settings["discovery.zen.ping.unicast.hosts"] = self.hosts()

    def hosts(self, nodes=None):
        return json.dumps([f"127.0.0.1:{node.transport}" for node in nodes or self.nodes])

    def __getitem__(self, at):
        return self.nodes[at]

    def add(self, name):
        node = Node(self, name)
        node.settings["discovery.zen.ping.unicast.hosts"] = self.hosts()
        self.nodes.append(node)
        return node

    def start(self, *which):
        for node in self.nodes:
            if not os.path.exists(node.file):
                node.write()
        for at in which or range(len(self.nodes)):
            self.nodes[at].start()

    def kill(self, *which):
        """Ends some at one moment: one by one the rest could do without them."""
        for pid in [self.nodes[at].pid() for at in which]:
            os.kill(pid, signal.SIGKILL)
        for at in which:
            self.nodes[at].kill()

    wait = staticmethod(wait)

    def formed(self, nodes, seconds=25):
        names = {node.name for node in nodes}

        def agree():
            masters = {node.master() for node in nodes}
            return len(masters) == 1 and None not in masters and all(names <= node.members() for node in nodes)

        return self.wait(agree, seconds)

    def form(self, *which):
        self.start(*which)
        nodes = [self.nodes[at] for at in which] if which else self.nodes
        if not self.formed(nodes):
            raise RuntimeError("the cluster did not form before it was broken")

    def leader(self, nodes=None):
        nodes = nodes or self.nodes
        for node in nodes:
            told = get(node.http, "/_cat/master?format=json&local=true", 3)
            if told:
                return next(one for one in self.nodes if one.name == told[0]["node"])
        return None

    def helper(self, program, argument):
        """Another program, once it does what it does."""
        process = subprocess.Popen(["python3", "-c", program, str(argument)], stdout=subprocess.PIPE)
        process.stdout.readline()
        threading.Thread(target=process.wait, daemon=True).start()
        self.helpers.append(process.kill)

    def listen(self, port):
        self.helper(LISTENER, port)

    def hold(self, file):
        self.helper(HOLDER, file)

    def mount(self, path, options):
        os.makedirs(path)
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", path], check=True)
        self.helpers.append(lambda: subprocess.run(["umount", "-l", path]))

    def let_everybody_in(self):
        for path in (self.dir, os.path.dirname(self.dir), os.path.dirname(os.path.dirname(self.dir))):
            os.chmod(path, 0o755)

    def damage(self, node, is_newer=False):
        """Another byte in what was synced, or another version of the format."""
        state = os.path.join(node.settings["path.data"], "nodes/0/_state")
        newest = max((name for name in os.listdir(state) if name.endswith(".st")), key=lambda name: (len(name), name))
        with open(os.path.join(state, newest), "r+b") as file:
            data = file.read()
            if is_newer:
                fields = data[:12] + b"00000009" + data[20 : data.index(b"\n") - 8]
                file.seek(0)
                file.write(fields + b"%08x" % zlib.crc32(fields))
            else:
                at = data.index(b"{", 1536) + 2
                file.seek(at)
                file.write(bytes([data[at] ^ 0x16]))

    def told(self, asked):
        """What is said by those that do not start, if they are asked, and else by `zazen explain`."""
        for node in self.nodes:
            node.read_again()
        if asked != "start":
            return self.explain(asked)
        failures = [failure for failure in (node.failure() for node in self.nodes) if failure]
        return (2, {"verdicts": failures}) if failures else self.explain(0)

    def explain(self, at):
        done = subprocess.run(
            [self.binary, "explain", "--json", "--url", str(self.nodes[at].http)],
            capture_output=True, text=True, timeout=30,
        )
        try:
            return done.returncode, json.loads(done.stdout)
        except ValueError:
            return done.returncode, {"verdicts": [], "error": done.stdout + done.stderr}

    def carry_out(self, mend, asked):
        """Does what is printed, and nothing else: a command goes to a shell, a line goes into its file and the node is
        restarted."""
        for node in self.nodes:
            node.is_mended |= node.name == mend.get("node")
        if not mend["is_setting"]:
            log = open(os.path.join(self.dir, "mend.log"), "a")
            self.made += re.findall(r"mkdir -p -m 700 (/\S+)", mend["line"])
            before = {node.name: node.pid() for node in self.nodes}
            subprocess.Popen(["bash", "-c", mend["line"]], stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                             start_new_session=True, cwd=self.dir)
            for node in self.nodes:
                # What is typed next is typed when this has done what it does.
                if node.file in mend["line"]:
                    self.wait(lambda: node.pid() not in (None, before[node.name]) and get(node.http, "/", 1), 8)
            return
        node = next((one for one in self.nodes if one.file == mend["file"]), None)
        # It is about a node that the set-up does not miss.
        if node is None:
            return
        node.kill()
        key = mend["line"].split(":", 1)[0]
        lines = [line for line in open(node.file).read().splitlines() if line.split(":", 1)[0] != key]
        with open(node.file, "w") as file:
            file.write("\n".join(lines + [mend["line"]]) + "\n")
        node.launch()

    def end(self):
        for node in self.nodes:
            pid = node.pid()
            while pid:
                os.kill(pid, signal.SIGCONT)
                os.kill(pid, signal.SIGKILL)
                time.sleep(0.05)
                pid = node.pid()
            if node.process:
                node.process.wait()
        for helper in self.helpers:
            helper()
        for path in self.made:
            shutil.rmtree(path, ignore_errors=True)
