//! The keys of policies, which upstreams and routes have.

use super::key::{Form, Key, Kind, inner, live};

/// The keys that say how calls are forwarded. The value of a route wins over that of its upstream.
pub(crate) const POLICY: &[Key] = &[
    inner("timeout", Kind::Duration, "", "maximum time a call may take; by default the top-level `timeout`"),
    inner("max_reply", Kind::Size, "", "maximum size of an answer"),
    live(
        "retry",
        Kind::Form(&RETRY),
        "",
        "--retry",
        "further attempts for calls of safe methods that fail, such as 2; 1 by default",
    ),
    inner(
        "hedge",
        Kind::Either(&[Kind::Text, Kind::Off]),
        "",
        "when to send a call of a safe method to a second node: after a time such as \"50ms\", or if it is slower than a share of the \
         calls, such as \"p95\"; false by default",
    ),
    live(
        "cache",
        Kind::Form(&CACHE),
        "",
        "--cache",
        "how long answers are kept, such as \"10s\"; false by default",
    ),
    inner(
        "shared",
        Kind::Flag,
        "",
        "whether callers may get answers that others asked for; false by default",
    ),
    inner("coalesce", Kind::Flag, "", "whether equal calls in flight become one; false by default"),
    inner("merge", Kind::Form(&MERGE), "", "whether equal subscriptions become one; false by default"),
    inner("mirror", Kind::Form(&MIRROR), "", "an upstream that gets copies of the calls"),
    inner("fault", Kind::Form(&FAULT), "", "faults to inject, for tests"),
];

const RETRY: Form = Form::table(&[
    inner("attempts", Kind::Whole, "1", "further attempts after the first"),
    inner("budget", Kind::Percent, "\"20%\"", "retries as a share of all calls, at most"),
    inner(
        "timeout",
        Kind::Duration,
        "",
        "time without an answer after which a call of a safe method is sent again; by default only its whole `timeout` counts",
    ),
])
.or("attempts")
.or_off();

const CACHE: Form = Form::table(&[
    inner("ttl", Kind::Duration, "", "how long answers are fresh"),
    inner(
        "stale",
        Kind::Duration,
        "",
        "how much longer they are used while a new one is fetched; not at all by default",
    ),
    inner("size", Kind::Size, "\"64MB\"", "maximum memory for answers"),
    inner("null", Kind::Flag, "false", "whether the result null is kept"),
    inner("store", Kind::Flag, "false", "whether servers with the same `store` share answers"),
    inner(
        "errors",
        Kind::Named(&Kind::Duration),
        "",
        "how long errors are kept, by code, such as { -32601 = \"1m\" }",
    ),
    inner(
        "clear_on",
        Kind::Texts,
        "[]",
        "calls of these methods, or items of these subscriptions, remove what is kept",
    ),
])
.or("ttl")
.or_off();

const MERGE: Form = Form::table(&[inner(
    "last",
    Kind::Flag,
    "false",
    "whether subscribers that join later get the last item at once",
)])
.or_off();

const MIRROR: Form = Form::table(&[
    inner("upstream", Kind::Text, "", "name of the upstream that gets the copies; its answers are dropped"),
    inner("traffic", Kind::Percent, "\"100%\"", "share of the calls to copy"),
    inner("diff", Kind::Flag, "true", "whether answers that differ are reported"),
])
.or_off();

const FAULT: Form = Form::table(&[
    inner("delay", Kind::Duration, "", "wait before the call is forwarded"),
    inner("error", Kind::Code, "", "answer with this error code"),
    inner("cut", Kind::Flag, "false", "close the connection instead of answering"),
    inner("traffic", Kind::Percent, "\"100%\"", "share of the calls with the fault"),
])
.or_off();
