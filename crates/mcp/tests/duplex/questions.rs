//! Questions to the client: the same handler for both eras.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use switchboard_core::{ErrorObject, Json, Method};
use switchboard_mcp::model::{SamplingContent, SamplingMessage, Tool, ToolChoiceMode, ToolUseResult};
use switchboard_mcp::{Answer, Feature, Server};

use crate::client::{Client, alone, everything};
use crate::fixtures::{server, text, text_tool};

/// Calls a tool as a client with a session and as one without, which answer the same questions in the same way. Both have to get the
/// same text; it is returned with the methods of the questions.
pub(crate) async fn both_eras(
    server: &Server,
    tool: &str,
    capabilities: &Value,
    answer: impl Fn(&str, &Value) -> Value,
) -> (String, Vec<String>) {
    let (old, asked) = in_session(server, tool, capabilities, &answer).await;
    let (new, mut asked_again) = in_rounds(server, tool, capabilities, &answer).await;
    assert_eq!(old, new);
    let mut sorted = asked.clone();
    sorted.sort();
    asked_again.sort();
    assert_eq!(sorted, asked_again);
    (old, asked)
}

async fn in_session(
    server: &Server,
    tool: &str,
    capabilities: &Value,
    answer: &impl Fn(&str, &Value) -> Value,
) -> (String, Vec<String>) {
    let mut client = Client::session(server, "2025-11-25", capabilities.clone()).await;
    client.request("tools/call", json!({"name": tool})).await;
    let mut asked = Vec::new();
    loop {
        let message = client.next().await;
        let Some(method) = message["method"].as_str() else {
            assert!(message.get("result").is_some(), "{message}");
            return (text(&message["result"]).to_owned(), asked);
        };
        asked.push(method.to_owned());
        let result = answer(method, &message["params"]);
        client.send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": result})).await;
    }
}

async fn in_rounds(
    server: &Server,
    tool: &str,
    capabilities: &Value,
    answer: &impl Fn(&str, &Value) -> Value,
) -> (String, Vec<String>) {
    let mut client = Client::connect(server);
    let (mut params, mut asked) = (json!({"name": tool}), Vec::new());
    loop {
        let reply = client.ask("tools/call", alone(params.clone(), capabilities.clone())).await;
        let result = &reply["result"];
        if result["resultType"] != "input_required" {
            assert_eq!(result["resultType"], "complete", "{reply}");
            return (text(result).to_owned(), asked);
        }
        let mut answers = BTreeMap::new();
        for (key, question) in result["inputRequests"].as_object().unwrap() {
            let method = question["method"].as_str().unwrap();
            asked.push(method.to_owned());
            answers.insert(key.clone(), answer(method, &question["params"]));
        }
        params["inputResponses"] = json!(answers);
        params["requestState"] = result["requestState"].clone();
    }
}

#[derive(Deserialize, JsonSchema)]
struct Seat {
    row: u8,
}

pub(crate) fn book() -> Method {
    text_tool("book", |_, caller| async move {
        let Answer::Accept(Seat { row }) = caller.elicit::<Seat>("Which seat?").await? else {
            return Err(ErrorObject::validation_failed("the user declined"));
        };
        let (note, roots) = tokio::join!(caller.sample(format!("Row {row}?")).max_tokens(20), caller.roots());
        let opened = caller.open_url("Pay, please.", "https://pay.example/").await?;
        Ok(format!("{row} {} {} {}", note?.text(), roots?[0].uri, opened == Answer::Accept(())))
    })
}

pub(crate) fn answers(method: &str, params: &Value) -> Value {
    match method {
        "elicitation/create" if params["mode"] == "url" => json!({"action": "accept"}),
        "elicitation/create" => {
            assert_eq!(params["message"], "Which seat?");
            assert_eq!(params["requestedSchema"]["properties"]["row"]["type"], "integer");
            json!({"action": "accept", "content": {"row": 12}})
        }
        "sampling/createMessage" => {
            assert_eq!(params["messages"][0]["content"]["text"], "Row 12?");
            assert_eq!(params["maxTokens"], 20);
            json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "fine"}})
        }
        "roots/list" => json!({"roots": [{"uri": "file:///home", "name": "home"}]}),
        other => panic!("{other}"),
    }
}

// MCP-R-01, MCP-R-02, MCP-EL-01, MCP-EL-02, MCP-EL-04, MCP-SA-01, MCP-RO-01, MCP-X-07
#[tokio::test(start_paused = true)]
async fn one_handler_asks_clients_of_both_eras() {
    let (text, asked) = both_eras(&server([book()]), "book", &everything(), answers).await;
    assert_eq!(text, "12 fine file:///home true");
    assert_eq!(asked, ["elicitation/create", "sampling/createMessage", "roots/list", "elicitation/create"]);
}

// MCP-EL-02
#[tokio::test(start_paused = true)]
async fn a_user_may_decline_or_cancel() {
    let ask =
        text_tool(
            "ask",
            |_, caller| async move { Ok(format!("{:?}", caller.elicit::<bool>("Sure?").await?)) },
        );
    let server = server([ask]);
    for (action, expected) in [("accept", "Accept(true)"), ("decline", "Decline"), ("cancel", "Cancel")] {
        let answer = |_: &str, _: &Value| json!({"action": action, "content": {"value": true}});
        assert_eq!(both_eras(&server, "ask", &everything(), answer).await.0, expected);
    }
}

// MCP-M-04, MCP-L-08, MCP-RO-01
#[tokio::test(start_paused = true)]
async fn a_client_is_not_asked_for_what_it_did_not_declare() {
    let can = text_tool("can", |_, caller| async move {
        let features =
            [Feature::Form, Feature::Url, Feature::Sampling, Feature::SamplingTools, Feature::Roots];
        Ok(features.map(|feature| if caller.can(feature) { 'y' } else { 'n' }).iter().collect())
    });
    let server = server([can, book()]);
    for (capabilities, expected) in [
        (json!({}), "nnnnn"),
        (json!({"elicitation": {}}), "ynnnn"),
        (json!({"elicitation": {"url": {}}}), "nynnn"),
        (json!({"sampling": {}, "roots": {}}), "nnyny"),
        (json!({"sampling": {"tools": {}}}), "nnyyn"),
        (everything(), "yyyny"),
    ] {
        let (text, _) = both_eras(&server, "can", &capabilities, |_, _| unreachable!()).await;
        assert_eq!(text, expected, "{capabilities}");
    }
    // In a session the model reads why; without one the client learns which capability is missing.
    let mut client = Client::session(&server, "2025-11-25", json!({"sampling": {}})).await;
    let result = client.call("book", json!({})).await;
    assert_eq!(result["isError"], true);
    assert!(text(&result).contains("elicitation"), "{result}");
    let answer = client.ask("tools/call", alone(json!({"name": "book"}), json!({"sampling": {}}))).await;
    assert_eq!(answer["error"]["code"], -32021);
    assert_eq!(answer["error"]["data"]["requiredCapabilities"], json!({"elicitation": {}}));
}

/// A tool whose question to the model comes with a tool.
fn forecast() -> Method {
    text_tool("forecast", |_, caller| async move {
        let schema = Json::parse(r#"{"type":"object"}"#).unwrap();
        let tool = Tool::new("rain", schema);
        let asked =
            caller.sample("Rain in Oslo?").tools([tool.clone()]).tool_choice(ToolChoiceMode::Required);
        let sampled = asked.priorities(0.25, 0.5, 0.75).prefer_model("small").key("first").await?;
        let SamplingContent::ToolUse(used) = &sampled.content[0] else {
            return Err(ErrorObject::validation_failed("the model did not call the tool"));
        };
        let result = ToolUseResult::new(&used.id, format!("{} has rain", used.input));
        let conversation =
            [SamplingMessage::user("Rain in Oslo?"), sampled.clone().into(), SamplingMessage::user(result)];
        let last = caller.sample("").messages(conversation).tools([tool]).key("second").await?;
        Ok(last.text())
    })
}

// MCP-SA-01, MCP-SA-02
#[tokio::test(start_paused = true)]
async fn a_model_may_call_tools_before_it_answers() {
    let server = server([forecast()]);
    let call = json!({"type": "tool_use", "id": "u1", "name": "rain", "input": {"city": "Oslo"}});
    let answer = |method: &str, params: &Value| {
        assert_eq!(method, "sampling/createMessage");
        assert_eq!(params["tools"], json!([{"name": "rain", "inputSchema": {"type": "object"}}]));
        if params["messages"][1].is_null() {
            assert_eq!(params["toolChoice"], json!({"mode": "required"}));
            let preferences = json!({
                "hints": [{"name": "small"}], "costPriority": 0.25, "speedPriority": 0.5, "intelligencePriority": 0.75,
            });
            assert_eq!(params["modelPreferences"], preferences);
            return json!({"role": "assistant", "model": "m", "content": [call], "stopReason": "toolUse"});
        }
        assert_eq!(params["messages"][1], json!({"role": "assistant", "content": call}));
        let told = &params["messages"][2]["content"];
        assert_eq!((&told["type"], &told["toolUseId"]), (&json!("tool_result"), &json!("u1")), "{params}");
        let text = told["content"][0]["text"].clone();
        json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": text}})
    };
    let (text, asked) = both_eras(&server, "forecast", &json!({"sampling": {"tools": {}}}), answer).await;
    assert_eq!(text, r#"{"city":"Oslo"} has rain"#);
    assert_eq!(asked.len(), 2);
    // Clients that did not declare it, or speak a revision without it, are not asked.
    let older = ("2025-06-18", json!({"sampling": {"tools": {}}}));
    for (revision, capabilities) in [("2025-11-25", everything()), older] {
        let mut client = Client::session(&server, revision, capabilities).await;
        let result = client.call("forecast", json!({})).await;
        assert!(result["content"][0]["text"].as_str().unwrap().contains("sampling with tools"), "{result}");
    }
}

// MCP-SA-01
#[tokio::test(start_paused = true)]
async fn a_refusal_of_the_client_is_an_error_that_the_handler_sees() {
    let ask = text_tool("ask", |_, caller| async move {
        match caller.sample("Hello?").await {
            Ok(sampled) => Ok(sampled.text()),
            Err(error) => Ok(error.to_string()),
        }
    });
    let mut client = Client::session(&server([ask]), "2025-06-18", everything()).await;
    client.request("tools/call", json!({"name": "ask"})).await;
    let asked = client.next().await;
    let error = json!({"code": -1, "message": "User rejected sampling request"});
    client.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "error": error})).await;
    let refused = client.next().await;
    assert!(text(&refused["result"]).contains("User rejected"), "{refused}");
    // What does not have the form of an answer is an error too.
    client.request("tools/call", json!({"name": "ask"})).await;
    let asked = client.next().await;
    client.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"content": 5}})).await;
    assert!(text(&client.next().await["result"]).contains("form"));
}

// MCP-C-01
#[tokio::test(start_paused = true)]
async fn cancelling_a_call_withdraws_its_question() {
    let mut client = Client::session(&server([book()]), "2025-11-25", everything()).await;
    let id = client.request("tools/call", json!({"name": "book"})).await;
    let asked = client.next().await;
    client.notify("notifications/cancelled", json!({"requestId": id})).await;
    let withdrawn = client.notification("notifications/cancelled").await;
    assert_eq!(withdrawn["requestId"], asked["id"]);
    client.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "cancel"}})).await;
    client.is_silent().await;
}

// MCP-EL-01, MCP-EL-05
#[tokio::test(start_paused = true)]
async fn revisions_before_elicitation_do_not_ask_for_it() {
    let mut client = Client::session(&server([book()]), "2025-03-26", everything()).await;
    let result = client.call("book", json!({})).await;
    assert_eq!(result["isError"], true, "{result}");
}

// MCP-EL-04, MCP-EL-05
#[tokio::test(start_paused = true)]
async fn pages_to_open_have_an_identifier_in_2025_11_25_only() {
    let open = text_tool("open", |_, caller| async move {
        Ok(format!("{:?}", caller.open_url("Pay.", "https://pay.example/").await?))
    });
    let server = server([open]);
    let has_id = std::cell::RefCell::new(Vec::new());
    let answer = |_: &str, params: &Value| {
        has_id.borrow_mut().push(params["elicitationId"].is_string());
        json!({"action": "accept"})
    };
    assert_eq!(both_eras(&server, "open", &everything(), answer).await.0, "Accept(())");
    assert_eq!(*has_id.borrow(), [true, false]);
    // 2025-06-18 has no pages to open.
    let mut client = Client::session(&server, "2025-06-18", everything()).await;
    assert_eq!(client.call("open", json!({})).await["isError"], true);
}
