//! The `zazen` command.

fn main() {}
