//! Tasks belong to who began them.

use serde_json::{Value, json};
use switchboard_core::{MethodDescription, ResultDescription};

use crate::client::{Client, post_alone};
use crate::fixtures::{server, stuck};
use crate::serving::serve;

// MCP-TK-05, MCP-TX-06, MCP-SEC-02
#[tokio::test]
async fn a_task_of_another_caller_is_unknown_in_both_forms() {
    let (stuck, mut events) = stuck();
    let stuck = stuck.described(|_| {
        MethodDescription::documented("A job.")
            .result(ResultDescription::Value(json!({"type": "string"})))
            .extension("x-mcp", json!({"task": "optional"}))
    });
    let serving = serve(&server([stuck])).await;
    let of = async |user| Client::session_of(serving.address, "2025-11-25", json!({}), Some(user)).await;
    let (ann, bob) = (of("ann").await, of("bob").await);
    let begun = ann.ask("tools/call", json!({"name": "stuck", "task": {}})).await;
    let id = begun["result"]["task"]["taskId"].clone();
    assert_eq!(events.recv().await, Some("started"));
    let capabilities = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    let ask_alone = async |user: &'static str, method: &str| -> Value {
        let params = json!({"taskId": id, "inputResponses": {}});
        let headers = [("x-user", user), ("mcp-name", id.as_str().unwrap())];
        let received = post_alone(serving.address, &headers, method, params, capabilities.clone()).await;
        received.json().await
    };
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        let answer = bob.ask(method, json!({"taskId": id})).await;
        assert_eq!(answer["error"]["code"], -32602, "{method}: {answer}");
    }
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let answer = ask_alone("bob", method).await;
        assert_eq!(answer["error"]["code"], -32602, "{method}: {answer}");
    }
    // Another session of the same caller knows it, and so do its requests without one.
    let told = of("ann").await.ask("tasks/get", json!({"taskId": id})).await;
    assert_eq!(told["result"]["status"], "working", "{told}");
    assert_eq!(ask_alone("ann", "tasks/get").await["result"]["status"], "working");
    ask_alone("ann", "tasks/cancel").await;
    assert_eq!(events.recv().await, Some("dropped"));
}
