//! One of several programs at a time: `cargo run --example lease -- 127.0.0.1:9200`, in two terminals.

use std::error::Error;
use std::time::Duration;
use zazen::Client;
use zazen::service::{Condition, Txn};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let node = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:9200".into());
    let client = Client::new([node])?;
    let me = format!("example-{}", std::process::id());

    let wait = Duration::from_secs(60);
    let Some(grant) = client.acquire("example", &me, Duration::from_secs(10), wait).await? else {
        println!("another holds it");
        return Ok(());
    };
    println!("{me} holds it under token {}", grant.token());

    let mut kept = grant.clone();
    let work = async {
        for round in 1..=5 {
            // Refused as soon as another was granted the lease, whatever this process believes.
            let txn = Txn::put("example/round", round.to_string()).only_if(Condition::Held(grant.holding().clone()));
            client.change(&txn).await?;
            println!("round {round}");
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        Ok::<_, Box<dyn Error>>(())
    };
    tokio::select! {
        done = work => done?,
        why = kept.keep(Duration::from_secs(1)) => println!("lost it: {why}"),
    }
    grant.release().await?;
    Ok(())
}
