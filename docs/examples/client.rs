//! Keys and a watch from a program: `cargo run --example client -- 127.0.0.1:9200`.

use std::error::Error;
use zazen::Client;
use zazen::client::{News, Precondition};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let node = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:9200".into());
    let client = Client::new([node])?;

    let mut watch = client.watch("example/");
    if let News::State { at, keys, .. } = watch.next().await? {
        println!("at {at} there are {} keys", keys.len());
    }

    let revision = client.put("example/limit", "100").await?;
    client.put_if("example/limit", "200", Precondition::IfUnchanged(revision)).await?;
    let refused = client.put_if("example/limit", "300", Precondition::IfUnchanged(revision)).await;
    println!("overtaken: {}", refused.is_err_and(|error| error.is_conflict()));

    for _ in 0..2 {
        println!("{:?}", watch.next().await?);
    }
    client.delete("example/limit").await?;
    Ok(())
}
