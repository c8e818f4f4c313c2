//! The credentials that a server accepts.

use std::fmt::Display;

use switchboard::http::Resource;
use switchboard::identity::jwt::{Algorithm, Jwt, JwtOptions, Keys};
use switchboard::identity::{ApiKeys, Authenticate, Authentication, CertificateNames, StdioUser, Tokens};

use super::faults::Fault;
use super::mcp;
use super::reader::Reader;

/// What callers have to prove, if anything. Any one of the credentials is enough. If there are access rules, they decide what
/// callers without credentials may call.
pub(crate) fn authentication(reader: &mut Reader<'_>, has_rules: bool) -> Option<Authentication> {
    let mut accepted = Accepted::default();
    if let Some(path) = reader.path("auth.tokens") {
        accepted.add(reader, "auth.tokens", Tokens::watch(path));
    }
    if let Some(path) = reader.path("auth.keys") {
        accepted.add(reader, "auth.keys", ApiKeys::watch(path));
    }
    if let Some(jwt) = jwt(reader) {
        accepted.add(reader, "auth.jwt.issuer", Ok::<_, String>(jwt));
    }
    let is_required = accepted.0.is_some();
    // A certificate is as good as another credential, unless TLS requires one in addition.
    let is_optional = reader.choice("tls.client_cert") == "optional";
    if reader.is_set("tls.client_ca") && (is_optional || !is_required) {
        accepted.add(reader, "tls.client_ca", Ok::<_, String>(CertificateNames));
    }
    if let Some(name) = reader.text("auth.stdio") {
        accepted.add(reader, "auth.stdio", Ok::<_, String>(StdioUser::new(name)));
    }
    let authentication = accepted.0?;
    // Otherwise nothing but the transport proves who calls. TLS refuses callers where it must, and other listeners stay open.
    Some(if is_required && !has_rules { authentication } else { authentication.optional() })
}

/// The authenticators so far.
#[derive(Default)]
struct Accepted(Option<Authentication>);

impl Accepted {
    fn add(&mut self, reader: &mut Reader<'_>, path: &str, made: Result<impl Authenticate, impl Display>) {
        match made {
            Ok(authenticator) => {
                self.0 = Some(match self.0.take() {
                    Some(authentication) => authentication.or(authenticator),
                    None => Authentication::new(authenticator),
                });
            }
            Err(error) => unusable(reader, path, &error),
        }
    }
}

fn unusable(reader: &mut Reader<'_>, path: &str, error: &dyn Display) {
    let title = format!("`{path}` cannot be used");
    reader.faults.push(Fault::new(reader.place(path), title, error.to_string()));
}

/// The tokens of an issuer, if one is named.
fn jwt(reader: &mut Reader<'_>) -> Option<Jwt> {
    let issuer = reader.text("auth.jwt.issuer")?;
    let mut audience = reader.texts("auth.jwt.audience");
    audience.extend(reader.text(mcp::RESOURCE));
    if audience.is_empty() {
        unusable(reader, "auth.jwt.issuer", &"add `audience`: the name of this server in tokens");
    }
    let keys = keys(reader)?;
    let mut options = JwtOptions::default().with_skew(reader.duration("auth.jwt.skew"));
    let algorithms = reader.texts("auth.jwt.algorithms");
    let parsed: Result<Vec<Algorithm>, _> = algorithms.iter().map(|name| name.parse::<Algorithm>()).collect();
    match parsed {
        Ok(algorithms) => options = options.with_algorithms(algorithms),
        Err(error) => unusable(reader, "auth.jwt.algorithms", &error),
    }
    if let Some(pointer) = reader.text("auth.jwt.roles") {
        options = options.with_roles(pointer);
    }
    if let Some(pointer) = reader.text("auth.jwt.agent") {
        options = options.with_agent(pointer);
    }
    Some(Jwt::new(issuer, audience, keys).with_options(options))
}

/// The keys of a token issuer, from a file or a URL.
fn keys(reader: &mut Reader<'_>) -> Option<Keys> {
    const PATH: &str = "auth.jwt.keys";
    let Some(place) = reader.text(PATH) else {
        unusable(
            reader,
            "auth.jwt.issuer",
            &"add `keys`: a file or an https URL with the keys of the issuer",
        );
        return None;
    };
    let made = match place.contains("://") {
        false => reader.path(PATH).map(|path| Keys::file(path).map_err(|error| error.to_string()))?,
        true => match Resource::new(&place) {
            Ok(document) => Ok(Keys::fetched(move || document.get())),
            Err(error) => Err(error.to_string()),
        },
    };
    made.map_err(|error| unusable(reader, PATH, &error)).ok()
}
