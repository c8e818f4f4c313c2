//! How a server verifies signed calls.

use std::sync::Arc;

use switchboard::access::Pattern;
use switchboard::signing::{Key, ParamsForm, SigningKeys, Verify, audience_of};
use switchboard::store::Store;

use super::faults::Fault;
use super::reader::Reader;

/// The keys of signed calls, and which calls must be signed.
#[derive(Debug)]
pub(crate) struct Signing {
    keys: SigningKeys,
    required: Vec<Pattern>,
    audience: Vec<String>,
    authority: Option<String>,
    answer_key: Option<Arc<Key>>,
    forms: Vec<ParamsForm>,
}

/// Reads how calls are verified; none if they are not.
pub(crate) fn signing(reader: &mut Reader<'_>) -> Option<Signing> {
    let path = reader.path("signing.keys")?;
    let (required, audience) = (patterns(reader, "signing.required"), reader.texts("signing.audience"));
    let (authority, answer_key, forms) =
        (reader.text("signing.authority"), answer_key(reader), forms(reader));
    match SigningKeys::watch(path) {
        Ok(keys) => Some(Signing { keys, required, audience, authority, answer_key, forms }),
        Err(error) => {
            let place = reader.place("signing.keys");
            reader.faults.push(Fault::new(place, "`signing.keys` cannot be used", error.to_string()));
            None
        }
    }
}

/// The key that signs answers.
fn answer_key(reader: &mut Reader<'_>) -> Option<Arc<Key>> {
    const PATH: &str = "signing.answer_key";
    let path = reader.path(PATH)?;
    let key = SigningKeys::read(path).map_err(|error| error.to_string()).and_then(|keys| {
        keys.first_signer()
            .ok_or_else(|| "the file has no key that can sign; use an ed25519-private key".to_owned())
    });
    key.map_err(|why| {
        let fault = Fault::new(reader.place(PATH), format!("`{PATH}` cannot be used"), why);
        reader.faults.push(fault);
    })
    .ok()
}

/// The methods with signatures, timestamps and nonces in their params.
fn forms(reader: &mut Reader<'_>) -> Vec<ParamsForm> {
    const METHODS: &str = "signing.params_form.methods";
    let (signed, once) = (patterns(reader, METHODS), patterns(reader, "signing.once"));
    let is_optional = reader.choice("signing.params_form.nonce") == "optional";
    let mut forms = Vec::new();
    match reader.text("signing.params_form.key") {
        Some(key) if !signed.is_empty() => {
            let form = ParamsForm::signed(signed, key);
            forms.push(if is_optional { form.without_nonce() } else { form });
            if is_optional {
                let place = reader.place("signing.params_form.nonce");
                let what = "calls without a nonce can be sent again by anyone who sees them";
                reader.faults.push(Fault::warning(place, what, "use \"required\" if you can"));
            }
        }
        None if !signed.is_empty() => {
            let advice = "set `signing.params_form.key` to the key id of these signatures";
            reader.faults.push(Fault::new(reader.place(METHODS), "signatures in params need a key", advice));
        }
        _ => {}
    }
    if !once.is_empty() {
        forms.push(ParamsForm::unsigned(once));
    }
    forms
}

/// The methods that these patterns select. The command line separates patterns by commas; `none` selects no methods.
fn patterns(reader: &mut Reader<'_>, path: &str) -> Vec<Pattern> {
    let texts = reader.texts(path);
    let patterns =
        texts.iter().flat_map(|text| text.split(',')).map(str::trim).filter(|text| *text != "none");
    let (good, bad): (Vec<_>, Vec<_>) = patterns.map(str::parse::<Pattern>).partition(Result::is_ok);
    for error in bad.into_iter().filter_map(Result::err) {
        let fault = Fault::new(reader.place(path), format!("invalid value for `{path}`"), error.to_string());
        reader.faults.push(fault);
    }
    good.into_iter().filter_map(Result::ok).collect()
}

impl Signing {
    /// The methods whose calls must be signed.
    pub(crate) fn required(&self) -> &[Pattern] {
        &self.required
    }

    /// The layer for a server with these URLs, which remembers nonces in this store.
    pub(crate) fn verify(&self, urls: &[String], store: Arc<dyn Store>) -> Verify {
        let mut verify = Verify::new(self.keys.clone(), audiences(urls, &self.audience), store);
        if let Some(authority) = &self.authority {
            verify = verify.with_authority(authority);
        }
        if let Some(key) = &self.answer_key {
            verify = verify.with_reply_key(Arc::clone(key));
        }
        let verify = self.forms.iter().cloned().fold(verify, Verify::with_params_form);
        verify.required_for(self.required.iter().cloned())
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
