//! Where to listen, as it is written on the command line, and the URL to call there.

/// The URL to listen at: a bare port is one for HTTP on this machine.
pub(crate) fn listening(text: &str) -> Result<String, String> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(text.to_owned());
    }
    match text.parse::<u16>() {
        Ok(port) => Ok(format!("http://127.0.0.1:{port}")),
        Err(_) => Err("not a port; ports go from 0 (any free one) to 65535".to_owned()),
    }
}

/// The URL to call a server that listens at this one: an unspecified address is reached over loopback.
pub(crate) fn reachable(url: &str) -> String {
    url.replace("://0.0.0.0:", "://127.0.0.1:").replace("://[::]:", "://[::1]:")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_port_is_one_for_http_on_this_machine() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(listening(text).ok().as_deref(), expected, "{text}");
        };
        check("8077", Some("http://127.0.0.1:8077"));
        check("0", Some("http://127.0.0.1:0"));
        check("65536", None);
        check("127.0.0.1:8077", Some("127.0.0.1:8077"));
        check("tcp://127.0.0.1:4000", Some("tcp://127.0.0.1:4000"));
        check("unix:8077", Some("unix:8077"));
    }

    #[test]
    fn an_unspecified_address_is_reached_over_loopback() {
        assert_eq!(reachable("http://0.0.0.0:8000"), "http://127.0.0.1:8000");
        assert_eq!(reachable("tcp://[::]:8000?framing=lsp"), "tcp://[::1]:8000?framing=lsp");
        assert_eq!(reachable("http://10.0.0.0:8000"), "http://10.0.0.0:8000");
    }
}
