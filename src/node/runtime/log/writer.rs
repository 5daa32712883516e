//! Lines on their way out: a thread writes them, so that whoever logs never waits for whoever reads.
//!
//! A terminal that was halted, or a pipe that nobody empties, costs lines and not the mastership.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::Duration;

/// How many lines may wait to be written.
pub(super) const LINES_MAX: usize = 1_024;
/// How long the end waits for the last lines to be written.
const PATIENCE: Duration = Duration::from_secs(1);

enum Item {
    Line(String),
    /// Everything before this is to be out when the sender is told.
    Flush(SyncSender<()>),
}

/// Where lines go. Clones lead to the same place.
#[derive(Clone)]
pub struct Writer {
    items: SyncSender<Item>,
    lost: Arc<AtomicU64>,
}

/// Writes the last lines out when it is dropped.
pub struct Flusher(Writer);

impl Writer {
    /// Starts the thread that writes to `out`.
    pub fn start(out: impl Write + Send + 'static) -> io::Result<(Self, Flusher)> {
        let (items, queue) = sync_channel(LINES_MAX);
        let writer = Writer { items, lost: Arc::default() };
        let lost = writer.lost.clone();
        thread::Builder::new().name("log".into()).spawn(move || write_all(out, &queue, &lost))?;
        Ok((writer.clone(), Flusher(writer)))
    }

    /// Writes a line, unless too many wait already.
    pub fn write(&self, line: String) {
        match self.items.try_send(Item::Line(line)) {
            Ok(()) | Err(TrySendError::Disconnected(_)) => {}
            Err(TrySendError::Full(_)) => drop(self.lost.fetch_add(1, Ordering::Relaxed)),
        }
    }
}

impl Drop for Flusher {
    fn drop(&mut self) {
        let (done, is_done) = sync_channel(1);
        // If there is no room for this, nobody reads, and waiting is in vain.
        if self.0.items.try_send(Item::Flush(done)).is_ok() {
            let _ = is_done.recv_timeout(PATIENCE);
        }
    }
}

/// Nobody can be told that lines cannot be written, so that goes unsaid.
fn write_all(mut out: impl Write, queue: &Receiver<Item>, lost: &AtomicU64) {
    for item in queue {
        match item {
            Item::Line(line) => {
                let _ = out.write_all(format!("{line}\n").as_bytes());
            }
            Item::Flush(done) => {
                let _ = out.flush();
                let _ = done.send(());
            }
        }
        let lost = lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            let note = format!("... {lost} lines were lost here, because nobody read them in time\n");
            let _ = out.write_all(note.as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parking_lot::Mutex;
    use std::sync::mpsc::{Sender, channel};

    /// An output that is read only when it is let go.
    struct Halted {
        written: Arc<Mutex<String>>,
        go: Receiver<()>,
    }

    impl Write for Halted {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            // Let go for good when the other end is dropped.
            let _ = self.go.recv();
            self.written.lock().push_str(&String::from_utf8_lossy(bytes));
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn halted() -> (Halted, Arc<Mutex<String>>, Sender<()>) {
        let written = Arc::new(Mutex::default());
        let (let_go, go) = channel();
        (Halted { written: written.clone(), go }, written, let_go)
    }

    #[test]
    fn whoever_logs_never_waits_and_lost_lines_are_counted() {
        let (out, written, let_go) = halted();
        let (writer, flusher) = Writer::start(out).expect("a thread can be started");
        for n in 0..LINES_MAX * 3 {
            writer.write(format!("line {n}"));
        }
        drop(let_go);
        let (done, is_done) = sync_channel(1);
        assert!(writer.items.send(Item::Flush(done)).is_ok(), "the thread takes what it is sent");
        is_done.recv_timeout(Duration::from_secs(20)).expect("all lines go out");
        drop(flusher);
        let text = written.lock();
        assert!(text.starts_with("line 0\n"), "{}", &text[..40]);
        let kept = text.lines().filter(|line| line.starts_with("line ")).count();
        let lost: usize =
            text.lines().filter_map(|line| line.strip_prefix("... ")?.split(' ').next()?.parse::<usize>().ok()).sum();
        assert_eq!(kept + lost, LINES_MAX * 3);
    }

    #[test]
    fn the_last_lines_are_out_when_the_end_comes_and_a_halted_output_holds_it_up_not_for_ever() {
        let (out, written, let_go) = halted();
        let (writer, flusher) = Writer::start(out).expect("a thread can be started");
        writer.write("the last line".into());
        drop(let_go);
        drop(flusher);
        assert_eq!(*written.lock(), "the last line\n");
        let (out, _, _let_go) = halted();
        let (writer, flusher) = Writer::start(out).expect("a thread can be started");
        writer.write("never read".into());
        drop(flusher);
    }
}
