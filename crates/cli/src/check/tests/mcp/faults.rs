//! One fault for each case.

use std::sync::Arc;

use serde_json::{Value, json};

use super::meddler::{Asked, Fault, Told};

/// A fault, and the case that finds it.
pub(super) type Row = (&'static str, Fault);

/// Whether the answer to this is changed.
type When = fn(&Asked) -> bool;
/// How it is changed.
type Change = fn(&mut Told);

fn row((name, when, change): (&'static str, When, Change)) -> Row {
    (
        name,
        Arc::new(move |asked, told| {
            if when(asked) {
                change(told);
            }
        }),
    )
}

pub(super) fn sessions() -> Vec<Row> {
    let rows: [(&str, When, Change); 9] = [
        ("mcp-initialize", |asked| asked.is("initialize"), |told| told.remove("/result", "serverInfo")),
        // The first three are those that the version is chosen by.
        (
            "mcp-version-supported",
            |asked| asked.is("initialize") && asked.count > 2 && asked.says("2025-11-25"),
            |told| told.put("/result/protocolVersion", json!("2025-06-18")),
        ),
        (
            "mcp-version-unknown",
            |asked| asked.is("initialize") && asked.says("1999-01-01"),
            |told| told.put("/result/protocolVersion", json!("1999-01-01")),
        ),
        (
            "mcp-initialize-empty",
            |asked| asked.is("initialize") && !asked.has("/protocolVersion"),
            |told| told.recode(-32603),
        ),
        (
            "mcp-ping",
            |asked| asked.is("ping") && !asked.is_modern,
            |told| told.put("/result", json!({ "a": 1 })),
        ),
        (
            "mcp-unknown-members",
            |asked| asked.is("ping") && asked.has("/x"),
            |told| {
                told.body = json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": -32602, "message": "x" } });
            },
        ),
        (
            "mcp-cancelled-unknown",
            |asked| asked.is("notifications/cancelled") && !asked.is_modern,
            Told::succeed,
        ),
        (
            "mcp-batch",
            |asked| asked.body.as_array().is_some_and(|it| it.len() == 1) && !asked.is_modern,
            |told| {
                told.succeed();
                told.body = json!([told.body]);
            },
        ),
        (
            "mcp-batch-2025-03-26",
            |asked| asked.body.as_array().is_some_and(|it| it.len() == 2),
            |told| {
                told.status = 400;
                told.body = Value::Null;
            },
        ),
    ];
    rows.map(row).into()
}

/// A fault that both eras can have, with the case of each: first sessions, then stateless.
type Both = (&'static str, &'static str, When, Change);

pub(super) fn features() -> Vec<Row> {
    let both = tools().into_iter().chain(resources()).chain(prompts());
    let both = both.flat_map(|(sessions, stateless, when, change)| {
        [(sessions, false), (stateless, true)].map(|(name, is_modern)| -> Row {
            let fault = move |asked: &Asked, told: &mut Told| {
                if asked.is_modern == is_modern && when(asked) {
                    change(told);
                }
            };
            (name, Arc::new(fault))
        })
    });
    let empty: Change = |told| told.put("/result", json!({ "x": 1 }));
    let rows: [(&str, When, Change); 4] = [
        ("mcp-logging-level", |asked| asked.says("\"error\"") && asked.is("logging/setLevel"), empty),
        ("mcp-logging-level-unknown", |asked| asked.says("loud"), |told| told.recode(-32603)),
        ("mcp-subscribe", |asked| asked.is("resources/subscribe") && !asked.is_modern, empty),
        ("mcp-unsubscribe", |asked| asked.is("resources/unsubscribe"), empty),
    ];
    both.chain(rows.map(row)).collect()
}

fn tools() -> Vec<Both> {
    vec![
        ("mcp-tools-list", "stateless-tools-list", first_page_of_tools, |told| {
            told.remove("/result/tools/0", "inputSchema");
        }),
        ("mcp-tool-names", "stateless-tool-names", first_page_of_tools, |told| {
            told.put("/result/tools/1/name", json!("say hello"));
        }),
        (
            "mcp-tools-pages",
            "stateless-tools-pages",
            |asked| second_page(asked, "tools/list"),
            |told| {
                told.put("/result/tools/0/name", json!("add"));
            },
        ),
        (
            "mcp-cursor-invalid",
            "stateless-cursor-invalid",
            |asked| asked.says("switchboard check"),
            |told| {
                told.succeed();
            },
        ),
        (
            "mcp-tool-unknown",
            "stateless-tool-unknown",
            |asked| asked.is("tools/call") && asked.says("no_such"),
            |told| {
                if told.body["error"]["code"] == -32602 {
                    told.succeed();
                }
            },
        ),
        (
            "mcp-tool-missing-argument",
            "stateless-tool-missing-argument",
            |asked| asked.body["params"]["name"] == "add",
            |told| {
                told.succeed();
                told.put("/result/content", json!([]));
            },
        ),
        (
            "mcp-tool-call",
            "stateless-tool-call",
            |asked| asked.body["params"]["name"] == "hello",
            |told| {
                told.put("/result/content", json!([{ "type": "smell" }]));
            },
        ),
    ]
}

fn resources() -> Vec<Both> {
    vec![
        (
            "mcp-resources-list",
            "stateless-resources-list",
            |asked| asked.is("resources/list"),
            |told| {
                told.remove("/result/resources/0", "name");
            },
        ),
        (
            "mcp-templates-list",
            "stateless-templates-list",
            |asked| asked.is("resources/templates/list"),
            |told| told.remove("/result/resourceTemplates/0", "uriTemplate"),
        ),
        (
            "mcp-resources-pages",
            "stateless-resources-pages",
            |asked| second_page(asked, "resources/list"),
            |told| told.put("/result/nextCursor", json!(7)),
        ),
        (
            "mcp-resource-read",
            "stateless-resource-read",
            |asked| asked.is("resources/read") && asked.says("test://a"),
            |told| told.remove("/result/contents/0", "text"),
        ),
        (
            "mcp-resource-unknown",
            "stateless-resource-unknown",
            |asked| asked.is("resources/read") && asked.says("switchboard-check:"),
            |told| {
                told.succeed();
                told.put("/result/contents", json!([]));
            },
        ),
    ]
}

fn prompts() -> Vec<Both> {
    vec![
        (
            "mcp-prompts-list",
            "stateless-prompts-list",
            |asked| asked.is("prompts/list"),
            |told| {
                told.put("/result/prompts/0/arguments", json!([{ "required": false }]));
            },
        ),
        (
            "mcp-prompts-pages",
            "stateless-prompts-pages",
            |asked| second_page(asked, "prompts/list"),
            |told| {
                told.put("/result/nextCursor", json!(told.body["result"]["prompts"][0]["name"]));
            },
        ),
        (
            "mcp-prompt-get",
            "stateless-prompt-get",
            |asked| asked.body["params"]["name"] == "greet",
            |told| {
                told.put("/result/messages/0/role", json!("robot"));
            },
        ),
        (
            "mcp-prompt-unknown",
            "stateless-prompt-unknown",
            |asked| asked.is("prompts/get") && asked.says("no_such"),
            |told| told.recode(-32603),
        ),
        (
            "mcp-prompt-missing-argument",
            "stateless-prompt-missing-argument",
            |asked| asked.is("prompts/get") && asked.says("plan"),
            |told| told.recode(-32603),
        ),
        (
            "mcp-completion",
            "stateless-completion",
            |asked| asked.is("completion/complete") && asked.says("plan"),
            |told| told.put("/result/completion/values", json!(vec!["x"; 101])),
        ),
        (
            "mcp-completion-unknown",
            "stateless-completion-unknown",
            |asked| asked.is("completion/complete") && asked.says("no_such"),
            |told| told.recode(-32603),
        ),
        (
            "mcp-undeclared",
            "stateless-undeclared",
            |asked| asked.is("initialize") || asked.is("server/discover"),
            |told| told.remove("/result/capabilities", "prompts"),
        ),
    ]
}

fn first_page_of_tools(asked: &Asked) -> bool {
    asked.is("tools/list") && !asked.has("/cursor")
}

fn second_page(asked: &Asked, method: &str) -> bool {
    asked.is(method) && asked.has("/cursor") && !asked.says("switchboard check")
}

pub(super) fn http() -> Vec<Row> {
    let rows: [(&str, When, Change); 13] = [
        (
            "mcp-http-answer",
            |asked| is_ping(asked) && !asked.says("q=0.9"),
            |told| told.content_type = "text/plain".to_owned(),
        ),
        (
            "mcp-http-accept-json",
            |asked| asked.says("q=0.9"),
            |told| {
                told.succeed();
                told.content_type = "text/event-stream".to_owned();
                told.text = format!("data: {}\n\n", told.body);
            },
        ),
        ("mcp-http-notification", |asked| asked.is("notifications/progress"), |told| told.status = 200),
        ("mcp-http-response", |asked| asked.body.get("result").is_some(), |told| told.status = 200),
        (
            "mcp-http-get",
            |asked| asked.verb == "get" && !asked.is_modern,
            |told| {
                told.content_type = "text/html".to_owned();
            },
        ),
        (
            "mcp-session-id",
            |asked| asked.is("initialize"),
            |told| {
                told.session = told.session.take().map(|id| format!("{id} spoiled"));
            },
        ),
        ("mcp-session-missing", |asked| is_ping(asked) && !asked.says("mcp-session-id"), Told::succeed),
        ("mcp-session-unknown", |asked| asked.says("00000000-0000"), |told| told.status = 400),
        (
            "mcp-session-deleted",
            |asked| is_ping(asked) && !asked.says("00000000-0000"),
            |told| {
                if told.status == 404 {
                    told.status = 400;
                }
            },
        ),
        ("mcp-version-header-unknown", |asked| is_ping(asked) && asked.says("1999-01-01"), Told::succeed),
        (
            "mcp-version-header-missing",
            |asked| is_ping(asked) && asked.says("mcp-session-id") && !asked.says("mcp-protocol-version"),
            |told| {
                if told.status == 200 {
                    told.status = 400;
                    told.body = Value::Null;
                }
            },
        ),
        ("mcp-origin", |asked| is_ping(asked) && asked.says("origin:"), Told::succeed),
        ("mcp-host", |asked| is_ping(asked) && asked.says("host: switchboard-check"), Told::succeed),
    ];
    rows.map(row).into()
}

fn is_ping(asked: &Asked) -> bool {
    asked.is("ping") && !asked.is_modern
}

const VERSION: &str = "/_meta/io.modelcontextprotocol~1protocolVersion";
const CAPABILITIES: &str = "/_meta/io.modelcontextprotocol~1clientCapabilities";
const CLIENT: &str = "/_meta/io.modelcontextprotocol~1clientInfo";

fn is_discover(asked: &Asked) -> bool {
    asked.is("server/discover")
}

fn is_list(asked: &Asked) -> bool {
    asked.is("tools/list") && asked.is_modern
}

pub(super) fn stateless() -> Vec<Row> {
    let rows: [(&str, When, Change); 18] = [
        ("stateless-discover", is_discover, |told| told.put("/result/capabilities", json!([]))),
        ("stateless-no-meta", |asked| is_discover(asked) && !asked.has("/_meta"), Told::succeed),
        (
            "stateless-no-version",
            |asked| is_discover(asked) && asked.has("/_meta") && !asked.has(VERSION),
            |told| told.status = 200,
        ),
        (
            "stateless-no-capabilities",
            |asked| is_discover(asked) && asked.has(VERSION) && !asked.has(CAPABILITIES),
            |told| told.recode(-32600),
        ),
        (
            "stateless-no-client-info",
            |asked| is_discover(asked) && asked.has(CAPABILITIES) && !asked.has(CLIENT),
            |told| {
                if told.status == 200 {
                    told.body =
                        json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": -32602, "message": "x" } });
                }
            },
        ),
        (
            "stateless-version-unknown",
            |asked| is_discover(asked) && asked.says("1999-01-01"),
            |told| told.remove("/error/data", "supported"),
        ),
        (
            "stateless-method-unknown",
            |asked| asked.is("switchboard_check_no_such_method"),
            |told| told.status = 200,
        ),
        ("stateless-ping", |asked| asked.is("ping") && asked.is_modern, Told::succeed),
        ("stateless-set-level", |asked| asked.is("logging/setLevel") && asked.is_modern, Told::succeed),
        ("stateless-subscribe", |asked| asked.is("resources/subscribe") && asked.is_modern, Told::succeed),
        (
            "stateless-notification",
            |asked| asked.is("notifications/cancelled") && asked.is_modern,
            |told| told.status = 200,
        ),
        (
            "stateless-batch",
            |asked| asked.body.is_array() && asked.is_modern,
            |told| {
                told.succeed();
                told.body = json!([told.body]);
            },
        ),
        ("stateless-result-type", is_list, |told| told.remove("/result", "resultType")),
        ("stateless-cache-hints", is_list, |told| told.put("/result/ttlMs", json!(-1))),
        ("stateless-server-info", is_list, |told| told.remove("/result", "_meta")),
        (
            "stateless-same-list",
            |asked| is_list(asked) && asked.count % 2 == 0,
            |told| {
                if let Some(tools) = told.body.pointer_mut("/result/tools").and_then(Value::as_array_mut) {
                    tools.reverse();
                }
            },
        ),
        (
            "stateless-listen",
            |asked| asked.is("subscriptions/listen"),
            |told| {
                told.text = told.text.replace("acknowledged", "welcome");
            },
        ),
        ("stateless-listen-empty", |asked| asked.is("subscriptions/listen"), |told| told.recode(-32603)),
    ];
    rows.map(row).into()
}

pub(super) fn headers() -> Vec<Row> {
    let rows: [(&str, When, Change); 12] = [
        (
            "stateless-version-header-missing",
            |asked| is_discover(asked) && !asked.head.contains("mcp-protocol-version"),
            Told::succeed,
        ),
        (
            "stateless-version-header-differs",
            |asked| is_discover(asked) && asked.head.contains("2025-11-25"),
            |told| told.recode(-32600),
        ),
        (
            "stateless-method-header-missing",
            |asked| is_discover(asked) && !asked.head.contains("mcp-method"),
            Told::succeed,
        ),
        (
            "stateless-method-header-differs",
            |asked| is_discover(asked) && asked.head.contains("mcp-method: tools/list"),
            |told| told.status = 200,
        ),
        (
            "stateless-name-header-missing",
            |asked| asked.is("tools/call") && asked.is_modern && !asked.head.contains("mcp-name"),
            |told| told.recode(-32602),
        ),
        (
            "stateless-name-header-differs",
            |asked| asked.is("tools/call") && asked.head.contains("mcp-name: another"),
            |told| told.recode(-32602),
        ),
        (
            "stateless-name-header-encoded",
            |asked| asked.head.contains("=?base64?"),
            |told| told.recode(-32020),
        ),
        ("stateless-get", |asked| asked.verb == "get" && asked.is_modern, |told| told.status = 200),
        ("stateless-delete", |asked| asked.verb == "delete" && asked.is_modern, |told| told.status = 200),
        (
            "stateless-session-ignored",
            |asked| is_discover(asked) && asked.head.contains("mcp-session-id"),
            |told| told.session = Some("switchboard-check".to_owned()),
        ),
        ("stateless-origin", |asked| is_discover(asked) && asked.head.contains("origin:"), Told::succeed),
        (
            "stateless-host",
            |asked| is_discover(asked) && asked.head.contains("host: switchboard-check"),
            Told::succeed,
        ),
    ];
    rows.map(row).into()
}
