//! What tasks hold in memory: a bounded amount, however many there are.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test says what it measured")]
#![allow(clippy::needless_pass_by_value, reason = "values are written where they are sent")]

use allocation_counter::measure;
use serde_json::json;
use switchboard_a2a::model::{AgentCard, Message};
use switchboard_a2a::{Agent, AgentOptions, Outcome, TaskHandle};
use switchboard_core::{Call, Context, ErrorObject, Json, Metadata, Outcome as Replied, Service};
use switchboard_layers::store::{MemoryStore, StoreLimits};

/// How many tasks are kept: fewer in a debug build.
const TASKS: usize = if cfg!(debug_assertions) { 10_000 } else { 100_000 };

/// The most that a task with a short message may hold, in bytes: its record, and its place in the index.
const EACH: i64 = 1_500;

async fn work(_: Message, _: TaskHandle) -> Result<Outcome, ErrorObject> {
    Ok(Outcome::completed())
}

fn call(method: &'static str, params: serde_json::Value) -> Call {
    let mut metadata = Metadata::default();
    metadata.insert("a2a-version", "1.0");
    let params = Json::encode(&params).unwrap();
    Call::new(method, Some(params)).with_context(Context::default().with_metadata(metadata))
}

#[test]
fn a_hundred_thousand_tasks_take_a_bounded_amount_and_further_ones_no_more() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let store = MemoryStore::new(StoreLimits::default().with_bytes(256 << 20));
    let options = AgentOptions::default().with_tasks(TASKS);
    let server = Agent::new(AgentCard::new("Test", "Works.", "1"), work)
        .with_store(store)
        .with_options(options)
        .build();
    let service = server.service();
    let send = |count: usize| {
        for _ in 0..count {
            let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "work"}]});
            let reply = runtime.block_on(service.call(&call("SendMessage", json!({"message": message}))));
            assert!(matches!(reply.outcome, Replied::Value(_)), "{reply:?}");
        }
    };
    let first = measure(|| send(TASKS));
    let each = first.bytes_current / i64::try_from(TASKS).unwrap();
    println!("{TASKS} tasks hold {each} bytes each");
    assert!(each < EACH, "{each}");
    let more = measure(|| send(TASKS / 10));
    let growth = more.bytes_current / i64::try_from(TASKS / 10).unwrap();
    println!("further tasks hold {growth} bytes each");
    assert!(growth < EACH / 10, "{growth}");
    let reply = runtime.block_on(service.call(&call("ListTasks", json!({"pageSize": 1}))));
    let Replied::Value(page) = reply.outcome else { panic!("{reply:?}") };
    assert_eq!(page.get("totalSize").unwrap().as_str(), TASKS.to_string());
}
