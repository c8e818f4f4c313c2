//! Every key of the configuration, as data: the reader, the schema, `config show`, `--set` and the flags follow this table.

use super::key::{Key, Kind, joined, key, kind_at, live};
use super::list_keys::RULE;
use super::serving_keys::SERVING;
use super::upstream_keys::UPSTREAM;
use crate::suggest::did_you_mean;

/// All keys, in the order in which `config show` prints them.
pub(crate) const KEYS: &[Key] = &joined::<{ SERVING.len() + GUARDING.len() }>(SERVING, GUARDING);

/// What is let in, who calls, and what is observed.
const GUARDING: &[Key] = &[
    key("limits.body", Kind::Size, "\"4MB\"", "--max-body", "maximum size of a request or message"),
    key("limits.batch", Kind::Count, "100", "--max-batch", "maximum number of calls in a batch"),
    key(
        "limits.buffers",
        Kind::Size,
        "\"256MB\"",
        "--max-buffers",
        "maximum memory for messages above 64 KiB, over all connections",
    ),
    key("limits.connections", Kind::Count, "1024", "--max-connections", "maximum number of open connections"),
    key(
        "limits.connections_per_address",
        Kind::Count,
        "",
        "--max-connections-per-address",
        "maximum number of open connections from one address",
    ),
    key(
        "limits.idle",
        Kind::DurationOrNever,
        "\"1h\"",
        "--idle-time",
        "close WebSocket, TCP, TLS and Unix socket connections that are idle for this long",
    ),
    live(
        "limits.running",
        Kind::Count,
        "",
        "",
        "maximum number of calls that run at once; others wait or are refused",
    ),
    live(
        "limits.queue_time",
        Kind::Duration,
        "\"500ms\"",
        "",
        "calls that would wait longer than this are refused, if limits.running is set",
    ),
    live(
        "auth.tokens",
        Kind::Path,
        "",
        "--tokens",
        "file with one `name:token` per line, readable only by its owner",
    ),
    live("auth.keys", Kind::Path, "", "--keys", "file with API keys, as `switchboard key new` prints them"),
    live(
        "auth.revoked",
        Kind::Texts,
        "[]",
        "",
        "credentials that are refused: user:NAME, key:PREFIX for an API key, jti:ID for a token of an issuer",
    ),
    live(
        "auth.stdio",
        Kind::Text,
        "",
        "--stdio-user",
        "name of the caller at standard input and output, trusted without a token",
    ),
    live(
        "auth.jwt.issuer",
        Kind::Text,
        "",
        "--jwt-issuer",
        "issuer of accepted tokens (JWT): the value of their claim `iss`",
    ),
    live(
        "auth.jwt.audience",
        Kind::Texts,
        "[]",
        "--jwt-audience",
        "audiences of accepted tokens; their claim `aud` must name one of them",
    ),
    live(
        "auth.jwt.keys",
        Kind::Path,
        "",
        "--jwt-keys",
        "keys of the issuer: a file or an https URL with a JWKS document, or a PEM file",
    ),
    live(
        "auth.jwt.algorithms",
        Kind::Texts,
        "[\"RS256\", \"ES256\", \"EdDSA\"]",
        "",
        "accepted signature algorithms of tokens",
    ),
    live("auth.jwt.skew", Kind::Duration, "\"60s\"", "", "tolerated difference between clocks, at most 60s"),
    live(
        "auth.jwt.roles",
        Kind::Text,
        "\"/roles\"",
        "",
        "JSON pointer to the claim with the roles of the caller",
    ),
    live(
        "auth.jwt.agent",
        Kind::Text,
        "\"/act/sub\"",
        "",
        "JSON pointer to the claim with the program that acts for the caller",
    ),
    live("roles", Kind::Named(&Kind::Texts), "", "", "members of each role, such as admin = [\"alice\"]"),
    live(
        "access.rules",
        Kind::Tables(RULE),
        "",
        "",
        "who may call what: a matching deny wins; otherwise an allow must match",
    ),
    live(
        "access.tests",
        Kind::Texts,
        "",
        "",
        "claims that must hold, such as \"bob may not transfer amount=101\"",
    ),
    key(
        "signing.keys",
        Kind::Path,
        "",
        "--signing-keys",
        "file with the keys that verify signed calls, one `kid algorithm hex` per line",
    ),
    key(
        "signing.required",
        Kind::Texts,
        "\"**\"",
        "--require-signature",
        "methods whose calls must be signed, if signing.keys is set",
    ),
    key(
        "signing.audience",
        Kind::Texts,
        "[]",
        "--signing-audience",
        "names of this server that calls may be signed for, besides its URLs",
    ),
    key(
        "signing.authority",
        Kind::Text,
        "",
        "",
        "host and port that clients sign HTTP requests for, if a proxy replaces them",
    ),
    key(
        "signing.answer_key",
        Kind::Path,
        "",
        "",
        "file with the Ed25519 key that signs answers; by default the HMAC key of the call does",
    ),
    key(
        "signing.params_form.methods",
        Kind::Texts,
        "[]",
        "",
        "methods whose calls have their signature in params, as `signature`, `timestamp` and `nonce`",
    ),
    key("signing.params_form.key", Kind::Text, "", "", "key id of the signatures in params"),
    key(
        "signing.params_form.nonce",
        Kind::Choice(&["required", "optional"]),
        "\"required\"",
        "",
        "whether such calls need a timestamp and a nonce; without them, calls can be replayed",
    ),
    key(
        "signing.once",
        Kind::Texts,
        "[]",
        "",
        "methods whose params need a new `timestamp` and `nonce`, but no signature",
    ),
    key(
        "admin.url",
        Kind::Text,
        "",
        "--admin",
        "where to serve metrics, health and admin methods: a port, an http URL or unix:PATH; never the same as `listen`",
    ),
    key(
        "admin.who",
        Kind::Texts,
        "[]",
        "",
        "callers that may change something over HTTP, as in access rules; over a Unix socket, its owner may",
    ),
    key(
        "otel.endpoint",
        Kind::Text,
        "",
        "--otlp",
        "URL of an OpenTelemetry collector for traces and metrics, such as http://127.0.0.1:4318; by default OTEL_EXPORTER_OTLP_ENDPOINT",
    ),
    key(
        "otel.protocol",
        Kind::Choice(&["http", "grpc"]),
        "",
        "--otlp-protocol",
        "how to send to the collector; by default OTEL_EXPORTER_OTLP_PROTOCOL, otherwise http",
    ),
    key(
        "otel.sample",
        Kind::Text,
        "",
        "--trace-sample",
        "share of the traces that begin here to record, such as \"1%\"; by default OTEL_TRACES_SAMPLER, otherwise all",
    ),
    key(
        "otel.trust",
        Kind::Choice(&["always", "local", "never"]),
        "",
        "",
        "whether calls continue the traces of their callers; local is those on this machine; by default local if strangers can call, otherwise always",
    ),
    key(
        "otel.baggage",
        Kind::Texts,
        "[]",
        "",
        "members of the callers' baggage that become attributes of spans, such as \"session.id\"",
    ),
    key("otel.metrics", Kind::Flag, "true", "", "send metrics to the collector, too"),
    key(
        "log.level",
        Kind::Choice(&["off", "error", "warn", "info", "debug"]),
        "",
        "--log-level",
        "which calls are logged: error (internal errors), warn (all failures and slow calls), info (every call), debug (also \
         connections); by default info with -v or log.file, otherwise off",
    ),
    key(
        "log.levels",
        Kind::Named(&Kind::Texts),
        "",
        "",
        "other levels by method pattern, such as \"ping\" = \"off\"",
    ),
    key(
        "log.format",
        Kind::Choice(&["auto", "pretty", "json"]),
        "\"auto\"",
        "--log-format",
        "format of the call log; auto is pretty on a terminal, otherwise JSON lines",
    ),
    key(
        "log.file",
        Kind::Path,
        "",
        "--log-file",
        "file for the call log, rotated at 16 MiB; by default stderr",
    ),
    key(
        "log.slow",
        Kind::Duration,
        "",
        "",
        "calls that take this long are marked as slow and logged like failures",
    ),
    key("log.sample", Kind::Text, "\"100%\"", "", "share of the successful calls to log"),
    key(
        "log.bodies",
        Kind::Choice(&["off", "failed", "all"]),
        "\"off\"",
        "--log-bodies",
        "which params and results are logged, too; passwords, tokens and the like are left out",
    ),
    key(
        "log.redact",
        Kind::Texts,
        "[]",
        "",
        "what is left out of them besides: names of members, or JSON pointers such as /params/card/number",
    ),
    key("log.body_limit", Kind::Size, "\"2KB\"", "", "how much of each body is logged"),
    key(
        "log.audit",
        Kind::Path,
        "",
        "--audit",
        "file for security events, one JSON line each; `-` is stderr",
    ),
    live(
        "upstream",
        Kind::Named(&Kind::Form(&UPSTREAM)),
        "",
        "",
        "servers that `switchboard gateway` forwards calls to, by name",
    ),
];

/// The kind of the values with this path, which may be inside a table with a name of the user's choice.
pub(crate) fn kind_of(path: &str) -> Option<&'static Kind> {
    kind_at(KEYS, path)
}

/// The keys with a similar path, as a question.
pub(crate) fn similar(path: &str) -> Option<String> {
    // Within a table with a name, its keys.
    let named = KEYS.iter().find_map(|key| {
        let (name, _) = path.strip_prefix(key.path)?.strip_prefix('.')?.split_once('.')?;
        match key.kind {
            Kind::Named(Kind::Form(form)) => Some((format!("{}.{name}", key.path), form.keys)),
            _ => None,
        }
    });
    match named {
        Some((table, keys)) => {
            let paths: Vec<String> = keys.iter().map(|key| format!("{table}.{}", key.path)).collect();
            did_you_mean(path, paths.iter().map(String::as_str))
        }
        None => did_you_mean(path, KEYS.iter().map(|key| key.path)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::key::Form;

    #[test]
    fn paths_are_unique_and_none_is_inside_another() {
        check(KEYS);
    }

    fn check(keys: &'static [Key]) {
        for (index, key) in keys.iter().enumerate() {
            for other in &keys[index + 1..] {
                assert_ne!(key.path, other.path);
                let is_inside = other.path.strip_prefix(key.path).is_some_and(|rest| rest.starts_with('.'));
                assert!(!is_inside, "{} {}", key.path, other.path);
            }
            assert!(!key.about.is_empty() && !key.about.ends_with('.'), "{}", key.path);
            if let Kind::Tables(inner)
            | Kind::Form(Form { keys: inner, .. })
            | Kind::Named(Kind::Form(Form { keys: inner, .. })) = &key.kind
            {
                check(inner);
            }
        }
    }
}
