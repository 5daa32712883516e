//! Who may ask a node, and what: a file with a line for each user, hashed so that who reads it cannot log in.
//!
//! ```text
//! # name    role     proof                              what may be touched, if not everything
//! elastic   admin    argon2id$9216$4$<salt>$<hash>
//! billing   operate  sha256$<hash of a token>           keys=billing/,shared/ leases=billing-*
//! ```
//!
//! Passwords are hashed with Argon2id, since people choose them; tokens with SHA-256, since nobody does.

use super::file::{FileError, read_private};
use super::{hex, random_hex, unhex};
use argon2::{Algorithm, Argon2, Params, Version};
use ring::digest::{SHA256, digest};
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// How much memory, in KiB, and how many passes a new hash of a password takes.
const MEMORY: u32 = 9_216;
const PASSES: u32 = 4;
/// What a file may ask for at the most, so that it cannot stop a node.
const MEMORY_MAX: u32 = 64 << 10;
const PASSES_MAX: u32 = 16;
const HASH: usize = 32;

/// What a user may do. Each may do what those before it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Looks at everything, changes nothing.
    Read,
    /// Changes keys, leases and settings, and moves the mastership.
    Operate,
    /// Removes members, cuts links, ends what others asked for.
    Admin,
}

impl Role {
    /// All of them, by name.
    pub const ALL: [(&'static str, Role); 3] =
        [("read", Role::Read), ("operate", Role::Operate), ("admin", Role::Admin)];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Role::Read => "read",
            Role::Operate => "operate",
            Role::Admin => "admin",
        }
    }

    /// The role of this name.
    pub fn named(name: &str) -> Result<Role, String> {
        let found = Role::ALL.into_iter().find(|(known, _)| *known == name);
        found.map(|(_, role)| role).ok_or_else(|| format!("there is no role [{name}], allowed: read, operate, admin"))
    }
}

/// Which keys and leases a user may touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// How the keys begin.
    pub keys: Vec<String>,
    /// The names of the leases; a `*` at the end stands for any end.
    pub leases: Vec<String>,
}

impl Share {
    /// Whether all keys that begin so are among those.
    pub fn has_keys(&self, prefix: &str) -> bool {
        self.keys.iter().any(|own| prefix.starts_with(own.as_str()))
    }

    /// Whether this lease is.
    pub fn has_lease(&self, name: &str) -> bool {
        self.leases.iter().any(|own| match own.strip_suffix('*') {
            Some(begin) => name.starts_with(begin),
            None => own == name,
        })
    }
}

/// A user.
#[derive(Clone, PartialEq, Eq)]
pub struct User {
    /// By which name they log in.
    pub name: Arc<str>,
    /// What they may do.
    pub role: Role,
    /// What they may touch; none is everything.
    pub share: Option<Share>,
    proof: Proof,
}

impl fmt::Debug for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "User({}, {})", self.name, self.role.name())
    }
}

#[derive(Clone, PartialEq, Eq)]
enum Proof {
    Password { memory: u32, passes: u32, salt: Vec<u8>, hash: Vec<u8> },
    Token(Vec<u8>),
}

impl Proof {
    fn parse(text: &str) -> Option<Self> {
        match text.split('$').collect::<Vec<_>>()[..] {
            ["argon2id", memory, passes, salt, hash] => {
                let (memory, passes) = (memory.parse().ok()?, passes.parse().ok()?);
                let (salt, hash) = (unhex(salt)?, unhex(hash)?);
                let fits = (8..=MEMORY_MAX).contains(&memory) && (1..=PASSES_MAX).contains(&passes);
                (fits && salt.len() >= 8 && hash.len() == HASH).then_some(Proof::Password {
                    memory,
                    passes,
                    salt,
                    hash,
                })
            }
            ["sha256", hash] => unhex(hash).filter(|hash| hash.len() == HASH).map(Proof::Token),
            _ => None,
        }
    }
}

fn argon2(secret: &[u8], salt: &[u8], memory: u32, passes: u32) -> Option<[u8; HASH]> {
    let params = Params::new(memory, passes, 1, Some(HASH)).ok()?;
    let mut hash = [0; HASH];
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params).hash_password_into(secret, salt, &mut hash).ok()?;
    Some(hash)
}

fn is_equal(one: &[u8], other: &[u8]) -> bool {
    let differing = one.iter().zip(other).fold(0, |differing, (a, b)| differing | (a ^ b));
    one.len() == other.len() && differing == 0
}

impl User {
    /// Whether this is the user's token.
    pub fn has_token(&self, token: &str) -> bool {
        match &self.proof {
            Proof::Token(hash) => is_equal(digest(&SHA256, token.as_bytes()).as_ref(), hash),
            Proof::Password { .. } => false,
        }
    }

    /// Whether this is the user's password, or the token in the place of one. Takes its time.
    pub fn has_password(&self, password: &str) -> bool {
        match &self.proof {
            Proof::Token(_) => {
                let is_right = self.has_token(password);
                if !is_right {
                    // Who is told at once has a token.
                    find_nobody(password);
                }
                is_right
            }
            Proof::Password { memory, passes, salt, hash } => {
                let made = argon2(password.as_bytes(), salt, *memory, *passes);
                made.is_some_and(|made| is_equal(&made, hash))
            }
        }
    }
}

/// Takes as long as it takes to find a password wrong, so that nobody learns who is known.
pub fn find_nobody(password: &str) {
    let made = argon2(password.as_bytes(), &[0; 16], MEMORY, PASSES);
    std::hint::black_box(made);
}

/// How a password stands in a file; none if the system gives no entropy.
pub fn hash_of_password(password: &str) -> Option<String> {
    let salt = random_hex::<16>()?;
    let hash = argon2(password.as_bytes(), &unhex(&salt)?, MEMORY, PASSES)?;
    Some(format!("argon2id${MEMORY}${PASSES}${salt}${}", hex(&hash)))
}

/// A new token of a user, and how it stands in a file. It begins with the name, by which it is found.
pub fn fresh_token(name: &str) -> Option<(String, String)> {
    let token = format!("{name}.{}", random_hex::<32>()?);
    let hash = format!("sha256${}", hex(digest(&SHA256, token.as_bytes()).as_ref()));
    Some((token, hash))
}

/// All users, by name.
pub type UserList = BTreeMap<Arc<str>, Arc<User>>;

/// Reads a file of users.
pub fn read_users(path: &Path) -> Result<UserList, FileError> {
    let text = read_private(path)?;
    // Cut off in the middle, a line gives other rights than it was to.
    if !text.is_empty() && !text.ends_with('\n') {
        let why = "its last line has no end, so it may be half a file; allowed: a line break behind the last user";
        return Err(FileError::Strange(path.to_owned(), why.into()));
    }
    parse_users(&text).map_err(|why| FileError::Strange(path.to_owned(), why))
}

/// The same, if it has one at least: a copy that is not complete yet looks as if it had none, and would lock everybody out.
pub fn read_some_users(path: &Path) -> Result<UserList, FileError> {
    let users = read_users(path)?;
    if users.is_empty() {
        return Err(FileError::Strange(path.to_owned(), "it has no user, allowed: one at least".into()));
    }
    Ok(users)
}

/// The same from a text.
pub fn parse_users(text: &str) -> Result<UserList, String> {
    let mut users = UserList::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let user = parse_user(line).map_err(|why| format!("line {}: {why}", at + 1))?;
        if users.insert(user.name.clone(), Arc::new(user)).is_some() {
            return Err(format!("line {}: the user stands there already", at + 1));
        }
    }
    Ok(users)
}

/// Whether somebody can be called so.
pub fn is_user_name(name: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '@');
    (1..=64).contains(&name.len()) && name.chars().all(is_letter)
}

fn parse_user(line: &str) -> Result<User, String> {
    let mut words = line.split_whitespace();
    let (Some(name), Some(role), Some(proof)) = (words.next(), words.next(), words.next()) else {
        return Err("a user has a name, a role and a hash, as `zazen user` writes them".into());
    };
    if !is_user_name(name) {
        return Err("a name has 1 to 64 letters, digits and [-_@]".into());
    }
    let proof = Proof::parse(proof).ok_or("the hash is none, allowed: those that `zazen user` makes")?;
    let mut share = None;
    for word in words {
        let list = |text: &str| text.split(',').filter(|one| !one.is_empty()).map(str::to_owned).collect::<Vec<_>>();
        let share = share.get_or_insert_with(Share::default);
        match word.split_once('=') {
            Some(("keys", keys)) => share.keys = list(keys),
            Some(("leases", leases)) => share.leases = list(leases),
            Some(_) | None => return Err(format!("[{word}] is neither [keys=] nor [leases=] and a list")),
        }
    }
    Ok(User { name: name.into(), role: Role::named(role)?, share, proof })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_logs_in_with_what_the_file_has_the_hash_of() {
        let (token, hash) = fresh_token("ci").expect("there is entropy");
        let password = hash_of_password("hunter2").expect("there is entropy");
        let text = format!("# users\nelastic admin {password}\n\nci  operate {hash} keys=ci/,x leases=ci-*,one\n");
        let users = parse_users(&text).expect("it is well formed");
        let (elastic, ci) = (&users["elastic"], &users["ci"]);
        assert!(elastic.has_password("hunter2") && !elastic.has_password("hunter3") && !elastic.has_token("hunter2"));
        assert!(ci.has_token(&token) && ci.has_password(&token) && !ci.has_token("ci."));
        assert_eq!((elastic.role, &elastic.share, ci.role), (Role::Admin, &None, Role::Operate));
        let share = ci.share.as_ref().expect("it is limited");
        let keys = ["ci/a", "ci/", "ci", "xyz", ""].map(|key| share.has_keys(key));
        assert_eq!(keys, [true, true, false, true, false]);
        let leases = ["ci-1", "one", "one1", "c"].map(|name| share.has_lease(name));
        assert_eq!(leases, [true, true, false, false]);
        assert!(!format!("{users:?}").contains(&hash[8..]), "hashes are not shown");
    }

    #[test]
    fn what_is_no_user_is_told_with_its_line_and_without_the_hash() {
        let hash = format!("sha256${}", "a".repeat(64));
        let cases = [
            ("a admin".to_owned(), "line 1: a user has a name"),
            (format!("\na.b admin {hash}"), "line 2: a name has"),
            (format!("a root {hash}"), "line 1: there is no role [root]"),
            ("a admin secret".to_owned(), "line 1: the hash is none"),
            (format!("a admin argon2id$99999999$1${}${}", "b".repeat(32), "a".repeat(64)), "line 1: the hash is none"),
            (format!("a admin {hash} paths=x"), "line 1: [paths=x] is neither"),
            (format!("a admin {hash}\na read {hash}"), "line 2: the user stands there already"),
        ];
        for (text, expected) in cases {
            let why = parse_users(&text).expect_err("it makes no sense");
            assert!(why.starts_with(expected) && !why.contains(&hash), "{text}: {why}");
        }
    }
}
