//! What is tried in simulated time: random runs and what judges them, stories, the lab, and nodes that are lied to.
//!
//! One program for all of it, since a processor that waits for the end of one is busy with the next.

mod crowd;
mod diff;
mod explain;
mod explore;
mod flaws;
mod golden;
mod graphs;
mod hostile;
mod lab;
mod language;
#[path = "../generate/messages.rs"]
mod messages;
mod mutants;
#[allow(dead_code, reason = "each test uses its own part of it")]
#[path = "../generate/mutations.rs"]
mod mutations;
mod nodes;
mod parallel;
mod runs;
mod scripts;
#[path = "../generate/states.rs"]
mod states;
#[path = "../generate/tasks.rs"]
mod tasks;
mod world;
