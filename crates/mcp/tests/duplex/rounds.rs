//! Calls in rounds: what travels through a client without a session.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_core::{ErrorObject, Method, MethodDescription};
use switchboard_layers::Clock;
use switchboard_mcp::{Answer, Server, StateKeys};

use crate::client::{Client, alone, everything};
use crate::fixtures::{offered, server, text, text_tool};
use crate::questions::both_eras;

fn call(params: Value) -> Value {
    alone(params, everything())
}

/// A tool that asks for a name with the key `name`, and counts how often it is entered.
fn hello(entered: &Arc<AtomicU32>) -> Method {
    let entered = Arc::clone(entered);
    text_tool("hello", move |_, caller| {
        entered.fetch_add(1, Ordering::Relaxed);
        async move {
            let name = caller.elicit::<String>("What is your name?").key("name").await?;
            Ok(format!("Hello, {}!", name.accepted().unwrap_or_default()))
        }
    })
}

fn named(name: &str) -> Value {
    json!({"name": {"action": "accept", "content": {"value": name}}})
}

/// Asks for the first round of `hello`, and gives its state.
async fn state(client: &mut Client, params: Value) -> Value {
    let answer = client.ask("tools/call", call(params)).await;
    assert_eq!(answer["result"]["resultType"], "input_required", "{answer}");
    assert_eq!(answer["result"].get("ttlMs"), None);
    answer["result"]["requestState"].clone()
}

#[tokio::test(start_paused = true)]
async fn once_runs_once_however_many_rounds_there_are() {
    let runs = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&runs);
    let trip = text_tool("trip", move |_, caller| {
        let runs = Arc::clone(&counter);
        async move {
            let held = caller
                .once("hold", async { Ok::<_, ErrorObject>(runs.fetch_add(1, Ordering::Relaxed) + 1) })
                .await?;
            for day in 1..=3 {
                caller.elicit::<bool>(format!("Day {day}?")).await?;
            }
            Ok(format!("held {held}"))
        }
    });
    let answer = |_: &str, _: &Value| json!({"action": "accept", "content": {"value": true}});
    let server = server([trip]);
    // One run for each era. The value of the first does not leak into the second.
    let mut client = Client::connect(&server);
    let mut params = json!({"name": "trip"});
    for _ in 0..3 {
        let reply = client.ask("tools/call", call(params.clone())).await;
        let keys: Vec<&String> = reply["result"]["inputRequests"].as_object().unwrap().keys().collect();
        let answers: Value = keys.iter().map(|key| ((*key).clone(), answer("", &json!(0)))).collect();
        params = json!({"name": "trip", "inputResponses": answers, "requestState": reply["result"]["requestState"]});
    }
    let reply = client.ask("tools/call", call(params)).await;
    assert_eq!(text(&reply["result"]), "held 1");
    assert_eq!(runs.load(Ordering::Relaxed), 1);
}

// MCP-R-06
#[tokio::test(start_paused = true)]
async fn a_failed_once_runs_again() {
    let runs = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&runs);
    let trip = text_tool("trip", move |_, caller| {
        let runs = Arc::clone(&counter);
        async move {
            let work = async {
                Err::<u32, _>(ErrorObject::new(1, format!("{}", runs.fetch_add(1, Ordering::Relaxed))))
            };
            let held = caller.once("hold", work).await;
            caller.elicit::<bool>("Go on?").await?;
            Ok(format!("{held:?}"))
        }
    });
    both_eras_differ(&server([trip])).await;
    assert_eq!(runs.load(Ordering::Relaxed), 2, "once a round");
}

async fn both_eras_differ(server: &Server) {
    let mut client = Client::connect(server);
    let reply = client.ask("tools/call", call(json!({"name": "trip"}))).await;
    let key = reply["result"]["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();
    let answers = json!({key: {"action": "accept", "content": {"value": true}}});
    let params =
        json!({"name": "trip", "inputResponses": answers, "requestState": reply["result"]["requestState"]});
    assert!(client.ask("tools/call", call(params)).await["result"]["content"].is_array());
}

// MCP-R-07
#[tokio::test(start_paused = true)]
async fn a_question_that_changed_is_asked_again() {
    let price = Arc::new(AtomicU32::new(100));
    let current = Arc::clone(&price);
    let pay = text_tool("pay", move |_, caller| {
        let price = current.load(Ordering::Relaxed);
        async move {
            let answer = caller.elicit::<bool>(format!("Pay {price}?")).key("pay").await?;
            Ok(format!("{answer:?} for {price}"))
        }
    });
    let mut client = Client::connect(&server([pay]));
    let first = state(&mut client, json!({"name": "pay"})).await;
    price.store(900, Ordering::Relaxed);
    let yes = json!({"pay": {"action": "accept", "content": {"value": true}}});
    let second =
        state(&mut client, json!({"name": "pay", "inputResponses": yes, "requestState": first})).await;
    let paid = client
        .ask("tools/call", call(json!({"name": "pay", "inputResponses": yes, "requestState": second})))
        .await;
    assert_eq!(text(&paid["result"]), "Accept(true) for 900");
}

// MCP-R-07
#[tokio::test(start_paused = true)]
async fn missing_and_misfit_answers_are_asked_again_and_surplus_ones_ignored() {
    let mut client = Client::connect(&server([hello(&Arc::default())]));
    let first = state(&mut client, json!({"name": "hello"})).await;
    for answers in [
        json!({}),
        json!({"other": {"action": "accept"}}),
        json!({"name": {"action": "accept", "content": {"value": 5}}}),
        json!({"name": {"action": "perhaps"}}),
        json!({"name": {}}),
    ] {
        state(&mut client, json!({"name": "hello", "inputResponses": answers, "requestState": first})).await;
    }
    let mut answers = named("Ann");
    answers["surplus"] = json!({"action": "decline"});
    let params = json!({"name": "hello", "inputResponses": answers, "requestState": first});
    assert_eq!(text(&client.ask("tools/call", call(params)).await["result"]), "Hello, Ann!");
}

// MCP-R-07
#[tokio::test(start_paused = true)]
async fn malformed_answers_are_invalid() {
    let mut client = Client::connect(&server([hello(&Arc::default())]));
    let first = state(&mut client, json!({"name": "hello"})).await;
    for answers in [json!([]), json!("x"), json!({"name": 5}), json!({"name": null}), json!({"name": []})] {
        let params = json!({"name": "hello", "inputResponses": answers, "requestState": first});
        assert_eq!(client.ask("tools/call", call(params)).await["error"]["code"], -32602, "{answers}");
    }
}

// MCP-R-03
#[tokio::test(start_paused = true)]
async fn answers_may_be_volunteered_for_questions_with_a_key_only() {
    let entered = Arc::new(AtomicU32::new(0));
    let numbered = text_tool("numbered", |_, caller| async move {
        let answer = caller.elicit::<String>("What is your name?").await?;
        Ok(format!("{answer:?}"))
    });
    let mut client = Client::connect(&server([hello(&entered), numbered]));
    let params = json!({"name": "hello", "inputResponses": named("Ann")});
    assert_eq!(text(&client.ask("tools/call", call(params)).await["result"]), "Hello, Ann!");
    assert_eq!(entered.load(Ordering::Relaxed), 1);
    let first = client.ask("tools/call", call(json!({"name": "numbered"}))).await;
    let key = first["result"]["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();
    let guessed = json!({key: {"action": "accept", "content": {"value": "Eve"}}});
    state(&mut client, json!({"name": "numbered", "inputResponses": guessed})).await;
}

// MCP-R-05
#[tokio::test(start_paused = true)]
async fn a_state_that_was_changed_or_belongs_to_another_call_is_invalid() {
    let server = server([
        hello(&Arc::default()),
        text_tool("other", |_, caller| async move {
            let name = caller.elicit::<String>("What is your name?").key("name").await?;
            Ok(format!("{name:?}"))
        }),
    ]);
    let mut client = Client::connect(&server);
    let state = state(&mut client, json!({"name": "hello", "arguments": {"a": 1, "b": [2]}})).await;
    let mut check = async |tool: &str, arguments: Value, state: Value, is_valid: bool| {
        let params = json!({"name": tool, "arguments": arguments, "inputResponses": named("Ann"), "requestState": state});
        let answer = client.ask("tools/call", call(params)).await;
        assert_eq!(answer.get("result").is_some(), is_valid, "{answer}");
        assert!(is_valid || answer["error"]["code"] == -32602, "{answer}");
        answer["error"].clone()
    };
    // The order of members does not matter.
    check("hello", json!({"b": [2], "a": 1}), state.clone(), true).await;
    let text = state.as_str().unwrap();
    let flipped = if text.ends_with('A') { "B" } else { "A" };
    let tampered = json!(format!("{}{flipped}", &text[..text.len() - 1]));
    let mut errors = Vec::new();
    errors.push(check("hello", json!({"a": 1, "b": [2]}), tampered, false).await);
    errors.push(check("hello", json!({"a": 2, "b": [2]}), state.clone(), false).await);
    errors.push(check("other", json!({"a": 1, "b": [2]}), state.clone(), false).await);
    for nonsense in [json!(""), json!("AAAA"), json!(5), json!({}), json!("x".repeat(200_000))] {
        errors.push(check("hello", json!({"a": 1, "b": [2]}), nonsense, false).await);
    }
    assert!(errors.iter().all(|error| *error == errors[0]), "nothing can be learned: {errors:?}");
}

// MCP-R-04, MCP-R-05, MCP-M-01
#[tokio::test(start_paused = true)]
async fn servers_that_share_a_key_continue_each_others_calls() {
    let make = |key: u8| server([hello(&Arc::default())]).state_keys(StateKeys::new([[key; 32]]).unwrap());
    let first = state(&mut Client::connect(&make(1)), json!({"name": "hello"})).await;
    let params = call(json!({"name": "hello", "inputResponses": named("Ann"), "requestState": first}));
    let answer = Client::connect(&make(1)).ask("tools/call", params.clone()).await;
    assert_eq!(text(&answer["result"]), "Hello, Ann!");
    let answer = Client::connect(&make(2)).ask("tools/call", params).await;
    assert_eq!(answer["error"]["code"], -32602);
}

// MCP-R-05, MCP-R-06
#[tokio::test(start_paused = true)]
async fn a_state_expires_and_the_client_starts_over() {
    let clock = Clock::manual(1_728_623_456);
    let keys = StateKeys::new([[1; 32]]).unwrap().with_clock(clock.clone());
    let mut client = Client::connect(&server([hello(&Arc::default())]).state_keys(keys));
    let again =
        |state: &Value| call(json!({"name": "hello", "inputResponses": named("Ann"), "requestState": state}));
    let first = state(&mut client, json!({"name": "hello"})).await;
    clock.advance(Duration::from_secs(600));
    assert_eq!(text(&client.ask("tools/call", again(&first)).await["result"]), "Hello, Ann!");
    clock.advance(Duration::from_secs(1));
    let refused = client.ask("tools/call", again(&first)).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    // Whether it has expired or is wrong in another way does not show.
    let wrong = client.ask("tools/call", again(&json!("AAAA"))).await;
    assert_eq!(refused["error"], wrong["error"]);
    let second = state(&mut client, json!({"name": "hello"})).await;
    assert_eq!(text(&client.ask("tools/call", again(&second)).await["result"]), "Hello, Ann!");
}

// MCP-R-08
#[tokio::test(start_paused = true)]
async fn a_call_that_asks_without_end_fails() {
    let endless = text_tool("endless", |_, caller| async move {
        let mut n = 0;
        loop {
            n += 1;
            caller.elicit::<bool>(format!("Question {n}?")).await?;
        }
    });
    let mut client = Client::connect(&server([endless]));
    let mut params = json!({"name": "endless"});
    for round in 0.. {
        let reply = client.ask("tools/call", call(params.clone())).await;
        let result = &reply["result"];
        if result["resultType"] == "input_required" {
            assert!(round < 16, "there is a limit");
            let key = result["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();
            let answers = json!({key: {"action": "accept", "content": {"value": true}}});
            params =
                json!({"name": "endless", "inputResponses": answers, "requestState": result["requestState"]});
            continue;
        }
        assert_eq!(round, 16);
        assert_eq!(result["isError"], true, "{reply}");
        break;
    }
}

// MCP-R-01, MCP-K-01, MCP-S-05
#[tokio::test(start_paused = true)]
async fn resources_and_prompts_ask_in_rounds_too() {
    let asking = |name: &str, options: Value| {
        let method = text_tool(name, |_, caller| async move {
            let answer: Answer<String> = caller.elicit("Which?").key("which").await?;
            Ok(answer.accepted().unwrap_or_default())
        });
        method.described(move |_| MethodDescription::documented("").extension("x-mcp", options.clone()))
    };
    let server = server([
        asking("r", json!({"resource": "test://r"})),
        asking("p", json!({"prompt": true})),
        offered("q", json!({"prompt": true}), "q"),
    ]);
    let mut client = Client::connect(&server);
    for (method, mut params) in
        [("resources/read", json!({"uri": "test://r"})), ("prompts/get", json!({"name": "p"}))]
    {
        let first = client.ask(method, call(params.clone())).await["result"].clone();
        assert_eq!(first["resultType"], "input_required");
        assert_eq!(first.get("ttlMs"), None);
        params["inputResponses"] = json!({"which": {"action": "accept", "content": {"value": "this"}}});
        params["requestState"] = first["requestState"].clone();
        let second = client.ask(method, call(params)).await["result"].clone();
        assert_eq!(second["resultType"], "complete", "{second}");
        assert!(second.to_string().contains("this"));
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_handler_holds_is_released_between_rounds() {
    let held = Arc::new(());
    let count = Arc::clone(&held);
    let holding = text_tool("holding", move |_, caller| {
        let held = Arc::clone(&count);
        async move {
            let answer = caller.elicit::<bool>("Well?").await?;
            drop(held);
            Ok(format!("{answer:?}"))
        }
    });
    let mut client = Client::connect(&server([holding]));
    let before = Arc::strong_count(&held);
    state(&mut client, json!({"name": "holding"})).await;
    assert_eq!(Arc::strong_count(&held), before);
}

#[tokio::test(start_paused = true)]
async fn questions_of_different_keys_are_asked_in_one_round() {
    let many = text_tool("many", |_, caller| async move {
        let asks = (0..50).map(|n| caller.elicit::<u32>(format!("Number {n}?")));
        let answers = futures_util::future::join_all(asks).await;
        let sum: u32 = answers.into_iter().map(|answer| answer.unwrap().accepted().unwrap()).sum();
        Ok(sum.to_string())
    });
    let answer = |_: &str, params: &Value| {
        let n: u32 = params["message"].as_str().unwrap()[7..].trim_end_matches('?').parse().unwrap();
        json!({"action": "accept", "content": {"value": n}})
    };
    let (text, asked) = both_eras(&server([many]), "many", &everything(), answer).await;
    assert_eq!((text.as_str(), asked.len()), ("1225", 50));
}
