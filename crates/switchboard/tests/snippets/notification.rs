//! Needs switchboard with the features ["http"], and tokio.

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let peer = switchboard::connect("http://127.0.0.1:8000/").await?;
    peer.notify("math/add", ()).await?;
    Ok(())
}
