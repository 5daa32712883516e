//! A cluster of three nodes inside of one program: `cargo run --example embedded`.

use std::error::Error;
use std::net::TcpListener;
use std::time::Duration;
use zazen::Node;

fn main() -> Result<(), Box<dyn Error>> {
    let scratch = std::env::temp_dir().join(format!("zazen-embedded-{}", std::process::id()));
    let ports: Vec<u16> = (0..3).map(|_| free_port()).collect::<Result<_, _>>()?;
    let hosts: Vec<String> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
    let nodes: Vec<Node> = (0..3)
        .map(|at| {
            Node::builder()
                .setting("cluster.name", "embedded")
                .setting("node.name", format!("n{at}"))
                .setting("path.data", scratch.join(format!("n{at}")).display())
                .setting("transport.tcp.port", ports[at])
                .setting("http.port", 0)
                .setting("discovery.zen.ping.unicast.hosts", hosts.join(","))
                .on_mastership(move |who| println!("n{at} hears: {who:?}"))
                .start()
        })
        .collect::<Result<_, _>>()?;

    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let client = nodes[0].client()?.with_patience(Duration::from_secs(10));
        client.put("greeting", "hello").await?;
        let held = nodes[2].client()?.get("greeting").await?;
        println!("n2 says: {}", held.map(|entry| entry.value.to_string()).unwrap_or_default());
        Ok::<_, Box<dyn Error>>(())
    })?;

    nodes.into_iter().for_each(Node::stop);
    std::fs::remove_dir_all(&scratch)?;
    Ok(())
}

fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
