//! A writer that knows exactly what it was promised: registers that count up, and what each must hold.
//!
//! One register is written at a time, each number once. A write whose fate is not known ends its register, since it may
//! take effect at any later time; the next write goes to a fresh one.

use super::transport::{Lost, Transport};
use crate::clock::{now, pause};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use zazen::service::{Answer, Task, Txn};

/// How long a writer waits after a node could not help it.
const AGAIN: Duration = Duration::from_millis(1);

/// After how many acknowledged writes a register is read back.
const READ_EVERY: u64 = 50;

/// How long a read may look for a master.
const READ_MAX: Duration = Duration::from_secs(90);

/// One key, and what it may hold.
#[derive(Clone, Debug)]
pub(super) struct Register {
    key: String,
    /// The last number that was acknowledged; 0 is none.
    acknowledged: u64,
    /// A number whose fate is not known.
    perhaps: Option<u64>,
}

/// What all writers have done.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) acknowledged: AtomicU64,
    pub(super) unknown: AtomicU64,
    pub(super) read: AtomicU64,
    /// The first thing that was found wrong.
    pub(super) wrong: Mutex<Option<String>>,
    pub(super) is_over: AtomicBool,
}

impl Tally {
    /// What was found wrong, if anything was.
    pub(super) fn wrong(&self) -> Option<String> {
        self.wrong.lock().map_or_else(|_| Some("a writer panicked".into()), |wrong| wrong.clone())
    }

    fn tell(&self, what: String) {
        if let Ok(mut wrong) = self.wrong.lock() {
            wrong.get_or_insert(what);
        }
    }
}

/// One client that writes, one write at a time.
pub(super) struct Writer<'a> {
    name: String,
    transport: Transport,
    tally: &'a Tally,
    registers: Vec<Register>,
    /// Since when no write was acknowledged.
    pub(super) longest_silence: Duration,
    last: Instant,
}

/// What became of a write.
enum Fate {
    Acknowledged,
    NotDone,
    Unknown,
    Wrong(String),
}

impl<'a> Writer<'a> {
    pub(super) fn new(name: String, transport: Transport, tally: &'a Tally) -> Self {
        let mut writer =
            Writer { name, transport, tally, registers: Vec::new(), longest_silence: Duration::ZERO, last: now() };
        writer.open();
        writer
    }

    fn open(&mut self) {
        let key = format!("{}-{}", self.name, self.registers.len());
        self.registers.push(Register { key, acknowledged: 0, perhaps: None });
    }

    /// Writes until it is over or something is wrong.
    pub(super) fn run(mut self) -> Self {
        while !self.tally.is_over.load(Ordering::Relaxed) && self.tally.wrong().is_none() {
            if let Err(what) = self.step() {
                self.tally.tell(what);
            }
        }
        self
    }

    fn step(&mut self) -> Result<(), String> {
        let register = self.registers.last_mut().expect("one is always open");
        let number = register.acknowledged + 1;
        match write(&mut self.transport, &register.key, number) {
            Fate::Acknowledged => {
                register.acknowledged = number;
                self.tally.acknowledged.fetch_add(1, Ordering::Relaxed);
                let moment = now();
                self.longest_silence = self.longest_silence.max(moment - self.last);
                self.last = moment;
                if number.is_multiple_of(READ_EVERY) {
                    let register = register.clone();
                    self.check(&register)?;
                }
            }
            Fate::NotDone => {
                self.transport.turn();
                pause(AGAIN);
            }
            Fate::Unknown => {
                register.perhaps = Some(number);
                self.tally.unknown.fetch_add(1, Ordering::Relaxed);
                self.transport.turn();
                self.open();
            }
            Fate::Wrong(what) => return Err(what),
        }
        Ok(())
    }

    /// Reads every register once more.
    pub(super) fn check_all(&mut self) -> Result<usize, String> {
        let registers = std::mem::take(&mut self.registers);
        registers.iter().try_for_each(|register| self.check(register))?;
        Ok(registers.len())
    }

    fn check(&mut self, register: &Register) -> Result<(), String> {
        let found = self.read(&register.key)?;
        self.tally.read.fetch_add(1, Ordering::Relaxed);
        let is_kept = found == register.acknowledged || Some(found) == register.perhaps;
        if is_kept {
            return Ok(());
        }
        let (key, acknowledged) = (&register.key, register.acknowledged);
        let perhaps =
            register.perhaps.map_or("nothing else".into(), |number| format!("{number}, whose fate is unknown"));
        Err(format!("[{key}] holds {found}; allowed: {acknowledged}, which was acknowledged, or {perhaps}"))
    }

    /// The number in a key, or 0.
    fn read(&mut self, key: &str) -> Result<u64, String> {
        let deadline = now() + READ_MAX;
        loop {
            match self.transport.read(key) {
                Ok(Answer::Value { value: None, .. }) => return Ok(0),
                Ok(Answer::Value { value: Some(value), .. }) => {
                    let number = value.value.as_str().unwrap_or_default().parse();
                    return number.map_err(|_| format!("[{key}] holds `{}`, which nobody wrote", value.value));
                }
                Ok(_) | Err(_) if now() < deadline => {
                    self.transport.turn();
                    pause(AGAIN);
                }
                Ok(other) => return Err(format!("[{key}] could not be read within {READ_MAX:?}: {other:?}")),
                Err(lost) => return Err(format!("[{key}] could not be read within {READ_MAX:?}: {lost}")),
            }
        }
    }
}

fn write(transport: &mut Transport, key: &str, number: u64) -> Fate {
    let task = Task::Txn(Txn::put(key, number.to_string()));
    match transport.submit(task) {
        Ok(Answer::Done { .. }) => Fate::Acknowledged,
        Ok(Answer::NotMaster | Answer::NoMaster | Answer::TimedOut { .. }) | Err(Lost::NotSent) => Fate::NotDone,
        Ok(Answer::Unknown { .. }) | Err(Lost::Unknown(_)) => Fate::Unknown,
        Ok(
            answer @ (Answer::Refused(_)
            | Answer::Newest { .. }
            | Answer::Value { .. }
            | Answer::Range { .. }
            | Answer::Lease { .. }
            | Answer::Pending(_)
            | Answer::Left
            | Answer::HandedOver { .. }),
        ) => Fate::Wrong(format!("writing [{key}] was answered with {answer:?}")),
    }
}
