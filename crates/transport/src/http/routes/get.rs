//! Which calls may be made by GET (JH-27).

use std::collections::HashSet;
use std::sync::Arc;

use http::HeaderMap;
use switchboard_core::{Description, ResultDescription};

use super::super::fault::Fault;

/// Which methods may be called by GET, on a stream path.
///
/// Any page can make a browser send a GET, with a link or an image, and it comes without `Origin`. So on a loopback
/// address, where browsers say which site a request comes from (`Sec-Fetch-Site`), those from other sites are refused
/// and everybody else may call anything. Elsewhere nothing is called by GET unless it is allowed here; allow what changes
/// nothing:
///
/// ```
/// # let router = switchboard_core::Router::builder().build().unwrap();
/// use switchboard_transport::http::{Get, Options};
///
/// let options = Options { get: Get::described(&router.describe()), ..Options::default() };
/// ```
///
/// Whatever is chosen, `Host` and `Origin` are checked as for every request, requests from other sites need an `Origin`
/// that passes, and answers are never cached.
#[derive(Clone, Debug, Default)]
pub struct Get(Rule);

#[derive(Clone, Debug, Default)]
enum Rule {
    /// Any method on a loopback address, none elsewhere.
    #[default]
    ByAddress,
    Any,
    Only(Arc<HashSet<String>>),
}

impl Get {
    /// Any method, wherever the server listens.
    #[must_use]
    pub fn any() -> Get {
        Get(Rule::Any)
    }

    /// These methods only; none if there are none.
    #[must_use]
    pub fn only<T: Into<String>>(methods: impl IntoIterator<Item = T>) -> Get {
        Get(Rule::Only(Arc::new(methods.into_iter().map(Into::into).collect())))
    }

    /// The methods that are marked safe or described as streams.
    #[must_use]
    pub fn described(description: &Description) -> Get {
        let is_open = |result: &ResultDescription| {
            matches!(result, ResultDescription::Stream(_) | ResultDescription::Either { .. })
        };
        let methods =
            description.methods.iter().filter(|method| method.marks.safe || is_open(&method.result));
        Get::only(methods.map(|method| method.name.clone()))
    }

    /// Whether nothing at all may be called where the server listens like this.
    pub(in super::super) fn is_off(&self, is_loopback: bool) -> bool {
        match &self.0 {
            Rule::ByAddress => !is_loopback,
            Rule::Any => false,
            Rule::Only(methods) => methods.is_empty(),
        }
    }

    /// Whether this method may be called by a request with these headers, whose `Origin` has passed if it has one.
    pub(in super::super) fn check(&self, method: Option<&str>, headers: &HeaderMap) -> Result<(), Fault> {
        let mut sites = headers.get_all("sec-fetch-site").iter();
        let is_foreign = sites.any(|site| !matches!(site.as_bytes(), b"same-origin" | b"none"));
        if is_foreign && !headers.contains_key(http::header::ORIGIN) {
            return Err(Fault::Forbidden("pages of other sites may not call by GET"));
        }
        match (&self.0, method) {
            (Rule::Only(methods), Some(method)) if !methods.contains(method) => {
                Err(Fault::Forbidden("this method may not be called by GET; send a POST"))
            }
            _ => Ok(()),
        }
    }
}
