//! Files that hold secrets and certificates: the former read by their owner only, and none longer than it need be.

use rustix::fs::OFlags;
use rustix::process::geteuid;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Longer files hold no secrets of ours, and more certificates than anybody trusts.
const BYTES_MAX: u64 = 1 << 20;

/// Why a file of secrets cannot be used.
#[derive(Debug)]
pub enum FileError {
    /// The system does not give it.
    Unreadable(PathBuf, io::Error),
    /// Others may read it.
    Open(PathBuf, u32),
    /// Others may write it, or it is theirs: the user with this number, and this mode.
    Foreign(PathBuf, u32, u32),
    /// What is in it makes no sense.
    Strange(PathBuf, String),
    /// These settings are not given, and belong to others that are.
    Incomplete(Vec<&'static str>),
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FileError::Unreadable(path, error) => write!(f, "cannot read [{}]: {error}", path.display()),
            FileError::Open(path, mode) => write!(
                f,
                "[{}] has the mode {mode:04o}, so others may read the secrets in it; allowed: 0600, as after `chmod 600 {}`",
                path.display(),
                path.display()
            ),
            FileError::Foreign(path, user, mode) => write!(
                f,
                "[{}] belongs to the user {user} and has the mode {mode:04o}, so others may change what is in it; allowed: \
                 files of this user or root that nobody else may write",
                path.display()
            ),
            FileError::Strange(path, why) => write!(f, "[{}]: {why}", path.display()),
            FileError::Incomplete(missing) => {
                let (missing, what) = (missing.join(", "), "zazen.security.{certificate,key,authorities}");
                write!(f, "[{missing}] is not set; of [{what}] all are needed, or none")
            }
        }
    }
}

impl std::error::Error for FileError {}

/// The text of a file that only its owner may read, who is this user or root.
pub fn read_private(path: &Path) -> Result<String, FileError> {
    let (file, mode) = open(path)?;
    if mode & 0o077 != 0 {
        return Err(FileError::Open(path.to_owned(), mode));
    }
    String::from_utf8(bounded(path, file)?).map_err(|error| FileError::Strange(path.to_owned(), error.to_string()))
}

/// What is in a file that everybody may read, and only this user or root may write.
pub(super) fn read_public(path: &Path) -> Result<Vec<u8>, FileError> {
    let (file, _) = open(path)?;
    bounded(path, file)
}

/// A file that nobody else can change, and who may do what with it. Whatever may never come to an end of its own is none.
fn open(path: &Path) -> Result<(File, u32), FileError> {
    let unreadable = |error| FileError::Unreadable(path.to_owned(), error);
    let at_once = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(at_once).open(path).map_err(unreadable)?;
    let found = file.metadata().map_err(unreadable)?;
    if !found.is_file() {
        return Err(FileError::Strange(path.to_owned(), "it is no regular file".into()));
    }
    let (mode, owner) = (found.mode() & 0o777, found.uid());
    let is_own = owner == geteuid().as_raw() || owner == 0;
    // The group of a mounted file may be that of all its readers.
    if !is_own || mode & 0o002 != 0 {
        return Err(FileError::Foreign(path.to_owned(), owner, mode));
    }
    Ok((file, mode))
}

fn bounded(path: &Path, file: File) -> Result<Vec<u8>, FileError> {
    let mut bytes = Vec::new();
    let read = file.take(BYTES_MAX + 1).read_to_end(&mut bytes);
    read.map_err(|error| FileError::Unreadable(path.to_owned(), error))?;
    if bytes.len() as u64 > BYTES_MAX {
        let why = format!("it has more than {BYTES_MAX} bytes");
        return Err(FileError::Strange(path.to_owned(), why));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_end_is_not_read_to_it() {
        let told = read_public(Path::new("/dev/zero")).expect_err("it has no end");
        assert_eq!(told.to_string(), "[/dev/zero]: it is no regular file");
    }
}
