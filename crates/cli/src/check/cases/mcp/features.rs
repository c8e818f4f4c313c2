//! Tools, resources, prompts, completion and logging, in either era.
//!
//! Nothing here has effects: tools are called only if they do not exist, or if they declare to be read-only.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{in_era, result, shapes};
use crate::check::bench::Bench;
use crate::check::case::{Case, Need, case, script};
use crate::check::era::{Era, only_response, request};
use crate::check::message::Response;
use crate::check::outcome::{error, shaped, value};

/// How many pages a list may have before it counts as endless.
const MOST_PAGES: usize = 100;

/// The errors of a server that needs to ask a client that cannot be asked.
const LACKING: &[i64] = &[-32021, -32042];

/// The cases of sessions.
pub(in crate::check::cases) fn cases() -> Vec<Case> {
    let all = of_both(Era::Sessions).into_iter().chain(of_sessions());
    all.map(|case| in_era(Era::Sessions, case)).collect()
}

/// The cases that both eras have.
pub(super) fn of_both(era: Era) -> Vec<Case> {
    let pick = |sessions: &'static str, stateless: &'static str| match era {
        Era::Sessions => sessions,
        Era::Stateless => stateless,
    };
    [tools(&pick), resources(&pick, era), prompts(&pick)].into_iter().flatten().collect()
}

/// Picks the name of a case in the era.
type Pick<'a> = &'a dyn Fn(&'static str, &'static str) -> &'static str;

fn tools(pick: Pick<'_>) -> Vec<Case> {
    let all = vec![
        case(
            pick("mcp-tools-list", "stateless-tools-list"),
            "`tools/list` returns tools with a name and a schema of their arguments",
            &["MCP-T-01", "MCP-T-02"],
            request("tools/list", ""),
        )
        .right(shaped("with valid tools", shapes::tools, "1")),
        case(
            pick("mcp-tool-names", "stateless-tool-names"),
            "the names of tools have 1 to 128 letters, digits, `_`, `-` and `.`",
            &["MCP-T-03"],
            request("tools/list", ""),
        )
        .should()
        .right(shaped("with portable names", shapes::tool_names, "1")),
        script(
            pick("mcp-tools-pages", "stateless-tools-pages"),
            "the pages of `tools/list` end, and no name occurs twice",
            &["MCP-G-01", "MCP-T-03"],
            ("tools/list, as long as there is a nextCursor", "different names, and an end"),
            |bench| Box::pin(pages(bench, "tools/list", "tools", "name")),
        ),
        case(
            pick("mcp-cursor-invalid", "stateless-cursor-invalid"),
            "an invalid cursor is refused",
            &["MCP-G-01"],
            request("tools/list", r#""cursor":"switchboard check""#),
        )
        .should()
        .right(error(&[-32602], "1")),
        case(
            pick("mcp-tool-unknown", "stateless-tool-unknown"),
            "a call of an unknown tool is an error of the protocol",
            &["MCP-T-07"],
            request("tools/call", r#""name":"@none","arguments":{}"#),
        )
        .should()
        .right(error(&[-32602], "1")),
        case(
            pick("mcp-tool-missing-argument", "stateless-tool-missing-argument"),
            "a call without a required argument fails",
            &["MCP-T-10"],
            request("tools/call", r#""name":"@tool-required","arguments":{}"#),
        )
        .needs(Need::Sample("tool-required"))
        .right(shaped("with isError", shapes::failed_call, "1"))
        .right(error(&[-32602], "1")),
        case(
            pick("mcp-tool-call", "stateless-tool-call"),
            "a call of a tool returns content",
            &["MCP-T-05"],
            request("tools/call", r#""name":"@tool-plain","arguments":{}"#),
        )
        .needs(Need::Sample("tool-plain"))
        .right(shaped("with valid content", shapes::called, "1"))
        .allowed(error(LACKING, "1")),
    ];
    all.into_iter().map(|case| case.needs_first(Need::Capability("tools"))).collect()
}

fn resources(pick: Pick<'_>, era: Era) -> Vec<Case> {
    let unknown = case(
        pick("mcp-resource-unknown", "stateless-resource-unknown"),
        match era {
            Era::Sessions => "an unknown resource gets -32002",
            Era::Stateless => "an unknown resource gets -32602",
        },
        &["MCP-RES-03"],
        request("resources/read", r#""uri":"switchboard-check://no/such/resource""#),
    );
    let all = vec![
        case(
            pick("mcp-resources-list", "stateless-resources-list"),
            "`resources/list` returns resources with a URI and a name",
            &["MCP-RES-01"],
            request("resources/list", ""),
        )
        .right(shaped("with valid resources", shapes::resources, "1")),
        case(
            pick("mcp-templates-list", "stateless-templates-list"),
            "`resources/templates/list` returns templates with a name",
            &["MCP-RES-01"],
            request("resources/templates/list", ""),
        )
        .right(shaped("with valid templates", shapes::templates, "1")),
        script(
            pick("mcp-resources-pages", "stateless-resources-pages"),
            "the pages of `resources/list` end, and no URI occurs twice",
            &["MCP-G-01"],
            ("resources/list, as long as there is a nextCursor", "different URIs, and an end"),
            |bench| Box::pin(pages(bench, "resources/list", "resources", "uri")),
        ),
        case(
            pick("mcp-resource-read", "stateless-resource-read"),
            "`resources/read` returns text or binary contents",
            &["MCP-RES-01"],
            request("resources/read", r#""uri":"@uri""#),
        )
        .needs(Need::Sample("uri"))
        .right(shaped("with valid contents", shapes::contents, "1")),
        match era {
            Era::Sessions => unknown.should().right(error(&[-32002], "1")).allowed(error(&[-32602], "1")),
            Era::Stateless => unknown.right(error(&[-32602], "1")),
        },
    ];
    all.into_iter().map(|case| case.needs_first(Need::Capability("resources"))).collect()
}

fn prompts(pick: Pick<'_>) -> Vec<Case> {
    let all = vec![
        case(
            pick("mcp-prompts-list", "stateless-prompts-list"),
            "`prompts/list` returns prompts with a name",
            &["MCP-PR-01"],
            request("prompts/list", ""),
        )
        .right(shaped("with valid prompts", shapes::prompts, "1")),
        script(
            pick("mcp-prompts-pages", "stateless-prompts-pages"),
            "the pages of `prompts/list` end, and no name occurs twice",
            &["MCP-G-01"],
            ("prompts/list, as long as there is a nextCursor", "different names, and an end"),
            |bench| Box::pin(pages(bench, "prompts/list", "prompts", "name")),
        ),
        case(
            pick("mcp-prompt-get", "stateless-prompt-get"),
            "`prompts/get` returns messages",
            &["MCP-PR-01"],
            request("prompts/get", r#""name":"@prompt-plain""#),
        )
        .needs(Need::Sample("prompt-plain"))
        .right(shaped("with valid messages", shapes::messages, "1"))
        .allowed(error(LACKING, "1")),
        case(
            pick("mcp-prompt-unknown", "stateless-prompt-unknown"),
            "an unknown prompt gets -32602",
            &["MCP-PR-02"],
            request("prompts/get", r#""name":"@none""#),
        )
        .should()
        .right(error(&[-32602], "1")),
        case(
            pick("mcp-prompt-missing-argument", "stateless-prompt-missing-argument"),
            "a prompt without a required argument gets -32602",
            &["MCP-PR-02"],
            request("prompts/get", r#""name":"@prompt-required","arguments":{}"#),
        )
        .needs(Need::Sample("prompt-required"))
        .should()
        .right(error(&[-32602], "1")),
        case(
            pick("mcp-completion", "stateless-completion"),
            "`completion/complete` returns at most 100 values",
            &["MCP-O-01"],
            request(
                "completion/complete",
                r#""ref":{"type":"ref/prompt","name":"@prompt-required"},"argument":{"name":"@argument","value":""}"#,
            ),
        )
        .needs(Need::Capability("completions"))
        .needs(Need::Sample("argument"))
        .right(shaped("with values", shapes::completion, "1")),
        case(
            pick("mcp-completion-unknown", "stateless-completion-unknown"),
            "the completion of an unknown prompt gets -32602",
            &["MCP-O-01"],
            request(
                "completion/complete",
                r#""ref":{"type":"ref/prompt","name":"@none"},"argument":{"name":"x","value":""}"#,
            ),
        )
        .needs(Need::Capability("completions"))
        .should()
        .right(error(&[-32602], "1")),
    ];
    all.into_iter().map(|case| case.needs_first(Need::Capability("prompts"))).collect()
}

fn of_sessions() -> Vec<Case> {
    vec![
        case(
            "mcp-logging-level",
            "`logging/setLevel` gets an empty result",
            &["MCP-LOG-01"],
            request("logging/setLevel", r#""level":"error""#),
        )
        .needs(Need::Capability("logging"))
        .right(value("{}", "1")),
        case(
            "mcp-logging-level-unknown",
            "an unknown log level gets -32602",
            &["MCP-LOG-01"],
            request("logging/setLevel", r#""level":"loud""#),
        )
        .needs(Need::Capability("logging"))
        .should()
        .right(error(&[-32602], "1")),
        case(
            "mcp-subscribe",
            "`resources/subscribe` gets an empty result",
            &["MCP-RES-04"],
            request("resources/subscribe", r#""uri":"@uri""#),
        )
        .needs(Need::Capability("resources.subscribe"))
        .needs(Need::Sample("uri"))
        .right(value("{}", "1")),
        case(
            "mcp-unsubscribe",
            "`resources/unsubscribe` gets an empty result",
            &["MCP-RES-04"],
            request("resources/unsubscribe", r#""uri":"@uri""#),
        )
        .needs(Need::Capability("resources.subscribe"))
        .needs(Need::Sample("uri"))
        .right(value("{}", "1")),
        script(
            "mcp-undeclared",
            "methods of capabilities that are not declared do not exist",
            &["MCP-L-08"],
            ("a call for each capability that the server does not declare", "error -32601"),
            |bench| Box::pin(undeclared(bench)),
        )
        .should(),
    ]
}

/// Reads all pages of a list.
async fn pages(bench: &mut Bench, method: &str, member: &str, key: &str) -> Result<String, String> {
    let (mut seen, mut cursors) = (BTreeSet::new(), BTreeSet::new());
    let mut params = String::new();
    for page in 1..=MOST_PAGES {
        let result = result(bench, method, &params).await?;
        let entries = result[member].as_array().map(Vec::as_slice).unwrap_or_default();
        let keys = entries.iter().filter_map(|entry| entry[key].as_str());
        if let Some(twice) = keys.map(str::to_owned).find(|key| !seen.insert(key.clone())) {
            return Err(format!("{twice:?} occurs twice"));
        }
        match result.get("nextCursor") {
            None => return Ok(format!("{} entries on {page} pages", seen.len())),
            Some(Value::String(cursor)) if cursors.insert(cursor.clone()) => {
                params = format!(r#""cursor":{}"#, Value::String(cursor.clone()));
            }
            Some(Value::String(cursor)) => return Err(format!("the cursor {cursor:?} came twice")),
            Some(other) => return Err(format!("nextCursor is {other}, which is not a string")),
        }
    }
    Err(format!("{MOST_PAGES} pages, and no end"))
}

/// Calls a method of each capability that is not declared.
pub(super) async fn undeclared(bench: &mut Bench) -> Result<String, String> {
    let methods = [
        ("tools", "tools/list", ""),
        ("resources", "resources/list", ""),
        ("prompts", "prompts/list", ""),
        (
            "completions",
            "completion/complete",
            r#""ref":{"type":"ref/prompt","name":"x"},"argument":{"name":"x","value":""}"#,
        ),
    ];
    let mut refused = Vec::new();
    for (capability, method, params) in methods {
        // The first revision has completion without a capability.
        let is_free = |version: &str| capability == "completions" && version == "2024-11-05";
        if bench.side().is_none_or(|side| side.declares(capability) || is_free(&side.version)) {
            continue;
        }
        let message = bench.fill(request(method, params).as_bytes());
        let came = bench.ask(&message, 1).await;
        if only_response(&came).and_then(Response::code) != Some(-32601) {
            return Err(format!("{method}: {came}"));
        }
        refused.push(method);
    }
    Ok(format!("-32601 for {} methods of capabilities that are not declared", refused.len()))
}
