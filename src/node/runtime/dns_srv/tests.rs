//! Name servers on loopback that answer, lie, break off and keep silent.

use super::*;
use std::sync::Arc;
use tokio::net::TcpListener;

/// What a server sends back for a question: datagrams, and a stream.
struct Script {
    datagrams: fn(&[u8]) -> Vec<Vec<u8>>,
    stream: fn(&[u8]) -> Vec<u8>,
}

/// Plays the script on one port, over UDP and TCP.
async fn serve(script: Script) -> SocketAddr {
    let script = Arc::new(script);
    let (udp, tcp) = loop {
        let tcp = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let at = tcp.local_addr().expect("a bound socket has an address");
        if let Ok(udp) = UdpSocket::bind(at).await {
            break (udp, tcp);
        }
    };
    let at = tcp.local_addr().expect("a bound socket has an address");
    let over_udp = script.clone();
    tokio::spawn(async move {
        let mut bytes = [0; 512];
        while let Ok((length, from)) = udp.recv_from(&mut bytes).await {
            for datagram in (over_udp.datagrams)(&bytes[..length]) {
                udp.send_to(&datagram, from).await.expect("loopback takes a datagram");
            }
        }
    });
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = tcp.accept().await {
            let length = stream.read_u16().await.expect("a length comes first");
            let mut bytes = vec![0; usize::from(length)];
            stream.read_exact(&mut bytes).await.expect("as much as was announced");
            stream.write_all(&(script.stream)(&bytes)).await.expect("the asker reads");
        }
    });
    at
}

/// The answer to a question: these flags, and a record for each port.
fn answer(question: &[u8], flags: u16, ports: &[u16]) -> Vec<u8> {
    let mut bytes = question.to_vec();
    bytes[2..4].copy_from_slice(&flags.to_be_bytes());
    bytes[6..8].copy_from_slice(&(ports.len() as u16).to_be_bytes());
    for port in ports {
        bytes.extend([0xc0, 12, 0, 33, 0, 1, 0, 0, 0, 60, 0, 10, 0, 0, 0, 0]);
        bytes.extend(port.to_be_bytes());
        bytes.extend(b"\x02n1\0");
    }
    bytes
}

fn framed(mut bytes: Vec<u8>) -> Vec<u8> {
    let length = (bytes.len() as u16).to_be_bytes();
    bytes.splice(0..0, length);
    bytes
}

fn servers(servers: &[SocketAddr]) -> NameServers {
    NameServers { servers: servers.to_vec(), search: vec!["svc.local".into()], dots: 1, patience: PATIENCE }
}

fn ports(targets: Result<Vec<Target>, ServiceError>) -> Result<Vec<u16>, ServiceError> {
    targets.map(|targets| targets.into_iter().map(|target| target.port).collect())
}

const SILENT: Script = Script { datagrams: |_| Vec::new(), stream: |_| Vec::new() };

#[tokio::test]
async fn a_service_is_found_past_forged_late_and_broken_datagrams() {
    let at = serve(Script {
        datagrams: |question| {
            let mut forged = answer(question, 0x8180, &[6666]);
            forged[0] ^= 1;
            vec![forged, question.to_vec(), answer(question, 0x8180, &[9301, 9300])]
        },
        ..SILENT
    });
    let found = servers(&[at.await]).look_up("_zen._tcp.example.org").await;
    assert_eq!(ports(found), Ok(vec![9300, 9301]));
}

#[tokio::test]
async fn what_does_not_fit_a_datagram_is_asked_over_tcp() {
    let at = serve(Script {
        datagrams: |question| vec![answer(question, 0x8380, &[])],
        stream: |question| framed(answer(question, 0x8180, &(9300..9350).collect::<Vec<_>>())),
    });
    let found = servers(&[at.await]).look_up("_zen._tcp.example.org").await;
    assert_eq!(ports(found), Ok((9300..9350).collect()));
}

#[tokio::test]
async fn the_next_server_is_asked_when_one_fails_refuses_or_talks_nonsense() {
    let fails = serve(Script { datagrams: |question| vec![answer(question, 0x8182, &[])], ..SILENT }).await;
    let nonsense = serve(Script { datagrams: |question| vec![question[..3].to_vec()], ..SILENT }).await;
    let refuses = {
        let free = UdpSocket::bind("127.0.0.1:0").await.expect("a free port");
        free.local_addr().expect("a bound socket has an address")
    };
    let knows = serve(Script { datagrams: |question| vec![answer(question, 0x8180, &[9300])], ..SILENT }).await;
    let found = servers(&[fails, nonsense, refuses, knows]).look_up("_zen._tcp.example.org").await;
    assert_eq!(ports(found), Ok(vec![9300]));
    let error = servers(&[fails]).look_up("_zen._tcp.example.org").await.expect_err("nobody knows");
    assert_eq!(error.to_string(), format!("name server {fails}: response code 2"));
}

#[tokio::test]
async fn a_server_that_is_silent_or_cuts_its_answer_off_costs_a_bounded_time() {
    let silent = serve(SILENT).await;
    let cut = serve(Script {
        datagrams: |question| vec![answer(question, 0x8380, &[])],
        stream: |question| framed(answer(question, 0x8180, &[9300]))[..20].to_vec(),
    });
    let asked = NameServers { patience: Duration::from_millis(20), ..servers(&[silent, cut.await]) };
    let answer = timeout(Duration::from_secs(10), asked.look_up("_zen._tcp.example.org")).await;
    let error = answer.expect("it ends in time").expect_err("nobody knows");
    assert!(matches!(error, ServiceError::NoAnswer { .. }), "{error}");
}

#[tokio::test]
async fn short_names_are_looked_for_in_the_domains_of_this_machine() {
    let at = serve(Script {
        datagrams: |question| {
            let is_full = question.windows(9).any(|bytes| bytes == b"\x03svc\x05loca");
            vec![answer(question, if is_full { 0x8180 } else { 0x8183 }, if is_full { &[9300] } else { &[] })]
        },
        ..SILENT
    });
    let asked = servers(&[at.await]);
    assert_eq!(ports(asked.look_up("_zen._tcp").await), Ok(vec![9300]));
    assert_eq!(ports(asked.look_up("_zen._tcp.").await), Err(ServiceError::NobodyOffers("_zen._tcp.".into())));
    let bad = asked.look_up("_zen.._tcp").await.expect_err("it is no name").to_string();
    assert!(bad.starts_with("`_zen.._tcp` is no name of a service; allowed: "), "{bad}");
}

#[test]
fn a_resolv_conf_names_servers_domains_and_dots() {
    let text = "# comment\nnameserver 10.0.0.2\nnameserver ::1\nnameserver nonsense\nnameserver\nnameserver 10.0.0.3\n\
                nameserver 10.0.0.4\nsearch a.b c.d\noptions timeout:1 ndots:5\n";
    let read = NameServers::read(text);
    assert_eq!(
        read.servers.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["10.0.0.2:53", "[::1]:53", "10.0.0.3:53"]
    );
    assert_eq!((read.search.join(" "), read.dots), ("a.b c.d".into(), 5));
    assert_eq!(read.names("_a._b"), ["_a._b.a.b", "_a._b.c.d", "_a._b"]);
    assert_eq!(read.names("_a._b."), ["_a._b."]);
    let none = NameServers::read("options ndots:x\n");
    assert_eq!((none.servers, none.dots), (vec!["127.0.0.1:53".parse().expect("an address")], 1));
    assert_eq!(NameServers::read("search x\n").names("_a._b"), ["_a._b", "_a._b.x"]);
}
