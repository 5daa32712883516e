//! Faults of a configuration as one line to paste: what was meant is put where something else stands.

use super::said;
use crate::diagnose::{Code, Mend, Start, quoted};
use crate::runtime::inquiry::{launch_of, mending};
use crate::runtime::program;
use crate::settings::{Besides, Faults, Launch, Sources, is_passing, meant_besides, remedies};
use std::path::Path;

/// What is said of a configuration that makes no sense. Whoever starts a node may read it elsewhere than he typed, so the
/// file is named in full then.
pub fn faults(faults: &Faults, sources: &Sources<'_>, starts: bool) -> String {
    // What came through a pipe is mended where it came from.
    let mend = sources.file.filter(|file| !is_passing(file.name)).and_then(|file| {
        let file = if starts { super::absolute(Path::new(file.name)) } else { file.name.to_owned() };
        let mended = mending(&remedies(sources, faults)?, &file);
        let launch = launch_of(&Launch::of(sources));
        let start = || Start::new(&program(), Some(&file), &launch).mend(&format!("{mended} && "));
        Some(if starts { start() } else { Mend::command(mended.clone()) })
    });
    let mend = mend.or_else(|| besides(sources));
    format!("{faults}\n{}", said("error:", Code::BadSettings, mend.as_ref()))
}

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

/// What is said of such a file, to whoever typed a line that goes on where the file is written anew.
pub fn said_of_encoding(found: &Misencoded, typed: Option<&str>) -> String {
    let line = typed.map_or_else(|| found.mend.clone(), |typed| format!("{} && {typed}", found.mend));
    format!("{}\n{}", found.fault, said("error:", Code::BadSettings, Some(&Mend::command(line))))
}

/// The start with what was meant by its arguments and variables, where the file is right.
pub(in crate::runtime) fn besides(sources: &Sources<'_>) -> Option<Mend> {
    let file = sources.file.filter(|file| !is_passing(file.name)).map(|file| super::absolute(Path::new(file.name)));
    let Besides { arguments, environment } = meant_besides(sources)?;
    let meant = Sources { arguments: &arguments, environment: &environment, ..sources.clone() };
    Some(Start::new(&program(), file.as_deref(), &launch_of(&Launch::of(&meant))).mend(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_another_encoding_is_understood_and_written_anew() {
        assert!(misencoded("n1.yml", "# für uns\n".as_bytes()).is_none());
        let found = misencoded("n1.yml", b"node.name: a\n# f\xfcr uns\n").expect("this is none");
        assert_eq!(found.text, "node.name: a\n# für uns\n");
        assert_eq!(found.fault, "n1.yml:2:4: byte 0xfc is not UTF-8, allowed is UTF-8 text");
        assert!(said_of_encoding(&found, Some("zazen start -c n1.yml")).contains("&& rm $t && zazen start -c n1.yml"));
    }
}
