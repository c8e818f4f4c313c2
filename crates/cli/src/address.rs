//! The URL by which this machine reaches what listens somewhere.

/// Where to call what listens at this URL: an unspecified address is reached over loopback.
pub(crate) fn reachable(url: &str) -> String {
    url.replace("://0.0.0.0:", "://127.0.0.1:").replace("://[::]:", "://[::1]:")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unspecified_address_is_reached_over_loopback() {
        assert_eq!(reachable("http://0.0.0.0:8000"), "http://127.0.0.1:8000");
        assert_eq!(reachable("tcp://[::]:8000?framing=lsp"), "tcp://[::1]:8000?framing=lsp");
        assert_eq!(reachable("http://10.0.0.0:8000"), "http://10.0.0.0:8000");
    }
}
