//! The `zazen` command beside the nodes of a test, as its user runs it.

use super::node::Node;
use std::process::{Child, Command, Output, Stdio};

/// The command with these arguments, which speaks to these nodes where it speaks to nodes.
pub(crate) fn zazen(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_zazen"));
    command.args(arguments).stdin(Stdio::null());
    command
}

/// What a command printed, if it ended so.
pub(crate) fn output(code: i32, arguments: &[&str]) -> String {
    let Output { status, stdout, stderr } = zazen(arguments).output().expect("the command can be run");
    let (out, err) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert_eq!(status.code(), Some(code), "zazen {}\n{out}\n{err}", arguments.join(" "));
    format!("{out}{err}")
}

/// Where a node listens to its users.
pub(crate) fn url(node: &Node) -> String {
    format!("--url=127.0.0.1:{}", node.http)
}

/// A process that ends with the test.
pub(crate) struct Running(pub(crate) Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
