//! Which URLs are requested on behalf of a server: none that leads into a private network, unless the user named it (SEC-X-01, MCP-A-29).

use http::Uri;
use http::uri::Scheme;
use switchboard_transport::http::{AllowedAddresses, is_loopback};

use super::error::{AuthError, shown};

/// What a user allowed by naming a server.
#[derive(Clone, Debug, Default)]
pub(super) struct Guard {
    /// Servers that the user named: requested as they are, wherever they are.
    origins: Vec<String>,
    /// Whether the user named a server on this machine. Then its authorization server may be on this machine, too.
    has_loopback: bool,
}

impl Guard {
    /// Also allows this server, which the user named.
    pub(super) fn allow(&mut self, url: &str) {
        let Ok(uri) = url.parse::<Uri>() else { return };
        self.has_loopback |= is_loopback(&uri);
        self.origins.extend(origin(&uri));
    }

    /// Checks a URL, and tells which addresses a request for it may go to.
    pub(super) fn check(&self, url: &str) -> Result<AllowedAddresses, AuthError> {
        let refused = |why: &str| AuthError::Forbidden { url: shown(url), why: why.to_owned() };
        let uri: Uri = url.parse().map_err(|_| refused("it is not a URL"))?;
        let own = origin(&uri).ok_or_else(|| refused("it is not an https URL"))?;
        if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) || url.contains('#') {
            return Err(refused("it has a user or a fragment"));
        }
        if self.origins.contains(&own) {
            return Ok(AllowedAddresses::new(|_| true));
        }
        let has_loopback = self.has_loopback;
        if uri.scheme() == Some(&Scheme::HTTP) {
            return match has_loopback && is_loopback(&uri) {
                true => Ok(AllowedAddresses::new(|address| address.to_canonical().is_loopback())),
                false => Err(refused("it is not an https URL")),
            };
        }
        let public = AllowedAddresses::public();
        Ok(if has_loopback { public.and_loopback() } else { public })
    }

    /// Checks a URL that a browser is to open (MCP-A-28).
    pub(super) fn check_page(&self, url: &str) -> Result<(), AuthError> {
        self.check(url).map(drop)
    }
}

/// Scheme, host and port, if it is an `http` or `https` URL.
pub(super) fn origin(uri: &Uri) -> Option<String> {
    let usual = match uri.scheme_str()? {
        "http" => 80,
        "https" => 443,
        _ => return None,
    };
    let host = uri.host().filter(|host| !host.is_empty())?.to_ascii_lowercase();
    let port = uri.port_u16().unwrap_or(usual);
    let scheme = uri.scheme_str()?;
    Some(if port == usual { format!("{scheme}://{host}") } else { format!("{scheme}://{host}:{port}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_allowed(guard: &Guard, url: &str) -> bool {
        guard.check(url).is_ok()
    }

    // MCP-A-29
    #[test]
    fn only_what_the_user_named_is_requested_without_tls() {
        let mut guard = Guard::default();
        guard.allow("https://mcp.example/mcp");
        for url in ["https://mcp.example/x", "https://auth.example/token"] {
            assert!(is_allowed(&guard, url), "{url}");
        }
        let wrong = [
            "http://mcp.example/x",
            "http://127.0.0.1:9/",
            "http://localhost/",
            "file:///etc/passwd",
            "javascript:alert(1)",
            "https://user:secret@auth.example/",
            "https://auth.example/#x",
            "",
            "/token",
            "http://localhost.evil.example/",
        ];
        for url in wrong {
            assert!(!is_allowed(&guard, url), "{url}");
        }
        guard.allow("http://10.0.0.5:8000/mcp");
        assert!(is_allowed(&guard, "http://10.0.0.5:8000/.well-known/x"));
        assert!(!is_allowed(&guard, "http://10.0.0.5:8001/"), "another port is another server");
        assert!(!is_allowed(&guard, "http://127.0.0.1/"));
    }

    #[test]
    fn a_server_on_this_machine_may_have_its_authorization_server_there() {
        let mut guard = Guard::default();
        guard.allow("http://localhost:8000/mcp");
        for url in ["http://127.0.0.1:9000/token", "http://[::1]:9000/", "http://LOCALHOST:1/"] {
            assert!(is_allowed(&guard, url), "{url}");
        }
        for url in ["http://10.0.0.1/", "http://auth.example/", "http://127.0.0.1.example/"] {
            assert!(!is_allowed(&guard, url), "{url}");
        }
    }
}
