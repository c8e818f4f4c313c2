//! HTTP for the exporters, with the client of the library: no second one, and the same trust in certificates.

use std::sync::OnceLock;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use opentelemetry_http::{HttpClient, HttpError};
use switchboard::http::Client;
use tokio::runtime::Handle;

/// How much of a collector's answer is read: it says which spans it did not take.
const ANSWER: usize = 64 << 10;
/// How long it may take.
const TIME: Duration = Duration::from_secs(10);

/// Sends what an exporter wants to send. Exporters run on separate threads, so the runtime is kept for them.
#[derive(Debug)]
pub(super) struct Sender {
    runtime: Handle,
    /// An exporter calls one URL.
    client: OnceLock<Client>,
}

impl Sender {
    pub(super) fn new() -> Sender {
        Sender { runtime: Handle::current(), client: OnceLock::new() }
    }

    fn client(&self, url: &str) -> Result<Client, HttpError> {
        if let Some(client) = self.client.get() {
            return Ok(client.clone());
        }
        let client = Client::new(url)?;
        Ok(self.client.get_or_init(|| client).clone())
    }
}

#[async_trait::async_trait]
impl HttpClient for Sender {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let client = self.client(&request.uri().to_string())?;
        let (head, content) = request.into_parts();
        let sent = async move { client.post(head.headers, content, ANSWER, TIME).await };
        Ok(self.runtime.spawn(sent).await??)
    }
}
