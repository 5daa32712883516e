"""Machines of their own for set-ups: each has its network, processes, files in /srv and name, and runs one node."""

import json
import os
import shutil
import subprocess
import time

from world import FAILURE, wait

HTTP = 9200

# Copies to where another machine keeps its files.
SCP = """#!/bin/bash
arguments=()
for word in "$@"; do
    case "$word" in
        -*) ;;
        10.88.0.*:/srv/*) host="${word%%:*}"; arguments+=("@ALL@/${host##*.}${word#*:}") ;;
        *) arguments+=("$word") ;;
    esac
done
exec cp -p "${arguments[@]}"
"""

FILES = dict(secret="cluster.secret", certificate="node.crt", key="node.key", authorities="ca.crt")


def sh(*words, **options):
    return subprocess.run(words, check=True, capture_output=True, text=True, **options)


class Machine:
    def __init__(self, world, number):
        self.world, self.number = world, number
        self.name, self.host = f"n{number}", f"10.88.0.{number + 1}"
        self.space = f"{world.prefix}{number}"
        self.root = os.path.join(world.dir, str(number + 1))
        self.files = os.path.join(self.root, "srv/zazen")
        os.makedirs(self.files)
        self.settings = {
            "cluster.name": "shop",
            "node.name": self.name,
            "network.host": self.host,
            "path.data": "/srv/data",
        }
        self.process = None
        self.build()

    def build(self):
        sh("ip", "netns", "add", self.space)
        near, far = f"{self.space}a", f"{self.space}b"
        sh("ip", "-n", self.world.prefix, "link", "add", near, "type", "veth", "peer", "name", far, "netns", self.space)
        sh("ip", "-n", self.world.prefix, "link", "set", near, "master", "bridge", "up")
        for words in (["addr", "add", self.host + "/24", "dev", far], ["link", "set", far, "up"], ["link", "set", "lo", "up"]):
            sh("ip", "-n", self.space, *words)
        hosts = os.path.join(self.root, "hosts")
        with open(hosts, "w") as file:
            file.write(f"127.0.0.1 localhost\n127.0.1.1 m{self.number}\n")
        begin = f"hostname m{self.number}; mount --bind {self.root}/srv /srv; mount --bind {hosts} /etc/hosts; exec sleep infinity"
        keeper = subprocess.Popen(["ip", "netns", "exec", self.space, "unshare", "--pid", "--mount", "--uts", "--fork",
                                   "--mount-proc", "--kill-child", "bash", "-c", begin])
        self.keeper = keeper
        self.world.wait(lambda: self.inside() and self.run("hostname").stdout.strip() == f"m{self.number}", 5)

    def inside(self):
        """The first process of the machine, as it is known outside."""
        children = subprocess.run(["pgrep", "-P", str(self.keeper.pid)], capture_output=True, text=True).stdout.split()
        return children[0] if children else None

    def line(self, *words):
        path = os.path.join(self.world.dir, "bin") + ":" + os.environ["PATH"]
        return ["nsenter", "-t", self.inside(), "-a", "env", f"PATH={path}", *words]

    def run(self, *words, timeout=30):
        return subprocess.run(self.line(*words), capture_output=True, text=True, timeout=timeout)

    def write(self):
        with open(os.path.join(self.files, "zazen.yml"), "w") as file:
            for key, value in self.settings.items():
                file.write(f"{key}: {value}\n")

    def launch(self):
        log = open(os.path.join(self.root, "log"), "w")
        self.process = subprocess.Popen(self.line(self.world.binary, "start", "-c", "/srv/zazen/zazen.yml"),
                                        stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True)

    def start(self):
        self.write()
        self.launch()

    def beside(self, port):
        """Another program that listens there."""
        line = f"import socket, time; s = socket.create_server(('{self.host}', {port})); time.sleep(10 ** 6)"
        subprocess.Popen(self.line("python3", "-c", line), stdin=subprocess.DEVNULL, start_new_session=True)
        self.world.wait(lambda: f":{port} " in self.run("ss", "-ltn").stdout, 5)

    def move(self, host):
        """Has another address from now on."""
        sh("ip", "-n", self.space, "addr", "del", self.host + "/24", "dev", f"{self.space}b")
        sh("ip", "-n", self.space, "addr", "add", host + "/24", "dev", f"{self.space}b")
        self.host = host
        link = os.path.join(self.world.dir, host.rsplit(".", 1)[1])
        if not os.path.exists(link):
            os.symlink(self.root, link)

    def signal(self, name):
        self.run("pkill", f"-{name}", "-f", "start -c /srv")
        if name in ("KILL", "TERM"):
            self.world.wait(lambda: not self.is_running(), 10)

    def is_running(self):
        return self.run("pgrep", "-f", "start -c /srv").stdout.strip() != ""

    def http(self):
        """Where its users ask."""
        lines = open(os.path.join(self.files, "zazen.yml")).read().splitlines()
        given = dict(line.split(": ", 1) for line in lines if ": " in line)
        host = given.get("http.host", given.get("network.host", "127.0.0.1")).strip("'\"")
        return "127.0.1.1" if host.startswith("m") else host

    def get(self, path):
        told = self.run("curl", "-sm", "3", f"http://{self.http()}:{HTTP}{path}")
        try:
            return json.loads(told.stdout)
        except ValueError:
            return None

    def view(self):
        told = self.get("/_cluster/state?local=true&filter_path=master_node,nodes") or {}
        return told.get("master_node"), {node["name"] for node in told.get("nodes", {}).values()}

    def failure(self):
        """What was printed by a node that did not start."""
        text = open(os.path.join(self.root, "log")).read().strip()
        told = not self.is_running() and FAILURE.search(text)
        if not told:
            return None
        mend = told["line"] and dict(line=told["line"], file=told["file"], is_setting=bool(told["file"]), node=self.name)
        return dict(code=told["code"], node=self.name, summary=text.rsplit("error: ", 1)[-1], mend=mend)


class Machines:
    """Some machines that run a node each and name each other as seed hosts."""

    def __init__(self, binary, directory, count=3, number=0):
        self.binary, self.dir, self.prefix = binary, directory, f"zm{number}x"
        shutil.rmtree(directory, ignore_errors=True)
        os.makedirs(os.path.join(directory, "bin"))
        with open(os.path.join(directory, "bin/scp"), "w") as file:
            file.write(SCP.replace("@ALL@", directory))
        os.chmod(os.path.join(directory, "bin/scp"), 0o755)
        self.nodes, self.mends = [], []
        sh("ip", "netns", "add", self.prefix)
        sh("ip", "-n", self.prefix, "link", "add", "bridge", "type", "bridge")
        sh("ip", "-n", self.prefix, "link", "set", "bridge", "up")
        for at in range(count):
            self.nodes.append(Machine(self, at))
        for node in self.nodes:
            node.settings["discovery.zen.ping.unicast.hosts"] = json.dumps([one.host for one in self.nodes])

    def __getitem__(self, at):
        return self.nodes[at]

    wait = staticmethod(wait)

    def open(self):
        for node in self.nodes:
            node.settings["zazen.security.allow_open"] = "true"

    def certify(self, *options, at=0, out="/srv/security", which=None, names=None):
        """Certificates that are made on one machine, and copied to where each node reads them."""
        which = which or self.nodes
        done = self.nodes[at].run(self.binary, "setup", "--cluster-name", "shop", "--out", out, *options,
                                  *(names or [node.host for node in which]))
        if done.returncode:
            raise RuntimeError(done.stderr)
        for node in which:
            made = self.nodes[at].root + f"{out}/{names[node.number] if names else node.host}"
            for name in ("node.crt", "node.key", "ca.crt", "cluster.secret"):
                shutil.copy2(os.path.join(made, name), node.files)
            for key, name in FILES.items():
                node.settings[f"zazen.security.{key}"] = name
            # Users ask on the machine itself.
            node.settings["http.host"] = "127.0.0.1"

    def start(self, *which):
        for at in which or range(len(self.nodes)):
            self.nodes[at].start()

    def formed(self, nodes=None, seconds=25):
        nodes = nodes or self.nodes
        names = {node.name for node in nodes}

        def agree():
            views = [node.view() for node in nodes]
            return len({view[0] for view in views}) == 1 and views[0][0] and all(names <= view[1] for view in views)

        return self.wait(agree, seconds)

    def form(self, nodes=None):
        self.start(*([node.number for node in nodes] if nodes else []))
        if not self.formed(nodes):
            raise RuntimeError("the cluster did not form before it was broken")

    def told(self, asked):
        if asked == "start":
            failures = [failure for failure in (node.failure() for node in self.nodes) if failure]
            if failures:
                return 2, {"verdicts": failures}
            asked = 0
        return self.explain(asked)

    def explain(self, at):
        done = self.nodes[at].run(self.binary, "explain", "--json", "--url", self.nodes[at].http())
        try:
            return done.returncode, json.loads(done.stdout)
        except ValueError:
            return done.returncode, {"verdicts": [], "error": done.stdout + done.stderr}

    def place(self, mend, asked):
        """Where a mend says that it is to be done: with its host, on that of its node where it does not start, or where it
        was read."""
        host = mend.get("host")
        for node in self.nodes:
            if host in (node.host, f"m{node.number}") or asked == "start" and mend.get("node") == node.name:
                return node
        if host:
            raise RuntimeError(f"nobody knows where [{host}] is")
        return self.nodes[asked]

    def carry_out(self, mend, asked):
        node = self.place(mend, asked)
        if not mend["is_setting"]:
            log = open(os.path.join(self.dir, "mend.log"), "a")
            print(mend["line"], file=log, flush=True)
            done = subprocess.Popen(node.line("bash", "-c", mend["line"]), stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                    start_new_session=True)
            self.mends.append(done)
            time.sleep(3)
            return
        file = node.root + (mend.get("file") or "/srv/zazen/zazen.yml")
        node.signal("KILL")
        key = mend["line"].split(":", 1)[0]
        lines = [line for line in open(file).read().splitlines() if line.split(":", 1)[0] != key]
        with open(file, "w") as out:
            out.write("\n".join(lines + [mend["line"]]) + "\n")
        node.launch()

    def end(self):
        for node in self.nodes:
            node.keeper.kill()
            node.keeper.wait()
        # What entered a machine stands still with what it runs there.
        for process in [node.process for node in self.nodes if node.process] + self.mends:
            process.kill()
            process.wait()
        for name in [node.space for node in self.nodes] + [self.prefix]:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)
