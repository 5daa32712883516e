//! What settings of Elasticsearch's may not be together: watermarks of disks rise, and a search is kept no longer than at the
//! most.
//!
//! None of them has a meaning here, so that only who asks for a change is told, and the master need not look again. Mirrors
//! `DiskThresholdSettings`, `SearchService` and the dependencies of `RemoteClusterAware`'s settings (6.8).

use super::figure::{nanos, ratio, size};
use super::objection::Objection;
use std::collections::BTreeSet;

const LOW: &str = "cluster.routing.allocation.disk.watermark.low";
const HIGH: &str = "cluster.routing.allocation.disk.watermark.high";
const FLOOD: &str = "cluster.routing.allocation.disk.watermark.flood_stage";
const KEEP_ALIVE: &str = "search.default_keep_alive";
const KEEP_ALIVE_MAX: &str = "search.max_keep_alive";

/// What needs the addresses of a remote cluster.
const OF_REMOTES: [&str; 4] = [".proxy", ".skip_unavailable", ".transport.compress", ".transport.ping_schedule"];

/// Says why settings cannot be together, if any of them was changed; `wanted` tells what holds once the change is made.
pub fn together<'a>(
    changed: impl Iterator<Item = &'a str> + Clone,
    wanted: &dyn Fn(&str) -> Option<String>,
) -> Result<(), Objection> {
    if changed.clone().any(|key| [LOW, HIGH, FLOOD].contains(&key)) {
        let [low, high, flood] =
            [(LOW, "85%"), (HIGH, "90%"), (FLOOD, "95%")].map(|(key, default)| wanted(key).unwrap_or(default.into()));
        rising([&low, &high, &flood])?;
    }
    if changed.clone().any(|key| [KEEP_ALIVE, KEEP_ALIVE_MAX].contains(&key)) {
        let [default, max] =
            [(KEEP_ALIVE, "5m"), (KEEP_ALIVE_MAX, "24h")].map(|(key, default)| wanted(key).unwrap_or(default.into()));
        kept_at_most(&default, &max)?;
    }
    Ok(())
}

/// Says which setting of a remote cluster lacks the addresses of that, of the keys that one set has once a change is made.
pub fn demand_seeds(held: &BTreeSet<&str>) -> Result<(), Objection> {
    let remotes = held.iter().filter(|key| key.starts_with("cluster.remote."));
    for key in remotes {
        let remote = OF_REMOTES.iter().find_map(|end| key.strip_suffix(end));
        let seeds = remote.map(|remote| format!("{remote}.seeds"));
        if let Some(seeds) = seeds.filter(|seeds| !held.contains(seeds.as_str())) {
            return Err(Objection::illegal(format!("missing required setting [{seeds}] for setting [{key}]")));
        }
    }
    Ok(())
}

fn rising([low, high, flood]: [&str; 3]) -> Result<(), Objection> {
    if let (Ok(one), Ok(two), Ok(three)) = (ratio(low), ratio(high), ratio(flood)) {
        return in_order([(low, one), (high, two), (flood, three)], "more", |lower, higher| lower > higher);
    }
    let bytes = size(LOW, low).and_then(|one| Ok((one, size(HIGH, high)?, size(FLOOD, flood)?)));
    match bytes {
        Ok((one, two, three)) => {
            in_order([(low, one), (high, two), (flood, three)], "less", |lower, higher| lower < higher)
        }
        Err(cause) => {
            let reason = format!(
                "unable to consistently parse [{LOW}={low}], [{HIGH}={high}], and [{FLOOD}={flood}] as percentage or bytes"
            );
            Err(Objection::illegal(reason).caused_by(cause))
        }
    }
}

/// A part of a disk is what is used, a size what is free.
fn in_order<T: Copy>(
    [low, high, flood]: [(&str, T); 3],
    word: &str,
    is_wrong: fn(T, T) -> bool,
) -> Result<(), Objection> {
    let refuse = |(one, one_text): (&str, &str), (two, two_text): (&str, &str)| {
        let reason = format!("{one} disk watermark [{one_text}] {word} than {two} disk watermark [{two_text}]");
        Err(Objection::illegal(reason))
    };
    if is_wrong(low.1, high.1) {
        return refuse(("low", low.0), ("high", high.0));
    }
    if is_wrong(high.1, flood.1) {
        return refuse(("high", high.0), ("flood stage", flood.0));
    }
    Ok(())
}

fn kept_at_most(default: &str, max: &str) -> Result<(), Objection> {
    if nanos(KEEP_ALIVE, default)? <= nanos(KEEP_ALIVE_MAX, max)? {
        return Ok(());
    }
    let shown = |text: &str| nanos(KEEP_ALIVE, text).map(spell);
    Err(Objection::illegal(format!(
        "Default keep alive setting for scroll [{KEEP_ALIVE}] should be smaller than max keep alive [{KEEP_ALIVE_MAX}], was \
         ({} > {})",
        shown(default)?,
        shown(max)?,
    )))
}

/// A time in the largest unit that it is at least one of, with a digit behind the point unless that is 0.
fn spell(nanos: i128) -> String {
    let units = [("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)];
    let millis = nanos / 1_000_000;
    let (unit, size) = units
        .into_iter()
        .map(|(unit, seconds)| (unit, seconds * 1_000))
        .find(|(_, size)| millis >= *size)
        .unwrap_or(if millis == 0 { ("s", 1) } else { ("ms", 1) });
    match millis % size * 10 / size {
        0 => format!("{}{unit}", millis / size),
        tenth => format!("{}.{tenth}{unit}", millis / size),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(wanted: &[(&str, &str)]) -> Option<String> {
        let find = |key: &str| wanted.iter().find(|(known, _)| *known == key).map(|(_, value)| (*value).to_owned());
        together(wanted.iter().map(|(key, _)| *key), &find).err().map(|objection| objection.reason)
    }

    #[test]
    fn watermarks_rise_in_one_notation() {
        assert_eq!(refused(&[(LOW, "70%")]), None);
        assert_eq!(refused(&[(LOW, "10gb"), (HIGH, "5gb"), (FLOOD, "1gb")]), None);
        assert_eq!(
            refused(&[(LOW, "95%")]),
            Some("low disk watermark [95%] more than high disk watermark [90%]".into())
        );
        assert_eq!(
            refused(&[(HIGH, "99%")]),
            Some("high disk watermark [99%] more than flood stage disk watermark [95%]".into())
        );
        assert!(refused(&[(FLOOD, "1gb")]).is_some_and(|reason| reason.starts_with("unable to consistently parse [")));
    }

    #[test]
    fn nothing_is_kept_longer_than_at_the_most() {
        assert_eq!(refused(&[(KEEP_ALIVE, "1h")]), None);
        assert!(refused(&[(KEEP_ALIVE, "2d")]).is_some_and(|reason| reason.ends_with("was (2d > 1d)")));
        assert!(refused(&[(KEEP_ALIVE_MAX, "90s")]).is_some_and(|reason| reason.ends_with("was (5m > 1.5m)")));
    }

    #[test]
    fn what_is_said_of_a_remote_cluster_needs_its_addresses_in_the_same_set() {
        let held = |keys: &[&'static str]| demand_seeds(&keys.iter().copied().collect()).map_err(|told| told.reason);
        let (key, seeds) = ("cluster.remote.one.skip_unavailable", "cluster.remote.one.seeds");
        assert_eq!(held(&[key, seeds]), Ok(()));
        assert_eq!(held(&[seeds, "cluster.metadata.proxy"]), Ok(()));
        assert_eq!(
            held(&[key, "cluster.remote.two.seeds"]),
            Err(
                "missing required setting [cluster.remote.one.seeds] for setting [cluster.remote.one.skip_unavailable]"
                    .into()
            )
        );
    }
}
