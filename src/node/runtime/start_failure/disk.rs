//! What to type when the file system refuses a data directory: make room, take it over, or go elsewhere.

use super::{about, absolute, start, starts, text};
use crate::diagnose::{Code, Mend, moved, quoted};
use crate::runtime::host::roomy;
use crate::runtime::proc::mount_point;
use crate::settings::NodeSettings;
use rustix::io::Errno;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Where the system itself shows files: nobody else makes any there.
const OF_THE_SYSTEM: [&str; 2] = ["/proc", "/sys"];

/// The user of this process.
#[derive(Clone, Copy)]
struct User {
    id: u32,
    group: u32,
}

impl User {
    fn own() -> Self {
        User { id: rustix::process::geteuid().as_raw(), group: rustix::process::getegid().as_raw() }
    }

    /// A line that root types or that asks for its password, in which the node runs as this user all the same.
    fn by_root(self, settings: &NodeSettings, before: &str) -> Option<Mend> {
        if self.id == 0 {
            return start(settings, before);
        }
        let mend = starts(settings)?.owned_by(Some((self.id, self.group))).mend(before);
        let shell = if has_program("sudo") { "sudo sh -c" } else { "su -c" };
        Some(about(settings, Mend { line: format!("{shell} {}", quoted(&mend.line)), ..mend }))
    }
}

/// What a file system refused at a path: for want of room, of rights, or because it is read-only.
pub(super) fn refused(at: &Path, source: &io::Error, settings: &NodeSettings) -> (Code, Option<Mend>) {
    let path = absolute(&settings.path_data);
    let (user, kind) = (User::own(), source.kind());
    if kind == io::ErrorKind::StorageFull {
        return (Code::DiskFull, to_another_disk(&path, settings));
    }
    let mend = if kind == io::ErrorKind::FileTooLarge {
        start(settings, "ulimit -f unlimited && ")
    } else if kind == io::ErrorKind::ReadOnlyFilesystem {
        let own = Path::new(&path).ancestors().find_map(|above| fs::canonicalize(above).ok());
        let mount = own.and_then(|own| mount_point(&own)).unwrap_or_else(|| PathBuf::from(&path));
        let mount = quoted(&mount.display().to_string());
        user.by_root(settings, &format!("mount -o remount,rw {mount} && "))
    } else if source.raw_os_error() == Some(Errno::PERM.raw_os_error()) && user.id == 0 {
        // What root may not do, an attribute of the file keeps it from.
        start(settings, &format!("chattr -R -i {} && ", quoted(&path)))
    } else if kind == io::ErrorKind::PermissionDenied && is_reached(Path::new(&path)) {
        let owner = at.ancestors().find_map(|above| fs::metadata(above).ok()).map(|about| about.uid());
        let is_there = Path::new(&path).exists();
        let line = taken_over(&path, is_there, owner, user);
        // To what is its own it can give itself the rights.
        if is_there && owner == Some(user.id) { start(settings, &line) } else { user.by_root(settings, &line) }
    } else {
        elsewhere(settings)
    };
    (Code::DataNotWritable, mend)
}

/// Everything goes to a disk with room.
fn to_another_disk(path: &str, settings: &NodeSettings) -> Option<Mend> {
    let name = settings.node_name.as_deref().unwrap_or("node");
    // It may not have been made yet.
    let there = Path::new(path).ancestors().find(|above| above.exists())?;
    let new = roomy(there).map(|roomy| unused(&format!("{roomy}/zazen-{name}")))?;
    // Where nothing is to be moved, not even a link may have room.
    if !Path::new(path).join("nodes").exists() {
        return Some(text(settings, "path.data", &new));
    }
    Some(about(settings, starts(settings)?.mend(&moved(path, &new))))
}

/// Makes the directory this user's, as the beginning of a line. What it owns already only needs its rights.
fn taken_over(path: &str, is_there: bool, owner: Option<u32>, user: User) -> String {
    let path = quoted(path);
    let rights = format!("chmod -R u+rwX {path} && ");
    if is_there && owner == Some(user.id) {
        return rights;
    }
    let made = if is_there { String::new() } else { format!("mkdir -p {path} && ") };
    format!("{made}chown -R {}:{} {path} && {rights}", user.id, user.group)
}

/// Whether a program of this name is on the path.
fn has_program(name: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|directory| directory.join(name).is_file())
}

/// Whether the directories above a path can be gone through, and it can be one of a node: to own it would not help else.
fn is_reached(path: &Path) -> bool {
    let mut existing = path.ancestors().skip(1).filter(|above| above.exists());
    let is_open = |above: &Path| rustix::fs::access(above, rustix::fs::Access::EXEC_OK).is_ok();
    // Behind one that is closed all others look as if they were not there.
    existing.all(is_open) && !is_of_the_system(path)
}

/// Another data directory that can be made, with which the node joins as a new one: beside its own, beside its file, or at
/// home.
pub fn elsewhere(settings: &NodeSettings) -> Option<Mend> {
    let name = settings.node_name.as_deref().unwrap_or("node");
    let beside = format!("{}-new", absolute(&settings.path_data));
    let all = [Some(beside), beside_file(settings, &format!("data-{name}")), at_home(&format!("zazen-{name}"))];
    let mut all = all.into_iter().flatten().map(|path| unused(&path));
    all.find(|path| can_be_made(Path::new(path))).map(|new| text(settings, "path.data", &new))
}

/// Another directory for the log: beside the one that cannot be written, below the data, beside the file, or at home; else
/// root makes it this user's.
pub(super) fn logs_elsewhere(path: &Path, settings: &NodeSettings) -> Option<Mend> {
    let name = settings.node_name.as_deref().unwrap_or("node");
    let beside = format!("{}-new", absolute(path));
    let below = absolute(&settings.path_data.join("logs"));
    let home = at_home(&format!("zazen-{name}/logs"));
    let mut all = [Some(beside), Some(below), beside_file(settings, "logs"), home].into_iter().flatten();
    let is_one = |other: &String| Path::new(other) != path && can_be_made(Path::new(other));
    let mend = all.find(is_one).map(|new| text(settings, "path.logs", &new));
    mend.or_else(|| User::own().by_root(settings, &taken_over(&absolute(path), path.exists(), None, User::own())))
}

fn beside_file(settings: &NodeSettings, name: &str) -> Option<String> {
    let file = settings.file.as_deref().map(absolute).map(PathBuf::from)?;
    file.parent().map(|dir| format!("{}/{name}", dir.display()))
}

fn at_home(name: &str) -> Option<String> {
    env::var("HOME").ok().filter(|home| home.starts_with('/')).map(|home| format!("{home}/{name}"))
}

/// Whether a directory can be made here, as far as rights tell.
fn can_be_made(path: &Path) -> bool {
    let nearest = path.ancestors().find(|above| above.exists());
    let is_open = |above: &Path| rustix::fs::access(above, rustix::fs::Access::WRITE_OK).is_ok();
    nearest.is_some_and(|above| above.is_dir() && is_open(above)) && !is_of_the_system(path)
}

fn is_of_the_system(path: &Path) -> bool {
    OF_THE_SYSTEM.iter().any(|system| path.starts_with(system))
}

/// A path that begins so and is that of nothing: what is there already is somebody's.
fn unused(beginning: &str) -> String {
    let numbered = (2..1_000).map(|number| format!("{beginning}-{number}"));
    let mut all = std::iter::once(beginning.to_owned()).chain(numbered);
    all.find(|path| !Path::new(path).exists()).unwrap_or_else(|| beginning.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_taken_over_by_the_user_that_the_node_runs_as() {
        let (user, root) = (User { id: 70, group: 71 }, User { id: 0, group: 0 });
        let chmod = "chmod -R u+rwX /d && ";
        let cases = [
            (true, Some(0), user, format!("chown -R 70:71 /d && {chmod}")),
            (false, Some(0), user, format!("mkdir -p /d && chown -R 70:71 /d && {chmod}")),
            (true, Some(70), user, chmod.to_owned()),
            (true, Some(70), root, format!("chown -R 0:0 /d && {chmod}")),
        ];
        for (is_there, owner, user, expected) in cases {
            assert_eq!(taken_over("/d", is_there, owner, user), expected);
        }
    }

    #[test]
    fn no_directory_is_proposed_that_cannot_be_made() {
        let beside = env::temp_dir().join(format!("zazen-made-{}", std::process::id()));
        assert!(can_be_made(&beside.join("a/b")) && !beside.exists());
        assert!(!can_be_made(Path::new("/proc/foo-new")));
        assert!(!is_reached(Path::new("/proc/foo")) && is_reached(&beside));
    }
}
