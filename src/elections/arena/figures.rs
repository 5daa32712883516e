//! What a run came to, in figures, and the medians of several.

use super::algorithms::HOP;
use super::record::{Moment, Record};
use super::trial::{PROBE_EVERY, Trial};
use crate::protocol::Time;
use serde::Serialize;
use std::time::Duration;

/// What a run came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Figures {
    /// Messages until a leader was settled, those that only keep watch left out; all if none ever was.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// How long until more than half followed and reached a leader, in mean delays of a link; none if never.
    pub hops: Option<u64>,
    /// How often somebody began to lead.
    pub elections: u64,
    /// For how many milliseconds nobody led.
    pub none_ms: u64,
    /// For how many milliseconds two or more would have acted as leader.
    pub two_ms: u64,
    /// For how many of them two would have acknowledged a write.
    pub two_acknowledge_ms: u64,
    /// How many acknowledged writes were gone at the end; only Zen is asked for writes.
    pub lost_writes: u64,
    /// Whether one led all, at the end.
    pub recovered: bool,
}

/// How many runs recovered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Recovery {
    /// So many did.
    pub recovered: u64,
    /// Of so many.
    pub runs: u64,
}

/// The medians over several seeds, and the worst of what must not be.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Summary {
    /// Medians; `recovered` if all did.
    pub median: Figures,
    /// The longest time with two leaders.
    pub two_ms_max: u64,
    /// The longest time in which two would have acknowledged a write.
    pub two_acknowledge_ms_max: u64,
    /// The most acknowledged writes that were lost.
    pub lost_writes_max: u64,
    /// How many recovered.
    pub recovery: Recovery,
}

/// Measures from `began` to the end.
pub(super) fn measure(bout: &dyn Trial, began: Time) -> Figures {
    let (record, end) = (bout.record(), bout.now());
    let settled = first_settled(record, began);
    let until = settled.unwrap_or(end);
    let sent = || record.sent.iter().filter(|sent| sent.at >= began && sent.at < until);
    let two = lasting(record, began, end, |leaders| leaders > 1);
    let probed = record.acknowledged.iter().filter(|(at, by)| **at >= began && by.len() > 1).count() as u32;
    Figures {
        messages: sent().count() as u64,
        bytes: sent().map(|sent| sent.bytes).sum(),
        hops: settled.map(|at| (at.since(began).as_micros() / HOP.as_micros()) as u64),
        elections: record.masterships.iter().filter(|&&at| at >= began).count() as u64,
        none_ms: millis(lasting(record, began, end, |leaders| leaders == 0)),
        two_ms: millis(two),
        two_acknowledge_ms: millis(if bout.probes() { PROBE_EVERY * probed } else { two }),
        lost_writes: bout.lost_writes(),
        recovered: record.is_whole(),
    }
}

fn millis(span: Duration) -> u64 {
    span.as_millis() as u64
}

/// The first moment from `began` on when a leader was settled.
fn first_settled(record: &Record, began: Time) -> Option<Time> {
    let before = record.moments.iter().rev().find(|moment| moment.at <= began);
    if before.is_some_and(|moment| moment.settled.is_some()) {
        return Some(began);
    }
    record.moments.iter().find(|moment| moment.at > began && moment.settled.is_some()).map(|moment| moment.at)
}

/// For how long so many led.
fn lasting(record: &Record, began: Time, end: Time, is_meant: impl Fn(usize) -> bool) -> Duration {
    let start = Moment { at: Time::ZERO, leaders: 0, settled: None };
    let moments: Vec<Moment> = [start].into_iter().chain(record.moments.iter().copied()).collect();
    let ends = moments.iter().skip(1).map(|moment| moment.at).chain([end]);
    let spans = moments.iter().zip(ends).filter(|(moment, _)| is_meant(moment.leaders));
    spans.map(|(moment, until)| until.min(end).since(moment.at.max(began))).sum()
}

/// The medians of runs; none without runs.
pub fn median(runs: &[Figures]) -> Option<Summary> {
    let recovered = runs.iter().filter(|run| run.recovered).count() as u64;
    let recovery = Recovery { recovered, runs: runs.len() as u64 };
    let middle = |figure: fn(&Figures) -> u64| {
        let mut all: Vec<u64> = runs.iter().map(figure).collect();
        all.sort_unstable();
        all.get(all.len() / 2).copied()
    };
    // A run that never had a leader took longer than any that had.
    let hops = middle(|run| run.hops.unwrap_or(u64::MAX))?;
    Some(Summary {
        median: Figures {
            messages: middle(|run| run.messages)?,
            bytes: middle(|run| run.bytes)?,
            hops: Some(hops).filter(|&hops| hops < u64::MAX),
            elections: middle(|run| run.elections)?,
            none_ms: middle(|run| run.none_ms)?,
            two_ms: middle(|run| run.two_ms)?,
            two_acknowledge_ms: middle(|run| run.two_acknowledge_ms)?,
            lost_writes: middle(|run| run.lost_writes)?,
            recovered: recovery.recovered == recovery.runs,
        },
        two_ms_max: runs.iter().map(|run| run.two_ms).max()?,
        two_acknowledge_ms_max: runs.iter().map(|run| run.two_acknowledge_ms).max()?,
        lost_writes_max: runs.iter().map(|run| run.lost_writes).max()?,
        recovery,
    })
}
