//! Calls that go on after their request was answered, in both forms: that of 2025-11-25, and the extension for 2026-07-28.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use switchboard_core::{ErrorObject, Method, MethodDescription, Reply, ResultDescription, Router, layer_fn};
use switchboard_mcp::Server;
use tokio::sync::Semaphore;

use crate::client::{Client, alone, everything};
use crate::fixtures::{add, server, stuck, text, text_tool};

/// A tool that may be, or has to be, called as a task.
fn as_task(method: Method, mode: &'static str) -> Method {
    method.described(move |_| {
        MethodDescription::documented("A job.")
            .result(ResultDescription::Value(json!({"type": "string"})))
            .extension("x-mcp", json!({"task": mode}))
    })
}

/// A server with jobs. `job` waits for a permit.
fn jobs() -> (Server, Arc<Semaphore>) {
    let gate = Arc::new(Semaphore::new(0));
    let waits = Arc::clone(&gate);
    let job = text_tool("job", move |_, _| {
        let waits = Arc::clone(&waits);
        async move {
            waits.acquire().await.unwrap().forget();
            Ok("done".to_owned())
        }
    });
    let fails = text_tool("fails", |_, _| async { Err(ErrorObject::validation_failed("no such city")) });
    let breaks = text_tool("breaks", |_, _| async { Err(ErrorObject::internal(&"a secret")) });
    let asks = text_tool("asks", |_, caller| async move {
        let name = caller.elicit::<String>("What is your name?").key("name").await?;
        Ok(format!("Hello, {}!", name.accepted().unwrap_or_default()))
    });
    let methods = [
        as_task(job, "optional"),
        as_task(fails, "optional"),
        as_task(breaks, "optional"),
        as_task(asks, "optional"),
        as_task(text_tool("heavy", |_, _| async { Ok("heavy".to_owned()) }), "required"),
        add(),
    ];
    (server(methods), gate)
}

/// A client with a session of the revision that has tasks in the core.
async fn session(server: &Server) -> Client {
    Client::session(server, "2025-11-25", everything()).await
}

/// Calls a tool as a task in a session, and gives its identifier.
async fn begin(client: &mut Client, tool: &str, task: Value) -> Value {
    let answer = client.ask("tools/call", json!({"name": tool, "task": task})).await;
    let task = &answer["result"]["task"];
    assert_eq!(task["status"], "working", "{answer}");
    assert!(task["createdAt"].as_str().unwrap().ends_with('Z') && task["pollInterval"].is_u64());
    task["taskId"].clone()
}

/// The params of a request of a client that knows the extension.
fn extended(params: Value) -> Value {
    let mut capabilities = everything();
    capabilities["extensions"] = json!({"io.modelcontextprotocol/tasks": {}});
    alone(params, capabilities)
}

/// Calls a tool of which the server makes a task, and gives its identifier.
async fn begin_extended(client: &mut Client, tool: &str) -> Value {
    let answer = client.ask("tools/call", extended(json!({"name": tool}))).await;
    let task = &answer["result"];
    assert_eq!((&task["resultType"], &task["status"]), (&json!("task"), &json!("working")), "{answer}");
    assert!(task["ttlMs"].is_u64() && task["pollIntervalMs"].is_u64(), "{task}");
    task["taskId"].clone()
}

/// Looks at a task until it has this status.
async fn until(client: &mut Client, id: &Value, is_extension: bool, status: &str) -> Value {
    loop {
        let params = json!({"taskId": id});
        let params = if is_extension { extended(params) } else { params };
        let answer = client.ask("tasks/get", params).await;
        if answer["result"]["status"] == status {
            return answer["result"].clone();
        }
        assert_eq!(answer["result"]["status"], "working", "{answer}");
        tokio::task::yield_now().await;
    }
}

/// A server with a durable tool, and the methods of a queue that were called. The job ends when it is asked for the second time.
fn queue() -> (Server, Arc<Mutex<Vec<String>>>) {
    let called: Arc<Mutex<Vec<String>>> = Arc::default();
    let durable = |name: &str| {
        text_tool(name, |_, _| async { Ok("called".to_owned()) }).described(|_| {
            MethodDescription::documented("A job.")
                .result(ResultDescription::Value(json!({"type": "string"})))
                .durable()
        })
    };
    let router = Router::builder().add(vec![durable("build"), durable("endless")]).build().unwrap();
    let methods = Arc::clone(&called);
    let queue = layer_fn(move |call, next| {
        let method = call.method.as_str().to_owned();
        let params = call.params.as_ref().map(|params| params.decode::<Value>().unwrap()).unwrap_or_default();
        let asked = {
            let mut methods = methods.lock().unwrap();
            methods.push(method.clone());
            methods.iter().filter(|other| **other == method).count()
        };
        async move {
            match method.as_str() {
                "rpc.job.submit" => Reply::of(&json!({"job": params["method"], "state": "queued"})),
                "rpc.job.result" if params["job"] == "build" && asked == 2 => {
                    Reply::of(&json!({"state": "done", "result": "built"}))
                }
                "rpc.job.result" => Reply::of(&json!({"state": "running"})),
                "rpc.job.cancel" => Reply::of(&json!({"state": "cancelled"})),
                _ => next.run(&call).await,
            }
        }
    });
    (Server::new(router.layered(queue)).named("test", "1.0.0"), called)
}

#[tokio::test]
async fn a_durable_tool_is_a_job_of_its_task_and_is_cancelled_with_it() {
    let (server, called) = queue();
    let mut client = session(&server).await;
    let task = begin(&mut client, "build", json!({})).await;
    until(&mut client, &task, false, "completed").await;
    let answer = client.ask("tasks/result", json!({"taskId": task})).await;
    assert_eq!(text(&answer["result"]), "built");
    assert_eq!(*called.lock().unwrap(), ["rpc.job.submit", "rpc.job.result", "rpc.job.result"]);
    let task = begin(&mut client, "endless", json!({})).await;
    let count = |method: &str| called.lock().unwrap().iter().filter(|called| *called == method).count();
    while count("rpc.job.result") < 3 {
        tokio::task::yield_now().await;
    }
    client.ask("tasks/cancel", json!({"taskId": task})).await;
    while count("rpc.job.cancel") == 0 {
        tokio::task::yield_now().await;
    }
}

// MCP-TK-05
#[tokio::test]
async fn the_task_of_a_job_is_known_to_every_server_with_its_queue() {
    const JOB: &str = "0123456789abcdef0123456789abcdef";
    let (ended, is_ended) = tokio::sync::watch::channel(false);
    let queued = || {
        let build = text_tool("build", |_, _| async { Ok("called".to_owned()) }).described(|_| {
            MethodDescription::documented("A job.")
                .result(ResultDescription::Value(json!({"type": "string"})))
                .durable()
        });
        let router = Router::builder().add(vec![build]).build().unwrap();
        let is_ended = is_ended.clone();
        let queue = layer_fn(move |call, next| {
            let params =
                call.params.as_ref().map(|params| params.decode::<Value>().unwrap()).unwrap_or_default();
            let state = if *is_ended.borrow() { "done" } else { "running" };
            async move {
                match call.method.as_str() {
                    "rpc.job.submit" => Reply::of(&json!({"job": JOB, "state": "queued"})),
                    "rpc.job.status" | "rpc.job.result" if params["job"] == JOB => {
                        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
                        let submitted = u64::try_from(now.as_millis()).unwrap();
                        let mut job =
                            json!({"job": JOB, "state": state, "method": "build", "submitted": submitted});
                        if state == "done" {
                            job["result"] = json!("built");
                        }
                        Reply::of(&job)
                    }
                    "rpc.job.status" => Reply::error(ErrorObject::invalid_params("unknown job")),
                    _ => next.run(&call).await,
                }
            }
        });
        Server::new(router.layered(queue)).named("test", "1.0.0")
    };
    let mut client = session(&queued()).await;
    let task = begin(&mut client, "build", json!({})).await;
    assert_eq!(task, JOB);
    drop(client);
    let mut later = session(&queued()).await;
    let told = later.ask("tasks/get", json!({"taskId": JOB})).await;
    assert_eq!(told["result"]["status"], "working", "{told}");
    ended.send(true).unwrap();
    assert_eq!(text(&later.ask("tasks/result", json!({"taskId": JOB})).await["result"]), "built");
    assert_eq!(until(&mut later, &json!(JOB), false, "completed").await["taskId"], JOB);
    // Others do not exist.
    for other in ["fedcba9876543210fedcba9876543210", "build", ""] {
        assert_eq!(later.ask("tasks/get", json!({"taskId": other})).await["error"]["code"], -32602);
    }
}

// MCP-TK-01
#[tokio::test(start_paused = true)]
async fn the_client_says_what_is_a_task_and_the_tool_whether_it_may_be() {
    let (server, gate) = jobs();
    let mut client = Client::connect(&server);
    let answer = client.initialize("2025-11-25", json!({})).await;
    let tasks = &answer["result"]["capabilities"]["tasks"];
    assert_eq!((&tasks["requests"], &tasks["cancel"]), (&json!({"tools": {"call": {}}}), &json!({})));
    let listed = client.ask("tools/list", json!({})).await;
    let support = |name: &str| {
        let tools = listed["result"]["tools"].as_array().unwrap();
        tools.iter().find(|tool| tool["name"] == name).unwrap()["execution"]["taskSupport"].clone()
    };
    assert_eq!(
        [support("job"), support("heavy"), support("math_add")],
        [json!("optional"), json!("required"), Value::Null]
    );
    let arguments = json!({"a": 1, "b": 2});
    let forbidden =
        client.ask("tools/call", json!({"name": "math_add", "arguments": arguments, "task": {}})).await;
    assert_eq!(forbidden["error"]["code"], -32601);
    assert_eq!(client.ask("tools/call", json!({"name": "heavy"})).await["error"]["code"], -32601);
    gate.add_permits(1);
    assert_eq!(text(&client.call("job", json!({})).await), "done");
}

// MCP-TK-02
#[tokio::test(start_paused = true)]
async fn older_clients_wait_for_what_others_make_a_task() {
    let (server, gate) = jobs();
    gate.add_permits(1);
    let mut client = Client::session(&server, "2025-06-18", json!({})).await;
    let answer = client.ask("tools/call", json!({"name": "job", "task": {}})).await;
    assert_eq!(text(&answer["result"]), "done");
}

// MCP-TK-02, MCP-TK-03, MCP-TK-04, MCP-TK-05
#[tokio::test(start_paused = true)]
async fn a_task_of_a_session_is_created_looked_at_and_waited_for() {
    let (server, gate) = jobs();
    let mut client = session(&server).await;
    let id = begin(&mut client, "job", json!({"ttl": 60_000})).await;
    let told = client.ask("tasks/get", json!({"taskId": id})).await;
    assert_eq!((&told["result"]["status"], &told["result"]["ttl"]), (&json!("working"), &json!(60_000)));
    // The result is there when the task has ended, and other requests are answered meanwhile.
    let waiting = client.request("tasks/result", json!({"taskId": id})).await;
    client.is_silent().await;
    gate.add_permits(1);
    let result = client.next().await;
    assert_eq!((&result["id"], text(&result["result"])), (&json!(waiting), "done"));
    let related = &result["result"]["_meta"]["io.modelcontextprotocol/related-task"];
    assert_eq!(related["taskId"], id);
    assert_eq!(until(&mut client, &id, false, "completed").await.get("result"), None);
    let again = client.ask("tasks/result", json!({"taskId": id})).await;
    assert_eq!(text(&again["result"]), "done");
}

// MCP-TK-04, MCP-TK-05
#[tokio::test(start_paused = true)]
async fn a_task_fails_as_its_call_would() {
    let (server, _gate) = jobs();
    let mut client = session(&server).await;
    for (tool, is_error) in [("fails", true), ("breaks", false)] {
        let id = begin(&mut client, tool, json!({})).await;
        until(&mut client, &id, false, "failed").await;
        let result = client.ask("tasks/result", json!({"taskId": id})).await;
        assert_eq!(result["result"]["isError"] == true, is_error, "{result}");
        assert_eq!(result["error"]["code"] == -32603, !is_error, "{result}");
        assert!(!result.to_string().contains("a secret"), "{result}");
    }
}

// MCP-TK-03, MCP-TK-04
#[tokio::test(start_paused = true)]
async fn a_cancelled_task_stops_and_stays_cancelled() {
    let (stuck, mut events) = stuck();
    let mut client = session(&server([as_task(stuck, "optional")])).await;
    let id = begin(&mut client, "stuck", json!({})).await;
    assert_eq!(events.recv().await, Some("started"));
    let cancelled = client.ask("tasks/cancel", json!({"taskId": id})).await;
    assert_eq!(cancelled["result"]["status"], "cancelled", "{cancelled}");
    assert_eq!(events.recv().await, Some("dropped"));
    assert_eq!(client.ask("tasks/cancel", json!({"taskId": id})).await["error"]["code"], -32602);
    assert!(client.ask("tasks/result", json!({"taskId": id})).await.get("error").is_some());
    until(&mut client, &id, false, "cancelled").await;
}

// MCP-TK-05
#[tokio::test(start_paused = true)]
async fn tasks_have_names_that_cannot_be_guessed_and_are_not_listed() {
    let (server, _gate) = jobs();
    let mut client = session(&server).await;
    let one = begin(&mut client, "job", json!({})).await;
    let other = begin(&mut client, "job", json!({})).await;
    assert!(one != other && one.as_str().unwrap().len() >= 22);
    assert_eq!(client.ask("tasks/list", json!({})).await["error"]["code"], -32601);
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        for id in [json!("unknown"), json!(""), json!(5), Value::Null] {
            let answer = client.ask(method, json!({"taskId": id})).await;
            assert_eq!(answer["error"]["code"], -32602, "{method}: {answer}");
        }
    }
}

// MCP-TK-02
#[tokio::test(start_paused = true)]
async fn a_task_is_forgotten_after_the_time_that_its_client_gave_it() {
    let (stuck, mut events) = stuck();
    let server = server([as_task(stuck, "optional")]);
    let mut client = session(&server).await;
    let id = begin(&mut client, "stuck", json!({"ttl": 1})).await;
    assert_eq!(events.recv().await, Some("started"));
    loop {
        let answer = client.ask("tasks/get", json!({"taskId": id})).await;
        if answer.get("error").is_some() {
            assert_eq!(answer["error"]["code"], -32602);
            break;
        }
    }
    // What nobody can ask for any more does not run on: the next task makes room.
    begin(&mut client, "stuck", json!({})).await;
    assert_eq!(events.recv().await, Some("dropped"));
}

// MCP-TX-01, MCP-TX-02, MCP-TX-03
#[tokio::test(start_paused = true)]
async fn the_server_makes_a_task_if_the_client_knows_the_extension() {
    let (server, gate) = jobs();
    let mut client = Client::connect(&server);
    let discovered = client.ask_alone("server/discover", json!({})).await;
    assert!(discovered["result"]["capabilities"]["extensions"]["io.modelcontextprotocol/tasks"].is_object());
    let id = begin_extended(&mut client, "job").await;
    assert_eq!(until(&mut client, &id, true, "working").await["resultType"], "complete");
    gate.add_permits(2);
    let told = until(&mut client, &id, true, "completed").await;
    assert_eq!(text(&told["result"]), "done");
    // One that does not know it waits, unless the tool cannot be called in another way.
    assert_eq!(text(&client.ask_alone("tools/call", json!({"name": "job"})).await["result"]), "done");
    let refused = client.ask_alone("tools/call", json!({"name": "heavy"})).await;
    assert_eq!(refused["error"]["code"], -32021);
    let required = &refused["error"]["data"]["requiredCapabilities"]["extensions"];
    assert!(required["io.modelcontextprotocol/tasks"].is_object(), "{refused}");
}

// MCP-TX-03
#[tokio::test(start_paused = true)]
async fn errors_of_tools_are_results_and_others_are_errors_of_the_task() {
    let (server, _gate) = jobs();
    let mut client = Client::connect(&server);
    let id = begin_extended(&mut client, "fails").await;
    assert_eq!(until(&mut client, &id, true, "completed").await["result"]["isError"], true);
    let id = begin_extended(&mut client, "breaks").await;
    let told = until(&mut client, &id, true, "failed").await;
    assert_eq!((&told["error"]["code"], told.get("result")), (&json!(-32603), None));
}

// MCP-TX-04
#[tokio::test(start_paused = true)]
async fn a_task_asks_through_its_state() {
    let (server, _gate) = jobs();
    let mut client = Client::connect(&server);
    let id = begin_extended(&mut client, "asks").await;
    let told = until(&mut client, &id, true, "input_required").await;
    assert_eq!(told["inputRequests"]["name"]["method"], "elicitation/create");
    let update = |answers: Value| extended(json!({"taskId": id, "inputResponses": answers}));
    let other = client.ask("tasks/update", update(json!({"other": {"action": "accept"}}))).await;
    assert_eq!(other["result"]["resultType"], "complete", "{other}");
    until(&mut client, &id, true, "input_required").await;
    let wrong = client.ask("tasks/update", update(json!([]))).await;
    assert_eq!(wrong["error"]["code"], -32602);
    let answer = json!({"name": {"action": "accept", "content": {"value": "Ann"}}});
    client.ask("tasks/update", update(answer)).await;
    assert_eq!(text(&until(&mut client, &id, true, "completed").await["result"]), "Hello, Ann!");
}

// MCP-TX-05, MCP-TX-06
#[tokio::test(start_paused = true)]
async fn the_extension_cancels_and_knows_no_other_methods() {
    let (stuck, mut events) = stuck();
    let mut client = Client::connect(&server([as_task(stuck, "optional")]));
    let id = begin_extended(&mut client, "stuck").await;
    assert_eq!(events.recv().await, Some("started"));
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let params = json!({"taskId": id, "inputResponses": {}});
        assert_eq!(client.ask_alone(method, params).await["error"]["code"], -32021, "{method}");
        let params = extended(json!({"taskId": "unknown", "inputResponses": {}}));
        assert_eq!(client.ask(method, params).await["error"]["code"], -32602, "{method}");
    }
    for method in ["tasks/result", "tasks/list"] {
        let answer = client.ask(method, extended(json!({"taskId": id}))).await;
        assert_eq!(answer["error"]["code"], -32601, "{method}");
    }
    let cancelled = client.ask("tasks/cancel", extended(json!({"taskId": id}))).await;
    assert_eq!(cancelled["result"]["resultType"], "complete", "{cancelled}");
    assert_eq!(events.recv().await, Some("dropped"));
    until(&mut client, &id, true, "cancelled").await;
    // It has ended already, which is not an error in this form.
    let again = client.ask("tasks/cancel", extended(json!({"taskId": id}))).await;
    assert_eq!(again["result"]["resultType"], "complete", "{again}");
}

// MCP-TX-07
#[tokio::test(start_paused = true)]
async fn a_subscription_to_a_task_tells_how_it_ends() {
    let (server, gate) = jobs();
    let mut client = Client::connect(&server);
    let id = begin_extended(&mut client, "job").await;
    let listen =
        client.request("subscriptions/listen", extended(json!({"notifications": {"taskIds": [id]}}))).await;
    let acknowledged = client.notification("notifications/subscriptions/acknowledged").await;
    assert_eq!(acknowledged["notifications"]["taskIds"], json!([id]));
    gate.add_permits(1);
    let told = client.notification("notifications/tasks").await;
    assert_eq!((&told["taskId"], &told["status"]), (&id, &json!("completed")));
    assert_eq!(told["_meta"]["io.modelcontextprotocol/subscriptionId"], listen);
    assert_eq!(text(&told["result"]), "done");
}
