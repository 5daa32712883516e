//! Who asks: by name and password, or by a token, as `Authorization` has them.
//!
//! A password takes long to check, so what was right once is remembered under a key that nobody knows, until the file of
//! users changes. Who is wrong too often waits, by address; whoever is known goes on meanwhile. Mirrors
//! `SecurityRestFilter` and `AuthenticationService` of X-Pack (6.8).

use crate::runtime::secure::{User, UserList, find_nobody, is_user_name, random_hex, read_some_users, read_users};
use crate::settings::NodeSettings;
use axum::http::{HeaderMap, header};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::{Engine, alphabet};
use parking_lot::{Mutex, RwLock};
use ring::hmac::{self, HMAC_SHA256, Key};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How many right answers are remembered.
const KNOWN_MAX: usize = 4_096;
/// How many passwords are checked at a time, and how many different ones of one address may wait for that.
const CHECKS_AT_A_TIME: usize = 2;
const WAITING_MAX: usize = 64;
/// How often somebody may be wrong in a row; then each further time makes the wait longer, up to the last.
const WRONG_MAX: u32 = 10;
const WAIT: Duration = Duration::from_secs(1);
const WAIT_MAX: Duration = Duration::from_secs(60);
/// When a wrong answer is forgotten, and of how many addresses they are remembered.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(300);
const ADDRESSES_MAX: usize = 10_000;
/// Longer ones are none.
const PASSWORD_MAX: usize = 1_024;

/// Why somebody is not let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stranger {
    /// Nothing was said of who it is.
    Silent,
    /// It was wrong, in this name.
    Wrong(String),
    /// It was wrong too often, and may ask again after this time.
    Braked(Duration),
}

/// Somebody who logged in.
#[derive(Clone)]
pub(super) struct Guest {
    pub(super) user: Arc<User>,
    /// Cancelled when the users change: what goes on must be asked for again.
    pub(super) until: CancellationToken,
    login: Arc<Login>,
}

impl Guest {
    /// Returns when this user is none any more, or may do something else.
    pub(super) async fn is_changed(&self) {
        let mut until = self.until.clone();
        loop {
            until.cancelled().await;
            let present = self.login.present.read().clone();
            if present.users.get(&*self.user.name) != Some(&self.user) {
                return;
            }
            until = present.until.clone();
        }
    }
}

/// Knows who may ask.
pub(super) struct Login {
    path: PathBuf,
    present: RwLock<Arc<Present>>,
    wrong: Mutex<BTreeMap<IpAddr, Wrong>>,
    checks: Semaphore,
}

/// The users of one reading of the file.
struct Present {
    users: UserList,
    key: Key,
    known: Mutex<BTreeMap<Vec<u8>, Arc<User>>>,
    until: CancellationToken,
}

struct Wrong {
    times: u32,
    last: Instant,
    /// What is being checked, or waits for it, by its mark, and how often: the clients of one user are checked once.
    asking: BTreeMap<Vec<u8>, u32>,
}

/// One that is being checked, until this is dropped.
struct Asking<'a> {
    login: &'a Login,
    from: IpAddr,
    mark: Vec<u8>,
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        let mut wrong = self.login.wrong.lock();
        if let Some(one) = wrong.get_mut(&self.from) {
            let left = one.asking.get_mut(&self.mark).map_or(0, |count| {
                *count = count.saturating_sub(1);
                *count
            });
            if left == 0 {
                one.asking.remove(&self.mark);
            }
            if one.asking.is_empty() && one.times == 0 {
                wrong.remove(&self.from);
            }
        }
    }
}

/// What somebody says of who it is.
enum Said {
    Password(String, String),
    Token(String),
}

impl Said {
    fn read(headers: &HeaderMap) -> Option<Said> {
        let text = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
        let (scheme, rest) = text.split_once(' ')?;
        let rest = rest.trim();
        if rest.len() > 2 * PASSWORD_MAX {
            return None;
        }
        if scheme.eq_ignore_ascii_case("bearer") {
            return Some(Said::Token(rest.to_owned()));
        }
        let pair = scheme.eq_ignore_ascii_case("basic").then(|| unbase64(rest)).flatten()?;
        let (name, password) = pair.split_once(':')?;
        Some(Said::Password(name.to_owned(), password.to_owned()))
    }

    fn name(&self) -> &str {
        match self {
            Said::Password(name, _) => name,
            Said::Token(token) => token.split('.').next().unwrap_or_default(),
        }
    }

    fn secret(&self) -> &str {
        match self {
            Said::Password(_, secret) | Said::Token(secret) => secret,
        }
    }
}

impl Login {
    /// Where users must log in. A file that cannot be used lets nobody in.
    pub(super) fn of(settings: &NodeSettings) -> Option<Arc<Self>> {
        let path = settings.path_conf.join(settings.security.users.as_ref()?);
        let users = read_users(&path).unwrap_or_else(|error| {
            tracing::error!("nobody can log in: {error}");
            UserList::new()
        });
        let (wrong, checks) = (Mutex::default(), Semaphore::new(CHECKS_AT_A_TIME));
        Some(Arc::new(Login { path, present: RwLock::new(Arc::new(Present::new(users))), wrong, checks }))
    }

    /// The file of users.
    pub(super) fn path(&self) -> &PathBuf {
        &self.path
    }

    /// Takes the file over again; who listens must ask again.
    pub(super) fn reload(&self) -> Result<(), String> {
        let users = read_some_users(&self.path).map_err(|error| error.to_string())?;
        let before = std::mem::replace(&mut *self.present.write(), Arc::new(Present::new(users)));
        before.until.cancel();
        Ok(())
    }

    /// Who asks from this address.
    pub(super) async fn who(self: &Arc<Self>, headers: &HeaderMap, from: IpAddr) -> Result<Guest, Stranger> {
        let said = Said::read(headers).ok_or(Stranger::Silent)?;
        let present = self.present.read().clone();
        let mark = present.mark(&said);
        let known = present.known.lock().get(&mark).cloned();
        if let Some(user) = known {
            return Ok(self.guest(user, &present));
        }
        let from = network(from);
        let _asking = self.begin(from, &mark).map_err(Stranger::Braked)?;
        let name = said.name().to_owned();
        let _turn = match &said {
            Said::Password(..) => self.checks.acquire().await.ok(),
            Said::Token(_) => None,
        };
        // Meanwhile others of this address may have been right in the same way, or wrong too often.
        let known = present.known.lock().get(&mark).cloned();
        if let Some(user) = known {
            return Ok(self.guest(user, &present));
        }
        if let Some(wait) = self.wait_of(from) {
            return Err(Stranger::Braked(wait));
        }
        match check(&present, said).await {
            Some(user) => {
                present.remember(mark, &user);
                if let Some(one) = self.wrong.lock().get_mut(&from) {
                    one.times = 0;
                }
                Ok(self.guest(user, &present))
            }
            None => {
                self.note_wrong(from);
                Err(Stranger::Wrong(name.chars().take(64).filter(|c| !c.is_control()).collect()))
            }
        }
    }

    /// One more is to be checked; or how long to wait, where too many are, or were wrong.
    fn begin(&self, from: IpAddr, mark: &[u8]) -> Result<Asking<'_>, Duration> {
        if let Some(wait) = self.wait_of(from) {
            return Err(wait);
        }
        let mut wrong = self.wrong.lock();
        let one = entry(&mut wrong, from);
        if one.asking.len() >= WAITING_MAX && !one.asking.contains_key(mark) {
            return Err(WAIT);
        }
        *one.asking.entry(mark.to_owned()).or_default() += 1;
        Ok(Asking { login: self, from, mark: mark.to_owned() })
    }

    fn guest(self: &Arc<Self>, user: Arc<User>, present: &Present) -> Guest {
        Guest { user, until: present.until.clone(), login: self.clone() }
    }

    fn wait_of(&self, from: IpAddr) -> Option<Duration> {
        let wrong = self.wrong.lock();
        let wrong = wrong.get(&from).filter(|wrong| wrong.times >= WRONG_MAX)?;
        let doubled = WAIT.saturating_mul(1 << (wrong.times - WRONG_MAX).min(16)).min(WAIT_MAX);
        doubled.checked_sub(wrong.last.elapsed()).filter(|wait| !wait.is_zero())
    }

    fn note_wrong(&self, from: IpAddr) {
        let mut wrong = self.wrong.lock();
        let one = entry(&mut wrong, from);
        if one.last.elapsed() >= FORGOTTEN_AFTER {
            one.times = 0;
        }
        one.times = one.times.saturating_add(1);
        one.last = Instant::now();
    }
}

/// What is known of an address. Of so many no more is remembered than the newest of it.
fn entry(wrong: &mut BTreeMap<IpAddr, Wrong>, from: IpAddr) -> &mut Wrong {
    if wrong.len() >= ADDRESSES_MAX && !wrong.contains_key(&from) {
        wrong.retain(|_, wrong| wrong.last.elapsed() < FORGOTTEN_AFTER);
        if wrong.len() >= ADDRESSES_MAX {
            wrong.pop_first();
        }
    }
    wrong.entry(from).or_insert_with(|| Wrong { times: 0, last: Instant::now(), asking: BTreeMap::new() })
}

/// Whom an address belongs to: whoever has one of IPv6 has the 2^64 beside it as well.
fn network(from: IpAddr) -> IpAddr {
    match from {
        IpAddr::V4(_) => from,
        IpAddr::V6(six) => Ipv6Addr::from_bits(six.to_bits() & !u128::from(u64::MAX)).into(),
    }
}

async fn check(present: &Present, said: Said) -> Option<Arc<User>> {
    let user = present.users.get(said.name()).cloned();
    let (name_only, secret) = (matches!(said, Said::Token(_)), said.secret().to_owned());
    if name_only {
        return user.filter(|user| user.has_token(&secret));
    }
    let check = move || match user {
        Some(user) => user.has_password(&secret).then_some(user),
        None => {
            find_nobody(&secret);
            None
        }
    };
    tokio::task::spawn_blocking(check).await.ok().flatten()
}

impl Present {
    fn new(users: UserList) -> Self {
        // Without entropy nothing is remembered that somebody could make up: the mark of everything is then its own text.
        let key = random_hex::<32>().unwrap_or_default();
        let key = Key::new(HMAC_SHA256, key.as_bytes());
        Present { users, key, known: Mutex::default(), until: CancellationToken::new() }
    }

    fn mark(&self, said: &Said) -> Vec<u8> {
        let kind: &[u8] = match said {
            Said::Password(..) => b"password",
            Said::Token(_) => b"token",
        };
        let mut context = hmac::Context::with_key(&self.key);
        for part in [kind, said.name().as_bytes(), said.secret().as_bytes()] {
            context.update(&(part.len() as u64).to_be_bytes());
            context.update(part);
        }
        context.sign().as_ref().to_vec()
    }

    fn remember(&self, mark: Vec<u8>, user: &Arc<User>) {
        let mut known = self.known.lock();
        if known.len() >= KNOWN_MAX {
            known.pop_first();
        }
        known.insert(mark, user.clone());
    }
}

/// In whose name a request was sent, if that is a name; what else stands there may be a secret.
pub(super) fn name_of(headers: &HeaderMap) -> Option<String> {
    let said = Said::read(headers)?;
    is_user_name(said.name()).then(|| said.name().to_owned())
}

/// A text as `Basic` has it: in both alphabets, with or without what fills it up.
fn unbase64(text: &str) -> Option<String> {
    let config = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let is_of_urls = text.contains(['-', '_']);
    let alphabet = if is_of_urls { &alphabet::URL_SAFE } else { &alphabet::STANDARD };
    String::from_utf8(GeneralPurpose::new(alphabet, config).decode(text).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn basic_is_read_as_clients_write_it() {
        for (text, expected) in [
            ("ZWxhc3RpYzpjaGFuZ2VtZQ==", Some("elastic:changeme")),
            ("YTpi", Some("a:b")),
            ("YTpiOmM", Some("a:b:c")),
            ("w7x4OsO2", Some("üx:ö")),
            ("/w==", None),
            ("a b", None),
        ] {
            assert_eq!(unbase64(text).as_deref(), expected, "{text}");
        }
    }
}
