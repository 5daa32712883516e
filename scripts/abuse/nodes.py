"""Clusters of real processes, each node on a loopback address of its own, made by `zazen setup`."""

import base64
import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from . import web
from .recorder import Recorder

ROOT = Path(__file__).resolve().parents[2]
HTTP, TRANSPORT, BEHIND = 9200, 9300, 9301
PATIENCE = 40
# What moves when somebody is elected, or something is written.
FIGURES = (
    "zazen_term", "zazen_is_master", "zazen_master_changes_total", "zazen_elections_total", "zazen_state_version", "zazen_state_accepted_version",
)


class Failed(Exception):
    """What was demanded did not hold."""


def program():
    """The program, as scripts/check-system names it, or as cargo built it."""
    named = os.environ.get("ZAZEN_BIN")
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    if not named:
        subprocess.run(["cargo", "build", "--locked", "--release", "--quiet"], cwd=ROOT, check=True)
    return str(Path(named) if named else target / "release" / "zazen")


def in_own_network(limit):
    """Goes on in a network namespace, where all ports and addresses of loopback are free, for so many seconds at the most."""
    if os.environ.get("ZAZEN_OWN_NETWORK") == "1":
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        return
    if os.geteuid() != 0:
        sys.exit(f"error: {sys.argv[0]} needs root, for a network namespace of its own")
    os.environ |= {"ZAZEN_OWN_NETWORK": "1", "ZAZEN_BIN": program()}
    guard = ["timeout", "--kill-after=10", str(limit)] if limit else []
    os.execvp("unshare", ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", *guard, sys.executable, *sys.argv])


def wait_for(what, condition, patience=PATIENCE):
    """Waits until a condition gives something, and gives that."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.05)
    raise Failed(f"not within {patience} s: {what}")


def run(*command, said=None):
    """Runs the program, says something to it, and gives what it prints."""
    done = subprocess.run([os.environ["ZAZEN_BIN"], *map(str, command)], input=said, capture_output=True, text=True)
    if done.returncode:
        raise Failed(f"zazen {' '.join(map(str, command))}: {done.stderr}")
    return done.stdout


def basic(name, password):
    return {"Authorization": "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()}


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


class Setup:
    """What `zazen setup` makes, in a directory."""

    def __init__(self, directory, name, hosts):
        self.directory, self.name = directory, name
        self.add(*hosts)

    def add(self, *hosts, options=()):
        """Makes what further hosts need."""
        run("setup", "--out", self.directory, "--cluster-name", self.name, *options, *hosts)

    def add_of_another_cluster(self, host, cluster):
        """Makes the same for a host whose certificate this authority gives to a node of another cluster, which `setup` refuses."""
        self.add_signed(host, cluster, days=2)

    def add_ended(self, host):
        """Makes the same for a host whose certificate ended yesterday."""
        self.add_signed(host, self.name, days=-1)

    def add_signed(self, host, cluster, days):
        self.add(host)
        key, role = self.file(host, "node.key"), hashlib.sha256(cluster.encode()).hexdigest()[:32]
        with tempfile.TemporaryDirectory() as work:
            request, extensions = Path(work, "csr"), Path(work, "ext")
            extensions.write_text(f"subjectAltName=IP:{host},DNS:node.{role}.zazen.internal\nextendedKeyUsage=serverAuth,clientAuth\n")
            for line in (["req", "-new", "-key", key, "-subj", f"/CN={host}", "-out", request],
                         ["x509", "-req", "-in", request, "-CA", self.file("ca.crt"), "-CAkey", self.file("ca.key"), "-set_serial", "7",
                          "-days", days, "-extfile", extensions, "-out", self.file(host, "node.crt")]):
                subprocess.run(["openssl", *map(str, line)], check=True, capture_output=True)

    def renew(self, *hosts):
        self.add(*hosts, options=["--renew"])

    def file(self, *parts):
        return self.directory.joinpath(*parts)

    def secret(self):
        return self.file("cluster.secret").read_text().strip()

    def token(self):
        return self.file("admin.token").read_text().strip()

    def tls(self):
        """For users."""
        return web.trusting(self.file("ca.crt"))

    def as_node(self, host, authority=None):
        """For nodes: shows the certificate of a host."""
        own = self.file(host)
        return web.trusting(authority or own / "ca.crt", certificate=own / "node.crt", key=own / "node.key")

    def user(self, name, role, *options):
        """Adds a user, and gives the token."""
        return run("user", "--file", self.file("users"), "add", name, "--role", role, *options).split()[-1]

    def user_with_password(self, name, role, password):
        run("user", "--file", self.file("users"), "add", name, "--role", role, "--password-stdin", said=f"{password}\n")

    def without_user(self, name):
        run("user", "--file", self.file("users"), "remove", name)


# What a node needs for each of the ways to tell nodes from strangers.
WAYS = {
    "all": [],
    "secret": ["zazen.security.certificate", "zazen.security.key", "zazen.security.authorities"],
    "certificates": ["zazen.security.secret"],
}


class Cluster:
    """Nodes that run, from copies of what was set up; with `recorded`, each calls the others by way of a recorder."""

    def __init__(self, directory, setup, hosts, way="all", recorded=False, settings=(), files=None):
        self.directory, self.setup, self.hosts, self.settings, self.files = directory, setup, hosts, list(settings), files
        self.tls, self.children = setup.tls(), {}
        self.recorders = []
        directory.mkdir(parents=True)
        for host in hosts:
            shutil.copytree(setup.file(host), self.home(host))
            yml = self.home(host) / "zazen.yml"
            lines = [line for line in yml.read_text().splitlines() if line.split(":")[0] not in WAYS[way]]
            names = ", ".join(f'"{each}:{TRANSPORT}"' for each in hosts)
            lines = [f"discovery.zen.ping.unicast.hosts: [{names}]" if line.startswith("discovery.") else line for line in lines]
            if recorded:
                lines += [f"transport.port: {BEHIND}", f"transport.publish_port: {TRANSPORT}"]
                self.recorders.append(Recorder((host, TRANSPORT), (host, BEHIND)))
            yml.write_text("\n".join([*lines, *self.settings, ""]))
        self.give_users()

    def home(self, host):
        return self.directory / host

    def give_users(self):
        """Copies the file of users to every node."""
        for host in self.hosts:
            self.put(host, "users", self.setup.file("users").read_bytes())

    def put(self, host, name, data):
        """Puts a file in the place of another one, at once."""
        fresh = self.home(host) / f"{name}.new"
        fresh.touch(0o600)
        fresh.write_bytes(data)
        fresh.rename(self.home(host) / name)

    def start(self, *hosts):
        for host in hosts or self.hosts:
            log = open(self.home(host) / "log", "ab")
            command = [os.environ["ZAZEN_BIN"], "start", "-c", self.home(host) / "zazen.yml", "-E", f"path.data={self.home(host)}/data"]
            environment = {"PATH": os.environ["PATH"]}
            self.children[host] = subprocess.Popen(command, env=environment, stdout=log, stderr=log, preexec_fn=self.limit)
        return self

    def limit(self):
        """Lets a node open so many files and sockets."""
        if self.files:
            resource.setrlimit(resource.RLIMIT_NOFILE, (self.files, self.files))

    def stop(self, *hosts):
        for host in hosts or list(self.children):
            self.children[host].terminate()
        for host in hosts or list(self.children):
            self.children.pop(host).wait(PATIENCE)

    def end(self):
        """Leaves nothing running."""
        for child in self.children.values():
            child.kill()
            child.wait()
        for each in self.recorders:
            each.close()

    def admin(self, host, **options):
        return web.Client((host, HTTP), self.tls, headers=bearer(self.setup.token()), **options)

    def get(self, host, target):
        answer = self.admin(host).ask("GET", target)
        if answer.status != 200:
            raise Failed(f"GET {target} at {host}: {answer.status} {answer.text()}\n{self.tail()}")
        return answer.body

    def json(self, host, target):
        return json.loads(self.get(host, target))

    def change(self, host, method, target, body):
        kind = {"Content-Type": "application/json"}
        answer = self.admin(host).ask(method, target, body if isinstance(body, bytes) else json.dumps(body).encode(), kind)
        if answer.status not in (200, 201):
            raise Failed(f"{method} {target} at {host}: {answer.status} {answer.text()}")
        return answer

    def wait_formed(self, count=None):
        """Waits until all nodes that run follow one master, and gives its host."""
        hosts = list(self.children)

        def masters():
            told = [self.admin(host).ask("GET", "/_zazen/state?local=true") for host in hosts]
            if any(answer.status != 200 for answer in told):
                return None
            states = [json.loads(answer.body)["nodes"] for answer in told]
            named = {state.get("master") for state in states}
            if len(named) != 1 or None in named or any(len(state["nodes"]) != (count or len(hosts)) for state in states):
                return None
            return next(node["address"].rsplit(":", 1)[0] for node in states[0]["nodes"] if node["id"] == states[0]["master"])

        try:
            return wait_for("all nodes follow one master", masters)
        except Failed as failed:
            raise Failed(f"{failed}\n{self.tail()}") from None

    def tail(self):
        return "\n".join("\n".join(self.log(host).splitlines()[-5:]) for host in self.hosts)

    def log(self, host):
        return (self.home(host) / "log").read_text(errors="replace")

    def figure(self, host, name):
        """A figure of `/metrics`, as it is written."""
        lines = self.get(host, "/metrics").decode().splitlines()
        return sorted(line for line in lines if line.split("{")[0].split(" ")[0] == name)

    def view(self, host):
        """All that could be changed of a node: its state, who follows whom, its term and its elections, what it cuts."""
        state = self.json(host, "/_zazen/state?local=true")
        settings = self.json(host, "/_cluster/settings?local=true")
        faults = self.json(host, "/_zazen/faults")
        return {"state": state, "settings": settings, "faults": faults, "figures": [self.figure(host, name) for name in FIGURES]}

    def views(self):
        return {host: self.view(host) for host in self.children}


def differences(before, after):
    """Where two trees differ, as paths."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted(before.keys() | after.keys()):
            for where in differences(before.get(key), after.get(key)):
                yield f"{key}.{where}" if where else key
    elif before != after:
        yield f": [{str(before)[:200]}] became [{str(after)[:200]}]"
