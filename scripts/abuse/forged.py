"""What nobody may say to a node but another node of its cluster, and that one only in its own name.

Every request of tests/wire/messages.json in the name of a member, with what is true of the cluster; and those with which a
stranger once ended, took over or misled a cluster.
"""

import copy
import json
import random
from pathlib import Path

SAMPLES = Path(__file__).resolve().parents[2] / "tests" / "wire" / "messages.json"
LAST_TERM = 2**53
# The paths of src/node/runtime/peers/paths.rs.
PATHS = {
    "ping": "ping", "notice": "notice", "join": "join", "fetch": "fetch", "publish": "publish", "commit": "commit", "node_ping": "fd/node",
    "master_ping": "fd/master", "call_vote": "handover", "leave": "leave", "submit": "task", "read": "read", "pending_tasks": "task/pending",
    "relay": "task/relay", "succession": "handover/wish",
}
# Where nobody of the cluster is, and the one who listens there wants to be called.
LURE = "127.9.9.9"


def node_of(state, host):
    """The member of a state on a host."""
    return next(node for node in state["nodes"]["nodes"] if node["address"].rsplit(":", 1)[0] == host)


def identity(state):
    return {name: state[name] for name in ("term", "version", "uuid")}


def samples(sender):
    """One message of every form, in the name of a sender."""
    for number, each in enumerate(json.loads(SAMPLES.read_text())):
        if each["kind"] in PATHS:
            body = copy.deepcopy(each["body"]) | {"from": sender}
            for late in ("timeout_us", "master_timeout_us"):
                body |= {late: 200_000} if late in body else {}
            yield f"{each['kind']} {number}", each["kind"], body


def forged(state, speaker, target):
    """Names, kinds and bodies of all messages in the name of `speaker`, for `target`."""
    sender = {"cluster_name": state["cluster_name"], "cluster_uuid": state["cluster_uuid"], "node": speaker}
    yield from samples(sender)
    own, later = identity(state), {"term": state["term"] + 1, "version": state["version"] + 1, "uuid": "AAABIAAAAAAAAAAAAAAAEg"}
    last = later | {"term": LAST_TERM}
    for term in (state["term"] + 1, LAST_TERM):
        yield f"join of term {term}", "join", {"from": sender, "join": {"to": target["id"], "term": term, "vote": True, "accepted": own}}
        yield f"call_vote of term {term}", "call_vote", {"from": sender, "term": term, "candidate": speaker}
    for new in (later, last):
        forgery = copy.deepcopy(state) | new
        forgery["nodes"]["master"] = speaker["id"]
        forgery["metadata"]["voting"] = {"committed": [speaker["id"]], "own": [speaker["id"]]}
        body = {"from": sender, "term": new["term"], "committed": new, "state": {"full": forgery}}
        yield f"publish of term {new['term']}", "publish", body
        yield f"commit of term {new['term']}", "commit", {"from": sender, "id": new}
    lure = speaker | {"id": "lure", "ephemeral_id": "lure", "name": "lure", "address": f"{LURE}:9300"}
    sight = {"node": lure, "master": {"node": lure, "ago_us": 0}, "term": LAST_TERM, "accepted": last, "masterless": False}
    sight |= {"sees_quorum": True, "awake": True, "change": 1}
    for kind in ("ping", "notice"):
        yield f"{kind} that names an address", kind, {"from": sender, "sight": sight}
    yield "succession to the target", "succession", {"from": sender, "to": target["id"]}
    tasks = {
        "forged key": {"txn": {"puts": [{"key": "secret/x", "value": "forged"}]}},
        "forged settings": {"put_settings": {"persistent": [["cluster.metadata.forged", "true"]]}},
        "removal of a member": {"remove": {"id": target["id"], "ephemeral_id": target["ephemeral_id"], "reason": "failed to ping", "left": False}},
        "removal of a voter": {"remove_voter": {"id": target["id"]}},
        "forged lease": {"grant_lease": {"name": "forged", "holder": "nobody", "ttl_ms": 10_000}},
    }
    for name, task in tasks.items():
        yield name, "submit", {"from": sender, "task": task, "timeout_us": 200_000, "master_timeout_us": 200_000}


def acknowledgements(state, follower, count):
    """Frames of a link that acknowledge all there is and more, in the name of a follower, whatever was asked."""
    newest = identity(state)
    report = {"ephemeral_id": follower["ephemeral_id"], "term": state["term"], "follows": state["nodes"]["master"]}
    for number in range(count):
        ahead = newest | {"version": newest["version"] + random.randint(0, 9)}
        body = {"v": 1, "kind": "report", "body": report | {"accepted": ahead, "committed": ahead}}
        yield f"answer {number} {json.dumps(body)}".encode()
