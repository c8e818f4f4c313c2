//! Requests that are refused.

use serde_json::{Value, json};
use switchboard_a2a::{Agent, AgentOptions};

use crate::serving::{Gate, agent, message, serve};

/// The reason that an error names (A2A-E-01).
fn reason(error: &Value) -> &str {
    let info = &error["data"][0];
    assert_eq!(info["@type"], "type.googleapis.com/google.rpc.ErrorInfo", "{error}");
    assert_eq!(info["domain"], "a2a-protocol.org");
    info["reason"].as_str().unwrap()
}

// A2A-E-01, A2A-M-08
#[tokio::test]
async fn errors_have_their_code_and_a_typed_reason() {
    let serving = serve(&agent(&Gate::default()).build()).await;
    let check = async |method: &str, params: Value, code: i64, expected: &str| {
        let answer = serving.post(method, params).await.json().await;
        assert_eq!(answer["error"]["code"], code, "{answer}");
        assert_eq!(reason(&answer["error"]), expected);
    };
    let done = serving.ask("SendMessage", message("work")).await["task"]["id"].clone();
    check("GetTask", json!({"id": "none"}), -32001, "TASK_NOT_FOUND").await;
    check("CancelTask", json!({"id": done}), -32002, "TASK_NOT_CANCELABLE").await;
    let push = "PUSH_NOTIFICATION_NOT_SUPPORTED";
    check("CreateTaskPushNotificationConfig", json!({"taskId": done, "url": "https://a"}), -32003, push)
        .await;
    let mut notified = message("work");
    notified["configuration"] = json!({"taskPushNotificationConfig": {"url": "https://a"}});
    check("SendMessage", notified, -32003, push).await;
    check("GetExtendedAgentCard", json!({}), -32004, "UNSUPPORTED_OPERATION").await;
    let mut video = message("work");
    video["message"]["parts"][0]["mediaType"] = json!("video/mp4");
    check("SendMessage", video, -32005, "CONTENT_TYPE_NOT_SUPPORTED").await;
    let mut image = message("work");
    image["message"]["parts"][0]["mediaType"] = json!("image/png");
    serving.ask("SendMessage", image).await;
}

// A2A-B-04
#[tokio::test]
async fn the_version_is_in_a_header_or_in_the_query() {
    let serving = serve(&agent(&Gate::default()).build()).await;
    let check = async |versions: &[(&str, &str)], method: &str, code: Option<i64>| {
        let answer = serving.post_with(versions, method, json!({"id": "none"})).await.json().await;
        assert_eq!(answer["error"]["code"].as_i64(), code, "{versions:?} {answer}");
    };
    check(&[("A2A-Version", "1.0")], "GetTask", Some(-32001)).await;
    check(&[("a2a-version", "1.0.7")], "GetTask", Some(-32001)).await;
    check(&[("a2a-version", "9.9")], "GetTask", Some(-32009)).await;
    check(&[("a2a-version", "nonsense")], "GetTask", Some(-32009)).await;
    for old in [&[][..], &[("a2a-version", "")], &[("a2a-version", "0.3")]] {
        check(old, "GetTask", Some(-32601)).await;
        check(old, "tasks/get", Some(-32001)).await;
    }
    check(&[("a2a-version", "1.0")], "tasks/get", Some(-32601)).await;
    let text = r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"none"}}"#;
    let headers = [("content-type", "application/json")];
    let answer = crate::raw::send(serving.address, "POST /a2a?A2A-Version=1.0", &headers, Some(text)).await;
    assert_eq!(answer.json().await["error"]["code"], -32001);
}

// A2A-B-05, A2A-B-06, A2A-B-07, A2A-E-01
#[tokio::test]
async fn params_that_are_wrong_name_the_field() {
    let serving = serve(&agent(&Gate::default()).build()).await;
    let check = async |params: Value, field: &str| {
        let answer = serving.post("SendMessage", params).await.json().await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        let violation = &answer["error"]["data"][0]["fieldViolations"][0];
        assert!(violation["field"].as_str().unwrap().starts_with(field), "{answer}");
    };
    let with = |pointer: &str, value: Value| {
        let mut params = message("work");
        *params.pointer_mut(pointer).unwrap() = value;
        params
    };
    check(json!({}), "params").await;
    check(with("/message/messageId", json!("")), "message.messageId").await;
    check(with("/message/role", json!("user")), "message.role").await;
    check(with("/message/parts", json!([])), "message.parts").await;
    check(with("/message/parts/0", json!({"text": "a", "url": "b"})), "message.parts[0]").await;
    check(with("/message/parts/0", json!({"kind": "text"})), "message.parts[0]").await;
    let mut unknown = message("hello");
    unknown["message"]["later"] = json!(1);
    serving.ask("SendMessage", unknown).await;
}

// A2A-B-07, A2A-B-08, A2A-E-01
#[tokio::test]
async fn errors_of_json_rpc_have_data_that_is_a_list() {
    let serving = serve(&agent(&Gate::default()).build()).await;
    let check = async |text: &str, code: i64| {
        let received = serving.post_text(&[("a2a-version", "1.0")], text).await;
        assert_eq!(received.status, 200);
        let answer = received.json().await;
        assert_eq!(answer["error"]["code"], code, "{answer}");
        let data = answer["error"].get("data");
        assert!(data.is_none_or(|data| data[0]["@type"].is_string()), "{answer}");
    };
    check("{", -32700).await;
    check("[]", -32600).await;
    check(r#"[{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"a"}}]"#, -32600).await;
    check(r#"{"jsonrpc":"2.0","id":1,"method":1}"#, -32600).await;
    check(r#"{"jsonrpc":"2.0","id":1,"method":"Nothing"}"#, -32601).await;
    check(r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":["a"]}"#, -32602).await;
    check(r#"{"jsonrpc":"2.0","id":1,"method":"GetTask"}"#, -32602).await;
}

// A2A-B-03, A2A-M-08
#[tokio::test]
async fn a_client_declares_the_extensions_that_the_agent_requires() {
    const URI: &str = "https://example.com/required";
    let card = agent(&Gate::default()).build().card().clone().extension(URI, true);
    let server = Agent::new(card, |_, _| async { Ok::<_, switchboard_core::ErrorObject>("hi") }).build();
    let serving = serve(&server).await;
    let answer = serving.post("SendMessage", message("hello")).await.json().await;
    assert_eq!(
        (&answer["error"]["code"], reason(&answer["error"])),
        (&json!(-32008), "EXTENSION_SUPPORT_REQUIRED")
    );
    let headers = [
        ("a2a-version", "1.0"),
        ("a2a-extensions", "https://example.com/other, https://example.com/required"),
    ];
    let answer = serving.post_with(&headers, "SendMessage", message("hello")).await.json().await;
    assert!(answer.get("result").is_some(), "{answer}");
}

#[tokio::test]
async fn an_agent_works_on_a_limited_number_of_tasks_at_once() {
    let options = AgentOptions::default().with_working(1);
    let serving = serve(&agent(&Gate::default()).with_options(options).build()).await;
    let mut params = message("wait");
    params["configuration"] = json!({"returnImmediately": true});
    let task = serving.ask("SendMessage", params.clone()).await["task"]["id"].clone();
    assert_eq!(serving.error("SendMessage", params.clone()).await, -32000);
    serving.ask("CancelTask", json!({"id": task})).await;
}

#[tokio::test]
async fn an_agent_that_answers_nonsense_is_at_fault() {
    use switchboard_core::{Json, Method, Reply, ReplyFuture, Router, service_fn};
    let card = agent(&Gate::default()).build().card().clone();
    let method = Method::new("odd", service_fn(|_| ReplyFuture::ready(Reply::value(Json::TRUE))));
    let router = Router::builder().add(method).build().unwrap();
    let serving = serve(&Agent::of(card, router, switchboard_core::Name::from_static("odd")).build()).await;
    assert_eq!(serving.error("SendMessage", message("hello")).await, -32006);
}

// A2A-M-08
#[tokio::test]
async fn an_agent_without_streams_refuses_them_and_says_so_in_its_card() {
    let options = AgentOptions::default().with_streaming(false);
    let server = agent(&Gate::default()).with_options(options).build();
    assert_eq!(server.card().capabilities.streaming, Some(false));
    let serving = serve(&server).await;
    assert_eq!(serving.error("SendStreamingMessage", message("work")).await, -32004);
    assert_eq!(serving.error("SubscribeToTask", json!({"id": "none"})).await, -32004);
    serving.ask("SendMessage", message("work")).await;
}

// A2A-M-08
#[tokio::test]
async fn an_extended_card_that_is_promised_and_missing_has_its_own_error() {
    let mut card = agent(&Gate::default()).build().card().clone();
    card.capabilities.extended_agent_card = Some(true);
    let server = Agent::new(card, |_, _| async { Ok::<_, switchboard_core::ErrorObject>("hi") }).build();
    let serving = serve(&server).await;
    let answer = serving.ask_as("ann", "GetExtendedAgentCard", json!({})).await;
    assert_eq!(answer["error"]["code"], -32007, "{answer}");
    assert_eq!(reason(&answer["error"]), "EXTENDED_AGENT_CARD_NOT_CONFIGURED");
}
