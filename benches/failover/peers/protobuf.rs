//! As much of protobuf as etcd's messages take: numbers and bytes.

/// A field that holds bytes.
pub(super) fn bytes(field: u8, bytes: &[u8]) -> Vec<u8> {
    [&[field << 3 | 2][..], &varint(bytes.len() as u64), bytes].concat()
}

/// A field that holds a number.
pub(super) fn number(field: u8, number: u64) -> Vec<u8> {
    [&[field << 3][..], &varint(number)].concat()
}

fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// The number in a field; 0 if there is none, as it is not sent then.
pub(super) fn number_in(message: &[u8], field: u64) -> Option<u64> {
    Some(find(message, field)?.map_or(0, |(number, _)| number))
}

/// The bytes of a field, none if it is not there.
pub(super) fn bytes_in(message: &[u8], field: u64) -> Option<&[u8]> {
    Some(find(message, field)?.map_or(&[], |(_, bytes)| bytes))
}

/// The first field of this number, as a number and as bytes; nothing at all if this is no message.
fn find(mut message: &[u8], wanted: u64) -> Option<Option<(u64, &[u8])>> {
    while !message.is_empty() {
        let (tag, rest) = read(message)?;
        let (number, rest) = read(rest)?;
        let (held, rest) = match tag & 7 {
            0 => ((number, &[][..]), rest),
            2 => ((0, rest.get(..number as usize)?), rest.get(number as usize..)?),
            _ => return None,
        };
        if tag >> 3 == wanted {
            return Some(Some(held));
        }
        message = rest;
    }
    Some(None)
}

fn read(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let length = bytes.iter().take(10).position(|byte| byte & 0x80 == 0)? + 1;
    let number = bytes[..length].iter().rev().fold(0_u64, |number, byte| number << 7 | u64::from(byte & 0x7f));
    Some((number, &bytes[length..]))
}
