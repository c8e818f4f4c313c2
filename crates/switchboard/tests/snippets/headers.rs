//! Needs switchboard with the features ["http"], and tokio and http.

use http::{HeaderMap, HeaderName, HeaderValue};
use switchboard::{Dial, Json, Version};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut headers = HeaderMap::new();
    let token = format!("Bearer {}", std::env::var("TOKEN")?);
    headers.insert(HeaderName::from_static("authorization"), HeaderValue::try_from(token)?);
    headers.insert(HeaderName::from_static("x-trace"), HeaderValue::from_static("seven"));
    let dial = Dial::new("http://127.0.0.1:8000/")?.with_version(Version::V1).with_headers(headers);
    let peer = dial.connect().await?;
    let result: Json = peer.call("math/add", Json::parse(r"[2,3]")?).await?;
    println!("{result}");
    Ok(())
}
