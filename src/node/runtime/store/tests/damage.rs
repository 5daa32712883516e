//! A file that holds something else than what was written: it is named, and nothing of it is served.

use super::double::{Double, Image, Plan};
use super::{accepted, committed, fold, is_same, promise};
use crate::runtime::store::entry::Entry;
use crate::runtime::store::generation::Room;
use crate::runtime::store::record::{Head, Mark, Preface, Records};
use crate::runtime::store::{Store, StoreError};
use crate::zen::{Memory, Write};
use std::path::{Path, PathBuf};

const SECTOR: usize = 512;

/// Enough for all that is written here.
const ROOM: Room = Room { least: 6 * SECTOR, most: 6 * SECTOR, at_once: usize::MAX };

fn open(fs: &Double) -> Result<(Store<Double>, Memory), StoreError> {
    Store::open_on(fs.clone(), Path::new(super::PATH_DATA), ROOM)
}

fn file(generation: u64) -> PathBuf {
    Path::new(super::PATH_DATA).join("nodes/0/_state").join(format!("zen-{generation}.st"))
}

/// A disk with generation 2, which was made with these writes and got the others appended, and where those begin.
fn disk(before: &[Write], appended: &[&[Write]]) -> (Double, usize) {
    let fs = Double::new(Image::empty(), Plan::default());
    open(&fs).expect("nothing goes wrong").0.write(before).expect("nothing goes wrong");
    let (mut store, _) = open(&fs).expect("nothing goes wrong");
    let used = used(&fs.content(&file(2)));
    appended.iter().for_each(|group| store.write(group).expect("nothing goes wrong"));
    (fs, used)
}

fn used(content: &[u8]) -> usize {
    content.iter().rposition(|byte| *byte != 0).expect("a file has a preface") + 1
}

/// Where the damage is found, and what is said of it.
fn corruption(fs: &Double, content: &[u8]) -> Result<(u64, String), Box<Memory>> {
    match open(&fs.with_content(&file(2), content)) {
        Ok((_, memory)) => Err(memory.into()),
        Err(StoreError::Corrupt { file: found, offset, what }) => {
            assert_eq!(found, file(2));
            Ok((offset, what))
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn every_bit_that_flips_in_what_was_written_is_noticed() {
    let writes = [promise(3), accepted(4), committed(4)];
    let (fs, _) = disk(&writes[..2], &[&[], &[accepted(5), promise(4)], &[committed(5)], &[accepted(6)]]);
    let (content, whole) = (fs.content(&file(2)), fold(&[promise(4), accepted(6), committed(5)]));
    for at in 0..used(&content) {
        for bit in 0..8 {
            let mut damaged = content.clone();
            damaged[at] ^= 1 << bit;
            match corruption(&fs, &damaged) {
                Ok((offset, what)) => assert!(offset <= at as u64, "bit {bit} of byte {at}: {what} at {offset}"),
                // The other mark says the same or not much less, and nothing else is damaged.
                Err(found) => assert!(is_in_mark(at) && is_same(&found, &whole), "bit {bit} of byte {at}: {found:?}"),
            }
        }
    }
}

fn is_in_mark(at: usize) -> bool {
    Mark::places().iter().any(|place| (*place..place + SECTOR).contains(&at))
}

#[test]
fn a_bit_that_flips_where_nothing_was_written_changes_nothing() {
    let writes = [promise(3), accepted(4)];
    let (fs, _) = disk(&writes, &[&[promise(4)]]);
    let (content, memory) = (fs.content(&file(2)), fold(&[accepted(4), promise(4)]));
    let first = used(&content);
    for at in first..content.len() {
        let mut damaged = content.clone();
        damaged[at] ^= 16;
        match corruption(&fs, &damaged) {
            Ok((offset, _)) => assert!(offset == first as u64 && at < first + Head::LEN, "byte {at}"),
            Err(found) => assert!(is_same(&found, &memory), "byte {at}: {found:?}"),
        }
    }
}

#[test]
fn a_lost_sector_is_noticed_wherever_a_later_write_shows_that_it_was_synced() {
    let (fs, appended) = disk(&[promise(3), accepted(6)], &[&[accepted(9)], &[committed(9)]]);
    let content = fs.content(&file(2));
    let last = content[..used(&content) - 1].iter().rposition(|byte| *byte == b'\n').expect("there are lines");
    assert!(last > appended + SECTOR, "the appended state takes more than a sector");
    for sector in 0..=last / SECTOR {
        let mut damaged = content.clone();
        damaged[sector * SECTOR..((sector + 1) * SECTOR).min(last)].fill(0);
        let (offset, what) = corruption(&fs, &damaged).expect("the loss is noticed");
        assert!(offset <= (sector * SECTOR) as u64, "sector {sector} is lost, said is {offset}: {what}");
    }
}

#[test]
fn a_lost_sector_is_noticed_in_what_a_file_was_made_with() {
    let (fs, end) = disk(&[promise(3), accepted(6)], &[]);
    let content = fs.content(&file(2));
    assert!(end > 2 * SECTOR, "the file was made with more than two sectors");
    for sector in 0..end.div_ceil(SECTOR) {
        let mut damaged = content.clone();
        damaged[sector * SECTOR..(sector + 1) * SECTOR].fill(0);
        let (offset, what) = corruption(&fs, &damaged).expect("the loss is noticed");
        assert!(offset <= (sector * SECTOR) as u64, "sector {sector} is lost, said is {offset}: {what}");
    }
}

/// A file as a crash leaves it that comes before anything is known of the last sync: the marks are those of another one.
fn before_the_mark(content: &[u8], earlier: &[u8]) -> Vec<u8> {
    let [first, last] = Mark::places();
    let mut crashed = content.to_vec();
    crashed[first..last + SECTOR].copy_from_slice(&earlier[first..last + SECTOR]);
    crashed
}

#[test]
fn sectors_of_the_very_last_write_that_are_gone_count_as_never_written() {
    let (fs, appended) = disk(&[promise(3), accepted(6)], &[]);
    let earlier = fs.content(&file(2));
    let (fs, _) = disk(&[promise(3), accepted(6)], &[&[accepted(9)]]);
    let content = fs.content(&file(2));
    let torn = |content: &[u8]| [&content[..(appended / SECTOR + 1) * SECTOR], &vec![0; content.len()]].concat();
    let torn = |content: &[u8]| torn(content)[..content.len()].to_vec();
    let found = corruption(&fs, &torn(&before_the_mark(&content, &earlier))).expect_err("a crash may have torn it");
    assert!(is_same(&found, &fold(&[promise(3), accepted(6)])));
    let (offset, what) = corruption(&fs, &torn(&content)).expect("a mark says that it was synced");
    assert_eq!((offset, what.as_str()), (appended as u64, "record 2 is not readable, though 3 were synced"));
}

#[test]
fn zeros_to_the_end_are_damage_when_they_take_more_than_the_last_group() {
    let groups: [&[Write]; 4] = [&[accepted(7)], &[promise(4)], &[accepted(9)], &[accepted(10)]];
    let (fs, _) = disk(&[promise(3), accepted(6)], &groups[..3]);
    let (earlier, last) = (fs.content(&file(2)), used(&fs.content(&file(2))));
    let (fs, _) = disk(&[promise(3), accepted(6)], &groups);
    let content = before_the_mark(&fs.content(&file(2)), &earlier);
    let before_last = fold(&[promise(3), accepted(6), accepted(7), promise(4), accepted(9)]);
    for from in 0..used(&content) {
        let mut damaged = content.clone();
        damaged[from..].fill(0);
        let first = content.iter().zip(&damaged).position(|(a, b)| a != b).expect("something was written there");
        match corruption(&fs, &damaged) {
            Ok((offset, what)) => assert!(from < last && offset <= first as u64, "from {from} on: {what} at {offset}"),
            Err(found) => assert!(from >= last && is_same(&found, &before_last), "from {from} on: {found:?}"),
        }
    }
}

#[test]
fn zeros_to_the_end_are_damage_in_all_that_a_file_held_before_it_got_its_name() {
    let fs = Double::new(Image::empty(), Plan::default());
    let (mut store, _) = super::open_with(&fs, super::IN_PIECES).expect("nothing goes wrong");
    let mut writes = Vec::new();
    while fs.calls().iter().filter(|call| call.name == "rename").count() < 2 {
        writes.push(promise(writes.len() as u64 + 1));
        store.write(&writes[writes.len() - 1..]).expect("nothing goes wrong");
        store.prepare().expect("nothing goes wrong");
    }
    let content = fs.content(&file(2));
    let used = used(&content);
    for from in 0..used {
        let mut damaged = content.clone();
        damaged[from..].fill(0);
        let found = super::open(&fs.with_content(&file(2), &damaged)).map(|(_, memory)| memory);
        assert!(matches!(found, Err(StoreError::Corrupt { .. })), "from {from} of {used} on: {found:?}");
    }
}

#[test]
fn a_file_without_marks_is_of_the_version_before_and_read() {
    let mut records = Records::starting(2, 0, 0);
    records.push(&Entry::of(&promise(3), &Memory::default())).expect("it can be written");
    let length = (Preface::LEN + records.bytes().len() + 100) as u64;
    let preface = Preface { version: 1, generation: 2, length, records: 1 };
    let content = [preface.text().as_bytes(), records.bytes(), &[0; 100]].concat();
    let (fs, _) = disk(&[], &[]);
    let found = corruption(&fs, &content).expect_err("it is whole");
    assert!(is_same(&found, &fold(&[promise(3)])));
}

#[test]
fn a_file_of_another_length_is_refused() {
    let (fs, appended) = disk(&[promise(3)], &[&[promise(4)]]);
    let content = fs.content(&file(2));
    for length in [0, 1, Preface::LEN - 1, Preface::LEN, appended, content.len() - 1] {
        corruption(&fs, &content[..length]).expect("the file is too short");
    }
    let longer = [content.as_slice(), b"\0"].concat();
    let (_, what) = corruption(&fs, &longer).expect("the file is too long");
    assert_eq!(what, format!("it has {} bytes, {} were written", longer.len(), content.len()));
}

#[test]
fn a_record_is_taken_only_in_its_own_place_and_file() {
    let (fs, appended) = disk(&[promise(3)], &[&[promise(4)], &[promise(5)]]);
    let content = fs.content(&file(2));
    let length = (used(&content) - appended) / 2;
    let (first, second) = (appended..appended + length, appended + length..appended + 2 * length);
    let mut swapped = content.clone();
    swapped[first.clone()].copy_from_slice(&content[second.clone()]);
    swapped[second].copy_from_slice(&content[first]);
    let found = corruption(&fs, &swapped).expect("the records are not in order");
    assert_eq!(found, (appended as u64, "record 2 stands where 1 should be".into()));

    let renamed = fs.with_name(&file(2), &file(7));
    let error = open(&renamed).err().expect("it is another generation").to_string();
    assert!(error.contains("zen-7.st] is corrupt at byte 0: it is generation 2, its name says 7"), "{error}");
}

#[test]
fn the_generation_before_is_not_served_in_place_of_a_damaged_one() {
    let (fs, _) = disk(&[promise(3)], &[&[promise(4)]]);
    let older = fs.with_name(&file(2), &file(1));
    let content = fs.content(&file(2));
    let both = older.with_file(&file(2), &content[1..]);
    assert!(matches!(open(&both), Err(StoreError::Corrupt { file: found, .. }) if found == file(2)));
}

#[test]
fn another_version_of_the_format_is_refused_as_such() {
    let (fs, _) = disk(&[], &[]);
    let fields = "zazen-store:00000003:and:what:else:it:may:say:";
    let content = format!("{fields}{:08x}\nfoo", crc32fast::hash(fields.as_bytes()));
    let error = open(&fs.with_content(&file(2), content.as_bytes())).err().expect("the version is not known");
    let expected = format!("[{}] has format version 3, this program reads versions up to 2", file(2).display());
    assert_eq!(error.to_string(), expected);
}

#[test]
fn what_makes_no_sense_is_refused_though_its_checksum_is_right() {
    let (fs, appended) = disk(&[promise(3), accepted(2)], &[]);
    let content = fs.content(&file(2));
    let other_base = Write::Accepted(super::state(9));
    let diff = Entry::of(&other_base, &fold(&[accepted(8)]));
    let mut records = Records::starting(2, 2, 2);
    records.push(&diff).expect("it can be written");
    let mut damaged = content.clone();
    damaged[appended..appended + records.bytes().len()].copy_from_slice(records.bytes());
    let (offset, what) = corruption(&fs, &damaged).expect("the base is another");
    assert_eq!(offset, appended as u64);
    assert!(what.starts_with("record 2 is as it was written, but makes no sense: a diff from state 0/8"), "{what}");
}
