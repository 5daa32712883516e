//! Where the program of this process lies, so that it can be started again.

use std::path::{Path, PathBuf};
use std::{env, io};

/// What Linux puts behind the path of a program whose file is no longer there.
const DELETED: &str = " (deleted)";

/// The program of this process; `zazen` if that cannot be told.
pub fn program() -> String {
    path().map_or_else(|_| "zazen".into(), |path| path.display().to_string())
}

fn path() -> io::Result<PathBuf> {
    env::current_exe().map(|path| replaced(&path).or_else(|| removed(&path)).unwrap_or(path))
}

/// A program that was removed is there as long as a process of it runs.
fn removed(path: &Path) -> Option<PathBuf> {
    let is_removed = path.to_str()?.ends_with(DELETED) && !path.exists();
    is_removed.then(|| PathBuf::from(format!("/proc/{}/exe", std::process::id())))
}

/// The program that was put in the place of one, as by `mv` or a package; none if there is none, or none was replaced.
fn replaced(path: &Path) -> Option<PathBuf> {
    let now = PathBuf::from(path.to_str()?.strip_suffix(DELETED)?);
    (now.is_file() && !path.exists()).then_some(now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_was_replaced_is_started_from_where_it_was() {
        let here = env::current_exe().expect("a test is a program");
        let deleted = |path: &Path| PathBuf::from(format!("{}{DELETED}", path.display()));
        assert_eq!(replaced(&deleted(&here)), Some(here.clone()));
        assert_eq!(replaced(&here), None);
        assert_eq!(replaced(&deleted(&here.join("nowhere"))), None);
        assert_eq!(program(), here.display().to_string());
        let own = format!("/proc/{}/exe", std::process::id());
        assert_eq!(removed(&deleted(&here.join("nowhere"))), Some(own.into()));
        assert_eq!(removed(&here), None);
    }
}
