//! Methods as skills, and skills as methods.

use std::sync::Arc;

use futures_util::stream;
use serde_json::{Value, json};
use switchboard_a2a::adapt::{Methods, Skills};
use switchboard_a2a::model::{AgentCard, AgentSkill};
use switchboard_a2a::{Agent, Client, Outcome, TaskHandle};
use switchboard_core::{Describe as _, Dialect, ErrorObject, Method, Peer, Router};
use tokio::sync::Notify;

use crate::serving::{Gate, Serving, agent, events, serve};

fn methods() -> Router {
    Router::builder()
        .method("math/add", |(a, b): (i64, i64), _| Ok::<_, ErrorObject>(a + b))
        .method("math/root", |(n,): (f64,), _| match n < 0.0 {
            true => Err(ErrorObject::new(7, "no real root")),
            false => Ok(n.sqrt()),
        })
        .add(Method::stream("count", |(to,): (u32,), _| stream::iter(1..=to)))
        .build()
        .unwrap()
}

fn instruction(data: Value) -> Value {
    json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"data": data}]}})
}

async fn skills() -> Serving {
    let skills = Skills::of(methods());
    serve(&skills.agent(AgentCard::new("Calculator", "Calculates.", "1")).build()).await
}

async fn client(serving: &Serving) -> Client {
    Client::connect(&format!("http://{}", serving.address)).await.unwrap()
}

// A2A-D-05
#[tokio::test]
async fn methods_are_skills_of_an_agent() {
    let serving = skills().await;
    let ids: Vec<String> =
        client(&serving).await.card().skills.iter().map(|skill| skill.id.clone()).collect();
    assert_eq!(ids, ["count", "math/add", "math/root"]);
    let added = serving.ask("SendMessage", instruction(json!({"skill": "math/add", "params": [2, 3]}))).await;
    assert_eq!(added["task"]["artifacts"][0]["parts"], json!([{"data": 5}]));
    assert_eq!(added["task"]["status"]["state"], "TASK_STATE_COMPLETED");
    let counted = instruction(json!({"skill": "count", "params": [3]}));
    let events = events(serving.post("SendStreamingMessage", counted).await).await;
    let chunks: Vec<(&Value, bool)> = events
        .iter()
        .filter_map(|event| event.get("artifactUpdate"))
        .map(|update| (&update["artifact"]["parts"][0]["data"], update.get("lastChunk").is_some()))
        .collect();
    assert_eq!(chunks, [(&json!(1), false), (&json!(2), false), (&json!(3), true)]);
    let check = async |params: Value, state: &str, text: &str| {
        let task = serving.ask("SendMessage", params).await["task"].clone();
        assert_eq!(task["status"]["state"], state, "{task}");
        let said = task["status"]["message"]["parts"][0]["text"].as_str().unwrap();
        assert!(said.contains(text), "{said}");
    };
    check(instruction(json!({"skill": "math/root", "params": [-1]})), "TASK_STATE_FAILED", "no real root")
        .await;
    check(instruction(json!({"skill": "math/add", "params": ["a"]})), "TASK_STATE_REJECTED", "params").await;
    check(instruction(json!({"skill": "rm"})), "TASK_STATE_REJECTED", "count, math/add, math/root").await;
    check(instruction(json!({"params": [2, 3]})), "TASK_STATE_REJECTED", "no such skill").await;
    check(crate::serving::message("add 2 and 3"), "TASK_STATE_REJECTED", "a part with data").await;
}

#[tokio::test]
async fn the_only_skill_needs_no_name() {
    let skills = Skills::of(methods()).only(|method| method.name == "math/add");
    let serving = serve(&skills.agent(AgentCard::new("Adder", "Adds.", "1")).build()).await;
    let added = serving.ask("SendMessage", instruction(json!({"params": [2, 3]}))).await;
    assert_eq!(added["task"]["artifacts"][0]["parts"], json!([{"data": 5}]));
    let other = serving.ask("SendMessage", instruction(json!({"skill": "math/root", "params": [4]}))).await;
    assert_eq!(other["task"]["status"]["state"], "TASK_STATE_REJECTED");
}

#[tokio::test]
async fn skills_of_an_agent_are_methods() {
    let serving = skills().await;
    let methods = Methods::of(&client(&serving).await);
    let described = methods.describe_in(Dialect::default()).methods;
    let names: Vec<&str> = described.iter().map(|method| method.name.as_str()).collect();
    assert_eq!(names, ["count", "math/add", "math/root"]);
    let router = Router::builder().mount_described("calculator/", methods).build().unwrap();
    let peer = Peer::local(router);
    let sum: Value = peer.call("calculator/math/add", json!({"params": [2, 3]})).await.unwrap();
    assert_eq!((&sum["data"], &sum["state"]), (&json!([5]), &json!("TASK_STATE_COMPLETED")));
    let error = peer.call::<Value>("calculator/math/root", json!({"params": [-1]})).await.unwrap_err();
    let error = error.rejection().unwrap();
    assert_eq!((error.code.0, &*error.message), (-32000, "no real root"));
    let unknown = peer.call::<Value>("calculator/none", json!({})).await.unwrap_err();
    assert_eq!(unknown.rejection().unwrap().code.0, -32601);
    let wrong = peer.call::<Value>("calculator/count", json!({"words": "a"})).await.unwrap_err();
    assert_eq!(wrong.rejection().unwrap().code.0, -32602);
}

#[tokio::test]
async fn a_question_of_an_agent_is_a_result_and_its_answer_another_call() {
    let serving = serve(&agent(&Gate::default()).build()).await;
    let peer = Peer::local(Methods::of(&client(&serving).await));
    let asked: Value = peer.call("obey", ("ask",)).await.unwrap();
    assert_eq!(
        (&asked["state"], &asked["text"]),
        (&json!("TASK_STATE_INPUT_REQUIRED"), &json!("Which city?"))
    );
    let answer = json!({"text": "Paris", "taskId": asked["taskId"]});
    let done: Value = peer.call("obey", answer).await.unwrap();
    assert_eq!((&done["state"], &done["text"]), (&json!("TASK_STATE_COMPLETED"), &json!("did Paris")));
}

#[tokio::test]
async fn chunks_are_progress() {
    let serving = serve(&agent(&Gate::default()).build()).await;
    let peer = Peer::local(Methods::of(&client(&serving).await));
    let (told, mut progress) = tokio::sync::mpsc::unbounded_channel();
    let call = peer.call::<Value>("obey", ("chunks",)).on_progress(move |value: Value| {
        told.send(value).unwrap();
    });
    let done = call.await.unwrap();
    assert_eq!(done["text"], "one \ntwo");
    let mut texts = Vec::new();
    while let Ok(value) = progress.try_recv() {
        texts.extend(value["artifactUpdate"]["artifact"]["parts"][0]["text"].as_str().map(str::to_owned));
    }
    assert_eq!(texts, ["one ", "two"]);
}

/// Says that it was dropped.
struct Told(Arc<Notify>);

impl Drop for Told {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

#[tokio::test]
async fn a_call_that_is_cancelled_cancels_its_task() {
    let (begun, dropped) = <(Arc<Notify>, Arc<Notify>)>::default();
    let drops = Arc::clone(&dropped);
    let work = move |_, task: TaskHandle| {
        let told = Told(Arc::clone(&drops));
        async move {
            task.working("at it").await?;
            std::future::pending::<()>().await;
            drop(told);
            Ok::<_, switchboard_a2a::Ended>(Outcome::completed())
        }
    };
    let card = AgentCard::new("Slow", "Never ends.", "1").skill(AgentSkill::new("wait", "Wait", "Waits."));
    let serving = serve(&Agent::new(card, work).build()).await;
    let peer = Peer::local(Methods::of(&client(&serving).await));
    let seen = Arc::clone(&begun);
    let call = async move {
        peer.call::<Value>("wait", ("now",)).on_progress(move |_: Value| seen.notify_one()).await
    };
    let call = tokio::spawn(call);
    begun.notified().await;
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    dropped.notified().await;
}
