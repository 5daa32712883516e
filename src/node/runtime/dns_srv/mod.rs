//! Which hosts offer a service: DNS SRV records, asked of the name servers of this machine.
//!
//! The names of those hosts are looked up elsewhere, as all names are; nothing is remembered here. Elasticsearch has
//! nothing like it.

mod codec;
#[cfg(test)]
mod tests;

pub use codec::Target;

use codec::{Malformed, Name, Reply};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;
use std::{fmt, fs, io};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::timeout;

const DNS_PORT: u16 = 53;
/// As many servers and domains as the C library heeds.
const SERVERS_MAX: usize = 3;
const DOMAINS_MAX: usize = 6;
/// How often every server is asked, and how long each is waited for.
const ATTEMPTS: usize = 2;
const PATIENCE: Duration = Duration::from_secs(2);
/// What a datagram without extensions holds.
const DATAGRAM_MAX: usize = 512;

/// Why the hosts of a service are not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServiceError {
    /// This cannot be asked for.
    BadName(String),
    /// Every name server that answered says that nobody offers it.
    NobodyOffers(String),
    /// No name server answered, and what the last one did instead.
    NoAnswer {
        /// The last server that was asked.
        server: SocketAddr,
        /// What it did.
        why: String,
    },
}

impl std::error::Error for ServiceError {}

impl fmt::Display for ServiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServiceError::BadName(name) => write!(
                f,
                "`{name}` is no name of a service; allowed: labels of up to 63 letters, digits, `-` and `_`, with dots \
                 between them, as in `_zen._tcp.example.org`"
            ),
            ServiceError::NobodyOffers(name) => write!(f, "there are no SRV records of `{name}`"),
            ServiceError::NoAnswer { server, why } => write!(f, "name server {server}: {why}"),
        }
    }
}

/// Whom to ask, and how short names become long ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameServers {
    /// In the order in which they are asked.
    pub servers: Vec<SocketAddr>,
    /// The domains to look in.
    pub search: Vec<String>,
    /// A name with so many dots is tried as it is first.
    pub dots: usize,
    /// How long one server is waited for.
    pub patience: Duration,
}

impl NameServers {
    /// Those of this machine, by `/etc/resolv.conf`.
    pub fn of_this_machine() -> Self {
        NameServers::read(&fs::read_to_string("/etc/resolv.conf").unwrap_or_default())
    }

    /// Those that a `resolv.conf` names; without any, the one of this machine itself.
    pub fn read(text: &str) -> Self {
        let mut found = NameServers { servers: Vec::new(), search: Vec::new(), dots: 1, patience: PATIENCE };
        for line in text.lines() {
            let mut words = line.split_whitespace();
            match words.next() {
                Some("nameserver") => found.servers.extend(words.next().and_then(|word| word.parse().ok()).map(at_dns)),
                Some("search" | "domain") => found.search = words.map(String::from).collect(),
                Some("options") => {
                    let dots = words.find_map(|word| word.strip_prefix("ndots:")?.parse().ok());
                    found.dots = dots.unwrap_or(found.dots);
                }
                _ => {}
            }
        }
        if found.servers.is_empty() {
            found.servers.push(at_dns(Ipv4Addr::LOCALHOST.into()));
        }
        found.servers.truncate(SERVERS_MAX);
        found.search.truncate(DOMAINS_MAX);
        found
    }

    /// The hosts that offer `service`, those to be tried first before the others.
    pub async fn look_up(&self, service: &str) -> Result<Vec<Target>, ServiceError> {
        let mut outcome = Err(ServiceError::NobodyOffers(service.into()));
        for name in self.names(service) {
            let name = Name::new(&name).ok_or_else(|| ServiceError::BadName(service.into()))?;
            match self.ask_all(&name).await {
                Ok(targets) if targets.is_empty() => {}
                Ok(targets) => return Ok(targets),
                Err(why) => outcome = Err(why),
            }
        }
        outcome
    }

    /// The full names that a name may stand for.
    fn names(&self, service: &str) -> Vec<String> {
        let as_it_is = std::iter::once(service.to_string());
        if service.ends_with('.') {
            return as_it_is.collect();
        }
        let within = self.search.iter().map(|domain| format!("{service}.{domain}"));
        if service.matches('.').count() >= self.dots {
            as_it_is.chain(within).collect()
        } else {
            within.chain(as_it_is).collect()
        }
    }

    /// What the first server that knows says.
    async fn ask_all(&self, name: &Name) -> Result<Vec<Target>, ServiceError> {
        let mut outcome = Err(ServiceError::NobodyOffers(name.as_str().into()));
        for _ in 0..ATTEMPTS {
            for server in &self.servers {
                let reply = timeout(self.patience, ask(*server, name)).await;
                match reply.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
                    Ok(Reply::Targets(targets)) => return Ok(targets),
                    Ok(Reply::Truncated) => outcome = no_answer(*server, "the answer over TCP is cut off"),
                    Ok(Reply::Failed(code)) => outcome = no_answer(*server, format_args!("response code {code}")),
                    Err(why) => outcome = no_answer(*server, why),
                }
            }
        }
        outcome
    }
}

fn at_dns(ip: IpAddr) -> SocketAddr {
    SocketAddr::new(ip, DNS_PORT)
}

fn no_answer(server: SocketAddr, why: impl fmt::Display) -> Result<Vec<Target>, ServiceError> {
    Err(ServiceError::NoAnswer { server, why: why.to_string() })
}

/// Asks one server: in a datagram, and over TCP if the answer does not fit one.
async fn ask(server: SocketAddr, name: &Name) -> io::Result<Reply> {
    let id = uuid::Uuid::new_v4().as_u128() as u16;
    match ask_over_udp(server, id, name).await? {
        Reply::Truncated => ask_over_tcp(server, id, name).await,
        reply @ (Reply::Targets(_) | Reply::Failed(_)) => Ok(reply),
    }
}

async fn ask_over_udp(server: SocketAddr, id: u16, name: &Name) -> io::Result<Reply> {
    let any: IpAddr = if server.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0)).await?;
    socket.connect(server).await?;
    socket.send(&codec::question(id, name)).await?;
    let mut bytes = [0; DATAGRAM_MAX];
    loop {
        let length = socket.recv(&mut bytes).await?;
        // What answers something else may be late or forged: the answer may still come.
        match codec::answer(&bytes[..length], id, name) {
            Err(Malformed::NotTheAnswer) => {}
            reply => return reply.map_err(malformed),
        }
    }
}

async fn ask_over_tcp(server: SocketAddr, id: u16, name: &Name) -> io::Result<Reply> {
    let mut stream = TcpStream::connect(server).await?;
    let question = codec::question(id, name);
    let length = u16::try_from(question.len()).expect("a question is shorter than 512 bytes");
    stream.write_all(&[&length.to_be_bytes(), &question[..]].concat()).await?;
    let length = stream.read_u16().await?;
    let mut bytes = vec![0; usize::from(length)];
    stream.read_exact(&mut bytes).await?;
    codec::answer(&bytes, id, name).map_err(malformed)
}

fn malformed(why: Malformed) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.to_string())
}
