//! Errors of methods, as tools and elsewhere.

use serde::Deserialize;
use serde_json::{Value, json};
use switchboard_core::{Code, ErrorObject, Json, Method, MethodDescription};

use crate::client::{Client, alone};
use crate::fixtures::{add, server, text, text_tool, tool};

/// A tool that fails with the code it is given.
fn failing() -> Method {
    tool("fail", |arguments, _| async move {
        let code = arguments["code"].as_i64().unwrap();
        Err::<(), _>(ErrorObject::new(Code(code), "it failed").with_detail("for a reason"))
    })
}

/// How a client of a revision sees an error with this code: as a result, or as an error with the code that is given.
async fn check(client: &mut Client, params: Value, code: i64, expected: Option<i64>) {
    let answer = client.ask("tools/call", params).await;
    match expected {
        None => {
            assert_eq!(answer["result"]["isError"], true, "{code}: {answer}");
            assert_eq!(text(&answer["result"]), "it failed: for a reason", "{code}");
        }
        Some(expected) => assert_eq!(answer["error"]["code"], expected, "{code}: {answer}"),
    }
}

// MCP-T-07
#[tokio::test(start_paused = true)]
async fn errors_of_a_tool_are_results_unless_the_call_was_wrong_or_the_server_failed() {
    let call = |code: i64| json!({"name": "fail", "arguments": {"code": code}});
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"] {
        let mut client = Client::session(
            &server([failing()]),
            revision.replace("2026-07-28", "2025-11-25").as_str(),
            json!({}),
        )
        .await;
        let is_modern = revision == "2026-07-28";
        let teaches = revision >= "2025-11-25";
        for (code, expected) in [
            (-32602, (!teaches).then_some(-32602)),
            (-32001, None),
            (-32003, None),
            (-32004, None),
            (-32005, None),
            (-32006, None),
            (-32007, None),
            (-32008, None),
            (-32000, None),
            (1, None),
            (-40000, None),
            (-32603, Some(-32603)),
            (-32002, Some(-32603)),
            (-32021, is_modern.then_some(-32021)),
        ] {
            let params = if is_modern { alone(call(code), json!({})) } else { call(code) };
            check(&mut client, params, code, expected).await;
        }
    }
}

// MCP-T-07, MCP-T-10
#[tokio::test(start_paused = true)]
async fn arguments_that_cannot_be_read_are_for_the_model_since_2025_11_25() {
    let wrong = json!({"name": "math_add", "arguments": {"a": "one", "b": 2}});
    for (revision, is_result) in [("2025-06-18", false), ("2025-11-25", true)] {
        let mut client = Client::session(&server([add()]), revision, json!({})).await;
        let answer = client.ask("tools/call", wrong.clone()).await;
        assert_eq!(answer["result"]["isError"] == true, is_result, "{answer}");
        assert_eq!(answer["error"]["code"] == -32602, !is_result, "{answer}");
    }
    let mut client = Client::connect(&server([add()]));
    let answer = client.ask_alone("tools/call", wrong).await;
    assert!(text(&answer["result"]).contains('a'), "{answer}");
}

// MCP-T-07
#[tokio::test(start_paused = true)]
async fn a_hidden_tool_looks_like_one_that_does_not_exist() {
    let secret = text_tool("secret", |_, _| async { Ok("a secret".to_owned()) });
    let server = server([secret, add()]).visible(|tool, _| tool.name != "secret");
    let mut client = Client::session(&server, "2025-11-25", json!({})).await;
    let listed = client.ask("tools/list", json!({})).await;
    assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), 1);
    let mut call = async |name: &str| client.ask("tools/call", json!({"name": name})).await["error"].clone();
    let (hidden, unknown) = (call("secret").await, call("terces").await);
    assert_eq!(hidden, json!({"code": -32602, "message": "Unknown tool: secret"}));
    assert_eq!(unknown, json!({"code": -32602, "message": "Unknown tool: terces"}));
    // A name in upper case, of the method, or too long to show is another name.
    for name in ["Secret", "math/add", &"x".repeat(1000)] {
        assert_eq!(call(name).await["code"], -32602);
    }
}

// MCP-RES-03, MCP-PR-02
#[tokio::test(start_paused = true)]
async fn what_is_not_found_has_the_code_of_its_revision() {
    let resource = |_: &mut _| {
        MethodDescription::documented("").extension("x-mcp", json!({"resource": "test://{id}/data"}))
    };
    let failing =
        Method::sync("data", |_: Option<Json>, _| Err::<(), _>(ErrorObject::new(Code(-32004), "full")));
    let server = server([failing.described(resource), add()]);
    let mut client = Client::session(&server, "2025-11-25", json!({})).await;
    let gone = json!({"uri": "none://x"});
    let answer = client.ask("resources/read", gone.clone()).await;
    assert_eq!(
        (&answer["error"]["code"], &answer["error"]["data"]["uri"]),
        (&json!(-32002), &json!("none://x"))
    );
    let answer = client.ask_alone("resources/read", gone).await;
    assert_eq!(
        (&answer["error"]["code"], &answer["error"]["data"]["uri"]),
        (&json!(-32602), &json!("none://x"))
    );
    // Codes that mean something else in MCP do not get through.
    let answer = client.ask("resources/read", json!({"uri": "test://1/data"})).await;
    assert_eq!(
        (&answer["error"]["code"], &answer["error"]["data"]["code"]),
        (&json!(-32603), &json!(-32004))
    );
    assert_eq!(client.ask("resources/read", json!({"uri": 1})).await["error"]["code"], -32602);
    assert_eq!(client.ask("resources/read", json!({})).await["error"]["code"], -32602);
}

// MCP-PR-02
#[tokio::test(start_paused = true)]
async fn prompts_that_are_unknown_or_lack_an_argument_are_invalid() {
    #[derive(Deserialize)]
    struct Plan {
        city: String,
    }
    let prompt = Method::sync("plan", |plan: Plan, _| Ok::<_, ErrorObject>(plan.city));
    let prompt = prompt.described(|_| {
        let city = switchboard_core::ParamDescription::required("city", json!({"type": "string"}));
        MethodDescription::documented("").param(city).extension("x-mcp", json!({"prompt": true}))
    });
    let mut client = Client::session(&server([prompt]), "2025-11-25", json!({})).await;
    for params in [
        json!({"name": "none"}),
        json!({"name": "plan"}),
        json!({}),
        json!({"name": "plan", "arguments": []}),
    ] {
        assert_eq!(client.ask("prompts/get", params).await["error"]["code"], -32602);
    }
    let answer = client.ask("prompts/get", json!({"name": "plan", "arguments": {"city": "Oslo"}})).await;
    assert_eq!(answer["result"]["messages"][0]["content"]["text"], "Oslo");
    // There are no tools, so there is no such method.
    assert_eq!(client.ask("tools/list", json!({})).await["error"]["code"], -32601);
}
