//! Requests to authorization servers, with limits on size, time and redirects.

use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, LOCATION};
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode, Uri};
use serde::de::DeserializeOwned;
use switchboard_transport::http::{Client, HttpClientOptions};
use tokio::time::{Instant, timeout_at};

use super::error::{AuthError, shown};
use super::guard::Guard;

/// The longest document, and the longest time for it with all redirects.
const LENGTH: usize = 256 << 10;
const TIME: Duration = Duration::from_secs(10);

/// How many redirects of a document are followed.
const REDIRECTS: usize = 3;

/// Requests what the [`Guard`] allows.
#[derive(Clone, Debug)]
pub(super) struct Web {
    pub(super) guard: Guard,
    /// How to connect: TLS above all.
    pub(super) options: HttpClientOptions,
}

impl Web {
    /// The document at this URL; none if the server has none there. Redirects are followed as far as the guard allows.
    pub(super) async fn document<T: DeserializeOwned>(&self, url: &str) -> Result<Option<T>, AuthError> {
        let (until, mut url) = (Instant::now() + TIME, url.to_owned());
        for _ in 0..=REDIRECTS {
            let response = self.send(Method::GET, &url, HeaderMap::new(), Bytes::new(), until).await?;
            let unusable = |why: &str| AuthError::Unusable { url: shown(&url), why: why.to_owned() };
            match response.status() {
                StatusCode::OK => {
                    let document = serde_json::from_slice(response.body());
                    return document.map(Some).map_err(|error| unusable(&error.to_string()));
                }
                status if status.is_redirection() => {
                    let to = response.headers().get(LOCATION).and_then(|to| to.to_str().ok());
                    url =
                        to.and_then(|to| joined(&url, to)).ok_or_else(|| unusable("it redirects nowhere"))?;
                }
                status if status.is_client_error() => return Ok(None),
                status => return Err(unusable(&format!("HTTP {status}"))),
            }
        }
        Err(AuthError::Unusable { url: shown(&url), why: format!("more than {REDIRECTS} redirects") })
    }

    /// Posts this content. Redirects are not followed: they would carry secrets elsewhere.
    pub(super) async fn post(
        &self,
        url: &str,
        kind: &'static str,
        mut headers: HeaderMap,
        content: String,
    ) -> Result<Response<Bytes>, AuthError> {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        self.send(Method::POST, url, headers, content.into(), Instant::now() + TIME).await
    }

    async fn send(
        &self,
        method: Method,
        url: &str,
        mut headers: HeaderMap,
        content: Bytes,
        until: Instant,
    ) -> Result<Response<Bytes>, AuthError> {
        let addresses = self.guard.check(url)?;
        let unusable = |why: String| AuthError::Unusable { url: shown(url), why };
        let options = self.options.clone().with_connect_time(TIME).with_addresses(Some(addresses));
        // Each request has a connection of its own, so that its address is checked.
        let client = Client::with_options(url, options).map_err(|error| unusable(error.to_string()))?;
        headers.entry(ACCEPT).or_insert(HeaderValue::from_static("application/json"));
        let answer = async {
            let response = client.send(method, headers, content, TIME).await?;
            let (head, body) = response.into_parts();
            Ok(Response::from_parts(head, body.whole(LENGTH, TIME).await?))
        };
        let answer = timeout_at(until, answer).await.map_err(|_| unusable("no answer in time".to_owned()))?;
        answer.map_err(|error: switchboard_core::CallError| unusable(error.to_string()))
    }
}

/// Where a redirect leads.
fn joined(from: &str, to: &str) -> Option<String> {
    if to.contains("://") {
        return Some(to.to_owned());
    }
    let from: Uri = from.parse().ok()?;
    let origin = format!("{}://{}", from.scheme_str()?, from.authority()?);
    to.starts_with('/').then(|| {
        if to.starts_with("//") {
            format!("{}:{to}", from.scheme_str().unwrap_or("https"))
        } else {
            format!("{origin}{to}")
        }
    })
}

/// Names and values as the content of a form, or as a query.
pub(super) fn form<'a>(fields: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let fields = fields.into_iter().map(|(name, value)| format!("{}={}", escaped(name), escaped(value)));
    fields.collect::<Vec<_>>().join("&")
}

/// A text with everything but letters, digits and `-._~` escaped.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// The value of a parameter in a query, if it is given once.
pub(super) fn param(query: &str, name: &str) -> Option<String> {
    let mut found = query.split('&').filter_map(|pair| {
        let (given, value) = pair.split_once('=').unwrap_or((pair, ""));
        (unescaped(given)? == name).then(|| unescaped(value))
    });
    let value = found.next()??;
    found.next().is_none().then_some(value)
}

fn unescaped(text: &str) -> Option<String> {
    let (mut out, mut bytes) = (Vec::with_capacity(text.len()), text.bytes());
    while let Some(byte) = bytes.next() {
        match byte {
            b'+' => out.push(b' '),
            b'%' => {
                let digits = [bytes.next()?, bytes.next()?];
                out.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
            }
            byte => out.push(byte),
        }
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_read_as_it_was_written() {
        let text = form([("a b", "ä=&+%"), ("c", "")]);
        assert_eq!(text, "a%20b=%C3%A4%3D%26%2B%25&c=");
        assert_eq!(param(&text, "a b").as_deref(), Some("ä=&+%"));
        assert_eq!(param(&text, "c").as_deref(), Some(""));
        assert_eq!(param("a=x+y", "a").as_deref(), Some("x y"));
        for (query, name) in [("a=1", "b"), ("a=1&a=2", "a"), ("a=%zz", "a"), ("a=%2", "a"), ("a=%ff", "a")] {
            assert_eq!(param(query, name), None, "{query}");
        }
    }

    #[test]
    fn a_redirect_leads_to_a_url_or_a_path() {
        let check = |to: &str, expected: Option<&str>| {
            assert_eq!(joined("https://a.example:1/x/y", to).as_deref(), expected, "{to}");
        };
        check("https://b.example/z", Some("https://b.example/z"));
        check("/z", Some("https://a.example:1/z"));
        check("//b.example/z", Some("https://b.example/z"));
        check("z", None);
    }
}
