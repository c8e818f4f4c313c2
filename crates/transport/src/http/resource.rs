//! Documents of other servers, such as the keys of a token issuer.

use std::future::Future;
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use http::uri::Scheme;
use switchboard_core::{CallError, Share};

use super::addresses::is_loopback;
use super::body::{self, Unread};
use super::client::Client;
use super::client_options::HttpClientOptions;
use super::url::{self, HttpUrlError};

/// A document at a URL that an operator configured. Cheap to clone.
///
/// The URL is `https`, or `http` on a loopback address, so that the document cannot be changed on its way. Redirects are refused, no credentials
/// are sent, and time and length are limited. Addresses of private networks are allowed, since an issuer may be there; do not use this for
/// URLs that callers choose.
///
/// # Examples
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use switchboard_transport::http::Resource;
///
/// let keys = Resource::new("https://id.example.com/jwks.json")?;
/// let document = keys.get().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Resource {
    client: Client,
    url: String,
    options: ResourceOptions,
}

/// The options of a [`Resource`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ResourceOptions {
    /// The longest document that is read: 256 KiB.
    pub length: usize,
    /// How long a request may take: 10 s.
    pub time: Duration,
    /// The TLS configuration: by default, this machine's trusted certificates are used.
    #[cfg(feature = "tls")]
    pub tls: Option<crate::tls::ClientTls>,
}

/// Why a document is not available.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResourceError {
    /// The URL cannot be used.
    #[error(transparent)]
    Url(#[from] HttpUrlError),
    /// Others could change the document on its way.
    #[error("{0} is not secure; use https, or http on a loopback address")]
    Insecure(String),
    /// The server answered with another status than 200. Redirects are not followed.
    #[error("{url} answered with status {status}")]
    Status {
        /// The URL.
        url: String,
        /// The status.
        status: u16,
    },
    /// The document is too long.
    #[error("{url} has more than {limit} bytes")]
    TooLong {
        /// The URL.
        url: String,
        /// The limit.
        limit: usize,
    },
    /// The server cannot be reached, or broke off.
    #[error("cannot get {url}: {why}")]
    Unreachable {
        /// The URL.
        url: String,
        /// What went wrong.
        why: String,
    },
}

impl Default for ResourceOptions {
    fn default() -> ResourceOptions {
        ResourceOptions {
            length: 256 << 10,
            time: Duration::from_secs(10),
            #[cfg(feature = "tls")]
            tls: None,
        }
    }
}

impl ResourceOptions {
    /// Sets [`length`](ResourceOptions::length).
    #[must_use]
    pub fn with_length(mut self, length: usize) -> ResourceOptions {
        self.length = length;
        self
    }

    /// Sets [`time`](ResourceOptions::time).
    #[must_use]
    pub fn with_time(mut self, time: Duration) -> ResourceOptions {
        self.time = time;
        self
    }

    /// Sets [`tls`](ResourceOptions::tls).
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn with_tls(mut self, tls: Option<crate::tls::ClientTls>) -> ResourceOptions {
        self.tls = tls;
        self
    }
}

impl Resource {
    /// The document at this URL.
    ///
    /// # Errors
    ///
    /// If it is not an `https` URL, or an `http` URL of this machine.
    pub fn new(url: &str) -> Result<Resource, ResourceError> {
        Resource::with_options(url, ResourceOptions::default())
    }

    /// The same with these options.
    ///
    /// # Errors
    ///
    /// If it is not an `https` URL, or an `http` URL of this machine.
    pub fn with_options(url: &str, options: ResourceOptions) -> Result<Resource, ResourceError> {
        let uri = url::parse(url)?;
        if uri.scheme() != Some(&Scheme::HTTPS) && !is_loopback(&uri) {
            return Err(ResourceError::Insecure(url.to_owned()));
        }
        let client = HttpClientOptions::default().with_connect_time(options.time);
        #[cfg(feature = "tls")]
        let client = HttpClientOptions { tls: options.tls.clone(), ..client };
        Ok(Resource { client: Client::with_options(url, client)?, url: url.to_owned(), options })
    }

    /// Gets the document.
    ///
    /// # Errors
    ///
    /// If it is not available, or too long.
    pub fn get(&self) -> impl Future<Output = Result<Bytes, ResourceError>> + Send + use<> {
        let this = self.clone();
        async move {
            let got = tokio::time::timeout(this.options.time, this.fetch()).await;
            got.unwrap_or_else(|_| Err(this.unreachable("no answer in time")))
        }
    }

    async fn fetch(&self) -> Result<Bytes, ResourceError> {
        let response = self.client.get().await.map_err(|error| match error {
            CallError::Unreachable(why) => self.unreachable(&why),
            error => self.unreachable(&error.to_string()),
        })?;
        let status = response.status();
        if status != StatusCode::OK {
            return Err(ResourceError::Status { url: self.url.clone(), status: status.as_u16() });
        }
        let limit = self.options.length;
        let document = body::read(response.into_body(), limit, self.options.time, Share::default()).await;
        document.map_err(|unread| match unread {
            Unread::TooLarge | Unread::NoRoom => ResourceError::TooLong { url: self.url.clone(), limit },
            Unread::TooSlow => self.unreachable("no answer in time"),
            Unread::Broken => {
                self.unreachable("the server closed the connection in the middle of the document")
            }
        })
    }

    fn unreachable(&self, why: &str) -> ResourceError {
        ResourceError::Unreachable { url: self.url.clone(), why: why.to_owned() }
    }
}

impl std::fmt::Debug for Resource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Resource").field("url", &self.url).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // SEC-X-01
    #[test]
    fn a_url_is_secure_or_of_this_machine() {
        let check = |url: &str, is_taken: bool| {
            assert_eq!(Resource::new(url).is_ok(), is_taken, "{url}");
        };
        check("http://127.0.0.1:8000/jwks.json", true);
        check("http://[::1]/jwks.json", true);
        check("http://localhost/jwks.json", true);
        for url in [
            "http://id.example.com/jwks.json",
            "http://10.0.0.1/",
            "http://169.254.169.254/",
            "http://localhost.example.com/",
            "http://127.0.0.1.example.com/",
            "file:///etc/passwd",
            "https://user:secret@id.example.com/",
            "jwks.json",
        ] {
            check(url, false);
        }
        #[cfg(feature = "tls")]
        check("https://id.example.com/jwks.json", true);
    }
}
