//! Pages of Switchboard for browsers, embedded whole: the [playground](page) to try JSON-RPC in, a [live view](live) of a
//! running server, and an [`inspector`] of MCP servers.
//!
//! They are written in TypeScript in the folder `playground/` of the repository. Each is built into one file, which is part of this
//! crate; compiling needs nothing but Rust. A page loads nothing from anywhere, so it works without a network. It calls the
//! server that it came from; only the playground calls others, if its user names them.
//!
//! # Examples
//!
//! ```
//! use switchboard_transport::http::EndpointOptions;
//!
//! let options = EndpointOptions::default().route("/", switchboard_playground::page());
//! ```

use std::sync::LazyLock;

use bytes::Bytes;
use http::header::{self, HeaderName, HeaderValue};
use miniz_oxide::inflate::decompress_to_vec;
use switchboard_transport::http::Page;

/// A page as it is built.
struct Built {
    /// The page, compressed with gzip.
    html: &'static [u8],
    /// What it may do: run the one script and use the one style sheet in it, by their hashes, and call servers.
    policy: &'static str,
    /// The page as it is, for clients that take no gzip. It is made once, when a page is.
    plain: LazyLock<Bytes>,
}

static PLAYGROUND: Built = Built {
    html: include_bytes!("../built/playground.html.gz"),
    policy: include_str!("../built/playground.policy.txt"),
    plain: LazyLock::new(|| plain(PLAYGROUND.html)),
};

static LIVE: Built = Built {
    html: include_bytes!("../built/live.html.gz"),
    policy: include_str!("../built/live.policy.txt"),
    plain: LazyLock::new(|| plain(LIVE.html)),
};

static INSPECTOR: Built = Built {
    html: include_bytes!("../built/inspector.html.gz"),
    policy: include_str!("../built/inspector.policy.txt"),
    plain: LazyLock::new(|| plain(INSPECTOR.html)),
};

/// The playground, to be shown at a path of calls: it calls its own path with POST.
#[must_use]
pub fn page() -> Page {
    PLAYGROUND.page()
}

/// The live view of a server, to be shown at a path where the admin methods of `switchboard serve --admin` are called: it calls its
/// own path with POST.
#[must_use]
pub fn live() -> Page {
    LIVE.page()
}

/// The inspector of `switchboard inspect`, to be shown at a path whose WebSocket has its methods. It shows views of servers from this
/// origin; `'none'` shows none.
#[must_use]
pub fn inspector(frames: &str) -> Page {
    let page = INSPECTOR.page();
    let policy = format!("{}; frame-src {frames}", INSPECTOR.policy.trim_ascii_end());
    match HeaderValue::try_from(policy) {
        Ok(policy) => page.with_header(header::CONTENT_SECURITY_POLICY, policy),
        Err(_) => page,
    }
}

impl Built {
    fn page(&self) -> Page {
        let policy = HeaderValue::from_static(self.policy.trim_ascii_end());
        let isolation = HeaderName::from_static("cross-origin-opener-policy");
        Page::new(self.plain.clone())
            .with_gzip(self.html)
            .with_header(header::CONTENT_SECURITY_POLICY, policy)
            .with_header(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"))
            .with_header(isolation, HeaderValue::from_static("same-origin"))
    }
}

/// What the build compressed. Its header has the ten bytes that are always there, and its trailer the checksum and the length.
fn plain(gzip: &[u8]) -> Bytes {
    let deflated = &gzip[10..gzip.len() - 8];
    decompress_to_vec(deflated).expect("the build writes valid gzip").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_load_of_the_playground_is_under_200_kilobytes() {
        assert!(PLAYGROUND.html.len() < 200_000, "{} bytes", PLAYGROUND.html.len());
    }

    #[test]
    fn the_first_load_of_the_live_page_is_under_60_kilobytes() {
        assert!(LIVE.html.len() < 60_000, "{} bytes", LIVE.html.len());
    }

    #[test]
    fn the_first_load_of_the_inspector_is_under_120_kilobytes() {
        assert!(INSPECTOR.html.len() < 120_000, "{} bytes", INSPECTOR.html.len());
    }

    #[test]
    fn the_plain_pages_are_whole() {
        for Built { html, plain, .. } in [&PLAYGROUND, &LIVE, &INSPECTOR] {
            // No optional fields in the header, and the length that the trailer states.
            assert_eq!(html[..4], [0x1f, 0x8b, 8, 0]);
            let [.., a, b, c, d] = html else { unreachable!() };
            assert_eq!(plain.len(), u32::from_le_bytes([*a, *b, *c, *d]) as usize);
            assert!(plain.starts_with(b"<!doctype html>") && plain.ends_with(b"</html>\n"));
        }
    }

    #[test]
    fn the_policies_allow_the_page_itself_and_nothing_that_is_inlined_later() {
        for Built { policy, .. } in [&PLAYGROUND, &LIVE, &INSPECTOR] {
            assert!(policy.starts_with("default-src 'none'; "), "{policy}");
            for rule in
                ["script-src 'sha256-", "style-src 'sha256-", "frame-ancestors 'none'", "base-uri 'none'"]
            {
                assert!(policy.contains(rule), "{rule} is missing in {policy}");
            }
            assert!(!policy.contains("unsafe"), "{policy}");
            assert_eq!(policy.trim_ascii_end().lines().count(), 1);
        }
    }

    #[test]
    fn the_live_page_and_the_inspector_call_their_own_server_only() {
        for Built { policy, .. } in [&LIVE, &INSPECTOR] {
            assert!(policy.contains("connect-src 'self';"), "{policy}");
        }
    }
}
