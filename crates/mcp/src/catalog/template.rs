//! URI templates (RFC 6570) that are matched against URIs: `{name}` is one segment, `{+name}` and `{name*}` any number of them.

/// A URI template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UriTemplate(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Variable { name: String, is_path: bool },
}

/// The template has an expression that is not supported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a URI template that can be matched; use {{name}} for a segment and {{+name}} for a path"
)]
pub(crate) struct TemplateError(String);

impl UriTemplate {
    pub(crate) fn parse(text: &str) -> Result<UriTemplate, TemplateError> {
        let wrong = || TemplateError(text.to_owned());
        let (mut pieces, mut rest) = (Vec::new(), text);
        while let Some(start) = rest.find('{') {
            if start > 0 {
                pieces.push(Piece::Text(rest[..start].to_owned()));
            } else if matches!(pieces.last(), Some(Piece::Variable { .. })) {
                // Nothing says where one ends and the next begins.
                return Err(wrong());
            }
            let end = rest[start..].find('}').ok_or_else(wrong)? + start;
            let inside = &rest[start + 1..end];
            let (name, is_path) = match (inside.strip_prefix('+'), inside.strip_suffix('*')) {
                (Some(name), _) | (_, Some(name)) => (name, true),
                (None, None) => (inside, false),
            };
            let is_name = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            if name.is_empty() || !is_name(name) {
                return Err(wrong());
            }
            pieces.push(Piece::Variable { name: name.to_owned(), is_path });
            rest = &rest[end + 1..];
        }
        if rest.contains('}') {
            return Err(wrong());
        }
        if !rest.is_empty() {
            pieces.push(Piece::Text(rest.to_owned()));
        }
        Ok(UriTemplate(pieces))
    }

    /// Whether it has variables.
    pub(crate) fn has_variables(&self) -> bool {
        self.0.iter().any(|piece| matches!(piece, Piece::Variable { .. }))
    }

    /// The values of the variables in this URI, if it matches.
    pub(crate) fn matches(&self, uri: &str) -> Option<Vec<(String, String)>> {
        let (mut values, mut rest) = (Vec::new(), uri);
        for (index, piece) in self.0.iter().enumerate() {
            match piece {
                Piece::Text(text) => rest = rest.strip_prefix(text.as_str())?,
                Piece::Variable { name, is_path } => {
                    let end = match self.0.get(index + 1) {
                        None => rest.len(),
                        // The last piece of text has to be at the end.
                        Some(Piece::Text(text)) if index + 2 == self.0.len() => {
                            rest.len().checked_sub(text.len())?
                        }
                        Some(Piece::Text(text)) => rest.find(text.as_str())?,
                        Some(Piece::Variable { .. }) => return None,
                    };
                    let value = rest.get(..end)?;
                    if value.is_empty() || !is_path && value.contains(['/', '?', '#']) {
                        return None;
                    }
                    let value = decode(value).filter(|value| is_inside(value, *is_path))?;
                    values.push((name.clone(), value));
                    rest = &rest[end..];
                }
            }
        }
        rest.is_empty().then_some(values)
    }
}

/// Whether a value stays where the template puts it: escapes must not lead out of the path (MCP-RES-06).
fn is_inside(value: &str, is_path: bool) -> bool {
    let has_steps = value.split(['/', '\\']).any(|segment| matches!(segment, "." | ".."));
    !has_steps && !value.contains('\0') && (is_path || !value.contains('/'))
}

/// Percent-decodes a value. None if it is not UTF-8.
fn decode(value: &str) -> Option<String> {
    if !value.contains('%') {
        return Some(value.to_owned());
    }
    let (bytes, mut decoded, mut at) = (value.as_bytes(), Vec::with_capacity(value.len()), 0);
    while at < bytes.len() {
        if bytes[at] == b'%' {
            let digits = value.get(at + 1..at + 3)?;
            decoded.push(u8::from_str_radix(digits, 16).ok()?);
            at += 3;
        } else {
            decoded.push(bytes[at]);
            at += 1;
        }
    }
    String::from_utf8(decoded).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    // MCP-RES-01
    #[test]
    fn uris_are_matched_and_their_variables_decoded() {
        let check = |template: &str, uri: &str, expected: Option<&[(&str, &str)]>| {
            let found = UriTemplate::parse(template).unwrap().matches(uri);
            let expected = expected.map(|pairs| {
                pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
            });
            assert_eq!(found, expected, "{template} {uri}");
        };
        check("a://b", "a://b", Some(&[]));
        check("a://b", "a://c", None);
        check("test://template/{id}/data", "test://template/123/data", Some(&[("id", "123")]));
        check("test://template/{id}/data", "test://template//data", None);
        check("test://template/{id}/data", "test://template/1/2/data", None);
        check("test://template/{id}/data", "test://template/data/data", Some(&[("id", "data")]));
        check("f:///{+path}", "f:///a/b%20c", Some(&[("path", "a/b c")]));
        check("f:///{path*}", "f:///a/b", Some(&[("path", "a/b")]));
        check("x://{a}/{b}", "x://1/2", Some(&[("a", "1"), ("b", "2")]));
        check("x://{a}", "x://%ff", None);
        check("x://{a}", "x://%é", None);
        // MCP-RES-06
        check("x://{a}", "x://..", None);
        check("x://{a}", "x://..%2Fsecret", None);
        check("x://{a}", "x://a%2Fb", None);
        check("x://{a}", "x://a%00", None);
        check("x:///{+path}", "x:///a/../../secret", None);
        check("x:///{+path}", "x:///a/%2e%2e/secret", None);
        check("x:///{+path}", "x:///a/..b/c", Some(&[("path", "a/..b/c")]));
        check("x://{a}-end", "x://1-end-end", Some(&[("a", "1-end")]));
    }

    #[test]
    fn templates_that_cannot_be_matched_are_refused() {
        for template in ["{", "a}", "{}", "{a}{b}", "{?a}", "{a b}", "{/a}"] {
            assert!(UriTemplate::parse(template).is_err(), "{template}");
        }
    }
}
