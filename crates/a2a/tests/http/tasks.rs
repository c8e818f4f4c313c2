//! Sending messages, and reading and cancelling tasks.

use serde_json::json;

use crate::serving::{Gate, agent, message, message_to, serve};

// A2A-M-01, A2A-S-02
#[tokio::test]
async fn an_agent_answers_with_a_message_or_a_task() {
    let serving = serve(&agent(&Gate::default()).build()).await;
    for text in ["hello", "slow hello"] {
        let result = serving.ask("SendMessage", message(text)).await;
        assert_eq!(result["message"]["parts"], json!([{"text": "hi"}]), "{result}");
        assert_eq!(result["message"]["role"], "ROLE_AGENT");
        assert!(result["message"]["contextId"].is_string() && result.get("task").is_none(), "{result}");
    }
    let task = serving.ask("SendMessage", message("work")).await["task"].clone();
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED");
    assert_eq!(task["status"]["message"]["parts"][0]["text"], "did work");
    assert_eq!(task["history"][0]["messageId"], "m1");
    assert_eq!(serving.ask("GetTask", json!({"id": task["id"]})).await, task);
}

// A2A-M-02
#[tokio::test]
async fn a_client_may_wait_or_get_the_task_at_once() {
    let gate = Gate::default();
    let serving = serve(&agent(&gate).build()).await;
    let mut params = message("wait");
    params["configuration"] = json!({"returnImmediately": true});
    let task = serving.ask("SendMessage", params).await["task"].clone();
    let state = task["status"]["state"].as_str().unwrap();
    assert!(["TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"].contains(&state), "{task}");
    gate.0.notify_one();
    let stream = serving.post("SubscribeToTask", json!({"id": task["id"]})).await;
    if stream.is_events() {
        crate::serving::events(stream).await;
    }
    let task = serving.ask("GetTask", json!({"id": task["id"]})).await;
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED", "{task}");
    assert_eq!(task["artifacts"][0]["parts"][0]["text"], "at once");
    let states = [
        ("ask", "TASK_STATE_INPUT_REQUIRED"),
        ("login", "TASK_STATE_AUTH_REQUIRED"),
        ("refuse", "TASK_STATE_REJECTED"),
    ];
    for (text, state) in states {
        let result = serving.ask("SendMessage", message(text)).await;
        assert_eq!(result["task"]["status"]["state"], state);
    }
}

// A2A-M-03
#[tokio::test]
async fn a_task_goes_on_with_the_answer_to_its_question_and_no_further_than_its_end() {
    let serving = serve(&agent(&Gate::default()).build()).await;
    let asked = serving.ask("SendMessage", message("ask")).await["task"].clone();
    let mut foreign = message_to(&asked, "Paris");
    foreign["message"]["contextId"] = json!("another");
    assert_eq!(serving.error("SendMessage", foreign).await, -32602);
    let done = serving.ask("SendMessage", message_to(&asked, "count")).await["task"].clone();
    assert_eq!((&done["id"], &done["contextId"]), (&asked["id"], &asked["contextId"]));
    // The first message, the question, and the answer to it.
    assert_eq!(done["status"]["message"]["parts"][0]["text"], "3 messages");
    assert_eq!(serving.error("SendMessage", message_to(&done, "more")).await, -32004);
    assert_eq!(serving.error("SendMessage", message_to(&json!({"id": "mine"}), "more")).await, -32001);
    let mut next = message("work");
    next["message"]["contextId"] = asked["contextId"].clone();
    let next = serving.ask("SendMessage", next).await["task"].clone();
    assert_eq!(next["contextId"], asked["contextId"]);
    assert_ne!(next["id"], asked["id"]);
}

// A2A-M-03
#[tokio::test]
async fn a_message_to_a_task_that_is_being_worked_on_is_refused() {
    let gate = Gate::default();
    let serving = serve(&agent(&gate).build()).await;
    let mut params = message("wait");
    params["configuration"] = json!({"returnImmediately": true});
    let task = serving.ask("SendMessage", params).await["task"].clone();
    assert_eq!(serving.error("SendMessage", message_to(&task, "hurry")).await, -32004);
}

// A2A-M-05
#[tokio::test]
async fn a_client_says_how_much_history_it_wants() {
    let serving = serve(&agent(&Gate::default()).build()).await;
    let asked = serving.ask("SendMessage", message("ask")).await["task"].clone();
    let done = serving.ask("SendMessage", message_to(&asked, "work")).await["task"].clone();
    assert_eq!(done["history"].as_array().unwrap().len(), 3);
    let with =
        async |length: u32| serving.ask("GetTask", json!({"id": done["id"], "historyLength": length})).await;
    assert!(with(0).await.get("history").is_none());
    assert_eq!(with(1).await["history"], json!([done["history"][2]]));
    assert_eq!(with(9).await["history"], done["history"]);
    let mut params = message("work");
    params["configuration"] = json!({"historyLength": 0});
    assert!(serving.ask("SendMessage", params).await["task"].get("history").is_none());
    assert_eq!(serving.error("GetTask", json!({"id": done["id"], "historyLength": -1})).await, -32602);
}

// A2A-M-06
#[tokio::test]
async fn a_task_can_be_cancelled_until_it_has_ended() {
    let serving = serve(&agent(&Gate::default()).build()).await;
    let mut params = message("wait");
    params["configuration"] = json!({"returnImmediately": true});
    let working = serving.ask("SendMessage", params).await["task"].clone();
    let asking = serving.ask("SendMessage", message("ask")).await["task"].clone();
    for task in [working, asking] {
        for _ in 0..2 {
            let cancelled = serving.ask("CancelTask", json!({"id": task["id"]})).await;
            assert_eq!(cancelled["status"]["state"], "TASK_STATE_CANCELED", "{cancelled}");
        }
        assert_eq!(serving.error("SendMessage", message_to(&task, "more")).await, -32004);
    }
    let done = serving.ask("SendMessage", message("work")).await["task"].clone();
    assert_eq!(serving.error("CancelTask", json!({"id": done["id"]})).await, -32002);
    assert_eq!(serving.error("CancelTask", json!({"id": "none"})).await, -32001);
}

#[tokio::test]
async fn a_function_that_fails_fails_its_task_or_its_call() {
    let serving = serve(&agent(&Gate::default()).build()).await;
    assert_eq!(serving.error("SendMessage", message("fail")).await, 7);
    let task = serving.ask("SendMessage", message("fail late")).await["task"].clone();
    assert_eq!(task["status"]["state"], "TASK_STATE_FAILED");
    assert_eq!(task["status"]["message"]["parts"][0]["text"], "it broke");
    let task = serving.ask("SendMessage", message("much")).await["task"].clone();
    let text = task["status"]["message"]["parts"][0]["text"].as_str().unwrap();
    assert!(task["status"]["state"] == "TASK_STATE_FAILED" && text.contains("task_size"), "{task}");
}

// A2A-E-02
#[tokio::test]
async fn a_task_of_another_caller_is_not_there() {
    let serving = serve(&agent(&Gate::default()).build()).await;
    let task = serving.ask_as("ann", "SendMessage", message("ask")).await["result"]["task"].clone();
    let id = json!({"id": task["id"]});
    assert_eq!(serving.ask_as("ann", "GetTask", id.clone()).await["result"], task);
    for (method, params) in [
        ("GetTask", id.clone()),
        ("CancelTask", id.clone()),
        ("SubscribeToTask", id.clone()),
        ("SendMessage", message_to(&task, "more")),
    ] {
        let mut foreign = serving.ask_as("bob", method, params).await;
        let mut missing = serving.ask_as("bob", "GetTask", json!({"id": "none"})).await;
        assert_eq!(foreign["error"]["code"], -32001, "{method}");
        // They differ in the identifier that the client itself has sent.
        for answer in [&mut foreign, &mut missing] {
            answer["error"]["data"][0]["metadata"].take();
        }
        assert_eq!(foreign, missing);
    }
}
