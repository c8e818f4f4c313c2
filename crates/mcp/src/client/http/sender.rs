//! Sending requests with credentials.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Response, StatusCode};
use switchboard_core::CallError;
use switchboard_transport::Dial;
use switchboard_transport::http::{Client as HttpClient, ResponseBody};

use super::super::Credentials;
use super::super::clock::Clock;
use super::super::credentials::{Refusal, Unsent};

/// Sends requests to one URL.
#[derive(Clone)]
pub(in super::super) struct Sender {
    http: HttpClient,
    longest: usize,
    url: Arc<str>,
    credentials: Option<Arc<dyn Credentials>>,
}

impl Sender {
    pub(in super::super) fn new(
        dial: &Dial,
        credentials: Option<Arc<dyn Credentials>>,
    ) -> Result<Sender, CallError> {
        let url = dial.url().to_string().into();
        let longest = dial.settings().limits.longest_frame();
        Ok(Sender { longest, http: dial.clone().client()?, url, credentials })
    }

    /// The most bytes of an answer.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    /// Sends a request, and gives the response as soon as its head is there. The clock stands still while the user logs in.
    pub(in super::super) async fn send(
        &self,
        method: Method,
        headers: &HeaderMap,
        body: Bytes,
        time: Duration,
        clock: Option<&Arc<Clock>>,
    ) -> Result<Response<ResponseBody>, CallError> {
        let Some(credentials) = &self.credentials else {
            return self.http.send(method, headers.clone(), body, time).await;
        };
        let mut times = 1;
        loop {
            let mut sent = headers.clone();
            credentials.authorize(Unsent { method: &method, url: &self.url, headers: &mut sent }).await?;
            let response = self.http.send(method.clone(), sent.clone(), body.clone(), time).await?;
            let (status, headers) = (response.status(), response.headers());
            if !matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
                credentials.answered(headers);
                return Ok(response);
            }
            if times >= Refusal::MOST {
                return Ok(response);
            }
            let refusal = Refusal { method: &method, url: &self.url, sent: &sent, status, headers, times };
            let paused = clock.map(Clock::pause);
            if !credentials.refused(refusal).await? {
                return Ok(response);
            }
            drop(paused);
            times += 1;
        }
    }
}
