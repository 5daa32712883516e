//! Where file systems are mounted, and where the system's table says that some are to be.

use super::read;
use std::path::{Path, PathBuf};

/// The directory at which the file system of a path is mounted.
pub(in crate::runtime) fn mount_point(path: &Path) -> Option<PathBuf> {
    mounted(&read("/proc/self/mountinfo")?)
        .filter(|mount| path.starts_with(mount))
        .max_by_key(|mount| mount.as_os_str().len())
}

/// The directory that holds a path where a file system is to be mounted, and none is.
pub(in crate::runtime) fn unmounted(path: &Path) -> Option<PathBuf> {
    let (table, mounts) = (read("/etc/fstab")?, read("/proc/self/mountinfo")?);
    missing(&table, &mounts, path)
}

/// Lines of `mountinfo`: two numbers, `major:minor`, root, mount point.
fn mounted(mounts: &str) -> impl Iterator<Item = PathBuf> {
    mounts.lines().filter_map(|line| line.split(' ').nth(4)).map(plain)
}

/// Lines of `fstab`: device, mount point.
fn missing(table: &str, mounts: &str, path: &Path) -> Option<PathBuf> {
    let lines = table.lines().map(str::trim_start).filter(|line| !line.starts_with('#'));
    let named =
        lines.filter_map(|line| line.split_whitespace().nth(1)).filter(|mount| mount.starts_with('/')).map(plain);
    let nearest = named.filter(|mount| path.starts_with(mount)).max_by_key(|mount| mount.as_os_str().len())?;
    (!mounted(mounts).any(|mount| mount == nearest)).then_some(nearest)
}

/// A path as both write it: blanks and backslashes as three octal digits.
fn plain(written: &str) -> PathBuf {
    let escapes = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    escapes.iter().fold(written.to_owned(), |path, (escape, char)| path.replace(escape, char)).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n30 22 8:2 / /var/my\\040data rw - ext4 /dev/sda2 rw\n";

    #[test]
    fn a_file_system_of_the_table_that_is_not_there_is_missed_by_what_lies_beneath() {
        let table = "# a comment\nUUID=1 / ext4 defaults 0 1\n/dev/sdb1 /var/lib/zazen ext4 defaults\n/dev/sda2 /var/my\\040data\n\
                     UUID=2 none swap sw\n";
        let of = |path: &str| missing(table, MOUNTS, Path::new(path));
        assert_eq!(of("/var/lib/zazen/data"), Some("/var/lib/zazen".into()));
        assert_eq!(of("/var/lib/zazen"), Some("/var/lib/zazen".into()));
        for there in ["/var/lib/zazen2", "/var/my data/zazen", "/srv"] {
            assert_eq!(of(there), None, "{there}");
        }
    }

    #[test]
    fn the_innermost_of_the_mounts_around_a_path_is_that_of_it() {
        let of = |path: &Path| {
            mounted(MOUNTS).filter(|mount| path.starts_with(mount)).max_by_key(|mount| mount.as_os_str().len())
        };
        assert_eq!(of(Path::new("/var/my data/zazen")), Some("/var/my data".into()));
        assert_eq!(of(Path::new("/var/my")), Some("/".into()));
    }
}
