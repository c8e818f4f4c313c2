//! The keys of tables within lists.

use super::key::{Key, Kind, live};

/// The keys of an access rule.
pub(crate) const RULE: &[Key] = &[
    live(
        "allow",
        Kind::Texts,
        "",
        "",
        "methods that the rule allows; `*` is any text within a segment, `**` any number of segments",
    ),
    live("deny", Kind::Texts, "", "", "methods that the rule denies, whatever other rules allow"),
    live(
        "who",
        Kind::Texts,
        "",
        "",
        "callers: anyone, authenticated, local, remote, user:NAME, role:NAME, scope:NAME, agent:NAME",
    ),
    live(
        "when",
        Kind::Conditions,
        "",
        "",
        "conditions on params by JSON pointer, such as { \"/amount\" = { max = 100 } }",
    ),
    live(
        "name",
        Kind::Text,
        "",
        "",
        "name of the rule in logs and explanations; by default its place in the file",
    ),
];

/// The keys of a rate limit.
pub(crate) const RATE: &[Key] = &[
    live(
        "limit",
        Kind::Text,
        "",
        "",
        "sustained rate, such as \"25/s\" or \"100/m\"; each call of a batch counts",
    ),
    live("burst", Kind::Count, "", "", "calls that may arrive at once; by default the count of `limit`"),
    live("methods", Kind::Texts, "\"**\"", "", "methods that the limit applies to"),
    live("who", Kind::Texts, "\"anyone\"", "", "callers that the limit applies to, as in access rules"),
    live(
        "per",
        Kind::Choice(&["caller", "address", "all"]),
        "\"caller\"",
        "",
        "which calls share a limit: those of a caller, those of an address, or all",
    ),
    live(
        "weights",
        Kind::Named(&Kind::Whole),
        "",
        "",
        "cost of a call by method, such as { \"report/*\" = 5 }; 1 by default",
    ),
];
