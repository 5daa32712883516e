//! Configurations that are no UTF-8: what they say all the same, and how they are written anew.

use crate::diagnose::quoted;

/// A configuration that is no UTF-8, as editors wrote it before.
#[derive(Debug)]
pub struct Misencoded {
    /// What it says, as far as can be told.
    pub text: String,
    /// Where the first byte is that is none.
    pub fault: String,
    /// The command that writes the file anew.
    pub mend: String,
}

/// What is wrong with the bytes of a file; nothing if they are UTF-8.
pub fn misencoded(file: &str, bytes: &[u8]) -> Option<Misencoded> {
    let valid = str::from_utf8(bytes).err()?.valid_up_to();
    let before = String::from_utf8_lossy(&bytes[..valid]);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    let byte = bytes.get(valid).copied().unwrap_or_default();
    let fault = format!("{file}:{line}:{column}: byte 0x{byte:02x} is not UTF-8, allowed is UTF-8 text");
    let from = quoted(file);
    let mend = format!("t=$(mktemp) && iconv -f ISO-8859-1 -t UTF-8 {from} > $t && cat $t > {from} && rm $t");
    // Each byte is the character of its number there.
    Some(Misencoded { text: bytes.iter().copied().map(char::from).collect(), fault, mend })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_another_encoding_is_understood() {
        assert!(misencoded("n1.yml", "# für uns\n".as_bytes()).is_none());
        let found = misencoded("n1.yml", b"node.name: a\n# f\xfcr uns\n").expect("this is none");
        assert_eq!(found.text, "node.name: a\n# für uns\n");
        assert_eq!(found.fault, "n1.yml:2:4: byte 0xfc is not UTF-8, allowed is UTF-8 text");
    }
}
