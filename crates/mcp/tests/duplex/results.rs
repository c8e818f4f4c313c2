//! Results of tools, as each revision has them.

use serde_json::{Value, json};
use switchboard_core::{ErrorObject, Json, Method};

use crate::client::{Client, alone};
use crate::fixtures::{add, returning, server, text};

/// The tool and its result, as a client of this revision sees them.
async fn seen(method: Method, revision: &str, arguments: Value) -> (Value, Value) {
    let server = server([method]);
    let mut client =
        Client::session(&server, revision.replace("2026-07-28", "2025-11-25").as_str(), json!({})).await;
    let form = |params: Value| if revision == "2026-07-28" { alone(params, json!({})) } else { params };
    let tools = client.ask("tools/list", form(json!({}))).await;
    let tool = tools["result"]["tools"][0].clone();
    let call = form(json!({"name": tool["name"], "arguments": arguments}));
    (tool, client.ask("tools/call", call).await["result"].clone())
}

// MCP-T-05, MCP-T-06, MCP-X-07
#[tokio::test(start_paused = true)]
async fn a_value_that_is_not_an_object_is_wrapped_for_sessions() {
    let number = json!({"type": "integer"});
    for (revision, schema, structured) in [
        ("2024-11-05", None, None),
        ("2025-03-26", None, None),
        ("2025-06-18", Some("object"), Some(json!({"result": 5}))),
        ("2025-11-25", Some("object"), Some(json!({"result": 5}))),
        ("2026-07-28", Some("integer"), Some(json!(5))),
    ] {
        let (tool, result) = seen(add(), revision, json!({"a": 2, "b": 3})).await;
        assert_eq!(tool["outputSchema"]["type"].as_str(), schema, "{revision}: {tool}");
        if schema == Some("object") {
            assert_eq!(tool["outputSchema"]["properties"]["result"]["type"], number["type"]);
            assert_eq!(tool["outputSchema"]["required"], json!(["result"]));
        }
        assert_eq!(result.get("structuredContent"), structured.as_ref(), "{revision}");
        assert_eq!(text(&result), "5", "hosts that read only texts get one");
    }
}

// MCP-T-05, MCP-T-06
#[tokio::test(start_paused = true)]
async fn an_object_is_structured_content_as_it_is() {
    let weather = || {
        let weather =
            Method::sync("weather", |_: Option<Json>, _| Ok::<_, ErrorObject>(json!({"rain": true})));
        returning(weather, json!({"type": "object", "properties": {"rain": {"type": "boolean"}}}))
    };
    for revision in ["2025-06-18", "2025-11-25", "2026-07-28"] {
        let (tool, result) = seen(weather(), revision, json!({})).await;
        assert_eq!(tool["outputSchema"]["type"], "object", "{revision}");
        assert_eq!(result["structuredContent"], json!({"rain": true}), "{revision}");
        assert_eq!(text(&result), r#"{"rain":true}"#);
    }
    let (tool, result) = seen(weather(), "2025-03-26", json!({})).await;
    assert_eq!((tool.get("outputSchema"), result.get("structuredContent")), (None, None));
}

// MCP-T-05
#[tokio::test(start_paused = true)]
async fn texts_are_not_quoted_and_have_no_schema() {
    let greet = || {
        let greet = Method::sync("greet", |_: Option<Json>, _| Ok::<_, ErrorObject>("a \"quoted\" line\n"));
        returning(greet, json!({"type": "string"}))
    };
    for revision in ["2024-11-05", "2026-07-28"] {
        let (tool, result) = seen(greet(), revision, json!({})).await;
        assert_eq!(tool.get("outputSchema"), None);
        assert_eq!(result.get("structuredContent"), None);
        assert_eq!(text(&result), "a \"quoted\" line\n");
    }
}

// MCP-T-02, MCP-T-03
#[tokio::test(start_paused = true)]
async fn schemas_of_arguments_are_objects_even_if_nothing_is_known() {
    let unknown = || Method::sync("a.b/c d", |_: Option<Json>, _| Ok::<_, ErrorObject>(1));
    for revision in ["2024-11-05", "2025-11-25", "2026-07-28"] {
        let (tool, result) = seen(unknown(), revision, json!({"anything": [1]})).await;
        assert_eq!(tool["name"], "a_b_c_d");
        assert_eq!(tool["inputSchema"]["type"], "object");
        assert_eq!(text(&result), "1");
        let (tool, _) = seen(add(), revision, json!({"a": 1, "b": 1})).await;
        assert_eq!(tool["inputSchema"]["additionalProperties"], false);
        assert_eq!(tool["inputSchema"]["required"], json!(["a", "b"]));
    }
}
