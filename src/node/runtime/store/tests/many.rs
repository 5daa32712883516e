//! Ten thousand damaged files, drawn: each is refused with its place, or nothing that was synced is lost.

use super::double::{Double, Image, Plan};
use super::{PATH_DATA, accepted, committed, fold, is_same, promise};
use crate::protocol::{Disk, Rng};
use crate::runtime::store::generation::Room;
use crate::runtime::store::{Store, StoreError};
use crate::zen::{Memory, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

const FILES: usize = 250;
const DAMAGES: usize = 40;

/// Enough for a life that is drawn.
const ROOM: Room = Room { least: 24 << 10, most: 24 << 10, at_once: usize::MAX };

/// Ways in which a disk may damage a file.
const WAYS: u64 = 8;

fn open(fs: &Double) -> Result<(Store<Double>, Memory), StoreError> {
    Store::open_on(fs.clone(), Path::new(PATH_DATA), ROOM)
}

fn file() -> PathBuf {
    Path::new(PATH_DATA).join("nodes/0/_state/zen-1.st")
}

fn below(rng: &mut Rng, bound: usize) -> usize {
    rng.between(0, bound as u64 - 1) as usize
}

/// Up to twelve groups of writes, in the order in which nodes write.
fn life(rng: &mut Rng) -> Vec<Vec<Write>> {
    let (mut term, mut version) = (0, 0);
    let mut draw = |rng: &mut Rng| match rng.between(0, 2) {
        0 => {
            term += 1;
            promise(term)
        }
        1 if version > 0 => committed(version),
        _ => {
            version += 1;
            accepted(version)
        }
    };
    (0..rng.between(1, 12)).map(|_| (0..rng.between(1, 3)).map(|_| draw(rng)).collect()).collect()
}

/// Some bytes, often up to the end, often whole sectors.
fn range(rng: &mut Rng, length: usize) -> Range<usize> {
    let start = below(rng, length);
    let end = if rng.between(0, 1) == 0 { length } else { start + 1 + below(rng, length - start) };
    if rng.between(0, 2) == 0 { start / 512 * 512..(end.div_ceil(512) * 512).min(length) } else { start..end }
}

/// Damages a file in one way, mostly where something was written.
fn damage(rng: &mut Rng, content: &mut Vec<u8>, used: usize) {
    let length = if rng.between(0, 9) == 0 { content.len() } else { used };
    let (at, some) = (below(rng, length), range(rng, length));
    match rng.between(0, WAYS - 1) {
        0 | 1 => content[at..].fill(0),
        2 => content[some].fill(0),
        3 => content[at] ^= 1 << rng.between(0, 7),
        4 => content[some].iter_mut().for_each(|byte| *byte = rng.between(0, 255) as u8),
        5 => content.truncate(at),
        6 => content[at..].rotate_left(1),
        _ => {
            let from = below(rng, content.len() - some.len() + 1);
            content.copy_within(from..from + some.len(), some.start);
        }
    }
}

/// What may be found in a file that was written by such a life and of which all groups but lazy ones at its end are synced.
fn allowed(groups: &[Vec<Write>]) -> Vec<Memory> {
    let writes = groups.concat();
    let synced = groups.iter().rposition(|group| !group.iter().all(Memory::is_lazy));
    let least = synced.map_or(0, |last| groups[..=last].iter().map(Vec::len).sum());
    (least..=writes.len()).map(|count| fold(&writes[..count])).collect()
}

#[test]
fn of_ten_thousand_damaged_files_each_is_refused_with_its_place_or_has_all_that_was_synced() {
    let mut rng = Rng::new(19);
    let (mut refused, mut whole) = (0, 0);
    for number in 0..FILES {
        let groups = life(&mut rng);
        let fs = Double::new(Image::empty(), Plan::default());
        let (mut store, _) = open(&fs).expect("nothing goes wrong");
        groups.iter().for_each(|group| store.write(group).expect("nothing goes wrong"));
        let (content, allowed) = (fs.content(&file()), allowed(&groups));
        let used = content.iter().rposition(|byte| *byte != 0).expect("a file has a preface") + 1;
        for _ in 0..DAMAGES {
            let mut damaged = content.clone();
            damage(&mut rng, &mut damaged, used);
            let first = content.iter().zip(&damaged).position(|(a, b)| a != b).unwrap_or(damaged.len());
            match open(&fs.with_content(&file(), &damaged)) {
                Ok((_, memory)) => {
                    whole += 1;
                    let is_allowed = allowed.iter().any(|allowed| is_same(allowed, &memory));
                    assert!(is_allowed, "file {number}, damaged from byte {first} on, holds {memory:?}");
                }
                Err(StoreError::Corrupt { file: found, offset, .. }) => {
                    refused += 1;
                    assert!(found == file() && offset <= first as u64, "file {number}, byte {first}: said is {offset}");
                }
                Err(error) => panic!("file {number}, byte {first}: {error}"),
            }
        }
    }
    assert!(refused > FILES * DAMAGES / 2 && whole > 100, "{refused} were refused and {whole} were whole");
}
