//! What tells those who belong to a cluster from all others: the secret that its nodes share, certificates, and the demand
//! for them where strangers reach a port.
//!
//! Users and their rights are the business of `rest`; what a message means is nobody's here.

mod certificates;
mod credentials;
mod expiry;
mod file;
mod gate;
mod seal;
mod secret;
mod shown;
mod tls;
mod users;
mod watch;
mod window;

pub use certificates::{Authority, Made, Purpose, authority_for, made_at, made_for, made_line};
pub(super) use credentials::node_files;
pub use credentials::{is_own, readable, users_files};
pub(super) use expiry::watch_expiries;
pub use expiry::{Expiry, OF_NODES, ending, expiries};
pub use file::{FileError, read_private};
pub use gate::{Insecure, Side, gate, open_sides, remind};
pub(super) use seal::{CHALLENGE, FrameKey, Head, Refusal, SEAL, Sealed, Sealer, Shared};
pub use secret::{Secrets, fresh_secret};
pub(super) use shown::{Shown, shown};
pub use tls::{NodeFiles, Tls, for_users, names, role, trusting, trusting_as_the_system};
pub use users::{
    Role, Share, User, UserList, find_nobody, fresh_token, hash_of_password, is_user_name, parse_users,
    read_some_users, read_users,
};
pub use watch::watch;

use crate::settings::NodeSettings;
use ring::rand::{SecureRandom, SystemRandom};

/// The settings of a node that was equipped, which begin at the directory of the configuration.
pub const LINES: &str = "\
# Who is a node: who has the secret, and shows a certificate of this cluster.
zazen.security.secret: cluster.secret
zazen.security.certificate: node.crt
zazen.security.key: node.key
zazen.security.authorities: ca.crt
# Who may ask, and what they see of this node.
zazen.security.users: users
zazen.security.http.certificate: http.crt
zazen.security.http.key: http.key
";

/// Whether the files are there that a line of a configuration names as `zazen setup` does.
pub fn has_files_of(settings: &NodeSettings, line: &str) -> bool {
    let made = LINES.lines().filter_map(|line| line.split_once(": ")).map(|(_, file)| file);
    let is_named = |file: &&str| line.split([' ', ':', ',', '{', '}']).any(|word| word == *file);
    made.filter(is_named).all(|file| settings.path_conf.join(file).is_file())
}

/// So many random bytes as hexadecimal digits; none if the system gives no entropy.
pub fn random_hex<const N: usize>() -> Option<String> {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).ok()?;
    Some(hex(&bytes))
}

/// Bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).filter_map(|half| char::from_digit(half.into(), 16)).collect()
}

/// Hexadecimal digits as bytes.
pub fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> =
        text.chars().map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok())).collect();
    let digits = digits.filter(|digits| digits.len().is_multiple_of(2))?;
    Some(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}
