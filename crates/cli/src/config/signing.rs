//! How a server verifies signed calls.

use std::path::PathBuf;
use std::sync::Arc;

use switchboard::Clock;
use switchboard::access::Pattern;
use switchboard::signing::{SigningKeys, Verify, audience_of};
use switchboard::store::{FileStore, MemoryStore, Store, StoreLimits};

use super::faults::Fault;
use super::reader::Reader;
use crate::failure::Failure;

/// The keys of signed calls, and which calls must be signed.
#[derive(Debug)]
pub(crate) struct Signing {
    keys: SigningKeys,
    required: Vec<Pattern>,
    audience: Vec<String>,
    /// The file that keeps used nonces; memory if there is none.
    store: Option<PathBuf>,
}

/// Reads how calls are verified; none if they are not.
pub(crate) fn signing(reader: &mut Reader<'_>) -> Option<Signing> {
    let path = reader.path("signing.keys")?;
    let (required, audience) = (required(reader), reader.texts("signing.audience"));
    let store = reader.path("signing.store");
    match SigningKeys::read(path) {
        Ok(keys) => Some(Signing { keys, required, audience, store }),
        Err(error) => {
            let place = reader.place("signing.keys");
            reader.faults.push(Fault::new(place, "`signing.keys` cannot be used", error.to_string()));
            None
        }
    }
}

/// The methods whose calls must be signed. The command line separates patterns by commas; `none` selects no methods.
fn required(reader: &mut Reader<'_>) -> Vec<Pattern> {
    const PATH: &str = "signing.required";
    let texts = reader.texts(PATH);
    let patterns =
        texts.iter().flat_map(|text| text.split(',')).map(str::trim).filter(|text| *text != "none");
    let (good, bad): (Vec<_>, Vec<_>) = patterns.map(str::parse::<Pattern>).partition(Result::is_ok);
    for error in bad.into_iter().filter_map(Result::err) {
        let fault = Fault::new(reader.place(PATH), format!("invalid value for `{PATH}`"), error.to_string());
        reader.faults.push(fault);
    }
    good.into_iter().filter_map(Result::ok).collect()
}

impl Signing {
    /// The layer for a server with these URLs.
    pub(crate) fn verify(&self, urls: &[String]) -> Result<Verify, Failure> {
        let (clock, limits) = (Clock::system(), StoreLimits::default());
        let store: Arc<dyn Store> = match &self.store {
            Some(path) => Arc::new(FileStore::open_with(path, limits, clock.clone()).map_err(|error| {
                Failure::usage(format!("cannot keep nonces in {}: {error}", path.display()))
            })?),
            None => Arc::new(MemoryStore::with_clock(limits, clock.clone())),
        };
        let verify = Verify::new(self.keys.clone(), audiences(urls, &self.audience), store).with_clock(clock);
        Ok(verify.required_for(self.required.iter().cloned()))
    }
}

/// What clients may call a server with these URLs.
fn audiences(urls: &[String], more: &[String]) -> Vec<String> {
    let mut all = more.to_vec();
    for url in urls {
        let audience = audience_of(url);
        // The same listener serves WebSocket.
        for scheme in [("http://", "ws://"), ("https://", "wss://")] {
            all.extend(audience.strip_prefix(scheme.0).map(|rest| format!("{}{rest}", scheme.1)));
        }
        all.push(audience);
    }
    let with_slash: Vec<_> = all.iter().map(|audience| format!("{audience}/")).collect();
    all.extend(with_slash);
    all
}
