//! Real nodes, each a process of its own on loopback, that are killed, paused, restarted, cut off and lied to.
//!
//! What one node decides is proved elsewhere; here the binary, the sockets, the disk and the clock are the real ones. Each
//! file below holds the tests of one kind of trouble.

#[path = "process/clients.rs"]
mod clients;
#[path = "process/cluster.rs"]
mod cluster;
#[path = "process/cuts.rs"]
mod cuts;
#[path = "process/death.rs"]
mod death;
#[path = "process/experiments.rs"]
mod experiments;
#[path = "process/garbage.rs"]
mod garbage;
#[path = "process/goodbye.rs"]
mod goodbye;
#[path = "process/half_closed.rs"]
mod half_closed;
#[path = "process/half_well.rs"]
mod half_well;
#[path = "process/hang_up.rs"]
mod hang_up;
#[path = "process/history.rs"]
mod history;
#[path = "process/hooks.rs"]
mod hooks;
#[path = "process/http.rs"]
mod http;
#[path = "process/identity.rs"]
mod identity;
#[path = "process/keys.rs"]
mod keys;
#[path = "process/lease.rs"]
mod lease;
#[path = "process/limits.rs"]
mod limits;
#[path = "process/mends.rs"]
mod mends;
#[path = "process/metrics.rs"]
mod metrics;
#[path = "process/node.rs"]
mod node;
#[path = "process/overview.rs"]
mod overview;
#[path = "process/pause.rs"]
mod pause;
#[path = "process/place.rs"]
mod place;
#[path = "process/ports.rs"]
mod ports;
#[path = "process/receiver.rs"]
mod receiver;
#[path = "process/recover.rs"]
mod recover;
#[path = "process/restart.rs"]
mod restart;
#[path = "process/roles.rs"]
mod roles;
#[path = "process/security.rs"]
mod security;
#[path = "process/seeds.rs"]
mod seeds;
#[path = "process/sizes.rs"]
mod sizes;
#[path = "process/spans.rs"]
mod spans;
#[path = "process/status.rs"]
mod status;
#[path = "process/supervisor.rs"]
mod supervisor;
#[path = "process/tool.rs"]
mod tool;
#[path = "process/tuning.rs"]
mod tuning;
#[path = "process/users.rs"]
mod users;
#[path = "process/view.rs"]
mod view;
#[path = "process/watches.rs"]
mod watches;
