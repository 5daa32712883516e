//! The `zazen` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    zazen::cli::main()
}
