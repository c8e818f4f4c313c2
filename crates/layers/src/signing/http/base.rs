//! The text that the signature of an HTTP message covers: the signature base of RFC 9421.

use switchboard_core::{Metadata, RequestHead};

use super::super::member::Malformed;
use super::super::text::SignedText;
use super::fields::{CONTENT_DIGEST, Component, field};

/// A request as its signature sees it.
#[derive(Clone, Copy)]
pub(super) struct SeenRequest<'a> {
    pub(super) head: &'a RequestHead,
    pub(super) headers: &'a Metadata,
}

/// A response as its signature sees it.
#[derive(Clone, Copy)]
pub(super) struct SeenResponse<'a> {
    pub(super) status: u16,
    pub(super) headers: &'a Metadata,
}

/// Where the components of a text are found.
pub(super) struct Seen<'a> {
    pub(super) request: SeenRequest<'a>,
    /// None if the text is that of a request.
    pub(super) response: Option<SeenResponse<'a>>,
}

impl Seen<'_> {
    /// The text: one line for each component, and the parameters.
    pub(super) fn text(&self, components: &[Component], params: &str) -> Result<SignedText, Malformed> {
        let mut text = String::new();
        for component in components {
            let value = self.value(component).ok_or(Malformed { at: "Signature-Input" })?;
            let suffix = if component.is_of_request { ";req" } else { "" };
            text.push_str(&format!("\"{}\"{suffix}: {value}\n", component.name));
        }
        text.push_str(&format!("\"@signature-params\": {params}"));
        Ok(SignedText::of(text))
    }

    fn value(&self, component: &Component) -> Option<String> {
        let name = component.name.as_str();
        match (&self.response, component.is_of_request) {
            (None, false) | (Some(_), true) => self.request.value(name),
            (Some(response), false) if name == "@status" => Some(response.status.to_string()),
            (Some(response), false) => header(response.headers, name),
            (None, true) => None,
        }
    }
}

impl SeenRequest<'_> {
    fn value(&self, name: &str) -> Option<String> {
        let head = self.head;
        Some(match name {
            "@method" => head.method.clone(),
            "@scheme" => head.scheme.clone(),
            "@authority" => authority(head),
            "@path" if head.path.is_empty() => "/".to_owned(),
            "@path" => head.path.clone(),
            "@query" => format!("?{}", head.query.as_deref().unwrap_or("")),
            "@target-uri" => {
                let query = head.query.as_ref().map(|query| format!("?{query}")).unwrap_or_default();
                format!("{}://{}{}{query}", head.scheme, authority(head), head.path)
            }
            name => return header(self.headers, name),
        })
    }

    /// Whether enough of the request is covered (SEC-S-24).
    pub(super) fn is_covered_by(&self, components: &[Component]) -> bool {
        let is_covered = |name: &str| components.iter().any(|component| component.name == name);
        let is_present = |name: &str| self.headers.get(name).is_some();
        let has_target = is_covered("@target-uri")
            || is_covered("@authority")
                && is_covered("@path")
                && (is_covered("@query") || self.head.query.is_none());
        let named_if_present = ["content-encoding", "idempotency-key", "mcp-session-id"];
        has_target
            && is_covered("@method")
            && is_covered("content-type")
            && is_covered(CONTENT_DIGEST)
            && named_if_present.iter().all(|name| is_covered(name) || !is_present(name))
    }
}

/// The host and the port in lower case, without the usual port (SEC-S-22).
pub(super) fn authority(head: &RequestHead) -> String {
    let authority = head.authority.to_ascii_lowercase();
    let usual = if head.scheme == "https" { ":443" } else { ":80" };
    authority.strip_suffix(usual).map(str::to_owned).unwrap_or(authority)
}

/// The value of a header with this name, which is in lower case.
fn header(headers: &Metadata, name: &str) -> Option<String> {
    let is_name = !name.is_empty()
        && name.bytes().all(|byte| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"!#$%&'*+-.^_`|~".contains(&byte)
        });
    if is_name { field(headers, name) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(scheme: &str, authority: &str) -> RequestHead {
        RequestHead::new("POST", scheme, authority, "/rpc", Some("a=1"))
    }

    // SEC-S-22
    #[test]
    fn parts_of_the_url_are_written_in_one_way() {
        let headers: Metadata = [("x-tag", " a "), ("X-Tag", "b")].into_iter().collect();
        let upper = head("https", "Bank.Example:443");
        let seen = SeenRequest { head: &upper, headers: &headers };
        let check = |name: &str, expected: Option<&str>| {
            assert_eq!(seen.value(name).as_deref(), expected, "{name}");
        };
        check("@authority", Some("bank.example"));
        check("@target-uri", Some("https://bank.example/rpc?a=1"));
        check("@query", Some("?a=1"));
        check("x-tag", Some("a, b"));
        check("X-Tag", None);
        check("@status", None);
        check("missing", None);
        assert_eq!(authority(&head("http", "bank.example:443")), "bank.example:443");
    }
}
