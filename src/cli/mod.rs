//! The `zazen` command.
