"""Set-ups on machines of their own, with their labels: the causes, whom they are about, and where it is asked."""

import json
import os
import shutil
import subprocess

CASES = []


def case(*causes, about=(), asked=0, count=3, heals=True):
    def add(build):
        wanted = [cause if isinstance(cause, set) else {cause} for cause in causes]
        CASES.append(dict(name=build.__name__.replace("_", "-"), causes=wanted, about=set(about), asked=asked, count=count, heals=heals,
                          build=build))
        return build

    return add


@case()
def healthy(w):
    w.open(); w.form()

@case()
def healthy_with_certificates(w):
    w.certify(); w.form()

def another_secret(w):
    w.certify()
    with open(os.path.join(w[2].files, "cluster.secret"), "w") as file:
        file.write("s" * 40 + "\n")
    w.start(); w.formed(w.nodes[:2])

@case("secrets-differ", about=["10.88.0.3:9300"])
def another_secret_beside_the_same_authority(w):
    another_secret(w)

@case("secrets-differ", about=["n2"], asked=2)
def another_secret_beside_the_same_authority_is_asked(w):
    another_secret(w)

@case("secrets-differ", about=["10.88.0.3:9300"])
def no_secret_beside_the_same_authority(w):
    w.certify(); del w[2].settings["zazen.security.secret"]; w.start(); w.formed(w.nodes[:2])

@case("secrets-differ", about=["n2"], asked=2)
def no_secret_beside_the_same_authority_is_asked(w):
    w.certify(); del w[2].settings["zazen.security.secret"]; w.start(); w.formed(w.nodes[:2])

def another_authority(w):
    w.certify(); w.certify(at=2, out="/srv/mine", which=[w[2]]); w.start(); w.formed(w.nodes[:2])

@case("authorities-differ", about=["10.88.0.3:9300"])
def another_authority_where_the_key_is(w):
    another_authority(w)

@case("authorities-differ", about=["10.88.0.3:9300"], asked=1)
def another_authority_is_seen_where_the_key_is_not(w):
    another_authority(w)

@case("certificate-expires", about=["n1"])
def a_certificate_ends_where_the_key_is_elsewhere(w):
    w.certify(); w.certify("--renew", "--days", "9", which=[w[1]]); w.form()

@case("certificate-expires", about=["n1"], asked=1)
def a_certificate_ends_and_its_node_is_asked(w):
    w.certify(); w.certify("--renew", "--days", "9", which=[w[1]]); w.form()

@case("certificate-expires", about=["n0"])
def a_certificate_ends_where_the_key_is(w):
    w.certify(); w.certify("--renew", "--days", "9", which=[w[0]]); w.form()

CONFIG = """[ca]
default_ca = d
[d]
database = index
serial = serial
new_certs_dir = .
default_md = sha256
policy = p
copy_extensions = copyall
unique_subject = no
[p]
commonName = supplied
"""

def lapse(w, node):
    """Another certificate of the same authority, which has ended."""
    work = os.path.join(w.dir, "lapsed"); os.makedirs(work)
    for name, text in (("index", ""), ("serial", "1000\n"), ("config", CONFIG)):
        with open(os.path.join(work, name), "w") as file: file.write(text)
    made, own = w[0].root + "/srv/security", os.path.join(node.files, "node.crt")
    for line in (["x509", "-x509toreq", "-in", own, "-signkey", own[:-3] + "key", "-copy_extensions", "copyall", "-out", "new.csr"],
                 ["ca", "-batch", "-config", "config", "-in", "new.csr", "-cert", made + "/ca.crt", "-keyfile", made + "/ca.key",
                  "-startdate", "20240101000000Z", "-enddate", "20250101000000Z", "-notext", "-out", "new.crt"]):
        subprocess.run(["openssl", *line], cwd=work, check=True, capture_output=True)
    shutil.copy(os.path.join(work, "new.crt"), own)

def lapsed(w):
    w.certify(); lapse(w, w[2]); w.form(w.nodes[:2]); w.start(2); w.wait(lambda: False, 4)

@case("certificate-expires", about=["10.88.0.3:9300"])
def a_certificate_has_ended(w): lapsed(w)

@case("certificate-expires", about=["10.88.0.3:9300"], asked=1)
def a_certificate_has_ended_and_another_one_is_asked(w): lapsed(w)

@case("loopback-only", about=["n2"])
def one_listens_on_loopback_only(w):
    w.open(); del w[2].settings["network.host"]; w.start(); w.formed(w.nodes[:2])

@case("loopback-only", about=["n2"], asked=2)
def one_that_listens_on_loopback_only_is_asked(w):
    w.open(); del w[2].settings["network.host"]; w.start(); w.formed(w.nodes[:2])

@case("loopback-only", about=["n2"], asked=2)
def the_name_of_a_machine_is_its_loopback(w):
    w.open(); w[2].settings["network.host"] = "m2"; w.start(); w.formed(w.nodes[:2])

@case("unreachable-publish-address", about=["n2"])
def one_publishes_what_is_nobody_s(w):
    w.open(); w[2].settings["network.publish_host"] = "10.88.0.99"; w.start(); w.formed(w.nodes[:2])

@case("unreachable-publish-address", about=["n2"], asked=2)
def one_that_publishes_what_is_nobody_s_is_asked(w):
    w.open(); w[2].settings["network.publish_host"] = "10.88.0.99"; w.start(); w.formed(w.nodes[:2])

@case("voter-down", about=["n2"])
def one_is_dead(w):
    w.open(); w.form(); w[2].signal("KILL")

@case("voter-down", about=["n2"])
def one_is_dead_with_certificates(w):
    w.certify(); w.form(); w[2].signal("KILL")

@case("quorum-lost", {"voter-down", "quorum-lost"}, about=["n1", "n2", None])
def two_are_dead(w):
    w.open(); w.form(); w[1].signal("KILL"); w[2].signal("KILL")

@case("frozen-node", about=["n2"])
def one_is_stopped(w):
    w.open(); w.form(); w[2].signal("STOP")

# It prints the two commands that make it safe.
@case("bad-settings", about=["n3"], asked="start", count=4, heals=False)
def a_newcomer_may_not_be_open(w):
    w.open(); del w[3].settings["zazen.security.allow_open"]; w.start()
    w.formed(w.nodes[:3]); w.wait(lambda: not w[3].is_running(), 10)

@case({"wrong-seed", "settings-differ"}, about=["n2"], asked=2)
def one_has_a_port_of_its_own_at_which_it_looks_for_the_others(w):
    w.open(); w[2].settings["transport.port"] = "9310"; w.start(); w.formed(w.nodes[:2])

@case({"wrong-seed", "settings-differ"}, about=["n2"])
def another_one_has_a_port_of_its_own_at_which_it_looks_for_the_others(w):
    w.open(); w[2].settings["transport.port"] = "9310"; w.start(); w.formed(w.nodes[:2]); w.wait(lambda: False, 14)

@case("wrong-seed", about=["n0"])
def all_have_addresses_in_another_network(w):
    w.open(); w.form()
    for node in w.nodes:
        node.signal("TERM"); node.move(f"10.99.0.{node.number + 1}"); node.settings["network.host"] = node.host
    w.start(); w.wait(lambda: False, 5)

@case("wrong-cluster-name", about=["n2"])
def one_has_another_cluster_name(w):
    w.open(); w[2].settings["cluster.name"] = "shpo"; w.start(); w.formed(w.nodes[:2])

# From where it stands nobody can tell which addresses were meant.
@case({"wrong-seed", "link-cut"}, about=["n2", "10.88.0.77:9300", "10.88.0.78:9300"], asked=2, heals=False)
def one_names_hosts_that_are_none(w):
    w.open(); w[2].settings["discovery.zen.ping.unicast.hosts"] = '["10.88.0.77", "10.88.0.78"]'
    for at in (0, 1): w[at].settings["discovery.zen.ping.unicast.hosts"] = '["10.88.0.1", "10.88.0.2"]'
    w.start()
    w.formed(w.nodes[:2])

# What is left would be the node itself, which would be a cluster of one.
@case("seed-unresolved", about=["n2"], asked=2, heals=False)
def a_newcomer_knows_no_name_of_the_others(w):
    w.open(); w[2].settings["discovery.zen.ping.unicast.hosts"] = '["es0", "es1", "m2"]'
    with open(os.path.join(w[2].root, "hosts"), "a") as file: file.write("10.88.0.3 m2\n")
    for at in (0, 1): w[at].settings["discovery.zen.ping.unicast.hosts"] = '["10.88.0.1", "10.88.0.2"]'
    w.start(); w.formed(w.nodes[:2])

@case()
def healthy_with_certificates_for_names(w):
    names = [f"es{number + 1}" for number in range(3)]
    for node in w.nodes:
        with open(os.path.join(node.root, "hosts"), "w") as file:
            file.write("127.0.0.1 localhost\n" + "".join(f"10.88.0.{at + 1} {name}\n" for at, name in enumerate(names)))
        node.settings.update({"network.host": names[node.number], "discovery.zen.ping.unicast.hosts": json.dumps(names)})
    w.certify(names=names); w.form()

# The queues of those that stand still are full by then.
@case("frozen-node", about=["n1", "n2"])
def two_stand_still_for_long(w):
    w.open(); w.form(); w[1].signal("STOP"); w[2].signal("STOP")
    w.wait(lambda: False, 50)

# No line opens a firewall that nobody knows of.
@case("link-cut", about=["n0", "n2"], heals=False)
def a_firewall_lets_no_new_connection_to_one(w):
    w.open(); w.form(); w.wait(lambda: False, 2)
    w[2].run("nft", "add table ip t"); w[2].run("nft", "add chain ip t in { type filter hook input priority 0; }")
    w[2].run("nft", "add rule ip t in tcp dport 9300 ct state new drop")
    w.wait(lambda: False, 3)

# It runs, asks to be taken in and is not reached: neither to be started nor to be let go on.
def barred(w, verdict):
    w.open(); w.form(); w.wait(lambda: False, 2)
    w[2].run("nft", "add table ip t"); w[2].run("nft", "add chain ip t in { type filter hook input priority 0; }")
    w[2].run("nft", f"add rule ip t in tcp dport 9300 ct state new {verdict}")
    w[2].signal("KILL"); w.wait(lambda: not w[2].is_running(), 5); w[2].start(); w.wait(lambda: False, 8)

@case("unreachable-publish-address", about=["n2"], heals=False)
def a_firewall_drops_what_comes_to_one_that_was_started_again(w): barred(w, "drop")

@case("unreachable-publish-address", about=["n2"], asked=1, heals=False)
def a_firewall_drops_what_comes_to_one_that_was_started_again_and_another_is_asked(w): barred(w, "drop")

@case("unreachable-publish-address", about=["n2"], heals=False)
def a_firewall_refuses_what_comes_to_one_that_was_started_again(w): barred(w, "reject")

# What comes to one is dropped while it runs: nothing is to be let go on.
def walled(w, *stopped):
    w.open()
    # Whom only a master behind a wall misses nobody else knows of: it is to be another one.
    if stopped: w.form([node for node in w.nodes if node.number != 2]); w.start(2); w.formed()
    else: w.form()
    w.wait(lambda: False, 2)
    for at in stopped: w[at].signal("STOP")
    w[2].run("nft", "add table ip t"); w[2].run("nft", "add chain ip t in { type filter hook input priority 0; }")
    w[2].run("nft", "add rule ip t in tcp dport 9300 drop")
    w.wait(lambda: False, 15)

@case({"link-cut", "unreachable-publish-address"}, about=["n0", "n2"], heals=False)
def a_firewall_drops_all_that_comes_to_one(w): walled(w)

@case({"link-cut", "unreachable-publish-address"}, about=["n1", "n2"], asked=1, heals=False)
def a_firewall_drops_all_that_comes_to_one_and_another_is_asked(w): walled(w)

@case({"link-cut", "unreachable-publish-address"}, "frozen-node", about=["n0", "n1", "n2"], count=5, heals=False)
def a_firewall_drops_all_that_comes_to_one_of_five_and_one_is_stopped(w): walled(w, 1)

# Nothing of the nodes' own comes in or goes out, and its users are answered.
def severed(w):
    w.open(); w.form(); w.wait(lambda: False, 2)
    w[2].run("nft", "add table ip t")
    for way, port in (("input", "dport"), ("output", "dport"), ("input", "sport")):
        w[2].run("nft", f"add chain ip t {way}{port} {{ type filter hook {way} priority 0; }}")
        w[2].run("nft", f"add rule ip t {way}{port} tcp {port} 9300 drop")
    w.wait(lambda: False, 10)

@case("link-cut", about=["n0", "n2"], heals=False)
def a_firewall_drops_all_of_the_nodes_own_at_one(w): severed(w)

@case("link-cut", about=["n1", "n2"], asked=1, heals=False)
def a_firewall_drops_all_of_the_nodes_own_at_one_and_another_is_asked(w): severed(w)

@case("wrong-seed", about=["n2"], asked=2)
def one_looks_for_the_others_at_a_port_that_is_none(w):
    w.open()
    w[2].settings["discovery.zen.ping.unicast.hosts"] = json.dumps([f"{node.host}:9301" for node in w.nodes[:2]])
    w.form(w.nodes[:2]); w.start(2); w.wait(lambda: False, 4)

@case("wrong-seed", about=["n0"])
def two_have_the_next_port_and_are_looked_for_at_the_usual_one(w):
    w.open()
    for node in w.nodes:
        node.settings["discovery.zen.ping.unicast.hosts"] = json.dumps([each.host for each in w.nodes])
    for node in w.nodes[1:]:
        node.settings["transport.port"] = "9301"
    w.start(); w.wait(lambda: False, 6)

# Nobody else is on its machine: it must have told itself why it did not start.
def fails_to_start(w, *faults):
    """Ends n2, and has it fail to start for what was done to it."""
    w.form(); w.wait(lambda: False, 1)
    w[2].signal("KILL"); w.wait(lambda: not w[2].is_running(), 5)
    for fault in faults: fault(w[2])
    w[2].start(); w.wait(lambda: not w[2].is_running(), 10)

def damaged(node):
    state = os.path.join(node.root, "srv/data/nodes/0/_state")
    for name in os.listdir(state):
        with open(os.path.join(state, name), "r+b") as file: file.seek(40); file.write(b"\0" * 64)

# Of several ports it would take the next one.
def taken(node):
    node.settings["transport.port"] = "9300"; node.beside(9300)

def moved_away(node): node.move("10.88.0.103")

@case("port-in-use", about=["n2"])
def another_program_has_the_port_of_one(w): w.open(); fails_to_start(w, taken)

@case("port-in-use", about=["n2"], asked=1)
def another_program_has_the_port_of_one_with_certificates(w): w.certify(); fails_to_start(w, taken)

@case("data-damaged", about=["n2"])
def the_data_of_one_is_damaged(w): w.open(); fails_to_start(w, damaged)

@case("data-damaged", about=["n2"], asked=1)
def the_data_of_one_is_damaged_with_certificates(w): w.certify(); fails_to_start(w, damaged)

@case("bad-address", about=["n2"])
def the_machine_of_one_has_another_address(w): w.open(); fails_to_start(w, moved_away)

# It runs where its certificate was not made for, and is believed nowhere.
def renumbered(w):
    w.certify(); w.form(); w.wait(lambda: False, 1)
    w[2].signal("TERM"); w[2].move("10.88.0.109"); w[2].settings["network.host"] = w[2].host
    w[2].start(); w.wait(lambda: False, 16)

@case("authorities-differ", about=["n2"])
def the_certificate_of_one_is_for_the_address_that_it_had(w): renumbered(w)

@case("authorities-differ", about=["n2"], asked=2)
def the_certificate_of_one_is_for_the_address_that_it_had_and_it_is_asked(w): renumbered(w)

# Its file was replaced by one that says nothing of security.
def opened(w):
    w.certify(); w.form(); w.wait(lambda: False, 2)
    w[2].signal("TERM")
    for name in ("secret", "certificate", "key", "authorities"): w[2].settings.pop(f"zazen.security.{name}")
    w[2].settings["zazen.security.allow_open"] = "true"
    w[2].start(); w.wait(lambda: False, 6)

@case({"authorities-differ", "secrets-differ"}, about=["n2", "10.88.0.3:9300"])
def the_file_of_one_says_nothing_of_its_certificates_any_more(w): opened(w)

@case({"authorities-differ", "secrets-differ"}, about=["n2"], asked=2)
def the_file_of_one_says_nothing_of_its_certificates_any_more_and_it_is_asked(w): opened(w)

@case("authorities-differ", about=["n2"], asked=2)
def the_file_of_one_lacks_some_lines_of_its_certificates(w):
    w.certify()
    for name in ("certificate", "key", "authorities"): del w[2].settings[f"zazen.security.{name}"]
    w.start(); w.formed(w.nodes[:2])

@case("wrong-cluster-name", about=["n2"], asked=2)
def one_has_another_name_than_its_certificate(w):
    w.certify(); w[2].settings["cluster.name"] = "machnies"; w.start(); w.formed(w.nodes[:2])

@case("wrong-cluster-name", about=["10.88.0.3:9300"])
def one_has_another_name_than_its_certificate_and_another_one_is_asked(w):
    w.certify(); w[2].settings["cluster.name"] = "machnies"; w.start(); w.formed(w.nodes[:2])

@case("loopback-only", about=["n2"])
def one_with_certificates_listens_on_loopback_only(w):
    w.certify(); del w[2].settings["network.host"]; w.start(); w.formed(w.nodes[:2]); w.wait(lambda: False, 14)

@case("authorities-differ", about=["10.88.0.2:9300", "10.88.0.3:9300"])
def each_host_made_an_authority_of_its_own(w):
    for node in w.nodes: w.certify(at=node.number, which=[node])
    w.start(); w.wait(lambda: False, 6)

@case("wrong-cluster-name", "loopback-only", about=["n1", "n2", "10.88.0.3:9300"])
def one_has_another_cluster_name_and_one_listens_on_loopback(w):
    w.open(); w[1].settings["cluster.name"] = "shpo"; del w[2].settings["network.host"]
    w.start(); w.wait(lambda: False, 16)

# Its own directory is mounted, and not the whole machine.
def sealed(node):
    node.run("mount", "--bind", "/srv/data", "/srv/data"); node.run("mount", "-o", "remount,bind,ro", "/srv/data")

@case("data-not-writable", about=["n2"])
def the_disk_of_one_was_mounted_to_be_read_only(w): w.open(); fails_to_start(w, sealed)

# The table says where its disk belongs, and it is not there after the machine was started again.
@case("data-elsewhere", about=["n1", "n2"])
def the_disks_of_two_are_not_mounted(w):
    w.open()
    for node in w.nodes[1:]:
        os.makedirs(os.path.join(node.root, "srv/disk")); os.makedirs(os.path.join(node.root, "srv/data"))
        with open(os.path.join(node.root, "srv/fstab"), "w") as table: table.write("/srv/disk /srv/data none bind 0 0\n")
        node.run("mount", "--bind", "/srv/fstab", "/etc/fstab"); node.run("mount", "/srv/data")
    w.form(); w.wait(lambda: False, 1)
    for node in w.nodes[1:]:
        node.signal("KILL"); w.wait(lambda: not node.is_running(), 5); node.run("umount", "/srv/data")
        node.start()
    w.wait(lambda: False, 6)

# Only where its data is was left when its file was replaced.
@case("bad-settings", about=["n2"], asked="start")
def the_file_of_one_was_replaced(w):
    w.open(); w.form(); w.wait(lambda: False, 2); w[2].signal("KILL"); w.wait(lambda: not w[2].is_running(), 5)
    w[2].settings = {"path.data": "/srv/data"}
    w[2].start(); w.wait(lambda: not w[2].is_running(), 10)

# Its files are there, and nothing in its configuration names them.
@case("authorities-differ", about=["10.88.0.3:9300", "n2"], asked=1)
def a_newcomer_speaks_in_the_clear_beside_its_certificates(w):
    w.certify()
    for name in [key for key in w[2].settings if key.startswith("zazen.security.")]: del w[2].settings[name]
    w[2].settings["zazen.security.allow_open"] = "true"
    w.start(); w.formed(w.nodes[:2])

# Nobody met anybody: what is open are the ports for users. No line opens a firewall that nobody knows of.
@case("link-cut", about=["10.88.0.2:9300", "10.88.0.3:9300"], heals=False)
def firewalls_before_the_ports_for_nodes_were_there_first(w):
    w.open()
    for node in w.nodes:
        node.run("nft", "add table ip t"); node.run("nft", "add chain ip t in { type filter hook input priority 0; }")
        node.run("nft", 'add rule ip t in iifname != "lo" tcp dport 9300 drop')
    w.start(); w.wait(lambda: False, 8)

# It never was there, and says itself why.
@case("port-in-use", about=["n3"], count=4)
def another_program_has_the_port_of_a_newcomer(w):
    w.open(); w.form(w.nodes[:3]); taken(w[3]); w.start(3); w.wait(lambda: not w[3].is_running(), 10)

@case()
def healthy_after_a_start_that_failed(w):
    w.open(); w.form(w.nodes[:2])
    user = w[2].settings.pop("network.host"); w[2].settings["network.host"] = "10.99.9.9"
    w.start(2); w.wait(lambda: not w[2].is_running(), 10)
    w[2].settings["network.host"] = user; w.start(2); w.formed()

# What its file says otherwise is enough to know whom to tell.
@case("bad-settings", about=["n2"])
def a_key_of_one_is_mistyped(w):
    w.open(); fails_to_start(w, lambda node: node.settings.update({"discovery.zen.fd.ping_timout": "1s"}))

@case("bad-settings", about=["n2"], asked=1)
def a_value_of_one_has_no_unit_with_certificates(w):
    w.certify(); fails_to_start(w, lambda node: node.settings.update({"discovery.zen.fd.ping_interval": "500"}))
