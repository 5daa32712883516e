"""Set-ups and their labels: what is wrong, with whom, and who is asked. The labels were written before the first run.

`asked` is the number of a node, or `start`: then what nodes print that do not start is read, and node 0 asked besides.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

from world import free_port, get, is_free, put

CASES = []


def case(*causes, about=(), asked=0, count=3, heals=True, cluster="shop", late=0):
    """`causes`: a set of accepted codes for each cause, none for a healthy cluster; `about`: whom a verdict may be about."""

    def take(build):
        causes_ = [cause if isinstance(cause, set) else {cause} for cause in causes]
        name = build.__name__.replace("_", "-")
        CASES.append(dict(name=name, build=build, causes=causes_, about=set(about), asked=asked, count=count, heals=heals,
                          cluster=cluster, late=late))
        return build

    return take


DOWN = {"quorum-lost", "voter-down"}
HOSTS = "discovery.zen.ping.unicast.hosts"
MINIMUM = "discovery.zen.minimum_master_nodes"
INITIAL = "cluster.initial_master_nodes"


# Nodes that do not run.

@case(DOWN, about=["n1", "n2"])
def two_of_three_killed(w):
    w.form(); w.kill(1, 2)

@case(DOWN, about=["n0", "n1"], asked=2)
def two_of_three_terminated(w):
    w.form(); w[0].kill(signal.SIGTERM); w[1].kill()

@case(DOWN, about=["n1"], count=2)
def one_of_two_killed(w):
    w.form(); w[1].kill()

@case(DOWN, about=["n0"], asked=1, count=2)
def the_other_of_two_killed(w):
    w.form(); w[0].kill()

@case(DOWN, about=["n1", "n2", "n3"], count=5)
def three_of_five_killed(w):
    w.form(); w.kill(1, 2, 3)

@case("voter-down", about=["n1", "n2"])
def only_one_of_three_was_ever_started(w):
    w.start(0)

@case("voter-down", about=["n2", "n3", "n4"], count=5)
def two_of_five_were_ever_started(w):
    w.start(0, 1)

@case("voter-down", about=["n1"], count=2)
def one_of_two_was_never_started(w):
    w.start(0)

@case(DOWN, about=["n1", "n2"])
def one_came_back_alone_from_a_full_stop(w):
    w.form()
    for node in w.nodes: node.kill()
    w.start(0)

@case({"voter-down", "no-eligible-node"}, about=["n0", "n1", "n2"], asked=3, count=4)
def only_one_that_cannot_be_master_was_ever_started(w):
    w[3].settings["node.master"] = "false"
    for node in w.nodes: node.settings[HOSTS] = json.dumps([f"127.0.0.1:{one.transport}" for one in w.nodes[:3]])
    w.start(3)

@case({"wrong-seed", "voter-down"}, about=["n0", "n3"], asked=3, count=4)
def the_only_seed_host_of_a_newcomer_has_ended(w):
    w[3].settings[HOSTS] = json.dumps([f"127.0.0.1:{w[0].transport}"])
    w.form(0, 1, 2); w[0].kill(); w.formed([w[1], w[2]])
    w.start(3)

@case("voter-down", about=["n2"])
def one_voter_of_three_is_dead(w):
    w.form(); w[2].kill()
    w.wait(lambda: "n2" not in w[0].members(), 10)

@case("voter-down", about=["n0"], asked=1)
def the_master_of_three_is_dead(w):
    w.form(); w[0].kill()
    w.formed([w[1], w[2]])

@case("voter-down", about=["n1", "n2"], count=5)
def two_voters_of_five_are_dead(w):
    w.form(); w.kill(1, 2)
    w.formed([w[0], w[3], w[4]])

@case("no-eligible-node", about=["n0"], asked=1)
def the_only_eligible_node_is_dead(w):
    w[1].settings["node.master"] = w[2].settings["node.master"] = "false"
    w.form(); w[0].kill()

@case("no-eligible-node", about=["n0", "n1", "n2"])
def none_was_ever_eligible(w):
    for node in w.nodes: node.settings["node.master"] = "false"
    w.start()

@case(DOWN | {"minimum-master-nodes-too-high"}, about=["n2"])
def the_cluster_asks_for_all_three_and_one_is_dead(w):
    w.form()
    put(w[0].http, "/_cluster/settings", {"persistent": {MINIMUM: 3}})
    w[2].kill()


@case(DOWN, about=["n1", "n2"])
def two_that_were_given_their_ports_and_data_as_arguments_are_dead(w):
    for node in w.nodes:
        node.arguments = [word for key in ("http.port", "transport.tcp.port", "path.data", "node.name")
                          for word in ("-E", f"{key}={node.settings.pop(key)}")]
    w.form(); w.kill(1, 2)

@case(DOWN, about=["n1", "n2"])
def two_that_were_given_their_ports_and_data_by_the_environment_are_dead(w):
    for node in w.nodes:
        names = {key: "ZAZEN_" + key.upper().replace(".", "_") for key in ("http.port", "transport.tcp.port", "path.data")}
        node.prefix = ["env"] + [f"{names[key]}={node.settings.pop(key)}" for key in names]
    w.form(); w.kill(1, 2)

@case("member-down", about=["n3"], count=4)
def a_member_that_cannot_lead_is_dead(w):
    w[3].settings["node.master"] = "false"
    w.form(); w[3].kill()
    w.wait(lambda: "n3" not in w[0].members(), 10)

@case("disk-full", about=["n2"])
def one_that_is_dead_has_a_full_disk(w):
    path = w[2].settings["path.data"]
    w.mount(path, "size=12m"); w.form(); w[2].kill()
    w.wait(lambda: "n2" not in w[0].members(), 10)

@case("disk-full", DOWN, about=["n1", "n2"])
def two_are_dead_and_one_has_a_full_disk(w):
    w.mount(w[1].settings["path.data"], "size=12m"); w.form(); w.kill(1, 2)


# Numbers.

@case("minimum-master-nodes-too-high", about=["n0", "n1"], count=2)
def three_are_asked_for_by_an_argument_and_there_are_two(w):
    for node in w.nodes: node.arguments = ["-E", f"{MINIMUM}=3"]
    w.start()

@case("minimum-master-nodes-too-high", about=["n0", "n1", "n2"])
def four_are_asked_for_and_there_are_three(w):
    for node in w.nodes: node.settings[MINIMUM] = 4
    w.start()

@case("minimum-master-nodes-too-high", about=["n0", "n1"], count=2)
def three_are_asked_for_and_there_are_two(w):
    for node in w.nodes: node.settings[MINIMUM] = 3
    w.start()

@case("minimum-master-nodes-too-high", about=["n0"], count=1)
def two_are_asked_for_and_there_is_one(w):
    w[0].settings[MINIMUM] = 2
    w.start()

@case("gateway-waits", about=["n0", "n1", "n2"])
def the_gateway_waits_for_five_nodes(w):
    for node in w.nodes: node.settings["gateway.recover_after_nodes"] = 5
    w.form()

@case("gateway-waits", about=["n0", "n1"], count=2)
def the_gateway_waits_for_three_eligible_nodes(w):
    for node in w.nodes: node.settings["gateway.recover_after_master_nodes"] = 3
    w.form()

@case("settings-differ", about=["n2"])
def one_has_another_minimum(w):
    for node in w.nodes: node.settings[MINIMUM] = 2
    w[2].settings[MINIMUM] = 1
    w.form()

@case("wrong-initial-master-nodes", about=["n0", "n1"], count=2)
def initial_nodes_that_there_are_not(w):
    for node in w.nodes: node.settings[INITIAL] = '["n0", "master-b", "master-c"]'
    w.start()

@case({"settings-differ", "minimum-master-nodes-too-high"}, "voter-down", about=["n0", "n1", "n2"])
def one_asks_for_all_three_and_another_one_is_dead(w):
    for node in w.nodes: node.settings[MINIMUM] = 2
    w[0].settings[MINIMUM] = 3
    w.form(1, 2); w.start(0); w.formed(w.nodes)
    w.leader().kill()
    w.wait(lambda: not w[0].master(), 10)


# Names and identities.

@case("wrong-cluster-name", about=["n0"])
def a_newcomer_with_a_mistyped_cluster_name(w):
    w[0].settings["cluster.name"] = "shpo"
    w.form(1, 2); w.start(0)

@case("wrong-cluster-name", about=["n2"], asked=2)
def another_newcomer_with_a_mistyped_cluster_name(w):
    w[2].settings["cluster.name"] = "Shop"
    w.form(0, 1); w.start(2)

@case("wrong-cluster-name", about=["n1"], count=2)
def a_mistyped_name_in_a_cluster_of_two(w):
    w.nodes[1].settings["cluster.name"] = "shop-"
    other = w.add("n2"); other.settings["cluster.name"] = "shop"; other.settings["node.master"] = "false"
    w.start()

@case("duplicate-node-id", about=["n3"], asked=3)
def a_copied_data_directory(w):
    w.form()
    w[1].kill(); node = w.add("n3")
    shutil.copytree(w[1].settings["path.data"], node.settings["path.data"])
    w[1].launch(); w.formed(w.nodes[:3]); node.start()

# Nobody leads: which of the two has the copy is known by whose place was another id's.
def copied_while_nobody_leads(w):
    w.form()
    for node in w.nodes: node.kill()
    shutil.rmtree(w[2].settings["path.data"]); shutil.copytree(w[0].settings["path.data"], w[2].settings["path.data"])
    for at in (2, 0): w[at].launch()
    w.wait(lambda: False, 3)

@case("duplicate-node-id", {"quorum-lost", "voter-down"}, about=["n2", "n1", None])
def a_copied_data_directory_while_nobody_leads(w): copied_while_nobody_leads(w)

@case("duplicate-node-id", {"quorum-lost", "voter-down"}, about=["n2", "n1", None], asked=2)
def a_copied_data_directory_while_nobody_leads_is_asked(w): copied_while_nobody_leads(w)

@case("foreign-cluster", about=["n2"], asked=2)
def the_data_directory_of_another_cluster(w):
    w[2].settings[HOSTS] = "[]"; w.form(2); w[2].kill()
    w[2].settings[HOSTS] = w.hosts()
    w[2].settings["node.name"] = "n2"; w.form(0, 1); w.start(2)

@case("wiped-majority", about=["n0"])
def two_of_three_were_wiped(w):
    w.form()
    for node in w.nodes: node.kill()
    w[1].wipe(); w[2].wipe(); w.start()

@case("wiped-majority", about=["n0"], asked=1)
def two_of_three_were_wiped_and_one_of_these_is_asked(w):
    two_of_three_were_wiped(w)

@case("wiped-majority", about=["n0", "n1", "n2"])
def two_of_three_went_one_after_the_other_and_were_wiped(w):
    w.form()
    left = w.leader()
    others = [node for node in w.nodes if node is not left]
    for node in others:
        node.kill()
        w.wait(lambda: node.name not in left.members(), 3)
    for node in others: node.wipe(); node.launch()

@case("wiped-majority", about=["n0", "n4"], count=5)
def three_of_five_were_wiped(w):
    w.form()
    for node in w.nodes: node.kill()
    for at in (1, 2, 3): w[at].wipe()
    w.start()

@case("single-node-discovery", about=["n1"], count=2)
def one_is_a_cluster_by_itself(w):
    w[1].settings["discovery.type"] = "single-node"
    w.start()

@case("single-node-discovery", about=["n1"])
def one_of_three_is_a_cluster_by_itself(w):
    w[1].settings["discovery.type"] = "single-node"
    w.start(); w.formed([w[0], w[2]])

@case("single-node-discovery", about=["n0"], count=2)
def the_asked_one_is_a_cluster_by_itself(w):
    w[0].settings["discovery.type"] = "single-node"
    w.start()

@case("protocol-version", about=["n1"], count=2)
def one_speaks_another_version(w):
    fake = os.path.join(w.dir, "old-node.py")
    with open(fake, "w") as file:
        file.write("import http.server,sys\nclass H(http.server.BaseHTTPRequestHandler):\n"
                   " def do_GET(s):\n  s.send_response(200);s.end_headers();s.wfile.write(b'{\"wire\":2}')\n"
                   " def do_POST(s):\n  s.send_response(400);s.end_headers();s.wfile.write(b'wire version `1` is not known, this node speaks 2')\n"
                   " def log_message(s,*a): pass\n"
                   "http.server.HTTPServer(('127.0.0.1',int(sys.argv[1])),H).serve_forever()\n")
    w[1].write()
    helper = subprocess.Popen([sys.executable, fake, str(w[1].transport)])
    threading.Thread(target=helper.wait, daemon=True).start()
    w.helpers.append(helper.kill); w.start(0)


# Addresses.

@case("unreachable-publish-address", about=["n1"], count=2)
def a_publish_port_where_nobody_listens(w):
    w[1].settings["transport.publish_port"] = free_port()
    w.start()

@case("unreachable-publish-address", about=["n2"], asked=2)
def a_newcomer_with_a_wrong_publish_port(w):
    w[2].settings["transport.publish_port"] = free_port()
    w.form(0, 1); w.start(2)

@case("unreachable-publish-address", about=["n1"], count=2)
def a_publish_host_where_nobody_listens(w):
    w[1].settings["transport.publish_host"] = "127.0.0.77"
    w.start()

@case("unreachable-publish-address", about=["n2"])
def a_publish_host_that_was_another_machine_s(w):
    w[2].settings["transport.publish_host"] = "192.0.2.77"
    w.form(0, 1); w.start(2); w.wait(lambda: False, 4)

@case("http-port-in-seeds", about=["n0"], count=2)
def the_http_port_among_the_seed_hosts(w):
    w[0].settings[HOSTS] = json.dumps([f"127.0.0.1:{w[0].transport}", f"127.0.0.1:{w[1].http}"])
    w.start()

@case("http-port-in-seeds", about=["n0", "n1", "n2"])
def the_http_ports_are_all_that_is_among_the_seed_hosts(w):
    hosts = json.dumps([f"127.0.0.1:{node.http}" for node in w.nodes])
    for node in w.nodes: node.settings[HOSTS] = hosts
    w.start()

@case("http-port-in-seeds", about=["n0"], count=2)
def something_else_among_the_seed_hosts(w):
    server = socket.socket(); server.bind(("127.0.0.1", 0)); server.listen(50)
    def serve():
        while True:
            try:
                peer, _ = server.accept(); peer.recv(100); peer.sendall(b"220 mail ready\r\n"); peer.close()
            except OSError:
                return
    threading.Thread(target=serve, daemon=True).start(); w.helpers.append(server.close)
    w[0].settings[HOSTS] = json.dumps([f"127.0.0.1:{w[0].transport}", f"127.0.0.1:{server.getsockname()[1]}"])
    w.start()

@case("seed-unresolved", about=["n0"], count=2)
def a_seed_host_without_an_address(w):
    w[0].settings[HOSTS] = json.dumps([f"127.0.0.1:{w[0].transport}", f"node-one.invalid:{w[1].transport}"])
    w.start(0); w[1].settings[HOSTS] = "[\"127.0.0.1:%d\", \"127.0.0.1:%d\"]" % (w[0].transport, w[1].transport)
    w.start(1)

@case("wrong-seed", about=["n0"], count=2)
def a_mistyped_port_among_the_seed_hosts(w):
    w[0].settings[HOSTS] = json.dumps([f"127.0.0.1:{w[0].transport}", f"127.0.0.1:{free_port()}"])
    w.start()

@case("wrong-seed", about=["n0"], asked=1, count=2)
def a_mistyped_port_among_the_seed_hosts_of_another_one(w):
    a_mistyped_port_among_the_seed_hosts(w)

@case("no-seeds", about=["n2"], asked=2)
def a_newcomer_without_seed_hosts(w):
    w[2].settings[HOSTS] = "[]"
    w.form(0, 1); w.start(2)

@case("loopback-only", about=["n1"], asked=1, count=2)
def one_listens_on_loopback_and_the_other_does_not(w):
    address = subprocess.run("ip -4 -o addr show scope global | awk '{print $4}' | cut -d/ -f1 | head -1", shell=True,
                             capture_output=True, text=True).stdout.strip()
    w[0].settings["network.host"] = address
    w[0].settings["http.host"] = "127.0.0.1"
    hosts = json.dumps([f"{address}:{w[0].transport}", f"{address}:{w[1].transport}"])
    for node in w.nodes:
        node.settings[HOSTS] = hosts
        # Without it a node that others reach does not start.
        node.settings["zazen.security.allow_open"] = "true"
    w[1].settings["http.host"] = "127.0.0.1"
    w.start()


# Secrets.

def secret(w, name, letter):
    path = os.path.join(w.dir, name)
    with open(path, "w") as file: file.write(letter * 40 + "\n")
    os.chmod(path, 0o600)
    return path

def share(w, odd):
    right, other = secret(w, "secret", "a"), secret(w, "another-secret", "b")
    for node in w.nodes: node.settings["zazen.security.secret"] = other if node is w[odd] else right

@case("secrets-differ", about=["n0"])
def the_asked_one_has_another_secret(w):
    share(w, 0); w.start(); w.formed(w.nodes[1:])

@case("secrets-differ", about=["n2"])
def another_one_has_another_secret(w):
    share(w, 2); w.start(); w.formed(w.nodes[:2])

@case("secrets-differ", about=["n1"])
def one_has_no_secret(w):
    share(w, 1); del w[1].settings["zazen.security.secret"]; w.start(); w.formed([w[0], w[2]])

def certify(w, *which):
    """Certificates of an authority of their own for some nodes."""
    out = os.path.join(w.dir, "of-" + "".join(node.name for node in which))
    subprocess.run([w.binary, "setup", "--cluster-name", w.cluster, "--out", out, "127.0.0.1"], check=True,
                   stdout=subprocess.DEVNULL)
    files = dict(secret="cluster.secret", certificate="node.crt", key="node.key", authorities="ca.crt")
    for node in which:
        for key, name in files.items():
            node.settings[f"zazen.security.{key}"] = os.path.join(out, "127.0.0.1", name)

@case("authorities-differ", about=["n0"])
def the_asked_one_has_another_authority(w):
    certify(w, w[0]); certify(w, w[1], w[2]); w.start(); w.formed(w.nodes[1:])

@case("authorities-differ", about=["n2"])
def another_one_has_another_authority(w):
    certify(w, w[2]); certify(w, w[0], w[1]); w.start(); w.formed(w.nodes[:2])


# Processes, links, disks, clocks.

@case("frozen-node", about=["n1", "n2"])
def two_of_three_are_stopped(w):
    w.form(); w[1].kill(signal.SIGSTOP); w[2].kill(signal.SIGSTOP)

@case("frozen-node", about=["n1"], count=2)
def one_of_two_is_stopped(w):
    w.form(); w[1].kill(signal.SIGSTOP)

@case("frozen-node", about=["n2"])
def one_follower_of_three_is_stopped(w):
    w.form()
    w[2].kill(signal.SIGSTOP)
    if w.leader([w[0]]) is w[2]: w.formed(w.nodes[:2])

@case("link-cut", about=["n0", "n1"], count=2)
def a_link_that_is_cut_by_request(w):
    for node in w.nodes: node.settings["zazen.faults.enabled"] = "true"
    w.form()
    put(w[0].http, "/_zazen/faults", {"peer": f"127.0.0.1:{w[1].transport}"}, "POST")

@case("too-many-files", about=["n0"])
def one_may_open_few_files(w):
    w[0].prefix = ["prlimit", "--nofile=200:200"]
    w.form()

@case("disk-full", about=["n0"])
def one_disk_is_nearly_full(w):
    path = w[0].settings["path.data"]
    os.makedirs(path)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", path], check=True)
    w.helpers.append(lambda: subprocess.run(["umount", "-l", path]))
    w.form()

SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t id, struct timespec *t) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
  int done = real(id, t);
  if (id == CLOCK_REALTIME && getenv("SKEW")) t->tv_sec += atoi(getenv("SKEW"));
  return done;
}
"""

def shim(w):
    source, library = os.path.join(w.dir, "shim.c"), os.path.join(w.dir, "shim.so")
    with open(source, "w") as file: file.write(SHIM)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return library

@case("disk-slow", about=["n0"])
def one_disk_takes_four_seconds_for_a_write(w):
    w.form()
    slow = subprocess.Popen(["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync,fdatasync", "-e",
                             "inject=fsync,fdatasync:delay_enter=4000000", "-p", str(w[0].pid())])
    w.helpers.append(slow.kill)
    w.wait(lambda: "TracerPid:\t0" not in open(f"/proc/{w[0].pid()}/status").read(), 10)
    put(w[1].http, "/_cluster/settings", {"transient": {"discovery.zen.commit_timeout": "20s"}})

@case("clock-skew", about=["n0"], heals=False)
def one_clock_is_ten_seconds_ahead(w):
    w[0].prefix = ["env", f"LD_PRELOAD={shim(w)}", "SKEW=10"]
    w.form()

@case("clock-skew", about=["n0"], heals=False)
def a_clock_is_three_days_behind_the_certificates_of_all(w):
    certify(w, *w.nodes)
    w[0].prefix = ["env", f"LD_PRELOAD={shim(w)}", "SKEW=-259200"]
    w.start(); w.formed(w.nodes[1:])

@case("clock-skew", about=["n0"], asked=1, heals=False)
def another_clock_is_three_days_behind_the_certificates_of_all(w):
    a_clock_is_three_days_behind_the_certificates_of_all(w)


# Two causes.

@case("frozen-node", DOWN, about=["n1", "n2"])
def one_stopped_and_one_killed(w):
    w.form(); w[1].kill(signal.SIGSTOP); w[2].kill()

@case("wrong-cluster-name", DOWN, about=["n1", "n2"])
def one_mistyped_and_one_never_started(w):
    w[1].settings["cluster.name"] = "shpo"
    w.start(0, 1)

@case("http-port-in-seeds", "voter-down", about=["n0", "n2"])
def the_http_port_and_one_never_started(w):
    w[0].settings[HOSTS] = json.dumps([f"127.0.0.1:{p}" for p in (w[0].transport, w[1].http, w[2].transport)])
    w.start(0)
    w[1].settings[HOSTS] = json.dumps([f"127.0.0.1:{p}" for p in (w[0].transport, w[1].transport, w[2].transport)])
    w[1].settings["node.master"] = "false"
    w.start(1)

@case("unreachable-publish-address", "voter-down", about=["n1", "n2"])
def a_wrong_publish_port_and_one_never_started(w):
    w[1].settings["transport.publish_port"] = free_port()
    w.start(0, 1)

@case("seed-unresolved", "http-port-in-seeds", about=["n0"])
def no_address_and_an_http_port(w):
    w[0].settings[HOSTS] = json.dumps(
        [f"127.0.0.1:{w[0].transport}", f"node-one.invalid:{w[1].transport}", f"127.0.0.1:{w[2].http}"])
    w.start(0)
    w[1].settings[HOSTS] = w[2].settings[HOSTS] = w.hosts()
    w[1].settings["node.master"] = w[2].settings["node.master"] = "false"
    w.start(1, 2)

@case("voter-down", "too-many-files", about=["n0", "n2"])
def one_dead_and_one_with_few_files(w):
    w[0].prefix = ["prlimit", "--nofile=200:200"]
    w.form(); w[2].kill()
    w.formed(w.nodes[:2])

@case("data-not-writable", about=["n1"])
def one_may_write_no_files_when_it_is_started_again(w):
    w.form(); w[1].kill(); w[1].prefix = ["prlimit", "--fsize=0:"]; w.start(1)
    w.formed([w[0], w[2]]); w[1].prefix = []

@case("voter-down", "settings-differ", about=["n1", "n2"], count=4)
def one_dead_and_one_with_another_minimum(w):
    for node in w.nodes: node.settings[MINIMUM] = 2
    w[1].settings[MINIMUM] = 1
    w.form(); w[2].kill()
    w.formed([w[0], w[1], w[3]])

@case("frozen-node", "voter-down", about=["n1", "n2"], count=5)
def one_stopped_and_one_dead_of_five(w):
    w.form(); w[1].kill(signal.SIGSTOP); w[2].kill()
    w.formed([w[0], w[3], w[4]])

@case("gateway-waits", "too-many-files", about=["n0", "n1"], count=2)
def the_gateway_waits_and_one_has_few_files(w):
    for node in w.nodes: node.settings["gateway.recover_after_nodes"] = 3
    w[0].prefix = ["prlimit", "--nofile=200:200"]
    w.form()

@case("wiped-majority", "too-many-files", about=["n0"])
def two_wiped_and_one_with_few_files(w):
    w[0].prefix = ["prlimit", "--nofile=200:200"]
    w.form()
    for node in w.nodes: node.kill()
    w[1].wipe(); w[2].wipe(); w.start()

@case("frozen-node", "wrong-cluster-name", about=["n0", "n2"])
def mistyped_and_one_stopped(w):
    w[0].settings["cluster.name"] = "shpo"
    w.start(0, 1, 2)
    w.formed([w[1], w[2]]); w[2].kill(signal.SIGSTOP)


# Healthy, and slow or unusual: nothing is to be said of them.

@case()
def healthy_three(w): w.form()

@case(count=1)
def healthy_one(w): w.form()

@case(count=1)
def healthy_one_without_seed_hosts(w):
    w[0].settings[HOSTS] = "[]"; w.form()

@case(count=2)
def healthy_two(w): w.form()

@case(count=5)
def healthy_five_with_two_that_cannot_lead(w):
    w[3].settings["node.master"] = w[4].settings["node.master"] = "false"
    w[4].settings["node.data"] = "false"; w.form()

@case()
def healthy_and_one_was_killed_and_came_back(w):
    w.form(); w[0].kill(); w.formed(w.nodes[1:]); w[0].launch(); w.formed(w.nodes)

@case()
def healthy_with_slow_timings(w):
    for node in w.nodes:
        node.settings["discovery.zen.fd.ping_interval"] = "5s"
        node.settings["discovery.zen.fd.ping_timeout"] = "30s"
    w.form()

@case()
def healthy_with_a_seed_host_more_that_nobody_is_at(w):
    extra = free_port()
    for node in w.nodes:
        node.settings[INITIAL] = '["n0", "n1", "n2"]'
        node.settings[HOSTS] = json.dumps([f"127.0.0.1:{one.transport}" for one in w.nodes] + [f"127.0.0.1:{extra}"])
    w.form()

@case()
def healthy_on_a_slow_disk(w):
    w[1].prefix = ["nice", "-n", "19"]
    w.form()

@case()
def healthy_and_stopped_for_a_moment(w):
    w.form(); w[2].kill(signal.SIGSTOP)
    import time; time.sleep(0.3)
    w[2].kill(signal.SIGCONT); w.formed(w.nodes)

@case(count=2)
def healthy_beside_another_cluster_in_the_same_directory(w):
    w.form()
    other = w.add("x0"); other.settings["cluster.name"] = "another"
    other.settings[HOSTS] = json.dumps([f"127.0.0.1:{other.transport}"])
    other.start(); w.wait(lambda: other.master(), 15); w.nodes.remove(other)
    w.helpers.append(lambda: other.kill())

@case(count=1)
def healthy_without_seed_hosts_beside_another_cluster(w):
    w[0].settings[HOSTS] = "[]"
    other = w.add("x0"); other.settings["cluster.name"] = "another"; other.settings[HOSTS] = "[]"
    w.start(1); w.wait(other.master, 15); w.nodes.remove(other)
    w.helpers.append(lambda: other.kill())
    w.form()

@case(count=1)
def healthy_alone_beside_a_cluster_of_its_name_that_has_a_secret(w):
    w[0].settings[HOSTS] = "[]"
    other = w.add("x0"); other.settings[HOSTS] = json.dumps([f"127.0.0.1:{other.transport}"])
    other.settings["zazen.security.secret"] = secret(w, "secret", "a")
    w.start(1); w.wait(other.master, 15); w.nodes.remove(other)
    w.helpers.append(lambda: other.kill())
    w.form()

@case()
def healthy_and_one_has_the_default_minimum_written_out(w):
    w[2].settings[MINIMUM] = "-1"; w.form()

@case()
def healthy_that_share_a_secret(w):
    share(w, 0); w[0].settings["zazen.security.secret"] = w[1].settings["zazen.security.secret"]; w.form()

@case()
def healthy_with_certificates(w):
    certify(w, *w.nodes); w.form()

@case(count=1)
def healthy_single_node_discovery(w):
    w[0].settings["discovery.type"] = "single-node"; del w[0].settings[HOSTS]; w.form()


# Nodes that do not start: what `zazen start` prints is asked, and does what is printed.

@case("port-in-use", about=["n1"], asked="start", count=2)
def another_program_has_the_http_port(w):
    w.start(0); w.listen(w[1].http); w.start(1)

@case("port-in-use", about=["n2"], asked="start")
def another_program_has_the_transport_port(w):
    w.form(0, 1); w.listen(w[2].transport); w.start(2)

@case("port-in-use", about=["n1"], count=2)
def another_program_has_the_port_of_one_of_two(w):
    w[1].write(); w.listen(w[1].transport); w.start(0, 1)

@case("port-in-use", about=["n1"], asked="start", count=2)
def two_nodes_were_given_one_http_port(w):
    w[1].settings["http.port"] = w[0].http
    w.start(0); w.wait(lambda: get(w[0].http, "/"), 15); w.start(1)

@case("port-in-use", about=["n1"], asked="start", count=2)
def a_node_that_runs_is_started_again(w):
    w.form(); w[1].launch()

@case("bad-address", about=["n1"], asked="start", count=2)
def an_address_that_this_host_does_not_have(w):
    w[1].settings["network.host"] = "198.51.100.7"
    w.start()

@case("bad-address", about=["n1"], asked="start", count=2)
def an_interface_that_there_is_not(w):
    w[1].settings["transport.host"] = "_eth7_"
    w.start()

@case("bad-address", about=["n1"], asked="start", count=2)
def a_name_without_an_address_to_listen_at(w):
    w[1].settings["http.host"] = "node-one.invalid"
    w.start()

@case("bad-address", about=["n2"], asked="start")
def a_publish_host_without_an_address(w):
    w[2].settings["transport.publish_host"] = "node-two.invalid"
    w.start()

@case("data-in-use", about=["n1"], asked="start", count=2)
def two_nodes_were_given_one_data_directory(w):
    w[1].settings["path.data"] = w[0].settings["path.data"]
    w.start(0); w.wait(lambda: get(w[0].http, "/"), 15); w.start(1)

# The others have formed a cluster without it.
@case("data-in-use", about=["n2"])
def the_third_was_given_the_data_directory_of_another_one(w):
    w[2].settings["path.data"] = w[1].settings["path.data"]
    w.start(0, 1); w.formed(w.nodes[:2]); w[2].launch(); time.sleep(2)

@case("data-in-use", about=["n1"], asked="start", count=2)
def another_program_holds_the_lock_of_the_data_directory(w):
    w.form(); w[1].kill()
    w.hold(os.path.join(w[1].settings["path.data"], "nodes/0/node.lock")); w[1].launch()

@case("data-not-writable", about=["n1"], asked="start", count=2)
def the_data_directory_belongs_to_somebody_else(w):
    w[1].prefix = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    path = w[1].settings["path.data"]
    w.let_everybody_in(); os.makedirs(path); os.chmod(path, 0o700)
    w.start()

@case("data-not-writable", about=["n1"], asked="start", count=2)
def a_file_is_where_the_data_directory_should_be(w):
    open(w[1].settings["path.data"], "w").close()
    w.start()

@case("data-not-writable", about=["n1"], asked="start", count=2)
def the_data_directory_is_on_a_disk_that_is_read_only(w):
    path = w[1].settings["path.data"]
    w.mount(path, "size=64m"); w.form(); w[1].kill()
    subprocess.run(["mount", "-o", "remount,ro", path], check=True); w[1].launch()

@case("disk-full", about=["n1"], asked="start", count=2)
def the_disk_is_full_at_the_start(w):
    path = w[1].settings["path.data"]
    w.mount(path, "size=1m")
    with open(os.path.join(path, "full"), "wb") as file:
        try:
            file.write(bytes(2 << 20))
        except OSError:
            pass
    w.start()

@case("data-damaged", about=["n2"], asked="start")
def a_byte_in_the_middle_of_a_file_is_another_one(w):
    w.form(); w[2].kill(); w.damage(w[2]); w[2].launch()

@case("data-damaged", about=["n1"], asked="start", count=2)
def the_file_is_of_a_version_to_come(w):
    w[1].settings["node.master"] = "false"
    w.form(); w[1].kill(); w.damage(w[1], is_newer=True); w[1].launch()

@case("bad-settings", about=["n1"], asked="start", count=2)
def a_mistyped_key(w):
    w[1].settings["discovery.zen.ping_timout"] = "2s"
    w.start()

@case("bad-settings", about=["n1"], asked="start", count=2)
def a_time_without_a_unit(w):
    w[1].settings["discovery.zen.fd.ping_interval"] = "500"
    w.start()

@case("bad-settings", about=["n1"], asked="start", count=2)
def a_word_where_yes_or_no_is_meant(w):
    w[1].settings["node.master"] = "perhaps"
    w.start()

@case("bad-settings", about=["n1"], asked="start", count=2)
def two_slips_in_one_file(w):
    w[1].settings["node.nmae"] = w[1].settings.pop("node.name")
    w[1].settings["discovery.zen.commit_timeout"] = "fast"
    w.start()

@case("bad-settings", about=["n1"], asked="start", count=2)
def a_key_that_is_there_twice(w):
    w[1].write()
    with open(w[1].file, "a") as file: file.write("node.name: n1\n")
    w.start(0); w[1].launch()

@case("wrong-cluster-name", about=["n1"], asked="start", count=2)
def the_cluster_name_is_not_that_of_the_data(w):
    w.form(); w[1].kill()
    w[1].settings["cluster.name"] = "shpo"; w[1].start()


# What others found: mends that lose something, and neighbours that are none.

@case("data-elsewhere", about=["n1", "n2"])
def two_of_three_are_started_from_another_directory(w):
    for node in w.nodes:
        node.settings["path.data"], node.cwd = f"data/{node.name}", w.dir
    w.form(); put(w[0].http, "/_zazen/kv/k", "v"); w.kill(0, 1, 2)
    os.makedirs(os.path.join(w.dir, "other"))
    for node in w.nodes[1:]: node.cwd = os.path.join(w.dir, "other")
    w[0].launch(); w[1].launch(); w[2].launch()

@case("data-elsewhere", about=["n1", "n2"])
def two_of_three_have_another_data_directory_in_their_files(w):
    w.form(); w.kill(1, 2)
    for node in w.nodes[1:]: node.settings["path.data"] += "-other"
    w[1].start(); w[2].start()

def next_door(w):
    """A cluster of the same name that never ran, its files in the directory beside."""
    os.makedirs(os.path.join(w.dir, "../next"))
    ports = [free_port() for _ in range(6)]
    hosts = [f"127.0.0.1:{port}" for port in ports[:3]]
    for number in range(3):
        lines = [f"cluster.name: {w.cluster}", f"node.name: n{number}", f"http.port: {ports[3 + number]}",
                 f"transport.tcp.port: {ports[number]}", f"{HOSTS}: {json.dumps(hosts)}",
                 f"path.data: {os.path.join(w.dir, '../next', str(number))}"]
        with open(os.path.join(w.dir, f"../next/n{number}.yml"), "w") as file: file.write("\n".join(lines) + "\n")

@case(DOWN, about=["n1", "n2"])
def two_killed_beside_another_cluster_of_the_name(w):
    next_door(w); extra = [f"127.0.0.1:{free_port()}"]
    for node in w.nodes: node.settings[HOSTS] = json.dumps(json.loads(w.hosts()) + extra)
    w.form(); w.kill(1, 2)

@case("no-eligible-node", about=["n0", "n1", "n2"])
def nobody_may_lead_beside_another_cluster_of_the_name(w):
    next_door(w)
    for node in w.nodes: node.settings["node.master"] = "false"
    w.start()

@case()
def sound_beside_another_cluster_of_the_name(w):
    next_door(w); w.form()

def in_directories_of_their_own(w):
    for node in w.nodes:
        place = os.path.join(w.dir, node.name)
        os.makedirs(os.path.join(place, "config"))
        node.file, node.settings["path.data"] = os.path.join(place, "config/elasticsearch.yml"), os.path.join(place, "data")

@case("voter-down", about=["n2"])
def one_killed_of_three_in_directories_of_their_own(w):
    in_directories_of_their_own(w); w.form(); w[2].kill()

@case(DOWN, about=["n1", "n2"])
def two_killed_of_three_in_directories_of_their_own(w):
    in_directories_of_their_own(w); w.form(); w.kill(1, 2)

@case(DOWN, about=["n1", "n2"])
def files_without_a_data_directory_of_which_one_was_started(w):
    for node in w.nodes: del node.settings["path.data"]; node.write()
    w[0].cwd = w.dir; w.start(0)

@case("minimum-master-nodes-too-high", about=["n0", "n1", "n2"])
def a_minimum_of_four_of_three_new_ones(w):
    for node in w.nodes: node.settings[MINIMUM] = 4
    w.start()

@case(DOWN, about=["n1", "n2"])
def two_killed_of_three_with_a_file_of_hosts(w):
    hosts = "\n".join(json.loads(w.hosts())) + "\n"
    for node in w.nodes:
        place = os.path.join(w.dir, node.name)
        os.makedirs(place); node.file = os.path.join(place, "zazen.yml")
        with open(os.path.join(place, "unicast_hosts.txt"), "w") as file: file.write(hosts)
        del node.settings[HOSTS]; node.settings["discovery.zen.hosts_provider"] = "file"
    w.form(); w.kill(1, 2)

@case("gateway-waits", about=["n0", "n1", "n2"])
def data_nodes_are_waited_for_that_hold_no_data(w):
    for node in w.nodes: node.settings["gateway.recover_after_data_nodes"] = 3
    w[2].settings["node.data"] = "false"
    w.start()

@case()
def one_that_cannot_lead_has_another_minimum(w):
    w[2].settings["node.master"] = "false"; w[2].settings[MINIMUM] = 3
    for node in w.nodes[:2]: node.settings[MINIMUM] = 2
    w.form()

@case("data-elsewhere", about=["n1", "n2"])
def two_of_three_had_their_data_moved_aside(w):
    w.form(); w.kill(1, 2)
    for node in w.nodes[1:]: os.rename(node.settings["path.data"], node.settings["path.data"] + ".bak")
    w[1].launch(); w[2].launch()

@case("quorum-lost", about=["n1", "n2"])
def two_of_three_may_not_lead_any_more(w):
    w.form(); w.kill(1, 2)
    for node in w.nodes[1:]: node.settings["node.master"] = "false"
    w[1].start(); w[2].start()

@case("wrong-seed", about=["n1"], asked=1, count=2)
def a_newcomer_mistypes_the_port_of_the_only_node(w):
    w[0].settings[HOSTS] = json.dumps([f"127.0.0.1:{w[0].transport}"])
    w[1].settings[HOSTS] = json.dumps([f"127.0.0.1:{free_port()}"])
    w.start()

@case("wrong-seed", about=["n0", "n1", "n2"])
def all_moved_to_other_ports_and_their_seeds_did_not(w):
    w.form(); w.kill(0, 1, 2)
    for node in w.nodes:
        node.transport = free_port(); node.settings["transport.tcp.port"] = node.transport
    w.start()


# What strangers broke: files that are no YAML, seed hosts that are none, a file system without room for another file.

def with_lines(w, change):
    """The file of the second node with another text."""
    w[1].write()
    with open(w[1].file) as file: text = file.read()
    with open(w[1].file, "w") as file: file.write(change(text))
    w.start(0); w[1].launch()

def in_text(old, new, count=-1):
    return lambda text: text.replace(old, new, count)

def slip(name, change):
    """A set-up with another text in the file of the second node."""
    def build(w): with_lines(w, change)
    build.__name__ = name
    case("bad-settings", about=["n1"], asked="start", count=2)(build)

NAME = "node.name: n1"
slip("a_bracket_is_not_closed", in_text("]", "", 1))
slip("a_quote_is_not_closed", in_text(NAME, 'node.name: "n1'))
slip("a_quote_in_a_list_is_not_closed", in_text('",', ",", 1))
slip("no_blank_behind_a_colon", in_text(NAME, "node.name:n1"))
slip("an_equals_sign_and_a_mistyped_key", lambda text: text.replace(NAME, "node.name = n1").replace("r.name", "r.nmae"))
slip("a_tab_before_a_key", in_text(NAME, "\t" + NAME))
slip("roles_as_elasticsearch_7_has_them", lambda text: text + "node.roles: [ master, data ]\n")

@case("seed-unresolved", about=["n1"], asked=1, count=2)
def seed_hosts_are_urls(w):
    w[1].settings[HOSTS] = json.dumps([f"http://127.0.0.1:{w[0].transport}/"])
    w[0].settings[HOSTS] = json.dumps([f"127.0.0.1:{w[0].transport}"])
    w.start()

@case("seed-unresolved", about=["n0", "n1", "n2"])
def semicolons_between_seed_hosts(w):
    for node in w.nodes: node.settings[HOSTS] = "\"" + ";".join(json.loads(w.hosts())) + "\""
    w.start()

def without_files_left(w, number):
    path = w[number].settings["path.data"]
    w.mount(path, "size=64m,nr_inodes=9")
    return path

@case("disk-full", about=["n1"], asked="start", count=2)
def no_more_files_can_be_made_at_the_start(w):
    path = without_files_left(w, 1)
    for number in range(9):
        try:
            open(os.path.join(path, f"other-{number}"), "w").close()
        except OSError:
            break
    w.start()

@case(DOWN, about=["n1", "n2"])
def an_initial_node_has_never_run(w):
    for node in w.nodes: node.settings[INITIAL] = '["n0", "n1", "n2"]'
    w.start(0)

@case("voter-down", about=["n2"])
def two_formed_a_cluster_and_the_third_never_ran(w):
    w[2].write(); w.form(0, 1)

@case()
def one_without_http(w):
    w[2].settings["http.enabled"] = "false"; w.start()
    w.wait(lambda: "n2" in w[0].members(), 20)

@case("wrong-seed", about=["n2"], asked=2)
def a_newcomer_beside_a_formed_cluster_has_a_wrong_port(w):
    for node in w.nodes[:2]: node.settings[HOSTS] = w.hosts(w.nodes[:2])
    w[2].settings[HOSTS] = json.dumps([f"127.0.0.1:{free_port()}"])
    w.form(0, 1); w[2].start()

@case("wrong-seed", about=["n0", "n1", "n2"])
def all_listen_beside_the_ports_of_their_seeds(w):
    for node in w.nodes: node.settings["transport.tcp.port"] = node.transport = free_port()
    w.start()

@case("port-in-use", about=["n1"], asked="start")
def a_port_is_taken_and_the_next_one_is_a_neighbours(w):
    w[2].settings["transport.tcp.port"] = w[2].transport = w[1].transport + 1
    for node in w.nodes: node.settings[HOSTS] = w.hosts()
    w.listen(w[1].transport); w[2].write(); w.start(0); w[1].launch(); time.sleep(2); w[2].start()

@case({"port-in-use", "data-in-use", "frozen-node"}, about=["n1"], asked="start", count=2)
def one_that_was_stopped_is_started_again(w):
    w.form(); os.kill(w[1].pid(), signal.SIGSTOP); w[1].launch()

@case()
def a_dead_voter_was_removed_and_its_file_as_well(w):
    w.form(); w[2].kill(); os.remove(w[2].file); shutil.rmtree(w[2].settings["path.data"])
    w.wait(lambda: "n2" not in w[0].members(), 10)
    subprocess.run([w.binary, "member", "remove", "n2", "--url", f"127.0.0.1:{w[0].http}"], check=True,
                   stdout=subprocess.DEVNULL)
    w.nodes.pop()

@case("authorities-differ", about=["n2"])
def one_has_certificates_of_an_authority_that_was_made_later(w):
    hosts = [f"127.0.0.{number + 1}" for number in range(3)]
    for out in ("sec", "later"):
        subprocess.run([w.binary, "setup", "--cluster-name", w.cluster, "--out", os.path.join(w.dir, out), *hosts],
                       check=True, stdout=subprocess.DEVNULL)
    seeds = json.dumps([f"{host}:{node.transport}" for host, node in zip(hosts, w.nodes)])
    for number, node in enumerate(w.nodes):
        files = os.path.join(w.dir, "later" if number == 2 else "sec", hosts[number])
        node.settings.update({HOSTS: seeds, "transport.host": hosts[number]})
        for key, name in (("secret", "cluster.secret"), ("certificate", "node.crt"), ("key", "node.key"),
                          ("authorities", "ca.crt")):
            node.settings[f"zazen.security.{key}"] = os.path.join(files, name)
    w.start(); w.formed(w.nodes[:2])

@case({"wrong-seed"}, about=["n1", "n2"])
def each_names_only_itself(w):
    for node in w.nodes: node.settings[HOSTS] = w.hosts([node])
    w.start(); w.wait(lambda: all(node.master() for node in w.nodes), 20)

@case("secrets-differ", about=["n2"])
def a_new_secret_was_put_first_on_one_before_the_others_know_it(w):
    old, new = "o" * 40, "n" * 40
    for number, node in enumerate(w.nodes):
        node.settings["zazen.security.secret"] = os.path.join(w.dir, f"secret-{number}")
        with open(os.open(node.settings["zazen.security.secret"], os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
            file.write(f"{new}\n{old}\n" if number == 2 else f"{old}\n")
    w.start(); w.formed(w.nodes[:2])

def hosts_in_files(w, *which):
    """Nodes in directories of their own, whose seed hosts stand in a file there."""
    for node in which or w.nodes:
        place = os.path.join(w.dir, node.name)
        os.makedirs(place); node.file = os.path.join(place, "zazen.yml")
        del node.settings[HOSTS]; node.settings["discovery.zen.hosts_provider"] = "file"

def name_hosts(node, hosts):
    with open(os.path.join(os.path.dirname(node.file), "unicast_hosts.txt"), "w") as file: file.write("\n".join(hosts) + "\n")

@case("wrong-seed", about=["n2"], asked=2)
def a_newcomer_has_a_wrong_port_in_its_file_of_hosts(w):
    w.form(0, 1)
    hosts_in_files(w, w[2]); name_hosts(w[2], [f"127.0.0.1:{free_port()}"])
    w[2].start()

@case("seed-unresolved", about=["n2"], asked=2)
def a_newcomer_has_no_file_of_hosts(w):
    w.form(0, 1)
    hosts_in_files(w, w[2]); w[2].start()

@case("seed-unresolved", about=["n2"], asked=2)
def a_name_in_a_file_of_hosts_is_mistyped(w):
    w.form(0, 1)
    hosts_in_files(w, w[2]); name_hosts(w[2], ["# the first", f"locallhost:{w[0].transport}"])
    w[2].start()

@case("voter-down", about=["n2"], count=4)
def one_with_a_file_of_hosts_is_killed(w):
    hosts_in_files(w)
    for node in w.nodes: name_hosts(node, [f"127.0.0.1:{node.transport}" for node in w.nodes])
    w.form(); w[2].kill()

def from_another_directory(w, which):
    """Nodes whose data is named from where they are started are ended, and some started from elsewhere."""
    for node in w.nodes: node.settings["path.data"], node.cwd = f"data/{node.name}", os.path.join(w.dir, "first")
    os.makedirs(os.path.join(w.dir, "first")); os.makedirs(os.path.join(w.dir, "second"))
    w.form(); put(w[0].http, "/_zazen/kv/k", "v"); w.kill(*range(len(w.nodes)))
    for at in which: w[at].cwd = os.path.join(w.dir, "second"); w[at].launch()

@case("data-elsewhere", about=["n1", "n2"], asked=1)
def two_of_three_are_started_from_another_directory_and_one_is_not(w):
    from_another_directory(w, [1, 2])

@case("data-elsewhere", about=["n0", "n1", "n2"], asked=1)
def all_are_started_from_another_directory(w):
    from_another_directory(w, [0, 1, 2])

def gone_without_a_trace(w, node):
    node.kill(); w.nodes.remove(node); os.remove(node.file); shutil.rmtree(node.settings["path.data"])

@case("member-down", about=["n3"], count=4)
def one_without_a_vote_is_gone_without_a_trace(w):
    w[3].settings["node.master"] = "false"; w.form(); gone_without_a_trace(w, w[3])

@case("voter-down", about=["n3"], count=4)
def one_of_four_is_gone_without_a_trace(w):
    w.form(); gone_without_a_trace(w, w[3])

# What the last examination found, with its labels.

def began_anew(w, take):
    """The data of two is taken away while all are stopped, and these form a cluster before the third starts."""
    w.form(); put(w[0].http, "/_zazen/kv/k", "v"); w.kill(0, 1, 2)
    for node in w.nodes[:2]: take(node.settings["path.data"])
    w[0].launch(); w[1].launch()
    if not w.formed(w.nodes[:2]): raise RuntimeError("the two did not form a cluster alone")
    w[2].launch()

def aside(data): os.rename(data, data + ".bak")

@case("data-elsewhere", about=["n0", "n1"], asked=2)
def two_began_anew_while_their_data_lies_aside(w): began_anew(w, aside)

@case("data-elsewhere", about=["n0", "n1"])
def two_of_whom_one_is_asked_began_anew_while_their_data_lies_aside(w): began_anew(w, aside)

@case("wiped-majority", about=["n0", "n1", "n2"])
def two_whose_disks_were_wiped_began_anew(w): began_anew(w, shutil.rmtree)

def met(w, *which):
    """All others remember where these have their data."""
    def remembers(node):
        file = os.path.join(node.settings["path.data"], "nodes/0/_neighbours.json")
        return os.path.exists(file) and all(f"else where/{name}" in open(file).read() for name in which)
    tellers = [node for node in w.nodes if "path.data" in node.settings]
    w.wait(lambda: all(remembers(node) for node in tellers), 10)

def with_data_elsewhere(w, *which):
    for node in which:
        del node.settings["path.data"]
        node.arguments = ["-E", f"path.data={w.dir}/else where/{node.name}"]

@case(DOWN, about=["n0", "n1"], asked=2)
def two_are_dead_that_have_their_data_where_nobody_looks(w):
    with_data_elsewhere(w, w[0], w[1]); w.form(); met(w, "n0", "n1")
    w[2].kill(); put(w[0].http, "/_zazen/kv/k", "v"); w.kill(0, 1); w[2].launch()

@case("voter-down", about=["n1", "node one"])
def one_is_dead_that_has_its_name_and_data_from_arguments(w):
    with_data_elsewhere(w, w[1])
    w[1].arguments += ["-E", "node.name=node one"]
    w[1].name = "node one"
    w.form(); met(w, "n1"); w[1].kill()

@case("voter-down", about=["n1"])
def the_file_of_one_was_changed_while_it_ran_and_it_died(w):
    w.form(); w[1].settings["path.data"] += "-later"; w[1].write(); w[1].kill()

@case("wrong-cluster-name", about=["n1"])
def one_of_another_name_formed_alone_and_is_looked_for(w):
    w.form(0, 2)
    w[1].settings["cluster.name"], w[1].settings[HOSTS] = "Shop", "[]"
    w[1].start()

@case("wrong-cluster-name", about=["n1"], asked=1)
def one_of_another_name_that_formed_alone_is_asked(w):
    one_of_another_name_formed_alone_and_is_looked_for(w)

@case("voter-down", about=["n1"])
def one_is_dead_that_ran_as_another_user(w):
    w.let_everybody_in()
    data = w[1].settings["path.data"]; os.makedirs(data); os.chown(data, 65534, 65534)
    w[1].prefix = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    w.form(); w[1].kill()

@case("port-in-use", about=["n1"])
def a_web_server_took_the_port_of_one_that_died(w):
    w.form(); w[1].kill()
    server = subprocess.Popen([sys.executable, "-m", "http.server", "-b", "127.0.0.1", str(w[1].transport)], cwd=w.dir,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    w.helpers.append(server.kill)
    w.wait(lambda: not is_free(w[1].transport), 10)

@case("wrong-seed", about=["n1", "n2"])
def all_name_their_own_host_without_a_port(w):
    for node in w.nodes: node.settings[HOSTS] = '["127.0.0.1"]'
    w.start()

@case("seed-unresolved", about=["n0", "n1", "n2"])
def one_seed_host_of_three_has_no_address(w):
    for node in w.nodes:
        seeds = [f"127.0.0.1:{other.transport}" for other in w.nodes[:2]] + [f"es-tree.invalid:{w[2].transport}"]
        node.settings[HOSTS] = json.dumps(seeds)
    w.form()

# Files that nobody can start by, seen from those that run.

@case("bad-settings", about=["n1"], count=2)
def an_initial_node_cannot_start_by_its_file(w):
    for node in w.nodes: node.settings[INITIAL] = '["n0", "n1"]'
    with_lines(w, in_text(NAME, "node.name:n1"))

@case("bad-settings", about=["n1"])
def the_file_of_one_was_changed_for_the_worse_and_it_died(w):
    w.form(); w[1].kill()
    with open(w[1].file) as file: text = file.read()
    with open(w[1].file, "w") as file: file.write(text + "discovery.zen.fd.ping_timout: 2s\n")

# What the examination after that found, with its labels.

@case("authorities-differ", about=["n2"], asked=2)
def one_without_certificates_is_asked(w):
    certify(w, *w.nodes)
    for key in ("certificate", "key", "authorities"): w[2].settings.pop(f"zazen.security.{key}")
    w.start(); w.formed(w.nodes[:2])

@case("authorities-differ", about=["n2"], asked=2)
def one_without_secret_and_certificates_is_asked(w):
    certify(w, *w.nodes)
    for key in ("secret", "certificate", "key", "authorities"): w[2].settings.pop(f"zazen.security.{key}")
    w.start(); w.formed(w.nodes[:2])

@case("no-seeds", about=["n1", "n2"])
def three_without_seed_hosts_that_do_not_find_each_other(w):
    for node in w.nodes: node.settings[HOSTS] = "[]"
    w.start(); w.wait(lambda: all(node.master() for node in w.nodes), 20)

@case("no-seeds", about=["n2"], asked=2)
def one_that_names_nobody_beside_a_formed_cluster(w):
    for node in w.nodes[:2]: node.settings[HOSTS] = w.hosts(w.nodes[:2])
    w[2].settings[HOSTS] = "[]"
    w.form(0, 1); w.start(2); w.wait(w[2].master, 20)

@case("voter-down", about=["n2"])
def a_node_that_never_ran_has_an_empty_directory(w):
    w[2].write(); os.makedirs(w[2].settings["path.data"]); w.form(0, 1)

@case("voter-down", about=["n2"])
def one_is_killed_whose_file_lies_within_as_soon_as_it_is_in(w):
    inside = os.path.join(w.dir, "far", "away"); os.makedirs(inside)
    w[2].settings["path.data"] = os.path.join(w.dir, "far", "data of n2")
    w[2].file = os.path.join(inside, "n2.yml")
    w.form(); w[2].kill()

@case("secrets-differ", "voter-down", about=["n1", "n2"], asked=2)
def a_newcomer_has_another_secret_while_one_of_two_is_dead(w):
    share(w, 2); w[0].settings["zazen.security.secret"] = w[1].settings["zazen.security.secret"]
    w.form(0, 1); w[1].kill(); w.start(2)

@case("single-node-discovery", about=["n0", "n1", "n2"])
def all_three_are_clusters_by_themselves(w):
    for node in w.nodes: node.settings["discovery.type"] = "single-node"
    w.start(); w.wait(lambda: all(node.master() for node in w.nodes), 20)

@case("secrets-differ", about=["n2"], asked=2)
def one_of_three_with_the_same_certificates_has_another_secret(w):
    certify(w, *w.nodes)
    w[2].settings["zazen.security.secret"] = os.path.join(w.dir, "another")
    with open(os.open(w[2].settings["zazen.security.secret"], os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
        file.write("s" * 40 + "\n")
    w.start(); w.formed(w.nodes[:2])

@case({"no-seeds", "wrong-seed"}, about=["n2"])
def one_that_names_only_itself_formed_alone_and_is_looked_for(w):
    for node in w.nodes[:2]: node.settings[HOSTS] = w.hosts()
    w[2].settings[HOSTS] = w.hosts([w[2]])
    w.form(0, 1); w.start(2); w.wait(w[2].master, 20)

@case({"voter-down", "member-down"}, about=["n4"], count=5)
def a_dead_one_is_missed_when_the_master_that_missed_it_was_restarted(w):
    w.form(); time.sleep(3)
    leader = w.leader()
    if leader is w[4]: w[4].kill(signal.SIGTERM); w.formed(w.nodes[:4]); w[4].start(); w.formed(w.nodes); leader = w.leader()
    w[4].kill(); time.sleep(3)
    leader.kill(signal.SIGTERM); leader.start(); w.formed(w.nodes[:4])

@case({"voter-down", "member-down"}, about=["n2", "n3", "n4"], count=5)
def three_of_five_are_killed_in_turn(w):
    w.form(); time.sleep(3)
    for left in (4, 3, 2): w[left].kill(); w.formed(w.nodes[:left]); time.sleep(3)

@case("bad-settings", about=["n1"])
def the_file_of_one_may_not_be_read_by_its_user(w):
    w.let_everybody_in()
    data = w[1].settings["path.data"]; os.makedirs(data); os.chown(data, 65534, 65534)
    w[1].prefix = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    w.form(); w[1].kill(); os.chmod(w[1].file, 0o600); w.formed([w[0], w[2]])

# So many files of other clusters lie beside that not all can be told of.
@case("wrong-cluster-name", about=["n2"])
def a_mistyped_cluster_name_beside_a_hundred_files_of_others(w):
    w.form(); time.sleep(2); w.kill(0, 1, 2)
    for number in range(100):
        with open(os.path.join(os.path.dirname(w[0].file), f"a{number:03}.yml"), "w") as file:
            file.write(f"cluster.name: other{number}\nnode.name: a{number}\ntransport.port: {20000 + number}\n")
    w[2].settings["cluster.name"] = "shpo"; w[2].write(); w.start(0, 1); w[2].launch(); w.formed(w.nodes[:2]); time.sleep(3)

# Nodes that are gone and could not be started: why is told before anybody tries.

def gone(w):
    w.form(); w[2].kill(); w.wait(lambda: "n2" not in w[0].members(), 10)

@case("port-in-use", about=["n2"])
def the_users_port_of_one_that_is_gone_was_taken(w):
    gone(w); w.listen(w[2].http)

@case("data-damaged", about=["n2"])
def the_state_of_one_that_is_gone_was_damaged(w):
    gone(w); w.damage(w[2])

@case("data-not-writable", about=["n2"])
def the_disk_of_one_that_is_gone_became_read_only(w):
    path = w[2].settings["path.data"]
    w.mount(path, "size=64m"); gone(w)
    subprocess.run(["mount", "-o", "remount,ro", path], check=True)

@case("data-not-writable", about=["n2"])
def a_file_is_where_the_data_directory_of_one_that_is_gone_was(w):
    gone(w); path = w[2].settings["path.data"]; os.rename(path, path + ".bak"); open(path, "w").close()

@case("bad-address", about=["n2"])
def one_that_is_gone_was_given_an_address_that_this_host_does_not_have(w):
    gone(w); w[2].settings["network.host"] = "198.51.100.7"; w[2].write()

@case("port-in-use", about=["n2"])
def one_that_is_gone_was_given_the_ports_of_another_one(w):
    gone(w); w[2].settings.update({key: w[1].settings[key] for key in ("http.port", "transport.tcp.port")}); w[2].write()

@case("bad-settings", about=["n2"])
def the_rights_of_the_secret_of_one_that_is_gone_are_those_of_all(w):
    for node in w.nodes: node.settings["zazen.security.secret"] = secret(w, node.name + "-secret", "a")
    gone(w); os.chmod(w[2].settings["zazen.security.secret"], 0o644)

@case("voter-down", about=["n2"])
def one_was_killed_before_the_others_were_there(w):
    w.start(2); w.wait(lambda: get(w[2].http, "/"), 15); time.sleep(1); w[2].kill(); w.form(0, 1); time.sleep(2)

@case("data-damaged", DOWN, about=["n1", "n2"])
def of_two_that_are_gone_the_state_of_one_was_damaged(w):
    w.form(); time.sleep(2); w.kill(1, 2); time.sleep(1); w.damage(w[2])

# Whom one node names by mistake is another cluster, however small, and is to be left alone.
@case("foreign-cluster", about=["n0"])
def one_names_a_node_of_another_cluster_that_is_alone_there(w):
    other = w.add("n3"); other.settings.update({"cluster.name": "sales", HOSTS: w.hosts([other])})
    w[0].settings[HOSTS] = w.hosts(w.nodes)
    w.nodes.remove(other); w.helpers.append(other.kill)
    other.start(); w.wait(other.master, 20); w.form(); time.sleep(1)

@case("wrong-cluster-name", "secrets-differ", about=["n1", "n2"])
def one_of_three_has_another_name_and_one_another_secret(w):
    share(w, 2); w[1].settings["cluster.name"] = "shpo"; w.start(); time.sleep(4)

@case("wrong-cluster-name", "secrets-differ", about=["n1", "n2"], asked=1)
def of_one_with_another_name_and_one_with_another_secret_the_former_is_asked(w):
    share(w, 2); w[1].settings["cluster.name"] = "shpo"; w.start(); time.sleep(4)

@case("data-in-use", about=["n2"])
def the_file_of_one_that_is_gone_names_the_data_of_another_one(w):
    gone(w); w[2].settings["path.data"] = w[1].settings["path.data"]; w[2].write()

@case("port-in-use", about=["n2"])
def a_program_that_says_nothing_has_the_port_of_one_that_is_gone(w):
    gone(w); w.helper("""
import socket, sys, time
server = socket.socket()
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
server.bind(("127.0.0.1", int(sys.argv[1]))); server.listen(50); print(flush=True); time.sleep(1000)
""", w[2].transport)

@case("data-not-writable", about=["n2"])
def the_data_directory_of_one_that_is_gone_is_a_link_to_nothing(w):
    gone(w); path = w[2].settings["path.data"]; os.rename(path, path + ".bak"); os.symlink("/nothing/is/here", path)

@case({"data-damaged", "quorum-lost"}, about=["n0", "n1", "n2"])
def the_states_of_two_that_are_gone_were_damaged(w):
    w.form(); time.sleep(2); w.kill(1, 2); time.sleep(1); w.damage(w[1]); w.damage(w[2])

# What it has on disk is there: it is not gone for good.
@case({"bad-settings", "voter-down"}, about=["n2"])
def the_file_of_one_that_is_gone_is_gone(w):
    w.form(); w[2].kill(); os.remove(w[2].file)

@case({"bad-settings", "voter-down"}, "quorum-lost", about=["n1", "n2", None])
def the_files_of_two_that_are_gone_are_gone(w):
    w.form()
    for at in (1, 2): w[at].kill(); os.remove(w[at].file)

# Its start tells the others why there is nobody of that name.
@case({"port-in-use", "data-in-use"}, about=["n3"], heals=False)
def a_file_was_copied_and_only_the_name_changed(w):
    w.form()
    copy = w[2].file.replace("n2.yml", "n3.yml")
    with open(copy, "w") as file: file.write(open(w[2].file).read().replace("node.name: n2", "node.name: n3"))
    done = subprocess.run([w.binary, "start", "-c", copy], capture_output=True, timeout=20)
    assert done.returncode

@case({"bad-settings"}, about=["n2"])
def the_log_of_one_that_is_gone_cannot_be_written(w):
    w.form(); w[2].kill()
    w[2].settings["path.logs"] = os.path.join(w.dir, "logs"); w[2].write()
    with open(w[2].settings["path.logs"], "w") as file: file.write("")

# The directory is that of a configuration of Elasticsearch, and nobody made it here.
@case({"bad-settings"}, about=["n2"], asked="start")
def the_log_of_a_newcomer_cannot_be_written(w):
    w[2].settings["path.logs"] = "/proc/elasticsearch"; w.start()

# Each of its lines makes sense by itself.
@case("bad-settings", about=["n2"], heals=False)
def one_that_is_gone_has_one_port_twice(w):
    w.form(); w[2].kill(); w[2].settings["http.port"] = w[2].transport; w[2].write()

# Another examiner's, without the answers.

@case("wrong-seed", about=["n2"])
def a_newcomer_names_only_itself(w):
    for node in w.nodes[:2]: node.settings[HOSTS] = w.hosts(w.nodes[:2])
    w[2].settings[HOSTS] = w.hosts(w.nodes[2:])
    w.form(0, 1); w.start(2); w.wait(w[2].master, 20)

@case("wrong-seed", about=["n2"], asked=2)
def a_newcomer_mistypes_its_cluster_and_the_ports_of_all_others(w):
    for node in w.nodes[:2]: node.settings[HOSTS] = w.hosts(w.nodes[:2])
    w[2].settings["cluster.name"] = "shpo"
    w[2].settings[HOSTS] = json.dumps([f"127.0.0.1:{free_port()}" for _ in range(2)])
    w.form(0, 1); w[2].start()

@case("data-damaged", about=["n2"])
def the_data_of_one_is_removed_while_it_runs(w):
    w.form(); w[2].wipe(); put(w[0].http, "/_zazen/kv/after", "it")
    w.wait(lambda: w[2].pid() is None, 20)

@case("bad-settings", about=["n2"])
def the_file_of_one_that_is_gone_was_emptied(w):
    w.form(); w[2].kill(); open(w[2].file, "w").close()

@case({"wrong-initial-master-nodes"}, about=["n0", "n1", "n2"])
def all_name_http_ports_as_initial_master_nodes(w):
    for node in w.nodes: node.settings[INITIAL] = json.dumps([f"127.0.0.1:{one.http}" for one in w.nodes])
    w.start()

@case("minimum-master-nodes-too-high", about=["n0", "n1", "n2"])
def all_ask_for_three_and_one_is_told_that_it_cannot_be_master(w):
    for node in w.nodes: node.settings[MINIMUM] = "3"
    w.form(); w[2].kill(signal.SIGTERM); w[2].settings["node.master"] = "false"; w[2].start()

@case({"bad-address"}, {"voter-down", "bad-address"}, about=["n1", "n2", None])
def before_the_first_forming_one_has_an_address_of_another_host(w):
    w[1].settings["network.host"] = "192.0.2.7"; w.start(0); w[1].write(); w[1].launch(); w[2].write()

@case("http-port-in-seeds", about=["n2"])
def a_member_has_an_http_port_among_its_seed_hosts(w):
    w[2].settings[HOSTS] = json.dumps([f"127.0.0.1:{w[0].transport}", f"127.0.0.1:{w[1].http}"]); w.form()

@case(count=4)
def healthy_and_one_that_is_gone_for_good_was_replaced(w):
    gone = w.nodes[1]
    for node in w.nodes[:3]: node.settings[HOSTS] = w.hosts(w.nodes[:3])
    w.form(0, 1, 2); gone.kill(); gone.wipe(); os.remove(gone.file)
    w.nodes.remove(gone); w.nodes[2].start(); w.formed(w.nodes)

@case("bad-settings", about=["n2"])
def a_newcomer_names_a_file_of_secrets_that_is_not_there(w):
    for node in w.nodes: node.settings["zazen.security.secret"] = secret(w, "secret", "a")
    w[2].settings["zazen.security.secret"] += "s"
    w.form(0, 1); w[2].start(); time.sleep(1)
