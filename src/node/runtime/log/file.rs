//! A log file of the node's own, begun anew when it is too large or too old; a few of the old ones are kept.
//!
//! Written by the one thread that writes lines, each line in one piece. A second process is kept from the file, because two
//! of them would take each other's files away. Mirrors the `RollingFile` appender of `log4j2.properties` (6.8), without its
//! packing.

use super::lines::day;
use crate::settings::LogSettings;
use rustix::fs::{FlockOperation, OFlags, flock};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// What the files may be read by: their owner and his group.
const MODE: u32 = 0o640;

/// When a file is begun anew, and how many old ones are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rotation {
    /// The size that a file does not grow beyond, but for its last line.
    pub max_size: u64,
    /// How long a file is written to.
    pub max_age: Duration,
    /// How many old files are kept.
    pub max_files: usize,
}

impl Rotation {
    /// As settings say.
    pub fn of(settings: &LogSettings) -> Self {
        let LogSettings { max_size, max_age, max_files, .. } = *settings;
        Rotation { max_size, max_age, max_files }
    }
}

/// The file.
pub struct LogFile {
    directory: PathBuf,
    /// Its name without the ending.
    stem: String,
    rotation: Rotation,
    now: fn() -> SystemTime,
    file: File,
    size: u64,
    began: SystemTime,
}

impl LogFile {
    /// Opens the file, which is appended to if it is there, and makes its directory if that is missing.
    pub fn open(directory: &Path, stem: &str, rotation: Rotation, now: fn() -> SystemTime) -> io::Result<Self> {
        // What stands in a name of a cluster must not lead out of the directory.
        let stem = stem.replace(['/', '\0'], "_");
        fs::create_dir_all(directory)?;
        let file = open(&directory.join(format!("{stem}.log")))?;
        let about = file.metadata()?;
        let size = about.len();
        let began = if size == 0 { now() } else { about.created().unwrap_or_else(|_| now()) };
        Ok(LogFile { directory: directory.into(), stem, rotation, now, file, size, began })
    }

    fn is_due(&self, more: usize) -> bool {
        let age = (self.now)().duration_since(self.began).unwrap_or_default();
        self.size > 0 && (self.size + more as u64 > self.rotation.max_size || age >= self.rotation.max_age)
    }

    /// Gives the file a name with its day and a number, and begins it anew.
    fn rotate(&mut self) -> io::Result<()> {
        let day = day((self.now)());
        let of_day = |(of, number): (String, u64)| (of == day).then_some(number);
        let number = 1 + self.old()?.into_iter().filter_map(of_day).max().unwrap_or(0);
        let old = self.directory.join(format!("{}-{day}-{number}.log", self.stem));
        let path = self.directory.join(format!("{}.log", self.stem));
        fs::rename(&path, old)?;
        self.file = open(&path)?;
        (self.size, self.began) = (0, (self.now)());
        self.remove_oldest()
    }

    fn remove_oldest(&self) -> io::Result<()> {
        let mut old = self.old()?;
        old.sort();
        let too_many = old.len().saturating_sub(self.rotation.max_files);
        let paths = old.iter().map(|(day, number)| self.directory.join(format!("{}-{day}-{number}.log", self.stem)));
        paths.take(too_many).try_for_each(fs::remove_file)
    }

    /// The days and numbers of the old files.
    fn old(&self) -> io::Result<Vec<(String, u64)>> {
        let mut old = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            old.extend(entry?.file_name().to_str().and_then(|name| put_aside(name, &self.stem)));
        }
        Ok(old)
    }

    /// Whether lines go into a file that has no name any more, since somebody removed it or its directory.
    fn is_gone(&self) -> bool {
        self.file.metadata().is_ok_and(|about| about.nlink() == 0)
    }

    /// Begins a file in the place of one that was removed.
    fn begin(&mut self) -> io::Result<()> {
        fs::create_dir_all(&self.directory)?;
        self.file = open(&self.directory.join(format!("{}.log", self.stem)))?;
        (self.size, self.began) = (self.file.metadata()?.len(), (self.now)());
        Ok(())
    }
}

/// The day and the number of a file that was put aside, `STEM-2026-11-25-3.log`; nothing of any other.
fn put_aside(name: &str, stem: &str) -> Option<(String, u64)> {
    let rest = name.strip_prefix(stem)?.strip_prefix('-')?.strip_suffix(".log")?;
    let (day, number) = rest.rsplit_once('-')?;
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_day = day.split('-').count() == 3 && day.split('-').all(is_number);
    (is_day && is_number(number)).then_some(())?;
    Some((day.to_owned(), number.parse().ok()?))
}

fn open(path: &Path) -> io::Result<File> {
    // A pipe in its place would hold the node up until somebody reads it.
    let nonblocking = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().append(true).create(true).mode(MODE).custom_flags(nonblocking).open(path)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(rustix::io::Errno::WOULDBLOCK) => {
            Err(io::Error::other("another process writes to it; give each node a path.logs of its own"))
        }
        Err(error) => Err(error.into()),
    }
}

impl Write for LogFile {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        // What cannot be begun anew is written on: a line more is worth more than a file less.
        let _ = match (self.is_gone(), self.is_due(line.len())) {
            (true, _) => self.begin(),
            (false, true) => self.rotate(),
            (false, false) => Ok(()),
        };
        self.file.write_all(line)?;
        self.size += line.len() as u64;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    static CLOCK: AtomicU64 = AtomicU64::new(0);

    fn now() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000 + CLOCK.load(Ordering::Relaxed))
    }

    fn files(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).expect("it is there");
        let mut names: Vec<String> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_pipe_in_the_place_of_a_file_is_refused_and_not_waited_for() {
        let directory = std::env::temp_dir().join(format!("zazen-log-{}", uuid::Uuid::new_v4()));
        fs::create_dir_all(&directory).expect("it can be made");
        let pipe = directory.join("prod.log");
        let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU);
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, kind, mode, 0).expect("a pipe can be made");
        assert!(open(&pipe).is_err());
        let _ = fs::remove_dir_all(&directory);
    }

    #[test]
    fn a_file_is_begun_anew_when_it_is_large_or_old_and_few_are_kept() {
        let directory = std::env::temp_dir().join(format!("zazen-log-{}", uuid::Uuid::new_v4()));
        let rotation = Rotation { max_size: 20, max_age: Duration::from_secs(3_600), max_files: 2 };
        let mut file = LogFile::open(&directory, "prod/1", rotation, now).expect("it can be written");
        for line in ["first line\n", "second\n", "this makes it too large\n", "a\n"] {
            file.write_all(line.as_bytes()).expect("it can be written");
        }
        assert_eq!(files(&directory).len(), 3, "{:?}", files(&directory));
        let second = LogFile::open(&directory, "prod/1", rotation, now).err().expect("it is in use");
        assert!(second.to_string().starts_with("another process writes to it"), "{second}");
        CLOCK.store(3_601, Ordering::Relaxed);
        file.write_all(b"b\n").expect("it can be written");
        assert_eq!(files(&directory).len(), 3, "the oldest one went: {:?}", files(&directory));
        assert_eq!(fs::read_to_string(directory.join("prod_1.log")).expect("it is there"), "b\n");
        fs::write(directory.join("prod_1-notes.log"), "mine").expect("it can be written");
        file.write_all(b"this line makes it too large again\n").expect("it can be written");
        assert!(files(&directory).contains(&"prod_1-notes.log".to_owned()), "what is not ours stays");
        fs::remove_dir_all(&directory).expect("it is ours");
        file.write_all(b"c\n").expect("it can be written");
        assert_eq!(fs::read_to_string(directory.join("prod_1.log")).expect("it is back"), "c\n");
        fs::remove_dir_all(&directory).expect("it is ours");
    }

    #[test]
    fn the_newest_of_a_day_has_its_highest_number() {
        let directory = std::env::temp_dir().join(format!("zazen-log-{}", uuid::Uuid::new_v4()));
        let rotation = Rotation { max_size: 1, max_age: Duration::from_secs(3_600), max_files: 2 };
        let mut file =
            LogFile::open(&directory, "prod", rotation, || SystemTime::UNIX_EPOCH).expect("it can be written");
        (0..6).for_each(|_| file.write_all(b"line\n").expect("it can be written"));
        assert_eq!(files(&directory), ["prod-1970-01-01-4.log", "prod-1970-01-01-5.log", "prod.log"]);
        fs::remove_dir_all(&directory).expect("it is ours");
    }
}
