//! Calls of a page to servers that do not let it read their answers: the server of the page forwards them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::request::Parts;
use http::uri::Scheme;
use http::{Method, Response, StatusCode, Uri};
use switchboard_core::{Answer, CallError, ErrorObject, Json, Share};

use super::super::body::{self, Body};
use super::super::calls::is_events;
use super::super::client::Client;
use super::super::client_options::HttpClientOptions;
use super::super::fault::Fault;
use super::super::media::Format;
use super::super::metadata;
use super::super::url::{self, HttpUrlError};
use super::{Guarded, Route, RouteFuture};

/// The header that names the server to call.
const TARGET: HeaderName = HeaderName::from_static("switchboard-target");
/// The header that names the headers to send there.
const PASS: HeaderName = HeaderName::from_static("switchboard-pass");
/// The headers of an answer that the page gets. None of them makes a browser store or do anything for this origin.
const RETURNED: [&str; 7] =
    ["allow", "content-language", "content-type", "mcp-session-id", "retry-after", "server", "x-request-id"];

/// Forwards POST requests of the page on this server to servers that do not allow pages of other origins (CORS).
///
/// - GET lists the URLs that it forwards to, as `{"targets":["http://…"]}`.
/// - POST sends the body to the URL in the header `switchboard-target`, which has to be on the list: the same scheme, host, port, path
///   and query. Headers are sent if `switchboard-pass` names them, separated by commas; everything else that a browser adds stays here,
///   cookies above all.
///
/// Only pages from the very host and port that is called are served: a POST needs their `Origin`, whatever
/// [`EndpointOptions::origins`](crate::http::EndpointOptions::origins) allows for calls. Redirects are refused. Event streams are passed on as
/// they come; other answers have the limit and the time of a reply.
///
/// Offer this on a loopback address only: every page of this origin can reach the servers on the list from this machine.
///
/// # Examples
///
/// ```
/// use switchboard_transport::http::{EndpointOptions, ProxyRoute};
///
/// let proxy = ProxyRoute::new(["http://127.0.0.1:9000/rpc"])?;
/// let options = EndpointOptions::default().route("/proxy", proxy);
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct ProxyRoute(Vec<Target>);

/// A server on the list.
#[derive(Clone)]
struct Target {
    url: String,
    uri: Uri,
    client: Client,
}

impl ProxyRoute {
    /// Forwards to these URLs, and to no others.
    ///
    /// # Errors
    ///
    /// When one is not an `http` or `https` URL.
    pub fn new<T: AsRef<str>>(targets: impl IntoIterator<Item = T>) -> Result<ProxyRoute, HttpUrlError> {
        let target = |url: T| {
            let url = url.as_ref().to_owned();
            let client = Client::with_options(&url, HttpClientOptions::default())?;
            Ok(Target { uri: url::parse(&url)?, url, client })
        };
        Ok(ProxyRoute(targets.into_iter().map(target).collect::<Result<_, _>>()?))
    }

    /// The list, as JSON.
    fn list(&self) -> Response<Body> {
        let urls: Vec<&str> = self.0.iter().map(|target| target.url.as_str()).collect();
        let list = Json::encode_ref(&BTreeMap::from([("targets", urls)])).unwrap_or(Json::NULL);
        respond(StatusCode::OK, Body::new(list.as_str().to_owned()))
    }

    /// The server that a POST asks for, if it may.
    fn target(&self, head: &Parts) -> Result<&Target, Fault> {
        if !is_from_own_page(head) {
            return Err(Fault::Forbidden("the proxy serves the page of this server only"));
        }
        let asked = head.headers.get(TARGET).and_then(|value| url::parse(value.to_str().ok()?).ok());
        let Some(asked) = asked else {
            return Err(Fault::BadRequest("`Switchboard-Target` must hold the URL to forward to"));
        };
        let found = self.0.iter().find(|target| is_same(&target.uri, &asked));
        found.ok_or(Fault::Forbidden("this server does not forward to that URL"))
    }
}

impl Route for ProxyRoute {
    fn answer(&self, request: Guarded) -> RouteFuture {
        match request.head.method {
            Method::GET => RouteFuture::ready(match is_foreign(&request.head) {
                true => request.refuse(Fault::Forbidden("the proxy serves the page of this server only")),
                false => self.list(),
            }),
            Method::POST => match self.target(&request.head) {
                Ok(target) => RouteFuture::new(forward(target.client.clone(), request)),
                Err(fault) => RouteFuture::ready(request.refuse(fault)),
            },
            _ => RouteFuture::ready(request.refuse(Fault::Method("GET, POST"))),
        }
    }
}

impl fmt::Debug for ProxyRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|target| &target.url)).finish()
    }
}

/// Whether a browser says that a page of another origin asks.
fn is_foreign(head: &Parts) -> bool {
    head.headers.get_all("sec-fetch-site").iter().any(|site| site != "same-origin")
}

/// Whether a page from the very host and port that is called asks.
fn is_from_own_page(head: &Parts) -> bool {
    let host = head.headers.get(header::HOST).map(HeaderValue::as_bytes);
    let host = host.or_else(|| head.uri.authority().map(|authority| authority.as_str().as_bytes()));
    let origin = head.headers.get(header::ORIGIN).map(HeaderValue::as_bytes);
    let page = origin
        .and_then(|origin| origin.strip_prefix(b"http://").or_else(|| origin.strip_prefix(b"https://")));
    !is_foreign(head) && matches!((page, host), (Some(page), Some(host)) if page.eq_ignore_ascii_case(host))
}

/// Whether these name the same resource.
fn is_same(a: &Uri, b: &Uri) -> bool {
    let port =
        |uri: &Uri| uri.port_u16().unwrap_or(if uri.scheme() == Some(&Scheme::HTTPS) { 443 } else { 80 });
    let host = |uri: &Uri| uri.host().map(str::to_ascii_lowercase);
    a.scheme() == b.scheme()
        && host(a) == host(b)
        && port(a) == port(b)
        && a.path_and_query() == b.path_and_query()
}

/// The headers that the page wants to be sent, without those that belong to the connection or the body.
fn passed(headers: &HeaderMap) -> HeaderMap {
    const NEVER: [HeaderName; 3] = [header::COOKIE, header::ORIGIN, header::REFERER];
    const MEDIA: [HeaderName; 2] = [header::ACCEPT, header::CONTENT_TYPE];
    let lists = headers.get_all(PASS).iter().filter_map(|value| value.to_str().ok());
    let named: Vec<&str> = lists.flat_map(|names| names.split(',')).map(str::trim).collect();
    let is_passed = |name: &HeaderName| {
        named.iter().any(|named| named.eq_ignore_ascii_case(name.as_str()))
            && (MEDIA.contains(name) || !metadata::is_reserved(name))
            && !NEVER.contains(name)
    };
    let all = headers.iter().filter(|(name, _)| is_passed(name));
    all.map(|(name, value)| (name.clone(), value.clone())).collect()
}

async fn forward(client: Client, request: Guarded) -> Response<Body> {
    let scope = Arc::clone(request.scope());
    let limits = &scope.rules().settings().limits;
    let headers = passed(&request.head.headers);
    let text = match request.read(limits.frame).await {
        Ok(text) => text,
        Err(unread) => return unread.response(),
    };
    let answered = tokio::time::timeout(limits.call_time, client.pass(headers, text)).await;
    let response = match answered.unwrap_or(Err(CallError::TimedOut)) {
        Ok(response) if response.status().is_redirection() => {
            let to =
                response.headers().get(header::LOCATION).and_then(|to| to.to_str().ok()).unwrap_or("nowhere");
            return failed(format!("the server redirects to {to}, and redirects are not followed"));
        }
        Ok(response) => response,
        Err(CallError::TimedOut) => return failed("the server did not answer in time".to_owned()),
        Err(error) => return failed(error.to_string()),
    };
    let is_events = is_events(&response);
    let (parts, incoming) = response.into_parts();
    let body = if is_events {
        Body::stream(incoming)
    } else {
        match body::read(incoming, limits.reply, limits.call_time, Share::of(scope.account())).await {
            Ok(text) => Body::new(text),
            Err(why) => return failed(format!("the answer was not read: {why}")),
        }
    };
    let mut response = Response::new(body);
    *response.status_mut() = parts.status;
    let returned = RETURNED.iter().filter_map(|name| Some((*name, parts.headers.get(*name)?)));
    response
        .headers_mut()
        .extend(returned.map(|(name, value)| (HeaderName::from_static(name), value.clone())));
    response
}

/// The answer of a proxy whose server did not give one.
fn failed(why: String) -> Response<Body> {
    let answer = Answer::refusal(&ErrorObject::upstream_failed(why));
    respond(StatusCode::BAD_GATEWAY, Body::new(answer.body().cloned().unwrap_or_default()))
}

/// A response of JSON.
fn respond(status: StatusCode, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, Format::Json.value());
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_the_same_resource_exactly() {
        let check = |a: &str, b: &str, expected: bool| {
            assert_eq!(is_same(&a.parse().unwrap(), &b.parse().unwrap()), expected, "{a} {b}");
        };
        check("http://a.example/rpc", "http://A.example:80/rpc", true);
        check("http://a.example", "http://a.example/", true);
        check("https://a.example/", "https://a.example:443/", true);
        check("http://a.example/", "https://a.example/", false);
        check("http://a.example/", "http://a.example:8000/", false);
        check("http://a.example/rpc", "http://a.example/RPC", false);
        check("http://a.example/rpc", "http://a.example/rpc?x=1", false);
        check("http://a.example/", "http://a.example.evil.example/", false);
    }

    #[test]
    fn only_headers_that_the_page_names_are_sent() {
        let headers: HeaderMap = [
            ("switchboard-pass", "authorization, content-type, cookie, host, x-absent"),
            ("authorization", "Bearer t"),
            ("content-type", "application/json"),
            ("cookie", "a=b"),
            ("host", "127.0.0.1"),
            ("user-agent", "browser"),
        ]
        .into_iter()
        .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
        .collect();
        let passed = passed(&headers);
        let mut names: Vec<&str> = passed.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["authorization", "content-type"]);
    }
}
