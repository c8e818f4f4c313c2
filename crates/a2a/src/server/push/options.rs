//! The options of notifications.

use std::time::Duration;

use http::Uri;
use http::uri::Scheme;
use switchboard_transport::http::{AllowedAddresses, HttpClientOptions, is_loopback};

/// How an agent sends notifications: over `https` only, and only to addresses of the public internet.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PushOptions {
    /// The options of its connections: those of TLS, for example. Their addresses are replaced.
    pub http: HttpClientOptions,
    /// Whether notifications may be sent to this machine, also over `http`: not by default. Clients choose the URLs, so this is for tests.
    pub loopback: bool,
    /// How often one notification is sent if its receiver does not take it: 5 times by default. A receiver that did not take the last one gets
    /// each of the next ones once, until it takes one.
    pub attempts: u32,
    /// How long it waits before the second attempt: 1 second by default. Before each further one it waits twice as long.
    pub pause: Duration,
    /// How long one attempt may take: 15 seconds by default.
    pub time: Duration,
    /// How many events of a task may wait: 256 by default. If there are more, the whole task is sent instead.
    pub waiting: usize,
    /// How many notifications are sent at once: 64 by default.
    pub parallel: usize,
    /// How many places for notifications a task may have: 16 by default.
    pub places: usize,
}

impl Default for PushOptions {
    fn default() -> PushOptions {
        PushOptions {
            http: HttpClientOptions::default(),
            loopback: false,
            attempts: 5,
            pause: Duration::from_secs(1),
            time: Duration::from_secs(15),
            waiting: 256,
            parallel: 64,
            places: 16,
        }
    }
}

impl PushOptions {
    /// Sets [`http`](PushOptions::http).
    #[must_use]
    pub fn with_http(self, http: HttpClientOptions) -> PushOptions {
        PushOptions { http, ..self }
    }

    /// Sets [`loopback`](PushOptions::loopback).
    #[must_use]
    pub fn with_loopback(self, loopback: bool) -> PushOptions {
        PushOptions { loopback, ..self }
    }

    /// Sets [`attempts`](PushOptions::attempts).
    #[must_use]
    pub fn with_attempts(self, attempts: u32) -> PushOptions {
        PushOptions { attempts: attempts.max(1), ..self }
    }

    /// Sets [`pause`](PushOptions::pause).
    #[must_use]
    pub fn with_pause(self, pause: Duration) -> PushOptions {
        PushOptions { pause, ..self }
    }

    /// Sets [`time`](PushOptions::time).
    #[must_use]
    pub fn with_time(self, time: Duration) -> PushOptions {
        PushOptions { time, ..self }
    }

    /// Sets [`waiting`](PushOptions::waiting).
    #[must_use]
    pub fn with_waiting(self, waiting: usize) -> PushOptions {
        PushOptions { waiting: waiting.max(1), ..self }
    }

    /// Sets [`parallel`](PushOptions::parallel).
    #[must_use]
    pub fn with_parallel(self, parallel: usize) -> PushOptions {
        PushOptions { parallel: parallel.max(1), ..self }
    }

    /// Sets [`places`](PushOptions::places).
    #[must_use]
    pub fn with_places(self, places: usize) -> PushOptions {
        PushOptions { places, ..self }
    }

    fn addresses(&self) -> AllowedAddresses {
        let public = AllowedAddresses::public();
        if self.loopback { public.and_loopback() } else { public }
    }

    /// Why a URL gets no notifications, as far as its text shows (A2A-P-03). Addresses that names resolve to are checked when a connection is made.
    pub(super) fn refusal(&self, url: &str) -> Option<&'static str> {
        let Ok(uri) = url.parse::<Uri>() else { return Some("it is not a URL") };
        let is_secure = uri.scheme() == Some(&Scheme::HTTPS);
        let is_here = uri.scheme() == Some(&Scheme::HTTP) && self.loopback && is_loopback(&uri);
        if url.len() > 2048 {
            return Some("it has more than 2048 bytes");
        }
        if !(is_secure || is_here) || uri.host().is_none_or(str::is_empty) {
            return Some("it is not an https URL");
        }
        if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) || url.contains('#') {
            return Some("it has a user or a fragment");
        }
        if is_loopback(&uri) && !self.loopback || !self.addresses().allows_host(&uri) {
            return Some("its address is not public");
        }
        None
    }

    /// The options of connections for notifications.
    pub(super) fn client(&self) -> HttpClientOptions {
        self.http.clone().with_addresses(Some(self.addresses()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // A2A-P-03
    #[test]
    fn notifications_go_to_public_https_urls_only() {
        let usual = PushOptions::default();
        let here = PushOptions::default().with_loopback(true);
        let check = |url: &str, is_usual: bool, is_here: bool| {
            assert_eq!(
                (usual.refusal(url).is_none(), here.refusal(url).is_none()),
                (is_usual, is_here),
                "{url}"
            );
        };
        check("https://hooks.example.com/a?b=c", true, true);
        check("https://8.8.8.8:8443/a", true, true);
        for url in [
            "http://127.0.0.1:1/",
            "http://localhost/",
            "http://[::1]:1/",
            "https://localhost/",
            "https://127.0.0.1/",
        ] {
            check(url, false, true);
        }
        let addresses = usual.client().addresses.unwrap();
        assert!(!addresses.allows("127.0.0.1".parse().unwrap()), "also if a name leads there");
        for url in [
            "http://hooks.example.com/",
            "http://10.0.0.1/",
            "https://10.0.0.1/",
            "https://169.254.169.254/latest/meta-data",
            "https://[fd00::1]/",
            "https://[::ffff:10.0.0.1]/",
            "https://user@hooks.example.com/",
            "https://hooks.example.com/#a",
            "ftp://hooks.example.com/",
            "/hook",
            "",
        ] {
            check(url, false, false);
        }
    }
}
