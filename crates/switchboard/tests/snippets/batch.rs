//! Needs switchboard with the features ["http"], and tokio.

use switchboard::Json;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let peer = switchboard::connect("http://127.0.0.1:8000/").await?;
    let results = peer
        .batch()
        .call("math/add", Json::parse(r#"{"a":2,"b":3}"#)?)
        .notify(r#"say "hi""#, Json::parse(r##"["\"#"]"##)?)
        .send()
        .await?;
    for result in results {
        println!("{result:?}");
    }
    Ok(())
}
