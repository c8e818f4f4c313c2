//! Needs switchboard with the features ["ws"], and tokio.

use switchboard::{Dial, Json, Reply, ReplyFuture, service_fn};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pushed = service_fn(|call| {
        println!("{} {}", call.method, call.params.as_ref().map_or("", Json::as_str));
        ReplyFuture::ready(Reply::value(Json::NULL))
    });
    let dial = Dial::new("ws://127.0.0.1:8000/")?.with_service(pushed);
    let peer = dial.connect().await?;
    let result: Json = peer.call("watch", Json::parse(r#"{"seconds":1}"#)?).await?;
    println!("{result}");
    // What the server pushes is printed until the connection closes.
    peer.closed().await;
    Ok(())
}
