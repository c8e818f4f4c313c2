//! The keys of upstreams and routes.

use super::key::{Form, Key, Kind, inner, joined, live};
use super::policy_keys::POLICY;

/// The keys of an upstream.
pub(crate) const UPSTREAM: Form = Form::table(&joined::<{ OWN.len() + POLICY.len() }>(OWN, POLICY));

/// The keys of a route.
pub(crate) const ROUTE: &[Key] = &joined::<{ MATCH.len() + POLICY.len() }>(MATCH, POLICY);

const OWN: &[Key] = &[
    inner(
        "url",
        Kind::Form(&NODE),
        "",
        "URLs of the nodes: http, https, ws, wss, tcp, tls, unix, nats, exec:COMMAND, demo: or mock:OPENRPC",
    ),
    inner("prefix", Kind::Text, "", "what its methods start with; by default `NAME/`, and \"\" is nothing"),
    live(
        "profile",
        Kind::Choice(&["plain", "mcp", "a2a", "ethereum", "lsp"]),
        "\"plain\"",
        "--profile",
        "which protocol it speaks on top of JSON-RPC",
    ),
    inner("version", Kind::Choice(&["1.0", "2.0"]), "\"2.0\"", "version of JSON-RPC that it speaks"),
    live(
        "sessions",
        Kind::Either(&[Kind::Choice(&["shared", "per-client"]), Kind::Count]),
        "",
        "--sessions",
        "connections or processes: one for all clients (shared), one for each (per-client), or a pool of this size; by default \
         per-client for exec:, mcp and lsp, otherwise shared",
    ),
    live(
        "env",
        Kind::Named(&Kind::Secret),
        "",
        "--env",
        "environment variables of the process besides PATH, HOME and LANG; exec: only",
    ),
    live("cwd", Kind::Path, "", "--cwd", "folder of the process; by default that of the file; exec: only"),
    inner(
        "idle",
        Kind::Duration,
        "",
        "end a process that is not used for this long; 10m by default; exec: only",
    ),
    inner("lifetime", Kind::Duration, "", "end a process after this time; exec: only"),
    inner(
        "batches",
        Kind::Flag,
        "true",
        "send a batch of a caller as a batch; http: and https: only, others need none",
    ),
    live(
        "token",
        Kind::Secret,
        "",
        "--upstream-token",
        "bearer token for the upstream; those of callers are never forwarded",
    ),
    inner("headers", Kind::Named(&Kind::Secret), "", "HTTP headers to add"),
    inner("forward", Kind::Texts, "", "HTTP headers of callers to pass on, besides the trace context"),
    inner(
        "members",
        Kind::Either(&[Kind::Flag, Kind::Texts]),
        "true",
        "members of requests and responses that JSON-RPC does not define: all pass (true), none (false), or those with these names",
    ),
    live(
        "tls.ca",
        Kind::Path,
        "",
        "--cacert",
        "authorities to trust, in PEM format; by default those of the system",
    ),
    inner("tls.cert", Kind::Path, "", "client certificate in PEM format"),
    inner("tls.key", Kind::Path, "", "private key of the client certificate, in PEM format"),
    inner("tls.insecure", Kind::Flag, "", "accept any certificate; false by default"),
    live(
        "balance",
        Kind::Choice(&["p2c", "round-robin"]),
        "\"p2c\"",
        "--balance",
        "how to choose a node: the better of two at random (p2c), or each in turn",
    ),
    inner(
        "sticky",
        Kind::Either(&[Kind::Choice(&["session"]), Kind::Pointer]),
        "",
        "calls that go to the same node: those of a session, or those with the same param, by JSON pointer",
    ),
    live(
        "health",
        Kind::Form(&HEALTH),
        "true",
        "--health",
        "how nodes are checked: a method to call, or just connect by default",
    ),
    inner("eject", Kind::Form(&EJECT), "true", "when a node gets no calls for a while"),
    inner("breaker", Kind::Form(&BREAKER), "true", "when all calls are refused for a while"),
    inner("required", Kind::Flag, "false", "whether the gateway fails to start without it"),
    inner("openrpc", Kind::Path, "", "description of its methods; by default the answer to rpc.discover"),
    inner("safe", Kind::Texts, "[]", "methods that may be called twice, besides those that it marks as safe"),
    inner(
        "pin",
        Kind::Choice(&["off", "report", "hold"]),
        "\"report\"",
        "tools that are new or whose description changed: log them (report), or hold them back until they are approved; mcp only",
    ),
];

const MATCH: &[Key] = &[
    inner("methods", Kind::Texts, "", "methods of callers that the route is for"),
    inner(
        "upstream",
        Kind::Either(&[Kind::Text, Kind::Off]),
        "",
        "upstream that gets the calls, or false to refuse them; by default that of their prefix",
    ),
    inner("who", Kind::Texts, "", "callers that the route is for, as in access rules"),
    inner("header", Kind::Named(&Kind::Text), "", "HTTP headers that a call must have"),
    inner("traffic", Kind::Percent, "", "share of the calls that the route is for, such as \"5%\""),
    inner("rename", Kind::Text, "", "name of the method at the upstream; `*` is what `*` matched"),
    inner("set", Kind::Named(&Kind::Json), "", "params to set, by JSON pointer"),
    inner("default", Kind::Named(&Kind::Json), "", "params to set if they are missing, by JSON pointer"),
    inner("drop", Kind::Texts, "[]", "params to remove, as JSON pointers"),
    inner("params", Kind::Choice(&["named", "positional"]), "", "convert params to this form"),
];

const NODE: Form = Form::table(&[
    inner("url", Kind::Text, "", "URL of the node"),
    inner("weight", Kind::Count, "1", "share of the calls, relative to that of other nodes"),
    inner("priority", Kind::Count, "1", "nodes are used only while no node of a lower number is healthy"),
])
.or("url")
.list();

const HEALTH: Form = Form::table(&[
    inner("method", Kind::Text, "", "method to call; by default, a connection is enough"),
    inner("every", Kind::Duration, "\"5s\"", "time between checks"),
    inner("timeout", Kind::Duration, "\"1s\"", "maximum time a check may take"),
    inner("fail", Kind::Count, "3", "failures in a row until a node is unhealthy"),
    inner("pass", Kind::Count, "2", "successes in a row until it is healthy again"),
    inner("max_lag", Kind::Whole, "", "how far the value may be behind that of the best node"),
    inner("value", Kind::Pointer, "", "where in the result the value is; by default the whole result"),
])
.or("method")
.or_off();

const EJECT: Form = Form::table(&[
    inner("errors", Kind::Percent, "\"50%\"", "share of failed calls"),
    inner("latency", Kind::Factor, "\"3x\"", "latency compared with the median of the nodes"),
    inner("time", Kind::Duration, "\"30s\"", "how long the node gets no calls"),
    inner("most", Kind::Percent, "\"50%\"", "share of the nodes that may be ejected at once"),
])
.or_off();

const BREAKER: Form = Form::table(&[
    inner("errors", Kind::Percent, "\"50%\"", "share of failed calls"),
    inner("open", Kind::Duration, "\"5s\"", "time until a call is tried again"),
])
.or_off();
