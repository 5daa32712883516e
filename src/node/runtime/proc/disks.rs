//! What Linux tells of the file system and the device that a directory is on.

use super::read;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Kernels count in sectors of this size, whatever the device has.
const SECTORS_IN_KILOBYTE: u64 = 2;

/// Where data lies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataPlace {
    /// The directory.
    pub path: String,
    /// Where the file system with it is mounted, and from what.
    pub mount: String,
    /// What kind of file system it is.
    pub kind: String,
}

/// What was read from and written to a device since the node began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceUse {
    /// The device.
    pub device: String,
    /// How many reads there were.
    pub reads: u64,
    /// How many writes there were.
    pub writes: u64,
    /// How much was read, in units of 1024 bytes.
    pub read_kilobytes: u64,
    /// How much was written.
    pub written_kilobytes: u64,
}

impl DeviceUse {
    /// What was done since an earlier reading.
    pub(in crate::runtime) fn since(self, before: &DeviceUse) -> DeviceUse {
        DeviceUse {
            device: self.device,
            reads: self.reads.saturating_sub(before.reads),
            writes: self.writes.saturating_sub(before.writes),
            read_kilobytes: self.read_kilobytes.saturating_sub(before.read_kilobytes),
            written_kilobytes: self.written_kilobytes.saturating_sub(before.written_kilobytes),
        }
    }
}

/// Where a directory is mounted, and from what.
pub(in crate::runtime) fn data_place(path: &Path) -> Option<DataPlace> {
    let mounts = read("/proc/self/mountinfo")?;
    let (mount, kind) = parse_mount(&mounts, device(path)?)?;
    let path = std::path::absolute(path).ok()?.display().to_string();
    Some(DataPlace { path, mount, kind })
}

/// What was read from and written to the device of a directory since the system began.
pub(in crate::runtime) fn device_use(path: &Path) -> Option<DeviceUse> {
    parse_device(&read("/proc/diskstats")?, device(path)?)
}

/// The numbers of the device that a directory is on.
fn device(path: &Path) -> Option<(u32, u32)> {
    let device = rustix::fs::stat(path).ok()?.st_dev;
    Some((rustix::fs::major(device), rustix::fs::minor(device)))
}

/// A line of `mountinfo`: numbers, `major:minor`, root, mount point, options, a dash, kind, source.
fn parse_mount(mounts: &str, (major, minor): (u32, u32)) -> Option<(String, String)> {
    let numbers = format!("{major}:{minor}");
    mounts.lines().find_map(|line| {
        let (mount, source) = line.split_once(" - ")?;
        let mount: Vec<&str> = mount.split(' ').collect();
        let mut source = source.split(' ');
        if *mount.get(2)? != numbers {
            return None;
        }
        let (kind, from) = (source.next()?, source.next()?);
        Some((format!("{} ({from})", mount.get(4)?), kind.to_owned()))
    })
}

/// A line of `diskstats`: major, minor, name, reads, merged, sectors read, milliseconds, writes, merged, sectors written.
fn parse_device(devices: &str, (major, minor): (u32, u32)) -> Option<DeviceUse> {
    devices.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |at: usize| words.get(at)?.parse::<u64>().ok();
        if (number(0)?, number(1)?) != (major.into(), minor.into()) {
            return None;
        }
        Some(DeviceUse {
            device: (*words.get(2)?).to_owned(),
            reads: number(3)?,
            writes: number(7)?,
            read_kilobytes: number(5)? / SECTORS_IN_KILOBYTE,
            written_kilobytes: number(9)? / SECTORS_IN_KILOBYTE,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_found_by_the_device_that_it_is_on() {
        let mounts =
            "22 27 0:21 / /proc rw,relatime - proc proc rw\n27 1 254:0 / /data rw shared:1 - ext4 /dev/vda rw\n";
        assert_eq!(parse_mount(mounts, (254, 0)), Some(("/data (/dev/vda)".into(), "ext4".into())));
        assert_eq!(parse_mount(mounts, (1, 1)), None);
        let devices = "   7 0 loop0 0 0 0 0 0 0 0 0 0 0 0\n 254 0 vda 10 1 200 5 30 2 401 6 0 0 0\n";
        let expected =
            DeviceUse { device: "vda".into(), reads: 10, writes: 30, read_kilobytes: 100, written_kilobytes: 200 };
        assert_eq!(parse_device(devices, (254, 0)), Some(expected));
        assert_eq!(parse_device("254 0 vda 1", (254, 0)), None);
    }
}
