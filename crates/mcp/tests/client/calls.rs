//! Calls: tools, resources, prompts, lists, progress, cancelling and timeouts.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_core::{CallError, ErrorObject};
use switchboard_mcp::ToolError;
use switchboard_mcp::model::{Body, CompletionParams, CompletionRef};

use crate::client::within;
use crate::fixtures::{add, offered, server, stuck, text_tool};
use crate::scripted::{Scripted, result, stateless};
use crate::ways::{WAYS, builder, connect};

// MCP-X-01, MCP-X-02, MCP-SSE-06, MCP-T-05, MCP-T-07
#[tokio::test]
async fn tools_are_called_the_same_way_over_every_transport_and_in_each_era() {
    let fails = text_tool("fails", |_, _| async { Err(ErrorObject::validation_failed("no such city")) });
    let server = server([add(), fails]);
    for way in WAYS {
        let connected = connect(way, &server, builder()).await;
        let client = &connected.client;
        assert_eq!(client.server().unwrap().name, "test");
        let sum: i64 = within(client.call("math_add", json!({"a": 2, "b": 3})).into_future()).await.unwrap();
        assert_eq!(sum, 5, "{way:?}");
        let failed = within(client.call::<Value>("fails", ()).into_future()).await;
        assert!(
            matches!(&failed, Err(ToolError::Failed(result)) if result.text().contains("no such city")),
            "{failed:?}"
        );
        let unknown = within(client.tool("unknown", ()).into_future()).await;
        assert!(matches!(&unknown, Err(CallError::Rejected(_))), "{unknown:?}");
        within(client.ping().into_future()).await.unwrap();
    }
}

// MCP-G-01, MCP-RES-01, MCP-PR-01, MCP-O-01
#[tokio::test]
async fn lists_resources_and_prompts_are_read_over_every_transport_and_in_each_era() {
    let resource = offered("hours", json!({"resource": "test://hours"}), "9 to 5");
    let prompt = offered("plan", json!({"prompt": true}), "Plan a day.");
    let many = (0..250).map(|n| text_tool(&format!("tool{n:03}"), |_, _| async { Ok(String::new()) }));
    let server = server(many.chain([resource, prompt]));
    for way in WAYS {
        let connected = connect(way, &server, builder()).await;
        let client = &connected.client;
        let tools = within(client.tools().all()).await.unwrap();
        assert_eq!(tools.iter().filter(|tool| tool.name.starts_with("tool")).count(), 250, "{way:?}");
        assert_eq!(within(client.resources().all()).await.unwrap()[0].uri, "test://hours");
        let contents = within(client.read("test://hours").into_future()).await.unwrap();
        assert_eq!(contents[0].body, Body::Text("9 to 5".to_owned()));
        assert_eq!(within(client.prompts().all()).await.unwrap()[0].name, "plan");
        let messages = within(client.prompt("plan", ()).into_future()).await.unwrap().messages;
        assert_eq!(messages[0].content.as_text(), Some("Plan a day."));
        let params = CompletionParams::new(CompletionRef::Prompt("plan".to_owned()), "day", "M");
        // It completes nothing, and says so in one way or the other.
        let completed = within(client.complete(&params).into_future()).await;
        assert!(completed.is_err() || completed.unwrap().values.is_empty());
    }
}

// MCP-P-01
#[tokio::test]
async fn progress_is_seen_before_the_result() {
    let steps = text_tool("steps", |_, caller| async move {
        for step in 1..=3 {
            caller.progress_with(step, Some(3.0), "working").await;
        }
        Ok("done".to_owned())
    });
    let server = server([steps]);
    for way in WAYS {
        let connected = connect(way, &server, builder()).await;
        let seen = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&seen);
        let call = connected.client.tool("steps", ()).on_progress(move |progress| {
            told.lock().unwrap().push(progress.progress);
        });
        assert_eq!(within(call.into_future()).await.unwrap().text(), "done");
        assert_eq!(*seen.lock().unwrap(), [1.0, 2.0, 3.0], "{way:?}");
    }
}

// MCP-C-01, MCP-S-06, MCP-N-06, MCP-HTTP-07
#[tokio::test]
async fn a_dropped_call_is_cancelled_on_the_server() {
    for way in WAYS {
        let (stuck, mut events) = stuck();
        let connected = connect(way, &server([stuck]), builder()).await;
        let call = tokio::spawn(connected.client.tool("stuck", ()).into_future());
        assert_eq!(within(events.recv()).await, Some("started"));
        call.abort();
        assert_eq!(within(events.recv()).await, Some("dropped"), "{way:?}");
    }
}

// MCP-L-09
#[tokio::test]
async fn a_call_that_times_out_is_cancelled_on_the_server() {
    for way in WAYS {
        let (stuck, mut events) = stuck();
        let connected = connect(way, &server([stuck]), builder()).await;
        let call = connected.client.tool("stuck", ()).timeout(Duration::from_millis(200));
        assert_eq!(within(call.into_future()).await, Err(CallError::TimedOut), "{way:?}");
        assert_eq!(within(events.recv()).await, Some("started"));
        assert_eq!(within(events.recv()).await, Some("dropped"), "{way:?}");
    }
}

#[tokio::test]
async fn any_method_can_be_called_and_members_of_meta_are_kept() {
    let server = Scripted::start(|asked| match asked.method() {
        "shop/open-3" => {
            let meta = &asked.body["params"]["_meta"];
            assert_eq!(meta["com.example/trace"], "abc");
            assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
            assert_eq!(asked.body.to_string().matches("protocolVersion").count(), 1);
            result(&asked, &json!({"resultType": "complete", "door": asked.body["params"]["door"]}))
        }
        _ => stateless(&asked),
    })
    .await;
    let client = within(builder().connect(&server.url())).await.unwrap();
    let meta = json!({"com.example/trace": "abc", "io.modelcontextprotocol/protocolVersion": "1999-01-01"});
    let method = format!("shop/open-{}", 3);
    let told: Value =
        within(client.request(method, json!({"door": 7, "_meta": meta})).into_future()).await.unwrap();
    assert_eq!(told["door"], 7);
}
