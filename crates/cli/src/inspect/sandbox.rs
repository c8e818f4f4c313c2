//! Where the views of MCP Apps come from: another port, and so another origin than the page, with a policy that lets a view do nothing
//! but run its scripts and talk to the page (MCP-UI-03).

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use http::request::Parts;
use http::{HeaderValue, Method, Response, StatusCode};
use switchboard::Json;
use switchboard::http::{Body, Guarded, Route, RouteFuture};
use switchboard::identity::CredentialFileError;

use super::token::random;

/// The media type of views (MCP-UI-01).
pub(super) const MEDIA_TYPE: &str = "text/html;profile=mcp-app";

/// The path of views. The query names one.
pub(super) const PATH: &str = "/view";

/// The most views that are kept.
const MOST: usize = 16;

/// The views that can be loaded.
#[derive(Default)]
pub(super) struct Sandbox {
    /// The origin of views, and that of the page, which may show them.
    pub(super) origins: OnceLock<(String, String)>,
    views: Mutex<VecDeque<View>>,
}

struct View {
    name: String,
    html: String,
    policy: HeaderValue,
}

impl Sandbox {
    /// Keeps a view; gives its URL. The metadata says what it may load.
    pub(super) fn keep(&self, html: String, csp: Option<&Json>) -> Result<String, CredentialFileError> {
        let (own, page) = self.origins.get().cloned().unwrap_or_default();
        let name = random()?;
        let url = format!("{own}{PATH}?{name}");
        // What it consists of was checked to be plain.
        let policy = HeaderValue::try_from(policy(csp, &page))
            .unwrap_or(const { HeaderValue::from_static("sandbox; default-src 'none'") });
        let mut views = self.views();
        views.push_back(View { name, html, policy });
        if views.len() > MOST {
            views.pop_front();
        }
        Ok(url)
    }

    fn views(&self) -> MutexGuard<'_, VecDeque<View>> {
        self.views.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Serves the views.
pub(super) struct Views(pub(super) Arc<Sandbox>);

impl Route for Views {
    fn takes(&self, head: &Parts) -> bool {
        head.method == Method::GET
    }

    fn takes_post(&self) -> bool {
        false
    }

    fn sets_all_headers(&self) -> bool {
        true
    }

    fn answer(&self, request: Guarded) -> RouteFuture {
        let wanted = request.head.uri.query().unwrap_or_default();
        let views = self.0.views();
        let Some(view) = views.iter().find(|view| view.name == wanted) else {
            let mut response = Response::new(Body::new(""));
            *response.status_mut() = StatusCode::NOT_FOUND;
            return RouteFuture::ready(response);
        };
        let mut response = Response::new(Body::new(view.html.clone()));
        let fixed: [(HeaderName, &'static str); 4] = [
            (CONTENT_TYPE, "text/html; charset=utf-8"),
            (CACHE_CONTROL, "no-store"),
            (X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (REFERRER_POLICY, "no-referrer"),
        ];
        for (name, value) in fixed {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        response.headers_mut().insert(CONTENT_SECURITY_POLICY, view.policy.clone());
        RouteFuture::ready(response)
    }
}

/// What a view may do. Without metadata it loads nothing and connects to nothing.
fn policy(csp: Option<&Json>, page: &str) -> String {
    let domains = |name: &str| {
        let listed = csp.and_then(|csp| csp.get(name));
        let listed =
            listed.iter().flat_map(Json::elements).filter_map(|domain| domain.decode::<String>().ok());
        listed.filter(|domain| is_source(domain)).map(|domain| format!(" {domain}")).collect::<String>()
    };
    let or_none = |name: &str| match domains(name) {
        none if none.is_empty() => " 'none'".to_owned(),
        some => some,
    };
    let (resources, connect) = (domains("resourceDomains"), or_none("connectDomains"));
    let (frames, base) = (or_none("frameDomains"), or_none("baseUriDomains"));
    [
        "sandbox allow-scripts".to_owned(),
        "default-src 'none'".to_owned(),
        format!("script-src 'unsafe-inline'{resources}"),
        format!("style-src 'unsafe-inline'{resources}"),
        format!("img-src data:{resources}"),
        format!("font-src data:{resources}"),
        format!("media-src data:{resources}"),
        format!("connect-src{connect}"),
        format!("frame-src{frames}"),
        format!("base-uri{base}"),
        "form-action 'none'".to_owned(),
        format!("frame-ancestors {page}"),
    ]
    .join("; ")
}

/// Whether a text is the origin of a server, such as `https://*.example.com:8443`, and can be nothing else in a policy.
fn is_source(text: &str) -> bool {
    let host = ["https://", "wss://"].iter().find_map(|scheme| text.strip_prefix(scheme));
    let host = host.map(|host| host.strip_prefix("*.").unwrap_or(host));
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-:".contains(&byte);
    host.is_some_and(|host| {
        host.starts_with(|first: char| first.is_ascii_alphanumeric()) && host.bytes().all(is_plain)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // MCP-UI-03
    #[test]
    fn a_view_may_do_what_its_metadata_says_and_nothing_looser() {
        let page = "http://127.0.0.1:1";
        let strict = policy(None, page);
        for rule in [
            "sandbox allow-scripts;",
            "default-src 'none'",
            "connect-src 'none'",
            "frame-ancestors http://127.0.0.1:1",
        ] {
            assert!(strict.contains(rule), "{strict}");
        }
        assert!(!strict.contains("allow-same-origin"), "{strict}");
        let csp = r#"{"connectDomains":["https://api.example.com:8443","*","https://a; script-src *","'self'","http://127.0.0.1"],
            "resourceDomains":["https://*.cdn.example",7]}"#;
        let csp = Json::parse(csp).unwrap();
        let named = policy(Some(&csp), page);
        assert!(named.contains("connect-src https://api.example.com:8443; frame-src 'none'"), "{named}");
        assert!(named.contains("script-src 'unsafe-inline' https://*.cdn.example;"), "{named}");
    }

    #[test]
    fn sources_are_https_origins() {
        for good in ["https://a.example", "wss://a.example:1", "https://*.a.example"] {
            assert!(is_source(good), "{good}");
        }
        for bad in [
            "*",
            "https://*",
            "https:",
            "http://a.example",
            "https://a b",
            "https://a;b",
            "https://a/b,",
            "data:",
            "https://",
        ] {
            assert!(!is_source(bad), "{bad}");
        }
    }

    #[test]
    fn only_the_last_views_are_kept() {
        let sandbox = Sandbox::default();
        for _ in 0..=MOST {
            sandbox.keep(String::new(), None).unwrap();
        }
        assert_eq!(sandbox.views().len(), MOST);
    }
}
