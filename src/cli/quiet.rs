//! Panics that are expected and caught: they are told in a report, not by the default message.
//!
//! A node's assertion is a finding of the simulator, so what matters of it is kept; everybody else's panic is printed as
//! ever.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe};

thread_local! {
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// What came of quiet work.
pub(super) struct Quiet<T> {
    /// What it gave, or the message of the panic that it did not catch itself.
    pub(super) result: Result<T, String>,
    /// Where it panicked last, whoever caught that.
    pub(super) place: Option<String>,
}

/// Lets the panics of quiet work pass without a message; to be called once, at the start.
pub(super) fn install() {
    let otherwise = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        if IS_QUIET.get() {
            PLACE.set(panic.location().map(ToString::to_string));
        } else {
            otherwise(panic);
        }
    }));
}

/// Does work whose panics are not printed.
pub(super) fn quietly<T>(work: impl FnOnce() -> T) -> Quiet<T> {
    IS_QUIET.set(true);
    let result = panic::catch_unwind(AssertUnwindSafe(work)).map_err(|panic| message(panic.as_ref()));
    IS_QUIET.set(false);
    Quiet { result, place: PLACE.take() }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without a message").to_owned()
}
