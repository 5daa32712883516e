//! What nodes say to each other: whatever decodes is written so that it is read back as the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use zazen::wire;

fuzz_target!(|bytes: &[u8]| {
    let Ok(message) = wire::decode(bytes) else { return };
    let written = wire::encode(&message);
    assert_eq!(wire::size(&message), written.len(), "{message:?}");
    assert_eq!(wire::decode(&written).as_ref(), Ok(&message));
});
