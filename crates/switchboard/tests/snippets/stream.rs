//! Needs switchboard with the features ["ws"], and tokio and futures-util.

use futures_util::StreamExt;
use switchboard::Json;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let peer = switchboard::connect("ws://127.0.0.1:8000/").await?;
    let mut items = peer.stream::<Json>("count", Json::parse(r#"{"to":3}"#)?).await?;
    while let Some(item) = items.next().await {
        println!("{}", item?);
    }
    Ok(())
}
