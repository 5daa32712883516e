//! Seals on what nodes say to each other: HMAC-SHA256 over all of it, so that nobody without the secret can say it, change
//! it, or say it again.
//!
//! ```text
//! request   zazen-address: 10.0.0.1:9300
//!           zazen-seal: <epoch of the receiver> <boot of the sender> <number> <digest of the body> <mac>
//! answer    zazen-seal: <mac over the request's, the status and the digest of the body>
//! frame     <mac over its place in the stream and the line> ask 17 {…}
//! ```
//!
//! The receiver draws its epoch at its start and tells it to whoever names another one, so what was heard by another
//! process, or before a restart, cannot be said again. Numbers of a sender count once. The head is judged before the body is
//! read, and the body by its digest before it is understood.

use super::secret::Secrets;
use super::window::Window;
use super::{hex, random_hex, unhex};
use crate::cluster::{Address, ClusterName};
use axum::http::{HeaderMap, HeaderName};
use parking_lot::{Mutex, RwLock};
use ring::digest::{SHA256, digest};
use ring::hmac::{self, HMAC_SHA256, Key};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Carries a seal.
pub(in crate::runtime) const SEAL: HeaderName = HeaderName::from_static("zazen-seal");
/// Tells at which address the sender is reached.
pub(in crate::runtime) const FROM: HeaderName = HeaderName::from_static("zazen-address");
/// Tells a sender the epoch of the receiver.
pub(in crate::runtime) const CHALLENGE: HeaderName = HeaderName::from_static("zazen-challenge");

/// How many boots of senders are remembered; when there are more, a new epoch begins, in which all are forgotten.
const SENDERS_MAX: usize = 4_096;
/// Of how many peers the epochs are remembered.
const PEERS_MAX: usize = 8_192;
/// How many bytes of a frame's mac are sent.
const FRAME_MAC: usize = 16;
/// What stands for the body of a link, whose frames have macs of their own.
pub(in crate::runtime) const OF_LINK: &str = "link";

/// Seals what a node says, and judges what it hears.
#[derive(Debug)]
pub(in crate::runtime) struct Sealer {
    secrets: RwLock<Secrets>,
    cluster: ClusterName,
    local: Address,
    boot: String,
    number: AtomicU64,
    heard: Mutex<Heard>,
    /// The epochs of others.
    epochs: Mutex<BTreeMap<Address, String>>,
}

/// What was heard in the present epoch.
#[derive(Debug)]
struct Heard {
    epoch: String,
    senders: BTreeMap<String, Window>,
}

/// A request as it is sealed: where it goes, and what it carries besides its body.
#[derive(Clone, Copy, Debug)]
pub(in crate::runtime) struct Head<'a> {
    pub(in crate::runtime) method: &'a str,
    /// The path with the query.
    pub(in crate::runtime) target: &'a str,
    /// Which part of a message it is, if it is one.
    pub(in crate::runtime) part: &'a str,
}

/// Why a request is not listened to.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::runtime) enum Refusal {
    /// It is sealed for another epoch than this one, or not at all.
    Challenged(String),
    /// The seal is not that of a node.
    Forged,
    /// It was heard before.
    Replayed,
}

/// A request whose head is genuine.
#[derive(Clone, Debug)]
pub(in crate::runtime) struct Sealed {
    key: Key,
    mac: String,
    digest: String,
    /// Who sent it.
    pub(in crate::runtime) from: Address,
}

/// A request that was sealed: what its headers say, and what its answer is judged by.
#[derive(Clone, Debug)]
pub(in crate::runtime) struct Asked {
    sealed: Sealed,
    header: String,
}

impl Sealer {
    /// One for a node of a cluster that is reached at an address; none if the system gives no entropy.
    pub(in crate::runtime) fn new(secrets: Secrets, cluster: ClusterName, local: Address) -> Option<Self> {
        let heard = Heard { epoch: random_hex::<16>()?, senders: BTreeMap::new() };
        Some(Sealer {
            secrets: RwLock::new(secrets),
            cluster,
            local,
            boot: random_hex::<16>()?,
            number: AtomicU64::new(0),
            heard: Mutex::new(heard),
            epochs: Mutex::default(),
        })
    }

    /// Takes other secrets from now on; links that are open stay.
    pub(in crate::runtime) fn renew(&self, secrets: Secrets) {
        *self.secrets.write() = secrets;
    }

    /// Takes note of the epoch of a peer.
    pub(in crate::runtime) fn learn(&self, peer: &Address, epoch: &str) {
        let mut epochs = self.epochs.lock();
        if epochs.len() >= PEERS_MAX && !epochs.contains_key(peer) {
            epochs.clear();
        }
        epochs.insert(peer.clone(), epoch.to_owned());
    }

    /// Seals a request to a peer.
    pub(in crate::runtime) fn seal(&self, to: &Address, head: Head<'_>, body: Option<&[u8]>) -> Asked {
        let epoch = self.epochs.lock().get(to).cloned().unwrap_or_else(|| "-".into());
        let number = self.number.fetch_add(1, Ordering::Relaxed) + 1;
        let digest = body.map_or_else(|| OF_LINK.to_owned(), digest_of);
        let key = self.secrets.read().first().clone();
        let mac = self.mac(&key, [&epoch, &self.boot, &number.to_string(), &digest], head, &self.local);
        let header = format!("{epoch} {} {number} {digest} {mac}", self.boot);
        Asked { sealed: Sealed { key, mac, digest, from: to.clone() }, header }
    }

    /// Judges the head of a request.
    pub(in crate::runtime) fn judge(&self, head: Head<'_>, headers: &HeaderMap) -> Result<Sealed, Refusal> {
        let challenged = || Refusal::Challenged(self.heard.lock().epoch.clone());
        let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
        let (Some(seal), Some(from)) = (text(&SEAL), text(&FROM)) else {
            return Err(challenged());
        };
        let [epoch, boot, number, digest, mac] = seal.split(' ').collect::<Vec<_>>()[..] else {
            return Err(Refusal::Forged);
        };
        if epoch != self.heard.lock().epoch {
            return Err(challenged());
        }
        let from = Address::from(from);
        let text = self.text([epoch, boot, number, digest], head, &from);
        let tag = unhex(mac).ok_or(Refusal::Forged)?;
        let secrets = self.secrets.read().clone();
        let genuine = secrets.all().iter().find(|key| hmac::verify(key, text.as_bytes(), &tag).is_ok());
        let key = genuine.ok_or(Refusal::Forged)?.clone();
        let number = number.parse().map_err(|_| Refusal::Forged)?;
        self.heard.lock().admit(epoch, boot, number).map_err(|()| Refusal::Replayed)?;
        Ok(Sealed { key, mac: mac.to_owned(), digest: digest.to_owned(), from })
    }

    fn mac(&self, key: &Key, seal: [&str; 4], head: Head<'_>, from: &Address) -> String {
        hex(hmac::sign(key, self.text(seal, head, from).as_bytes()).as_ref())
    }

    /// What a mac is over: lines, of which none can hold the end of one.
    fn text(&self, [epoch, boot, number, digest]: [&str; 4], head: Head<'_>, from: &Address) -> String {
        let Head { method, target, part } = head;
        let cluster = hex(self.cluster.as_str().as_bytes());
        ["zazen-request-1", &cluster, epoch, boot, number, digest, method, target, part, from.as_str()].join("\n")
    }
}

impl Heard {
    fn admit(&mut self, epoch: &str, boot: &str, number: u64) -> Result<(), ()> {
        // Another epoch may have begun since the seal was judged.
        if epoch != self.epoch {
            return Err(());
        }
        if self.senders.len() >= SENDERS_MAX && !self.senders.contains_key(boot) {
            self.senders.clear();
            self.epoch = random_hex::<16>().ok_or(())?;
            return Err(());
        }
        let is_new = self.senders.entry(boot.to_owned()).or_default().admit(number);
        if is_new { Ok(()) } else { Err(()) }
    }
}

impl Sealed {
    /// Whether this is the body that was sealed.
    pub(in crate::runtime) fn fits(&self, body: &[u8]) -> bool {
        self.digest != OF_LINK && ring_eq(&self.digest, &digest_of(body))
    }

    /// Whether this was sealed as the beginning of a link.
    pub(in crate::runtime) fn is_of_link(&self) -> bool {
        self.digest == OF_LINK
    }

    /// The seal of an answer; that of a link has no body.
    pub(in crate::runtime) fn answer(&self, status: u16, body: Option<&[u8]>) -> String {
        hex(hmac::sign(&self.key, self.answer_text(status, body).as_bytes()).as_ref())
    }

    fn answer_text(&self, status: u16, body: Option<&[u8]>) -> String {
        let digest = body.map_or_else(|| OF_LINK.to_owned(), digest_of);
        format!("zazen-answer-1\n{}\n{status}\n{digest}", self.mac)
    }

    /// The keys of a link: that of what its maker says, and that of what the other end says.
    pub(in crate::runtime) fn link(&self) -> (FrameKey, FrameKey) {
        let derive = |side: &str| {
            let secret = hmac::sign(&self.key, format!("zazen-link-1\n{side}\n{}", self.mac).as_bytes());
            FrameKey { key: Key::new(HMAC_SHA256, secret.as_ref()), count: 0 }
        };
        (derive("maker"), derive("taker"))
    }
}

impl Asked {
    /// What the headers of the request say.
    pub(in crate::runtime) fn headers(&self, local: &Address) -> [(HeaderName, String); 2] {
        [(SEAL, self.header.clone()), (FROM, local.as_str().to_owned())]
    }

    /// Whether an answer is that of a node, to this request.
    pub(in crate::runtime) fn is_answered_by(&self, seal: Option<&str>, status: u16, body: Option<&[u8]>) -> bool {
        let tag = seal.and_then(unhex).unwrap_or_default();
        hmac::verify(&self.sealed.key, self.sealed.answer_text(status, body).as_bytes(), &tag).is_ok()
    }

    /// The keys of the link that it begins.
    pub(in crate::runtime) fn link(&self) -> (FrameKey, FrameKey) {
        self.sealed.link()
    }
}

impl Sealer {
    /// Where this node is reached.
    pub(in crate::runtime) fn local(&self) -> &Address {
        &self.local
    }
}

/// Seals one direction of a link, frame by frame.
#[derive(Clone, Debug)]
pub(in crate::runtime) struct FrameKey {
    key: Key,
    count: u64,
}

impl FrameKey {
    /// The mac of the next line.
    pub(in crate::runtime) fn seal(&mut self, line: &[u8]) -> String {
        hex(&self.tag(line)[..FRAME_MAC])
    }

    /// The line behind its mac, if it is the next one.
    pub(in crate::runtime) fn open<'a>(&mut self, sealed: &'a [u8]) -> Option<&'a [u8]> {
        let (mac, rest) = sealed.split_at_checked(2 * FRAME_MAC)?;
        let line = rest.strip_prefix(b" ")?;
        let expected = self.seal(line);
        ring_eq(std::str::from_utf8(mac).ok()?, &expected).then_some(line)
    }

    fn tag(&mut self, line: &[u8]) -> Vec<u8> {
        let mut context = hmac::Context::with_key(&self.key);
        context.update(&self.count.to_be_bytes());
        context.update(line);
        self.count += 1;
        context.sign().as_ref().to_vec()
    }
}

fn digest_of(body: &[u8]) -> String {
    hex(digest(&SHA256, body).as_ref())
}

/// Compares in a time that does not tell how much is equal.
fn ring_eq(one: &str, other: &str) -> bool {
    let differing = one.bytes().zip(other.bytes()).fold(0, |differing, (a, b)| differing | (a ^ b));
    one.len() == other.len() && differing == 0
}

/// What a node shares with its clients of other nodes.
pub(in crate::runtime) type Shared = Option<Arc<Sealer>>;

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    const HEAD: Head<'_> = Head { method: "POST", target: "/_zen/publish", part: "" };

    fn sealer(secrets: &str, cluster: &str, local: &str) -> Sealer {
        let secrets = Secrets::parse(secrets).expect("they are long enough");
        Sealer::new(secrets, cluster.into(), local.into()).expect("there is entropy")
    }

    fn secret(letter: char) -> String {
        letter.to_string().repeat(32)
    }

    fn pair() -> (Sealer, Sealer) {
        (sealer(&secret('s'), "prod", "a:9300"), sealer(&secret('s'), "prod", "b:9300"))
    }

    fn headers(asked: &Asked, local: &str) -> HeaderMap {
        let all =
            asked.headers(&local.into()).map(|(name, value)| (name, HeaderValue::try_from(value).expect("a value")));
        all.into_iter().collect()
    }

    /// A request that the other one has told its epoch before.
    fn asked(from: &Sealer, to: &Sealer, body: &[u8]) -> (Asked, HeaderMap) {
        let epoch = to.heard.lock().epoch.clone();
        from.learn(&to.local, &epoch);
        let asked = from.seal(&to.local, HEAD, Some(body));
        let headers = headers(&asked, from.local.as_str());
        (asked, headers)
    }

    #[test]
    fn a_stranger_is_challenged_and_a_node_is_heard_once() {
        let (a, b) = pair();
        let first = a.seal(&b.local, HEAD, Some(b"x"));
        let Err(Refusal::Challenged(epoch)) = b.judge(HEAD, &headers(&first, "a:9300")) else {
            panic!("it names no epoch");
        };
        assert!(matches!(b.judge(HEAD, &HeaderMap::new()), Err(Refusal::Challenged(_))));
        a.learn(&b.local, &epoch);
        let again = a.seal(&b.local, HEAD, Some(b"x"));
        let heard = b.judge(HEAD, &headers(&again, "a:9300")).expect("it is genuine");
        assert_eq!((heard.from.as_str(), heard.fits(b"x"), heard.fits(b"y")), ("a:9300", true, false));
        assert_eq!(b.judge(HEAD, &headers(&again, "a:9300")).err(), Some(Refusal::Replayed));
        let seal = heard.answer(200, Some(b"ok"));
        assert!(again.is_answered_by(Some(&seal), 200, Some(b"ok")));
        for (seal, status, body) in
            [(Some(&*seal), 202, "ok"), (Some(&*seal), 200, "no"), (None, 200, "ok"), (Some("zz"), 200, "ok")]
        {
            assert!(!again.is_answered_by(seal, status, Some(body.as_bytes())), "{seal:?} {status} {body}");
        }
    }

    #[test]
    fn whatever_is_changed_the_seal_is_broken() {
        let (a, b) = pair();
        let (_, genuine) = asked(&a, &b, b"x");
        let changed =
            [Head { method: "GET", ..HEAD }, Head { target: "/_zen/commit", ..HEAD }, Head { part: "0 2 1", ..HEAD }];
        for head in changed {
            assert_eq!(b.judge(head, &genuine).err(), Some(Refusal::Forged), "{head:?}");
        }
        let mut other = genuine.clone();
        other.insert(FROM, HeaderValue::from_static("c:9300"));
        assert_eq!(b.judge(HEAD, &other).err(), Some(Refusal::Forged), "in another's name");
        let words: Vec<String> = genuine[SEAL].to_str().expect("text").split(' ').map(str::to_owned).collect();
        for at in 1..words.len() {
            let mut words = words.clone();
            words[at] = if at == 2 { "99".into() } else { words[at].replace(|c: char| c.is_ascii_hexdigit(), "0") };
            let mut headers = genuine.clone();
            headers.insert(SEAL, HeaderValue::try_from(words.join(" ")).expect("a value"));
            assert_eq!(b.judge(HEAD, &headers).err(), Some(Refusal::Forged), "word {at}");
        }
        assert!(b.judge(HEAD, &genuine).is_ok(), "what was not changed is heard");
    }

    #[test]
    fn another_secret_another_cluster_and_another_process_are_not_heard() {
        let (a, b) = pair();
        let (_, genuine) = asked(&a, &b, b"x");
        let restarted = sealer(&secret('s'), "prod", "b:9300");
        assert!(matches!(restarted.judge(HEAD, &genuine), Err(Refusal::Challenged(_))));
        for (secrets, cluster) in [(secret('t'), "prod"), (secret('s'), "test")] {
            let stranger = sealer(&secrets, cluster, "a:9300");
            let (_, headers) = asked(&stranger, &b, b"x");
            assert_eq!(b.judge(HEAD, &headers).err(), Some(Refusal::Forged), "{cluster}");
        }
    }

    #[test]
    fn a_secret_is_changed_while_both_are_known() {
        let (a, b) = pair();
        let both = Secrets::parse(&format!("{}\n{}", secret('t'), secret('s'))).expect("two");
        b.renew(both);
        let (asked_of_b, headers_of_a) = asked(&a, &b, b"x");
        let heard = b.judge(HEAD, &headers_of_a).expect("the old one is known");
        let answer = heard.answer(200, Some(b""));
        assert!(asked_of_b.is_answered_by(Some(&answer), 200, Some(b"")), "it is answered by the one it was asked by");
        let (_, headers_of_b) = asked(&b, &a, b"x");
        assert_eq!(a.judge(HEAD, &headers_of_b).err(), Some(Refusal::Forged), "it knows the old one only");
    }

    #[test]
    fn frames_count_in_their_order_and_direction() {
        let (a, b) = pair();
        let epoch = b.heard.lock().epoch.clone();
        a.learn(&b.local, &epoch);
        let asked = a.seal(&b.local, HEAD, None);
        let heard = b.judge(HEAD, &headers(&asked, "a:9300")).expect("it is genuine");
        assert!(heard.is_of_link() && !heard.fits(b"link"));
        let (mut says, _) = asked.link();
        let (mut hears, mut replies) = heard.link();
        let lines: Vec<Vec<u8>> =
            ["one", "two"].iter().map(|line| format!("{} {line}", says.seal(line.as_bytes())).into_bytes()).collect();
        assert_eq!(hears.clone().open(&lines[1]), None, "one is missing");
        assert_eq!(replies.open(&lines[0]), None, "it is turned back");
        assert_eq!(hears.open(&lines[0]), Some(b"one".as_slice()));
        assert_eq!(hears.clone().open(&lines[0]), None, "it was heard");
        assert_eq!(hears.open(&lines[1]), Some(b"two".as_slice()));
        assert_eq!(hears.open(b"short"), None);
    }
}
