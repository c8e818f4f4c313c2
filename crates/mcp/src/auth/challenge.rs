//! What a server says when it refuses a request: `WWW-Authenticate` (RFC 9110, section 11.6.1).

use http::HeaderMap;
use http::header::WWW_AUTHENTICATE;

/// A challenge of a scheme that we know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Challenge {
    /// Whether tokens must be bound to a key of ours (RFC 9449).
    pub(super) is_dpop: bool,
    pub(super) error: Option<String>,
    pub(super) scope: Option<String>,
    pub(super) resource_metadata: Option<String>,
}

impl Challenge {
    /// The challenge among these headers; empty if there is none.
    pub(super) fn of(headers: &HeaderMap) -> Challenge {
        let values = headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
        let all: Vec<Parsed> = values.flat_map(parse).collect();
        let of = |scheme: &str| all.iter().find(|parsed| parsed.scheme.eq_ignore_ascii_case(scheme));
        let (dpop, bearer) = (of("dpop"), of("bearer"));
        let Some(found) = bearer.or(dpop) else { return Challenge::default() };
        let param = |name: &str| {
            let param = found.params.iter().find(|(given, _)| given.eq_ignore_ascii_case(name));
            param.map(|(_, value)| value.clone()).filter(|value| !value.is_empty())
        };
        Challenge {
            is_dpop: bearer.is_none(),
            error: param("error"),
            scope: param("scope"),
            resource_metadata: param("resource_metadata"),
        }
    }
}

#[derive(Debug)]
struct Parsed {
    scheme: String,
    params: Vec<(String, String)>,
}

/// The challenges in one value. What cannot be read ends it.
fn parse(value: &str) -> Vec<Parsed> {
    let mut all: Vec<Parsed> = Vec::new();
    let mut rest = value.trim_start_matches([' ', '\t', ',']);
    while !rest.is_empty() {
        let end = rest.find(|char: char| !is_token(char)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        if word.is_empty() {
            break;
        }
        let unspaced = after.trim_start_matches([' ', '\t']);
        match (unspaced.strip_prefix('='), all.last_mut()) {
            (Some(given), Some(challenge)) if !given.starts_with('=') => {
                let Some((text, left)) = param(given.trim_start_matches([' ', '\t'])) else { break };
                challenge.params.push((word.to_owned(), text));
                rest = left;
            }
            // The credentials of a scheme that has no parameters.
            (Some(padding), _) => rest = padding.trim_start_matches('='),
            (None, _) => {
                all.push(Parsed { scheme: word.to_owned(), params: Vec::new() });
                rest = after;
            }
        }
        rest = rest.trim_start_matches([' ', '\t', ',']);
    }
    all
}

/// A token or a quoted text, and what follows it.
fn param(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([',', ' ', '\t']).unwrap_or(text.len());
        return Some((text[..end].to_owned(), &text[end..]));
    };
    let (mut value, mut chars) = (String::new(), quoted.char_indices());
    while let Some((at, char)) = chars.next() {
        match char {
            '"' => return Some((value, &quoted[at + 1..])),
            '\\' => value.push(chars.next()?.1),
            _ => value.push(char),
        }
    }
    None
}

fn is_token(char: char) -> bool {
    char.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~/".contains(char)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn check(values: &[&str], expected: [Option<&str>; 3]) {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(WWW_AUTHENTICATE, HeaderValue::from_str(value).unwrap());
        }
        let found = Challenge::of(&headers);
        let found = [found.error.as_deref(), found.scope.as_deref(), found.resource_metadata.as_deref()];
        assert_eq!(found, expected, "{values:?}");
    }

    // MCP-A-20
    #[test]
    fn the_parameters_of_the_bearer_challenge_are_found_wherever_it_is() {
        let url = "https://a.example/.well-known/oauth-protected-resource";
        let bearer = format!("Bearer error=\"invalid_token\", scope=\"a b\", resource_metadata=\"{url}\"");
        let expected = [Some("invalid_token"), Some("a b"), Some(url)];
        check(&[&bearer], expected);
        check(&["Basic realm=\"x, y=\\\"z\\\"\"", &bearer], expected);
        check(&[&format!("Basic realm=\"Bearer scope=no\", {bearer}")], expected);
        check(&[&format!("Negotiate abc==, {bearer}")], expected);
        check(
            &[&format!("bearer ERROR=invalid_token , Scope = \"a b\",resource_metadata=\"{url}\"")],
            expected,
        );
        check(&[&format!("{bearer}, Basic realm=\"x\"")], expected);
    }

    #[test]
    fn what_cannot_be_read_is_left_out() {
        check(&[], [None, None, None]);
        check(&["Basic realm=\"a\""], [None, None, None]);
        check(&["Bearer scope=\"a"], [None, None, None]);
        check(&["Bearer scope=\"\", error=\"x\""], [Some("x"), None, None]);
        check(
            &["=,==\"\"", "\u{7f}"].map(|text| if text.len() == 1 { "" } else { text }),
            [None, None, None],
        );
    }

    #[test]
    fn a_server_may_ask_for_tokens_that_are_bound_to_a_key() {
        let mut headers = HeaderMap::new();
        headers.append(WWW_AUTHENTICATE, HeaderValue::from_static("DPoP error=\"use_dpop_nonce\""));
        assert!(Challenge::of(&headers).is_dpop);
        headers.append(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        assert!(!Challenge::of(&headers).is_dpop, "it accepts others, too");
    }
}
