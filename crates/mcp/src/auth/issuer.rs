//! Checks who sent the user back, before anything else that came with it is used (RFC 9207).

use super::error::{AuthError, Fault, shown};
use super::metadata::ServerMetadata;
use super::web::param;

/// The code in the query with which the user was sent back (MCP-A-25, MCP-A-28).
pub(super) fn code(server: &ServerMetadata, state: &str, query: &str) -> Result<String, AuthError> {
    let unfinished = |why: &str| AuthError::Unfinished(why.to_owned());
    if param(query, "state").as_deref() != Some(state) {
        return Err(unfinished("the answer does not belong to this login"));
    }
    let names = |name: &str| query.split('&').any(|pair| pair.split('=').next() == Some(name));
    match param(query, "iss") {
        Some(issuer) if issuer != server.issuer => {
            return Err(AuthError::Mismatch {
                what: "the issuer that sent the user back",
                expected: server.issuer.clone(),
                found: shown(&issuer),
            });
        }
        None if names("iss") || server.authorization_response_iss_parameter_supported => {
            return Err(unfinished("the answer does not say which authorization server it is from"));
        }
        _ => {}
    }
    if let Some(error) = param(query, "error") {
        let description = param(query, "error_description");
        return Err(AuthError::Refused(Fault::new(&error, description.as_deref())));
    }
    param(query, "code").ok_or_else(|| unfinished("the answer has no code"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(is_supported: bool, query: &str, expected: Result<&str, &str>) {
        let mut server = ServerMetadata::usual("https://auth.example");
        server.authorization_response_iss_parameter_supported = is_supported;
        let found = code(&server, "s", query);
        let found = found.as_deref().map_err(ToString::to_string);
        match (&found, expected) {
            (Ok(code), Ok(expected)) => assert_eq!(*code, expected),
            (Err(error), Err(expected)) => assert!(error.contains(expected), "{query}: {error}"),
            _ => panic!("{query}: {found:?}"),
        }
    }

    // MCP-A-25
    #[test]
    fn the_issuer_is_compared_as_a_text() {
        check(false, "code=c&state=s", Ok("c"));
        check(true, "code=c&state=s&iss=https%3A%2F%2Fauth.example", Ok("c"));
        check(false, "code=c&state=s&iss=https%3A%2F%2Fauth.example", Ok("c"));
        check(true, "code=c&state=s", Err("does not say"));
        for issuer in
            ["https%3A%2F%2Fauth.example%2F", "https%3A%2F%2Fevil.example", "HTTPS%3A%2F%2Fauth.example", ""]
        {
            check(true, &format!("code=c&state=s&iss={issuer}"), Err("issuer"));
            check(false, &format!("code=c&state=s&iss={issuer}"), Err("issuer"));
        }
        check(
            false,
            "code=c&state=s&iss=https%3A%2F%2Fauth.example&iss=https%3A%2F%2Fevil.example",
            Err("does not say"),
        );
    }

    // MCP-A-25
    #[test]
    fn an_error_of_another_issuer_is_not_shown() {
        check(false, "error=access_denied&error_description=no&state=s", Err("access_denied (no)"));
        let query = "error=access_denied&error_description=trust+me&state=s&iss=https%3A%2F%2Fevil.example";
        check(false, query, Err("may pretend"));
    }

    // MCP-A-28
    #[test]
    fn an_answer_to_another_login_is_refused() {
        for query in
            ["code=c", "code=c&state=t", "code=c&state=s&state=t", "state=s", "state=s&code=a&code=b", ""]
        {
            check(false, query, Err("login was not completed"));
        }
    }
}
