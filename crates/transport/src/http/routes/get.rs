//! Calls with GET (JH-27).

use std::collections::HashSet;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use http::HeaderMap;
use switchboard_core::Description;

use super::super::fault::Fault;

/// The methods that can be called with GET, on a stream path: only safe ones, wherever the server listens. By default none.
///
/// Any page can make a browser send a GET, with a link or an image, and without an `Origin`. So a GET must not change
/// state. Methods declare this with the mark `safe`:
///
/// ```
/// # let router = switchboard_core::Router::builder().build().unwrap();
/// use switchboard_transport::http::{Get, EndpointOptions};
///
/// let options = EndpointOptions::default().with_get(Get::safe(&router.describe()));
/// ```
///
/// `Host` and `Origin` are checked as for every request. If a browser says that a request comes from another site
/// (`Sec-Fetch-Site`), it needs an allowed `Origin`. Responses are never cached.
#[derive(Clone, Debug, Default)]
pub struct Get(Arc<RwLock<HashSet<String>>>);

impl Get {
    /// The methods marked as safe.
    #[must_use]
    pub fn safe(description: &Description) -> Get {
        Get::only(safe(description))
    }

    /// Lets these be called from now on in place of the others, for a server whose methods change. Clones change, too.
    pub fn replace(&self, description: &Description) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = safe(description).collect();
    }

    /// These methods, for a service without a description. List only methods that change no state.
    #[must_use]
    pub fn only<T: Into<String>>(methods: impl IntoIterator<Item = T>) -> Get {
        Get(Arc::new(RwLock::new(methods.into_iter().map(Into::into).collect())))
    }

    fn methods(&self) -> RwLockReadGuard<'_, HashSet<String>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nothing at all may be called.
    pub(in super::super) fn is_off(&self) -> bool {
        self.methods().is_empty()
    }

    /// Whether this method may be called by a request with these headers, whose `Origin` has passed if it has one.
    pub(in super::super) fn check(&self, method: &str, headers: &HeaderMap) -> Result<(), Fault> {
        let mut sites = headers.get_all("sec-fetch-site").iter();
        let is_foreign = sites.any(|site| !matches!(site.as_bytes(), b"same-origin" | b"none"));
        if is_foreign && !headers.contains_key(http::header::ORIGIN) {
            return Err(Fault::Forbidden("pages of other sites may not call methods with GET"));
        }
        if !self.methods().contains(method) {
            return Err(Fault::Forbidden(
                "this method is not marked safe, so it cannot be called with GET; use POST",
            ));
        }
        Ok(())
    }
}

fn safe(description: &Description) -> impl Iterator<Item = String> {
    description.methods.iter().filter(|method| method.marks.safe).map(|method| method.name.clone())
}

#[cfg(test)]
mod tests {
    use switchboard_core::{ErrorObject, Router};

    use super::*;

    #[test]
    fn methods_that_change_are_callable_only_as_they_are_now() {
        let described = |name: &'static str, is_safe: bool| {
            let router = Router::builder().method(name, |(): (), _| Ok::<_, ErrorObject>(1)).build();
            let mut description = router.unwrap().describe();
            description.methods.iter_mut().for_each(|method| method.marks.safe = is_safe);
            description
        };
        let get = Get::safe(&described("read", true));
        let may = |method: &str| get.check(method, &HeaderMap::new()).is_ok();
        assert!(may("read") && !may("other"));
        get.clone().replace(&described("other", true));
        assert!(may("other") && !may("read"));
        get.replace(&described("other", false));
        assert!(!may("other") && get.is_off());
    }
}
