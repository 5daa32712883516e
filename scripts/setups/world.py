"""Real nodes for set-ups that are broken: files, processes, and mends that are carried out as they are printed."""

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


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def get(port, path, timeout=8):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=timeout) as answer:
            return json.load(answer)
    except (OSError, ValueError):
        return None


def put(port, path, body, method="PUT"):
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}", json.dumps(body).encode(), {"content-type": "application/json"}, method=method
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)


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
        self.process = None

    def write(self):
        with open(self.file, "w") as file:
            for key, value in self.settings.items():
                file.write(f"{key}: {value}\n")

    def start(self):
        self.write()
        self.launch()

    def launch(self):
        log = open(os.path.join(self.world.dir, f"{self.name}.log"), "a")
        command = self.prefix + [self.world.binary, "start", "-c", self.file] + self.arguments
        self.process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True)
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

    def kill(self, how=signal.SIGKILL):
        pid = self.pid()
        if pid:
            os.kill(pid, how)
            if how in (signal.SIGKILL, signal.SIGTERM):
                self.world.wait(lambda: self.pid() is None, 15)
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

    def wait(self, is_so, seconds):
        end = time.time() + seconds
        while time.time() < end:
            if is_so():
                return True
            time.sleep(0.1)
        return bool(is_so())

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

    def explain(self, at):
        done = subprocess.run(
            [self.binary, "explain", "--json", "--url", str(self.nodes[at].http)],
            capture_output=True, text=True, timeout=30,
        )
        try:
            return done.returncode, json.loads(done.stdout)
        except ValueError:
            return done.returncode, {"verdicts": [], "error": done.stdout + done.stderr}

    def carry_out(self, mend):
        """Does what is printed, and nothing else: a command goes to a shell, a line goes into its file and the node is
        restarted."""
        if not mend["is_setting"]:
            log = open(os.path.join(self.dir, "mend.log"), "a")
            subprocess.Popen(["bash", "-c", mend["line"]], stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                             start_new_session=True, cwd=self.dir)
            return
        node = next(one for one in self.nodes if one.file == mend["file"])
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
