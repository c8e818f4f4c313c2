//! The playground: a page to try JSON-RPC in, embedded whole.
//!
//! It is written in TypeScript in the folder `playground/` of the repository and built into one file, which is part of this
//! crate; compiling needs nothing but Rust. It loads nothing from anywhere, so it works without a network, and it calls the
//! server that it came from unless its user names another.
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

/// The page, compressed with gzip.
const HTML: &[u8] = include_bytes!("../built/playground.html.gz");

/// What it may do: run the one script and use the one style sheet in it, by their hashes, and call servers.
const POLICY: &str = include_str!("../built/content-security-policy.txt");

/// The page as it is, for clients that take no gzip. It is made once, when a page is.
static PLAIN: LazyLock<Bytes> = LazyLock::new(|| plain(HTML));

/// The playground, to be shown at a path of calls: it calls its own path with POST.
#[must_use]
pub fn page() -> Page {
    let policy = HeaderValue::from_static(POLICY.trim_ascii_end());
    let isolation = HeaderName::from_static("cross-origin-opener-policy");
    Page::new(PLAIN.clone())
        .with_gzip(HTML)
        .with_header(header::CONTENT_SECURITY_POLICY, policy)
        .with_header(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"))
        .with_header(isolation, HeaderValue::from_static("same-origin"))
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
    fn the_first_load_is_under_200_kilobytes() {
        assert!(HTML.len() < 200_000, "{} bytes", HTML.len());
    }

    #[test]
    fn the_plain_page_is_whole() {
        // No optional fields in the header, and the length that the trailer states.
        assert_eq!(HTML[..4], [0x1f, 0x8b, 8, 0]);
        let [.., a, b, c, d] = HTML else { unreachable!() };
        assert_eq!(PLAIN.len(), u32::from_le_bytes([*a, *b, *c, *d]) as usize);
        assert!(PLAIN.starts_with(b"<!doctype html>") && PLAIN.ends_with(b"</html>\n"));
    }

    #[test]
    fn the_policy_allows_the_page_itself_and_nothing_that_is_inlined_later() {
        assert!(POLICY.starts_with("default-src 'none'; "), "{POLICY}");
        for rule in ["script-src 'sha256-", "style-src 'sha256-", "frame-ancestors 'none'", "base-uri 'none'"]
        {
            assert!(POLICY.contains(rule), "{rule} is missing in {POLICY}");
        }
        assert!(!POLICY.contains("unsafe"), "{POLICY}");
        assert_eq!(POLICY.trim_ascii_end().lines().count(), 1);
    }
}
