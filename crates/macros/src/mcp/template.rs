//! URI templates (RFC 6570), as far as their variables.

/// A URI, or a template of URIs.
pub(crate) struct Template {
    /// The variables, in the order of the text.
    pub(super) variables: Vec<String>,
}

impl Template {
    /// Reads a URI or a template.
    ///
    /// # Errors
    ///
    /// What is wrong with it, and what would be right.
    pub(super) fn parse(text: &str) -> Result<Template, String> {
        check_scheme(text)?;
        let mut variables = Vec::new();
        let mut rest = text;
        while let Some((literal, after)) = rest.split_once('{') {
            check_literal(literal)?;
            let Some((expression, after)) = after.split_once('}') else {
                return Err(format!("`{{{after}` is not closed: add `}}`"));
            };
            variables.extend(names(expression).ok_or_else(|| {
                format!(
                    "`{{{expression}}}` is not an expression of RFC 6570: write `{{name}}`, or `{{+path}}` for a value \
                     with slashes"
                )
            })?);
            rest = after;
        }
        check_literal(rest)?;
        Ok(Template { variables })
    }
}

fn check_scheme(text: &str) -> Result<(), String> {
    let scheme = text.split_once(':').map_or("", |(scheme, _)| scheme);
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    match is_scheme {
        true => Ok(()),
        false => {
            Err("a resource needs an absolute URI, as in `desk://hours` or `desk://cities/{name}`".to_owned())
        }
    }
}

fn check_literal(text: &str) -> Result<(), String> {
    if text.contains('}') {
        return Err("`}` closes nothing: write `{name}` for a variable".to_owned());
    }
    if let Some(c) = text.chars().find(|c| c.is_control() || " \"<>\\^`|".contains(*c)) {
        return Err(format!("{c:?} cannot be part of a URI: write it as `%{:02X}`", u32::from(c)));
    }
    let is_escape = |after: &str| after.len() >= 2 && after.bytes().take(2).all(|b| b.is_ascii_hexdigit());
    if !text.split('%').skip(1).all(is_escape) {
        return Err("`%` begins an escape such as `%20`: write `%25` for the character itself".to_owned());
    }
    Ok(())
}

/// The variables of what is between the braces. None if it is not right.
fn names(expression: &str) -> Option<Vec<String>> {
    let list = expression.strip_prefix(['+', '#', '.', '/', ';', '?', '&']).unwrap_or(expression);
    list.split(',').map(|variable| name(variable).map(ToOwned::to_owned)).collect()
}

/// The name of a variable, without its modifier.
fn name(variable: &str) -> Option<&str> {
    let name = match variable.split_once(':') {
        Some((name, length)) => {
            length.parse::<u16>().ok().filter(|length| (1..10_000).contains(length)).map(|_| name)?
        }
        None => variable.strip_suffix('*').unwrap_or(variable),
    };
    let is_word =
        |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    name.split('.').all(is_word).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        assert_eq!(
            Template::parse(text).map(|template| template.variables),
            Ok(expected.iter().map(ToString::to_string).collect()),
            "{text}"
        );
    }

    fn check_wrong(text: &str, expected: &str) {
        let message = Template::parse(text).map(|template| template.variables).unwrap_err();
        assert!(message.contains(expected), "{text}: {message}");
    }

    #[test]
    fn the_variables_are_those_between_braces() {
        check("desk://hours", &[]);
        check("desk://cities/{name}", &["name"]);
        check("file:///{+path}{?first,last*}{#part:3}", &["path", "first", "last", "part"]);
        check("urn:x:{a.b}:%20é", &["a.b"]);
    }

    #[test]
    fn a_uri_is_absolute() {
        for text in ["", "hours", "/hours", "{+uri}", "1a://b", "a b:c"] {
            check_wrong(text, "absolute URI");
        }
    }

    #[test]
    fn every_expression_is_closed_and_names_variables() {
        check_wrong("a:{b", "not closed");
        check_wrong("a:b}", "closes nothing");
        for text in ["a:{}", "a:{b,}", "a:{=b}", "a:{b c}", "a:{b-c}", "a:{b:0}", "a:{b:x}", "a:{{b}"] {
            check_wrong(text, "not an expression");
        }
    }

    #[test]
    fn characters_that_uris_cannot_have_are_escaped() {
        check_wrong("a:b c", "`%20`");
        check_wrong("a:<b>", "`%3C`");
        for text in ["a:50%", "a:%2", "a:%zz", "a:%{b}"] {
            check_wrong(text, "`%25`");
        }
    }
}
