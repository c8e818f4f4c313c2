//! URLs as they may be shown.

/// The placeholder of a secret.
const MASK: &str = "***";

/// The only option of URLs that is certain not to be a secret.
const FRAMING: &str = "framing=";

/// A URL for people and logs: the values of its query, and a user name and password, are `***`. So are those of URLs among the arguments of a
/// program, as in `exec:proxy https://a.example?key=1`. Secrets in a path look like any other path, and are shown.
///
/// # Examples
///
/// ```
/// use switchboard_transport::carrier::redacted;
///
/// assert_eq!(redacted("wss://eth.example/v2?key=abc"), "wss://eth.example/v2?key=***");
/// ```
#[must_use]
pub fn redacted(url: &str) -> String {
    url.split_inclusive(char::is_whitespace).map(word).collect()
}

/// A part of a text that has no spaces, except at its end.
fn word(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let (rest, space) = rest.split_at(rest.trim_end().len());
    let (rest, fragment) = rest.split_at(rest.find('#').unwrap_or(rest.len()));
    let (place, query) = rest.split_at(rest.find('?').unwrap_or(rest.len()));
    let (authority, path) = place.split_at(place.find('/').unwrap_or(place.len()));
    let authority = match authority.rsplit_once('@') {
        Some((_, host)) => format!("{MASK}@{host}"),
        None => authority.to_owned(),
    };
    let query = query.strip_prefix('?').map(|query| format!("?{}", masked(query))).unwrap_or_default();
    format!("{scheme}://{authority}{path}{query}{fragment}{space}")
}

fn masked(query: &str) -> String {
    let pairs = query.split('&').map(|pair| match pair.split_once('=') {
        _ if pair.is_empty() || pair.starts_with(FRAMING) => pair.to_owned(),
        Some((name, _)) => format!("{name}={MASK}"),
        // A token may stand alone.
        None => MASK.to_owned(),
    });
    pairs.collect::<Vec<_>>().join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_a_secret_is_not_shown() {
        let check = |url: &str, shown: &str| assert_eq!(redacted(url), shown, "{url}");
        check("http://127.0.0.1:8000/rpc", "http://127.0.0.1:8000/rpc");
        check("https://a.example/rpc?key=abc&chain=1", "https://a.example/rpc?key=***&chain=***");
        check("https://a.example?abc", "https://a.example?***");
        check("ws://a.example/?", "ws://a.example/?");
        check("https://me:abc@a.example:1/x?y=z#top", "https://***@a.example:1/x?y=***#top");
        check("https://me:a@b@a.example", "https://***@a.example");
        check("tcp://[::1]:4000?framing=lsp&key=a", "tcp://[::1]:4000?framing=lsp&key=***");
        check("unix:/run/rpc.sock?framing=lsp", "unix:/run/rpc.sock?framing=lsp");
        check("exec:npx  what? --x=1", "exec:npx  what? --x=1");
        check(
            "exec:npx remote --to=https://me:abc@a.example/mcp?key=abc  -v",
            "exec:npx remote --to=https://***@a.example/mcp?key=***  -v",
        );
    }
}
