//! What others see who know NATS and JSON-RPC, but not us.

use async_nats::HeaderMap;
use bytes::Bytes;
use serde_json::{Value, json};
use switchboard_core::{Reply, ReplyFuture, Service as _, service_fn};
use switchboard_transport::Dial;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::{Broker, Worker, client, connect, router, url, within};

async fn ask(client: &async_nats::Client, subject: &str, body: &str) -> Value {
    let answer = within(client.request(subject.to_owned(), Bytes::from(body.to_owned()))).await.unwrap();
    serde_json::from_slice(&answer.payload).unwrap_or(Value::Null)
}

#[tokio::test]
async fn ordinary_requests_are_answered() {
    let broker = Broker::start(&[]);
    let worker = Worker::start(&broker, router().build().unwrap()).await;
    let client = client(&broker).await;
    let add = r#"{"jsonrpc":"2.0","method":"math/add","params":[2,3],"id":1}"#;
    let sum = json!({"jsonrpc": "2.0", "result": 5, "id": 1});
    assert_eq!(ask(&client, "math.math.add", add).await, sum);
    assert_eq!(ask(&client, "math.=any", add).await, sum);
    assert_eq!(ask(&client, "math.=any", &format!("[{add},{add}]")).await, json!([sum, sum]));
    let old = ask(&client, "math.math.add", r#"{"method":"math/add","params":[2,3],"id":1}"#).await;
    assert_eq!(old, json!({"result": 5, "error": null, "id": 1}));
    let collected =
        ask(&client, "math.count", r#"{"jsonrpc":"2.0","method":"count","params":[3],"id":1}"#).await;
    assert_eq!(collected["result"], json!([1, 2, 3]));
    let slow = ask(&client, "math.slow", r#"{"jsonrpc":"2.0","method":"slow","params":[200],"id":1}"#).await;
    assert_eq!(slow["result"], 200);
    assert_eq!(ask(&client, "math.=any", "{").await["error"]["code"], -32700);
    // A tool that waits for an answer to a notification gets an empty one.
    assert_eq!(
        ask(&client, "math.echo", r#"{"jsonrpc":"2.0","method":"echo","params":[]}"#).await,
        Value::Null
    );
    worker.stop().await;
}

#[tokio::test]
async fn tools_see_by_headers_that_an_answer_is_an_error() {
    let broker = Broker::start(&[]);
    let worker = Worker::start(&broker, router().build().unwrap()).await;
    let client = client(&broker).await;
    let call = |method: &str, params: &str| {
        let body = format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params},"id":1}}"#);
        within(client.request("math.=any", body.into()))
    };
    let sum = call("math/add", "[2,3]").await.unwrap();
    assert_eq!(sum.headers, None);
    for (method, params, code) in [("math/div", "[]", -32601), ("math/add", r#"["x"]"#, -32602)] {
        let answer = call(method, params).await.unwrap();
        let body: Value = serde_json::from_slice(&answer.payload).unwrap();
        let headers = answer.headers.unwrap();
        let header = |name: &str| headers.get(name).unwrap().as_str().to_owned();
        assert_eq!(body["error"]["code"], code);
        assert_eq!(header("Nats-Service-Error-Code"), code.to_string());
        assert_eq!(header("Nats-Service-Error"), body["error"]["message"].as_str().unwrap());
    }
    worker.stop().await;
}

#[tokio::test]
async fn permission_for_one_subject_is_not_permission_for_another_method() {
    let broker = Broker::start(&[]);
    let worker = Worker::start(&broker, router().build().unwrap()).await;
    let client = client(&broker).await;
    let echo = r#"{"jsonrpc":"2.0","method":"echo","params":[1],"id":1}"#;
    let refused = ask(&client, "math.math.add", echo).await;
    assert_eq!(refused["error"]["code"], -32600);
    assert_eq!(refused["id"], 1);
    let both =
        ask(&client, "math.echo", &format!(r#"[{echo},{{"jsonrpc":"2.0","method":"who","id":2}}]"#)).await;
    assert_eq!((&both[0]["result"], &both[1]["error"]["code"]), (&json!([1]), &json!(-32600)));
    worker.stop().await;
}

#[tokio::test]
async fn a_content_type_must_be_json() {
    let broker = Broker::start(&[]);
    let worker = Worker::start(&broker, router().build().unwrap()).await;
    let client = client(&broker).await;
    let mut headers = HeaderMap::new();
    headers.insert("Content-Type", "text/xml");
    let body = r#"{"jsonrpc":"2.0","method":"echo","params":[1],"id":1}"#;
    let answer = within(client.request_with_headers("math.echo", headers, body.into())).await.unwrap();
    let answer: Value = serde_json::from_slice(&answer.payload).unwrap();
    assert_eq!(answer["error"]["code"], -32600);
    worker.stop().await;
}

#[tokio::test]
async fn an_answer_does_not_go_where_the_caller_may_not_publish() {
    let broker = Broker::start(&[]);
    let worker = Worker::start(&broker, router().build().unwrap()).await;
    let client = client(&broker).await;
    let mut heard = client.subscribe("math.spied").await.unwrap();
    let body = Bytes::from_static(br#"{"jsonrpc":"2.0","method":"echo","params":[1],"id":1}"#);
    client.publish_with_reply("math.echo", "math.spied", body.clone()).await.unwrap();
    client.publish_with_reply("math.echo", "$JS.API.INFO", body.clone()).await.unwrap();
    // Answers come in order, so an answer to these would come before this one.
    assert!(within(client.request("math.echo", body)).await.is_ok());
    client.publish("math.spied", "end".into()).await.unwrap();
    let first = within(futures_util::StreamExt::next(&mut heard)).await.unwrap();
    assert_eq!(first.payload, "end");
    worker.stop().await;
}

#[tokio::test]
async fn tools_find_the_workers_and_what_they_did() {
    let broker = Broker::start(&[]);
    let router = router().build().unwrap();
    let described = service_fn(move |call| match call.method.as_str() {
        "rpc.discover" => {
            let methods = json!([{"name": "math/add"}, {"name": "a.b"}]);
            let info = json!({"title": "math", "version": "2.1.0"});
            ReplyFuture::ready(Reply::of(&json!({"openrpc": "1.3.2", "info": info, "methods": methods})))
        }
        _ => router.call(call),
    });
    let worker = Worker::start(&broker, described).await;
    let (client, peer) = (client(&broker).await, connect(&broker).await);
    let ping = loop {
        // It answers soon after it serves calls.
        let answer = client.request("$SRV.PING.math", "".into()).await;
        if let Ok(answer) = answer {
            break serde_json::from_slice::<Value>(&answer.payload).unwrap();
        }
    };
    assert_eq!((&ping["type"], &ping["name"]), (&json!("io.nats.micro.v1.ping_response"), &json!("math")));
    within(peer.call::<i64>("math/add", [1, 2])).await.unwrap();
    within(peer.call::<i64>("math/add", ["no"])).await.unwrap_err();
    let id = ping["id"].as_str().unwrap();
    let info = ask(&client, &format!("$SRV.INFO.math.{id}"), "").await;
    assert_eq!(info["type"], "io.nats.micro.v1.info_response");
    assert_eq!(info["version"], "2.1.0");
    let subjects: Vec<_> = info["endpoints"].as_array().unwrap().iter().map(|one| &one["subject"]).collect();
    assert_eq!(subjects, ["math.math.add", "math.a=2Eb"]);
    let stats = ask(&client, "$SRV.STATS", "").await;
    let add = &stats["endpoints"].as_array().unwrap()[1];
    assert_eq!(
        (&add["name"], &add["num_requests"], &add["num_errors"]),
        (&json!("math-add"), &json!(2), &json!(1))
    );
    worker.stop().await;
}

#[tokio::test]
async fn tools_send_any_bytes_and_get_what_comes_back() {
    let broker = Broker::start(&[]);
    let worker = Worker::start(&broker, router().build().unwrap()).await;
    let mut raw = Dial::new(&url(&broker)).unwrap().raw().await.unwrap();
    let call = |id: u32| format!(r#"{{"jsonrpc":"2.0","method":"echo","params":[{id}],"id":{id}}}"#);
    let notification = r#"{"jsonrpc":"2.0","method":"echo","params":[0]}"#;
    let sent = format!("{}\n{notification}\n[{},{}]\n", call(1), call(2), call(3));
    within(raw.write_all(sent.as_bytes())).await.unwrap();
    let mut received = Vec::new();
    while received.iter().filter(|byte| **byte == b'\n').count() < 2 {
        assert!(within(raw.read_buf(&mut received)).await.unwrap() > 0);
    }
    let received = String::from_utf8(received).unwrap();
    let answer = |id: u32| format!(r#"{{"jsonrpc":"2.0","result":[{id}],"id":{id}}}"#);
    assert_eq!(received, format!("{}\n[{},{}]\n", answer(1), answer(2), answer(3)));
    worker.stop().await;
    // Without a worker the pipe ends.
    within(raw.write_all(sent.as_bytes())).await.unwrap();
    assert_eq!(within(raw.read_u8()).await.unwrap_err().kind(), std::io::ErrorKind::UnexpectedEof);
}
