//! The bytes of a DNS question for SRV records and of its answer (RFC 1035, RFC 2782).
//!
//! Reads whatever it is given: any bytes are an answer or an error. Who is asked, and how often, stands in `mod.rs`.

use std::fmt;

const TYPE_SRV: u16 = 33;
const CLASS_IN: u16 = 1;
const LABEL_MAX: usize = 63;
const NAME_MAX: usize = 253;
/// More hosts of one service are passed over.
pub(super) const TARGETS_MAX: usize = 1_024;

/// A name as questions carry it, in lower case and without the last dot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Name(String);

/// A host that offers a service, and where.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Target {
    /// The lower, the earlier it should be tried.
    pub priority: u16,
    /// Its name.
    pub host: String,
    /// The port.
    pub port: u16,
}

/// What an answer says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    /// These offer the service; none if nobody does.
    Targets(Vec<Target>),
    /// There is more than a datagram holds: ask over TCP.
    Truncated,
    /// The server cannot or will not tell, by its code.
    Failed(u8),
}

/// What is wrong with bytes that are no answer to the question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Malformed {
    /// They end too early.
    Short,
    /// It answers something else.
    NotTheAnswer,
    /// A name in it is none.
    Name,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Malformed::Short => "the answer ends too early",
            Malformed::NotTheAnswer => "the answer is one to another question",
            Malformed::Name => "a name in the answer is none",
        })
    }
}

impl Name {
    /// The name, if it can be asked for.
    pub(super) fn new(text: &str) -> Option<Self> {
        let text = text.strip_suffix('.').unwrap_or(text);
        let is_label = |label: &str| !label.is_empty() && label.len() <= LABEL_MAX && label.bytes().all(is_name_byte);
        let is_name = text.len() <= NAME_MAX && text.split('.').all(is_label);
        is_name.then(|| Name(text.to_ascii_lowercase()))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'
}

/// The question for the SRV records of `name`, with recursion desired.
pub(super) fn question(id: u16, name: &Name) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(name.0.len() + 18);
    for word in [id, 0x0100, 1, 0, 0, 0] {
        bytes.extend(word.to_be_bytes());
    }
    for label in name.0.split('.') {
        bytes.push(u8::try_from(label.len()).expect("a label has at most 63 bytes"));
        bytes.extend(label.bytes());
    }
    bytes.push(0);
    for word in [TYPE_SRV, CLASS_IN] {
        bytes.extend(word.to_be_bytes());
    }
    bytes
}

/// Reads the answer to the question of this id for `name`.
pub(super) fn answer(bytes: &[u8], id: u16, name: &Name) -> Result<Reply, Malformed> {
    let mut reader = Reader { bytes, at: 0 };
    let (answered, flags) = (reader.word()?, reader.word()?);
    let (questions, answers) = (reader.word()?, reader.word()?);
    reader.skip(4)?;
    let is_response = flags & 0x8000 != 0;
    if answered != id || !is_response || questions > 1 {
        return Err(Malformed::NotTheAnswer);
    }
    for _ in 0..questions {
        let asked = reader.name()?;
        if asked.to_ascii_lowercase() != name.0 || reader.word()? != TYPE_SRV || reader.word()? != CLASS_IN {
            return Err(Malformed::NotTheAnswer);
        }
    }
    let (is_truncated, code) = (flags & 0x0200 != 0, flags & 0x000f);
    match code {
        0 if is_truncated => Ok(Reply::Truncated),
        0 => targets(&mut reader, answers).map(Reply::Targets),
        // There is no such name, so there is no such service.
        3 => Ok(Reply::Targets(Vec::new())),
        code => Ok(Reply::Failed(code as u8)),
    }
}

/// The SRV records among the answers. An alias stands before the records of the name that it leads to.
fn targets(reader: &mut Reader<'_>, answers: u16) -> Result<Vec<Target>, Malformed> {
    let mut targets = Vec::new();
    for _ in 0..answers {
        reader.name()?;
        let (kind, class) = (reader.word()?, reader.word()?);
        reader.skip(4)?;
        let length = usize::from(reader.word()?);
        let end = reader.at + length;
        if end > reader.bytes.len() {
            return Err(Malformed::Short);
        }
        if (kind, class) == (TYPE_SRV, CLASS_IN) && targets.len() < TARGETS_MAX {
            let (priority, _weight, port) = (reader.word()?, reader.word()?, reader.word()?);
            let host = reader.name()?;
            // A dot alone says that the service is decidedly not offered.
            if !host.is_empty() {
                targets.push(Target { priority, host, port });
            }
        }
        reader.at = end;
    }
    targets.sort();
    targets.dedup();
    Ok(targets)
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn byte(&mut self) -> Result<u8, Malformed> {
        let byte = *self.bytes.get(self.at).ok_or(Malformed::Short)?;
        self.at += 1;
        Ok(byte)
    }

    fn word(&mut self) -> Result<u16, Malformed> {
        Ok(u16::from_be_bytes([self.byte()?, self.byte()?]))
    }

    fn skip(&mut self, count: usize) -> Result<(), Malformed> {
        self.at += count;
        if self.at <= self.bytes.len() { Ok(()) } else { Err(Malformed::Short) }
    }

    /// Reads a name and goes behind it. Each pointer must lead further back than the one before, so that all end.
    fn name(&mut self) -> Result<String, Malformed> {
        let mut name = String::new();
        let mut behind = None;
        let mut barrier = self.at;
        loop {
            let length = self.byte()?;
            match length {
                0 => break,
                0xc0.. => {
                    let place = usize::from(length & 0x3f) << 8 | usize::from(self.byte()?);
                    if place >= barrier {
                        return Err(Malformed::Name);
                    }
                    behind.get_or_insert(self.at);
                    (self.at, barrier) = (place, place);
                }
                0x40.. => return Err(Malformed::Name),
                length => self.label(usize::from(length), &mut name)?,
            }
        }
        self.at = behind.unwrap_or(self.at);
        Ok(name)
    }

    fn label(&mut self, length: usize, name: &mut String) -> Result<(), Malformed> {
        if !name.is_empty() {
            name.push('.');
        }
        for _ in 0..length {
            let byte = self.byte()?;
            if !is_name_byte(byte) {
                return Err(Malformed::Name);
            }
            name.push(char::from(byte));
        }
        if name.len() <= NAME_MAX { Ok(()) } else { Err(Malformed::Name) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Rng;

    fn name() -> Name {
        Name::new("_Zen._tcp.example.org.").expect("the name of a service")
    }

    /// An answer with one record for each of these: its kind and its data.
    fn reply(flags: u16, records: &[(u16, &[u8])]) -> Vec<u8> {
        let mut bytes = question(7, &name());
        bytes[2..4].copy_from_slice(&flags.to_be_bytes());
        bytes[6..8].copy_from_slice(&(records.len() as u16).to_be_bytes());
        for (kind, data) in records {
            bytes.extend([0xc0, 12]);
            for word in [*kind, CLASS_IN, 0, 60, data.len() as u16] {
                bytes.extend(word.to_be_bytes());
            }
            bytes.extend(*data);
        }
        bytes
    }

    fn target(priority: u16, host: &str, port: u16) -> Target {
        Target { priority, host: host.into(), port }
    }

    #[test]
    fn records_are_read_with_names_in_full_and_by_pointers() {
        let full = [&[0, 2, 0, 0, 0x24, 0x54][..], b"\x02n2\x00"].concat();
        // `example.org` stands at 12 + 5 + 5 in the question.
        let pointer = [&[0, 1, 0, 0, 0x24, 0x55][..], b"\x02n1\xc0\x16"].concat();
        let nobody = [0, 1, 0, 0, 0, 0, 0];
        let records = [(TYPE_SRV, &full[..]), (5, b"\x01x\x00"), (TYPE_SRV, &pointer), (TYPE_SRV, &nobody)];
        let read = answer(&reply(0x8180, &records), 7, &name());
        assert_eq!(read, Ok(Reply::Targets(vec![target(1, "n1.example.org", 9301), target(2, "n2", 9300)])));
    }

    #[test]
    fn other_answers_tell_what_they_are() {
        assert_eq!(answer(&reply(0x8183, &[]), 7, &name()), Ok(Reply::Targets(Vec::new())));
        assert_eq!(answer(&reply(0x8182, &[]), 7, &name()), Ok(Reply::Failed(2)));
        assert_eq!(answer(&reply(0x8380, &[]), 7, &name()), Ok(Reply::Truncated));
        assert_eq!(answer(&reply(0x0100, &[]), 7, &name()), Err(Malformed::NotTheAnswer), "a question");
        assert_eq!(answer(&reply(0x8180, &[]), 8, &name()), Err(Malformed::NotTheAnswer), "another id");
        let other = Name::new("_zen._tcp.example.com").expect("the name of a service");
        assert_eq!(answer(&reply(0x8180, &[]), 7, &other), Err(Malformed::NotTheAnswer), "another name");
        assert_eq!(answer(&[], 7, &name()), Err(Malformed::Short));
    }

    #[test]
    fn pointers_that_lead_in_circles_are_no_name() {
        for data in [&[0, 1, 0, 0, 0, 1, 0xc0, 57][..], &[0, 1, 0, 0, 0, 1, 0xff, 0xff], &[0, 1, 0, 0, 0, 1, 0x41]] {
            assert_eq!(answer(&reply(0x8180, &[(TYPE_SRV, data)]), 7, &name()), Err(Malformed::Name), "{data:?}");
        }
    }

    #[test]
    fn any_bytes_are_an_answer_or_an_error() {
        let sound = reply(0x8180, &[(TYPE_SRV, b"\0\x01\0\0\0\x01\x02n1\xc0\x16"), (TYPE_SRV, b"\0\x01\0\0\0\x01\0")]);
        let mut rng = Rng::new(1);
        let mut understood = 0;
        for round in 0..20_000_u64 {
            let mut bytes = sound.clone();
            if round % 2 == 0 {
                bytes.truncate(rng.below(sound.len() as u64 + 1) as usize);
            }
            for _ in 0..rng.below(4) {
                if !bytes.is_empty() {
                    let place = rng.below(bytes.len() as u64) as usize;
                    bytes[place] = rng.below(256) as u8;
                }
            }
            understood += u32::from(answer(&bytes, 7, &name()).is_ok());
        }
        assert!(understood > 1_000, "only {understood} were answers, so little was tried");
    }

    #[test]
    fn names_that_cannot_be_asked_for_are_none() {
        let long = vec!["a"; 200].join(".");
        for text in ["", ".", "a..b", "a b.c", "ä.org", &"a".repeat(64), &long] {
            assert_eq!(Name::new(text), None, "{text}");
        }
        assert_eq!(name().as_str(), "_zen._tcp.example.org");
    }
}
