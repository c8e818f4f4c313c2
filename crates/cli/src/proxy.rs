//! `--proxy-for`: calls of the playground to servers that do not allow its page (CORS) go through this server.

use std::net::SocketAddr;

use switchboard::http::ProxyRoute;

use crate::failure::Failure;

/// Where the page finds it.
pub(crate) const PATH: &str = "/proxy";

/// A route that forwards to these URLs.
pub(crate) fn route(targets: &[String], hosts: &[String]) -> Result<ProxyRoute, Failure> {
    if hosts.iter().any(|host| host == "*") {
        let text =
            "--proxy-for cannot be combined with --allow-host '*': pages of other sites could use the proxy";
        return Err(Failure::usage(text).advise("name the hosts, as in `--allow-host rpc.example.com`"));
    }
    ProxyRoute::new(targets).map_err(|error| {
        let text = format!("--proxy-for: {error}");
        Failure::usage(text)
            .advise("write the URL that the page calls, as in `--proxy-for http://127.0.0.1:9000/rpc`")
    })
}

/// Refuses to forward for other machines.
pub(crate) fn check_listeners(targets: &[String], urls: &[String]) -> Result<(), Failure> {
    match urls.iter().find(|url| !targets.is_empty() && !is_local(url)) {
        None => Ok(()),
        Some(url) => {
            let text = format!(
                "--proxy-for requires loopback addresses, but {url} can be reached from other machines"
            );
            Err(Failure::usage(text).advise("remove `--proxy-for`, or listen on 127.0.0.1"))
        }
    }
}

/// Whether only this machine can reach a URL.
pub(crate) fn is_local(url: &str) -> bool {
    let Some((_, rest)) = url.split_once("://") else {
        // Standard input and output, or a Unix socket.
        return true;
    };
    let place = rest.split(['/', '?']).next().unwrap_or_default();
    match place.parse::<SocketAddr>() {
        Ok(address) => address.ip().is_loopback(),
        Err(_) => place.split(':').next() == Some("localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_addresses_and_local_sockets_are_local() {
        let check = |url: &str, expected: bool| assert_eq!(is_local(url), expected, "{url}");
        check("http://127.0.0.1:8000", true);
        check("tcp://[::1]:4000?framing=lsp", true);
        check("ws://localhost:8000/", true);
        check("unix:/run/rpc.sock", true);
        check("stdio", true);
        check("http://0.0.0.0:8000", false);
        check("http://[::]:8000", false);
        check("http://192.0.2.1:8000", false);
        check("http://localhost.example:8000", false);
    }
}
