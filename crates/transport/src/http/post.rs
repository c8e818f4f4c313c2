//! Bodies that are not JSON-RPC, for other servers over HTTP.

use std::time::Duration;

use bytes::Bytes;
use http::Response;
use http::header::HeaderMap;
use switchboard_core::{CallError, Share};
use tokio::time::Instant;

use super::body::{self, Unread};
use super::client::Client;

impl Client {
    /// Sends this body as it is, with these headers only, and reads a response of up to `limit` bytes within this time: for servers that
    /// are called over HTTP, but not with JSON-RPC.
    ///
    /// # Errors
    ///
    /// When there is no whole response in time, or a longer one.
    pub async fn post(
        &self,
        headers: HeaderMap,
        content: Bytes,
        limit: usize,
        time: Duration,
    ) -> Result<Response<Bytes>, CallError> {
        let until = Instant::now() + time;
        let response = tokio::time::timeout_at(until, self.pass(headers, content)).await;
        let (head, content) = response.map_err(|_| CallError::TimedOut)??.into_parts();
        let content = body::read(content, limit, until - Instant::now(), Share::default()).await;
        let content = content.map_err(|unread| match unread {
            Unread::TooSlow => CallError::TimedOut,
            Unread::TooLarge | Unread::NoRoom => CallError::Protocol("the response is too long".into()),
            Unread::Broken => {
                CallError::Closed("the server closed the connection in the middle of its response".into())
            }
        });
        Ok(Response::from_parts(head, content?))
    }
}
