//! The URL of a service: `nats://host:port/service`.

use super::subject;
use crate::carrier::{Url, UrlError};

/// The port of brokers, if the URL has none.
const PORT: u16 = 4222;

/// A broker and a service.
#[derive(Clone, Debug)]
pub(super) struct Address {
    /// Host and port, as the broker's client wants them.
    pub(super) broker: String,
    /// The service, which is also the queue group of its workers.
    pub(super) service: String,
    pub(super) is_secure: bool,
}

impl Address {
    pub(super) fn of(url: &Url) -> Result<Address, UrlError> {
        let place = url.place().ok_or_else(|| UrlError::Host(url.to_string()))?;
        if let Some(option) = url.options().next() {
            return Err(UrlError::NoOptions(option.to_owned()));
        }
        let service = url.path().strip_prefix('/').unwrap_or_default();
        if !subject::is_service(service) {
            return Err(UrlError::Service(url.to_string()));
        }
        let host = if place.host.contains(':') { format!("[{}]", place.host) } else { place.host.clone() };
        let broker = format!("{host}:{}", place.port.unwrap_or(PORT));
        Ok(Address { broker, service: service.to_owned(), is_secure: url.scheme() == "nats+tls" })
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let scheme = if self.is_secure { "nats+tls" } else { "nats" };
        write!(f, "{scheme}://{}/{}", self.broker, self.service)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_a_broker_and_a_service() {
        let check = |url: &str, expected: Result<&str, &str>| {
            let address = Address::of(&url.parse().unwrap());
            match (address, expected) {
                (Ok(address), Ok(expected)) => assert_eq!(address.to_string(), expected),
                (Err(error), Err(expected)) => assert!(error.to_string().contains(expected), "{error}"),
                (address, expected) => panic!("{url}: {address:?}, {expected:?}"),
            }
        };
        check("nats://127.0.0.1:4222/math", Ok("nats://127.0.0.1:4222/math"));
        check("nats://broker/math-v2", Ok("nats://broker:4222/math-v2"));
        check("nats+tls://[::1]/m", Ok("nats+tls://[::1]:4222/m"));
        check("nats://broker", Err("names no service"));
        check("nats://broker/a/b", Err("names no service"));
        check("nats://broker/a.b", Err("names no service"));
        check("nats:math", Err("no host"));
        check("nats://broker/math?framing=lsp", Err("takes no options"));
    }
}
