//! Notifications: places for them, and what their receivers get.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http::{HeaderMap, Response, StatusCode};
use serde_json::{Value, json};
use switchboard_a2a::model::{ListPush, Message, PushConfig, SendMessage, StreamEvent, TaskState};
use switchboard_a2a::{Agent, Client, PushOptions, PushRoute};
use switchboard_layers::identity::jwt::{KeySet, SigningKey};
use switchboard_layers::store::MemoryStore;
use switchboard_transport::http::{Body, EndpointOptions, Guarded, Route, RouteFuture};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::raw::send;
use crate::serving::{Gate, Serving, Stopping, agent, message, message_to, serve};

/// Takes requests, and answers each with the next of its statuses, and the last of them from then on.
struct Hook {
    statuses: Vec<u16>,
    count: AtomicUsize,
    sender: UnboundedSender<Got>,
}

/// A request to a hook.
pub(crate) struct Got {
    headers: HeaderMap,
    pub(crate) body: Value,
    path: String,
}

impl Got {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    pub(crate) fn state(&self) -> &str {
        self.body["statusUpdate"]["status"]["state"].as_str().unwrap_or_default()
    }
}

impl Route for Hook {
    fn answer(&self, mut request: Guarded) -> RouteFuture {
        let number = self.count.fetch_add(1, Ordering::Relaxed).min(self.statuses.len() - 1);
        let (status, sender) = (self.statuses[number], self.sender.clone());
        RouteFuture::new(async move {
            let headers = std::mem::take(&mut request.head.headers);
            let path = request.head.uri.path().to_owned();
            let body = serde_json::from_slice(&request.read(1 << 20).await.unwrap()).unwrap();
            let _ = sender.send(Got { headers, body, path });
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::from_u16(status).unwrap();
            response.headers_mut().insert("location", "/elsewhere".parse().unwrap());
            response
        })
    }
}

/// A server with a hook at `/hook` and at `/elsewhere`.
pub(crate) async fn hook(statuses: &[u16]) -> (Stopping, String, UnboundedReceiver<Got>) {
    let (sender, receiver) = unbounded_channel();
    let new = || Hook { statuses: statuses.to_vec(), count: AtomicUsize::default(), sender: sender.clone() };
    let options = EndpointOptions::default().route("/hook", new()).route("/elsewhere", new());
    let server = Stopping::serve(options);
    let url = format!("http://{}/hook", server.address);
    (server, url, receiver)
}

pub(crate) fn options() -> PushOptions {
    PushOptions::default().with_loopback(true).with_pause(Duration::from_millis(1))
}

pub(crate) fn pushing(gate: &Gate) -> Agent {
    agent(gate).with_push(options())
}

pub(crate) fn notified(text: &str, config: Value) -> Value {
    let mut params = message(text);
    params["configuration"] = json!({"taskPushNotificationConfig": config});
    params
}

// A2A-P-01, A2A-M-01
#[tokio::test]
async fn each_event_of_a_task_is_sent_in_order_with_the_credentials() {
    let (_hook, url, mut got) = hook(&[200]).await;
    let serving = serve(&pushing(&Gate::default()).build()).await;
    let config =
        json!({"url": url, "token": "secret", "authentication": {"scheme": "Bearer", "credentials": "abc"}});
    let task = serving.ask("SendMessage", notified("chunks", config)).await["task"].clone();
    let first = got.recv().await.unwrap();
    assert_eq!(first.header("content-type"), "application/a2a+json");
    assert_eq!(
        (first.header("x-a2a-notification-token"), first.header("authorization")),
        ("secret", "Bearer abc")
    );
    assert_eq!((&first.body["task"]["id"], first.body.as_object().unwrap().len()), (&task["id"], 1));
    let mut kinds = Vec::new();
    loop {
        let next = got.recv().await.unwrap();
        assert_ne!(next.header("x-a2a-notification-id"), first.header("x-a2a-notification-id"));
        kinds.push(next.body.as_object().unwrap().keys().next().unwrap().clone());
        if next.state() == "TASK_STATE_COMPLETED" {
            break;
        }
    }
    assert_eq!(kinds, ["statusUpdate", "artifactUpdate", "artifactUpdate", "statusUpdate"]);
}

// A2A-P-01
#[tokio::test]
async fn a_notification_that_is_not_taken_is_sent_again_and_keeps_its_place() {
    let (_hook, url, mut got) = hook(&[503, 429, 200]).await;
    let serving = serve(&pushing(&Gate::default()).build()).await;
    serving.ask("SendMessage", notified("chunks", json!({"url": url}))).await;
    let mut first = Vec::new();
    for _ in 0..3 {
        first.push(got.recv().await.unwrap());
    }
    let id = first[0].header("x-a2a-notification-id").to_owned();
    assert!(
        first.iter().all(|got| got.body.get("task").is_some() && got.header("x-a2a-notification-id") == id)
    );
    assert_eq!(got.recv().await.unwrap().state(), "TASK_STATE_WORKING");
}

// A2A-P-01
#[tokio::test]
async fn a_receiver_that_never_answers_well_gets_each_notification_at_least_once() {
    let (_hook, url, mut got) = hook(&[500]).await;
    let (_other, other, mut fine) = hook(&[200]).await;
    let server = agent(&Gate::default()).with_push(options().with_attempts(2)).build();
    let serving = serve(&server).await;
    let asked =
        serving.ask("SendMessage", notified("ask", json!({"id": "a", "url": url}))).await["task"].clone();
    let config = json!({"taskId": asked["id"], "id": "b", "url": other});
    assert_eq!(serving.ask("CreateTaskPushNotificationConfig", config).await["id"], "b");
    serving.ask("SendMessage", message_to(&asked, "chunks")).await;
    // The task, the question, and four events; only the first one is tried twice.
    let mut states = Vec::new();
    while states.last().is_none_or(|state| state != "TASK_STATE_COMPLETED") {
        states.push(got.recv().await.unwrap().state().to_owned());
    }
    assert!(states.len() >= 7, "{states:?}");
    while fine.recv().await.unwrap().state() != "TASK_STATE_COMPLETED" {}
}

// A2A-P-03, SEC-X-01
#[tokio::test]
async fn redirects_are_not_followed() {
    let (_hook, url, mut got) = hook(&[307]).await;
    let serving = serve(&pushing(&Gate::default()).build()).await;
    serving.ask("SendMessage", notified("chunks", json!({"url": url}))).await;
    // A redirect is no reason to try again, so each event is sent once, to the place that was named.
    for number in 0..5 {
        assert_eq!(got.recv().await.unwrap().path, "/hook", "{number}");
    }
}

// A2A-P-03, A2A-T-09, SEC-X-01
#[tokio::test]
async fn urls_of_private_networks_are_refused() {
    let serving = serve(&agent(&Gate::default()).with_push(PushOptions::default()).build()).await;
    let asked = serving.ask("SendMessage", message("ask")).await["task"].clone();
    for url in
        ["http://127.0.0.1:9/", "https://localhost/", "https://10.0.0.1/", "https://169.254.169.254/", "x"]
    {
        assert_eq!(
            serving.error("SendMessage", notified("hello", json!({"url": url}))).await,
            -32602,
            "{url}"
        );
        let config = json!({"taskId": asked["id"], "url": url});
        assert_eq!(serving.error("CreateTaskPushNotificationConfig", config).await, -32602, "{url}");
    }
    // A task that waits is not changed by a message whose place for notifications is refused.
    let mut answer = notified("Paris", json!({"url": "https://10.0.0.1/"}));
    answer["message"]["taskId"] = asked["id"].clone();
    assert_eq!(serving.error("SendMessage", answer).await, -32602);
    let state = serving.ask("GetTask", json!({"id": asked["id"]})).await["status"]["state"].clone();
    assert_eq!(state, "TASK_STATE_INPUT_REQUIRED");
}

// A2A-D-07, A2A-M-06
#[tokio::test]
async fn places_can_be_made_read_listed_and_removed() {
    let serving = serve(&pushing(&Gate::default()).build()).await;
    let task = serving.ask("SendMessage", message("ask")).await["task"]["id"].clone();
    let config = json!({"taskId": task, "id": "one", "url": "https://a.test/", "token": "t",
        "authentication": {"scheme": "Basic", "credentials": "x"}});
    assert_eq!(serving.ask("CreateTaskPushNotificationConfig", config.clone()).await, config);
    let made =
        serving.ask("CreateTaskPushNotificationConfig", json!({"taskId": task, "url": "https://b.test/"}));
    let made = made.await;
    assert!(!made["id"].as_str().unwrap().is_empty());
    let wanted = json!({"taskId": task, "id": "one"});
    assert_eq!(serving.ask("GetTaskPushNotificationConfig", wanted.clone()).await, config);
    let list = |more: Value| {
        let mut params = json!({"taskId": task});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serving.ask("ListTaskPushNotificationConfigs", params)
    };
    assert_eq!(list(json!({})).await, json!({"configs": [config, made]}));
    let page = list(json!({"pageSize": 1})).await;
    assert_eq!((&page["configs"], &page["nextPageToken"]), (&json!([config]), &json!("one")));
    assert_eq!(list(json!({"pageSize": 1, "pageToken": "one"})).await, json!({"configs": [made]}));
    for _ in 0..2 {
        assert_eq!(serving.ask("DeleteTaskPushNotificationConfig", wanted.clone()).await, json!({}));
    }
    assert_eq!(serving.error("GetTaskPushNotificationConfig", wanted).await, -32001);
    assert_eq!(serving.error("ListTaskPushNotificationConfigs", json!({"taskId": "none"})).await, -32001);
    let wrong = json!({"taskId": task, "url": "https://a.test/", "token": "a\r\nb: c"});
    assert_eq!(serving.error("CreateTaskPushNotificationConfig", wrong).await, -32602);
}

// A2A-E-02
#[tokio::test]
async fn places_of_foreign_tasks_do_not_exist() {
    let serving = serve(&pushing(&Gate::default()).build()).await;
    let task = serving.ask_as("ann", "SendMessage", message("ask")).await["result"]["task"]["id"].clone();
    let config = json!({"taskId": task, "id": "x", "url": "https://a.test/"});
    for method in [
        "CreateTaskPushNotificationConfig",
        "GetTaskPushNotificationConfig",
        "ListTaskPushNotificationConfigs",
        "DeleteTaskPushNotificationConfig",
    ] {
        let answer = serving.ask_as("bob", method, config.clone()).await;
        assert_eq!(answer["error"]["code"], -32001, "{method}");
    }
}

// A2A-D-07
#[tokio::test]
async fn clients_of_0_3_get_whole_tasks_in_their_shapes() {
    let (_hook, url, mut got) = hook(&[200]).await;
    let serving = serve(&pushing(&Gate::default()).build()).await;
    let ask = async |method: &str, params: Value| {
        serving.post_with(&[], method, params).await.json().await["result"].clone()
    };
    let parts = json!([{"kind": "text", "text": "ask"}]);
    let text = json!({"kind": "message", "messageId": "m1", "role": "user", "parts": parts});
    let task = ask("message/send", json!({"message": text})).await["id"].clone();
    let inner =
        json!({"url": url, "token": "t", "authentication": {"schemes": ["Bearer"], "credentials": "c"}});
    let made =
        ask("tasks/pushNotificationConfig/set", json!({"taskId": task, "pushNotificationConfig": inner}))
            .await;
    assert_eq!((&made["taskId"], &made["pushNotificationConfig"]["id"]), (&task, &task));
    assert_eq!(made["pushNotificationConfig"]["authentication"], inner["authentication"]);
    assert_eq!(ask("tasks/pushNotificationConfig/get", json!({"id": task})).await, made);
    assert_eq!(ask("tasks/pushNotificationConfig/list", json!({"id": task})).await, json!([made]));
    ask("tasks/cancel", json!({"id": task})).await;
    let notified = got.recv().await.unwrap();
    assert_eq!(
        (notified.header("x-a2a-notification-token"), notified.header("authorization")),
        ("t", "Bearer c")
    );
    assert_eq!(
        (&notified.body["kind"], &notified.body["status"]["state"], &notified.body["id"]),
        (&json!("task"), &json!("canceled"), &task)
    );
    let params = json!({"id": task, "pushNotificationConfigId": task});
    assert_eq!(ask("tasks/pushNotificationConfig/delete", params).await, Value::Null);
    assert_eq!(ask("tasks/pushNotificationConfig/list", json!({"id": task})).await, json!([]));
}

// A2A-T-07
#[tokio::test]
async fn places_survive_a_restart() {
    let (_hook, url, mut got) = hook(&[200]).await;
    let store = Arc::new(MemoryStore::default());
    let new = || pushing(&Gate::default()).with_store(Arc::clone(&store)).build();
    let task = {
        let serving = serve(&new()).await;
        serving.ask("SendMessage", notified("ask", json!({"url": url}))).await["task"].clone()
    };
    let serving = serve(&new()).await;
    serving.ask("SendMessage", message_to(&task, "Paris")).await;
    while got.recv().await.unwrap().state() != "TASK_STATE_COMPLETED" {}
}

// A2A-P-01
#[tokio::test]
async fn when_too_many_events_wait_the_whole_task_is_sent() {
    let (_hook, url, mut got) = hook(&[503, 503, 503, 200]).await;
    let options = options().with_waiting(1).with_pause(Duration::from_millis(50));
    let serving = serve(&agent(&Gate::default()).with_push(options).build()).await;
    serving.ask("SendMessage", notified("chunks", json!({"url": url}))).await;
    loop {
        let next = got.recv().await.unwrap();
        if next.body["task"]["status"]["state"] == "TASK_STATE_COMPLETED" {
            assert_eq!(next.body["task"]["artifacts"][0]["parts"].as_array().unwrap().len(), 2);
            break;
        }
    }
}

// A2A-P-01
#[tokio::test]
async fn a_receiver_that_is_waited_for_does_not_hold_up_others() {
    let (_hook, url, mut got) = hook(&[503]).await;
    let (_other, other, mut fine) = hook(&[200]).await;
    let options = options().with_parallel(1).with_pause(Duration::from_secs(3600));
    let serving = serve(&agent(&Gate::default()).with_push(options).build()).await;
    serving.ask("SendMessage", notified("chunks", json!({"url": url}))).await;
    got.recv().await.unwrap();
    serving.ask("SendMessage", notified("chunks", json!({"url": other}))).await;
    while fine.recv().await.unwrap().state() != "TASK_STATE_COMPLETED" {}
}

async fn receiver(keys: Option<KeySet>) -> (Stopping, PushRoute, UnboundedReceiver<StreamEvent>) {
    let (sender, receiver) = unbounded_channel();
    // The route has to know its URL, and the URL has a port that is free.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let route = PushRoute::new(format!("http://{address}/push"), move |event| {
        let sender = sender.clone();
        async move { sender.send(event).is_ok() }
    });
    let route = match keys {
        Some(keys) => route.with_keys(keys),
        None => route,
    };
    let options = EndpointOptions::default().route("/push", route.clone());
    (Stopping::serve_on(listener, options), route, receiver)
}

fn public(key: &SigningKey) -> KeySet {
    KeySet::parse(json!({"keys": [key.public_key().unwrap()]}).to_string()).unwrap()
}

async fn client(serving: &Serving) -> Client {
    Client::connect(&format!("http://{}", serving.address)).await.unwrap()
}

// A2A-P-02, A2A-P-01
#[tokio::test]
async fn our_client_receives_signed_notifications_about_its_task() {
    let key = SigningKey::generate().unwrap().with_id("k");
    let (_server, route, mut events) = receiver(Some(public(&key))).await;
    let serving = serve(&pushing(&Gate::default()).with_signing_key(key).build()).await;
    let client = client(&serving).await;
    let asked = client.send(SendMessage::new(Message::user("ask")).with_push(route.place())).await.unwrap();
    let task = asked.task_id().unwrap();
    assert_eq!(events.recv().await.unwrap().task_id(), Some(task));
    assert_eq!(events.recv().await.unwrap().state(), Some(TaskState::InputRequired));
    let places = client.list_push(&ListPush::new(task)).await.unwrap().configs;
    assert_eq!(client.push(task, &places[0].id).await.unwrap(), places[0]);
    client.delete_push(task, &places[0].id).await.unwrap();
    assert!(client.list_push(&ListPush::new(task)).await.unwrap().configs.is_empty());
    let place = client.create_push(&route.place_for(task)).await.unwrap();
    assert!(!place.id.is_empty());
    client.cancel(task).await.unwrap();
    assert_eq!(events.recv().await.unwrap().state(), Some(TaskState::Canceled));
}

// A2A-P-02
#[tokio::test]
async fn a_notification_without_token_task_or_signature_is_refused() {
    let key = SigningKey::generate().unwrap();
    for is_signed in [false, true] {
        let (server, route, mut events) = receiver(is_signed.then(|| public(&key))).await;
        let PushConfig { token, url, .. } = route.place_for("t1");
        let task = |id: &str| {
            json!({"task": {"id": id, "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}}})
                .to_string()
        };
        let post = async |headers: &[(&str, &str)], text: &str| {
            let json = [("content-type", "application/a2a+json")];
            let headers: Vec<_> = json.iter().chain(headers).copied().collect();
            send(server.address, "POST /push", &headers, Some(text)).await.status
        };
        let signed = |url: &str, id: &str, text: &str, age: u64| {
            let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
            let jws = key.sign(json!({"jti": id, "aud": url, "iat": now - age}), text.as_bytes()).unwrap();
            format!("{}..{}", jws.protected, jws.signature)
        };
        let right = signed(&url, "n1", &task("t1"), 0);
        let with = |token: &'static str| ("x-a2a-notification-token", token);
        let own = ("x-a2a-notification-token", token.as_str());
        let (id, name) = (("x-a2a-notification-id", "n1"), "x-a2a-notification-signature");
        assert_eq!(post(&[id, (name, &right)], &task("t1")).await, 401);
        assert_eq!(post(&[with("guessed"), id, (name, &right)], &task("t1")).await, 401);
        let other = signed(&url, "n1", &task("t2"), 0);
        assert_eq!(post(&[own, id, (name, &other)], &task("t2")).await, 403);
        let unsigned = [
            ("", "n1"),
            (&signed("https://other.test/", "n1", &task("t1"), 0), "n1"),
            (&signed(&url, "n1", &task("t1"), 3600), "n1"),
            (&right, "n2"),
            (&other, "n1"),
        ];
        if is_signed {
            for (signature, id) in unsigned {
                let headers = [own, ("x-a2a-notification-id", id), (name, signature)];
                assert_eq!(post(&headers, &task("t1")).await, 401, "{signature}");
            }
        }
        let broken = signed(&url, "n1", "{}", 0);
        assert_eq!(post(&[own, id, (name, &broken)], "{}").await, 400);
        // The same notification is passed on once.
        for _ in 0..3 {
            assert_eq!(post(&[own, id, (name, &right)], &task("t1")).await, 204);
        }
        assert_eq!(events.recv().await.unwrap().task_id(), Some("t1"));
        assert!(events.try_recv().is_err());
    }
}

// A2A-P-02
#[tokio::test]
async fn a_notification_that_is_being_handled_is_not_taken_yet() {
    let (begun, mut begins) = unbounded_channel();
    let answers = Arc::new(tokio::sync::Mutex::new(unbounded_channel::<bool>()));
    let answer = answers.lock().await.0.clone();
    let route = PushRoute::new("http://a.test/push", move |_| {
        let (begun, answers) = (begun.clone(), Arc::clone(&answers));
        async move {
            begun.send(()).unwrap();
            answers.lock().await.1.recv().await.unwrap()
        }
    });
    let token = route.place_for("t1").token;
    let server = Stopping::serve(EndpointOptions::default().route("/push", route));
    let post = async || {
        let headers = [
            ("content-type", "application/a2a+json"),
            ("x-a2a-notification-token", token.as_str()),
            ("x-a2a-notification-id", "n1"),
        ];
        let task = json!({"id": "t1", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}});
        send(server.address, "POST /push", &headers, Some(&json!({"task": task}).to_string())).await.status
    };
    for (is_taken, status) in [(false, 503), (true, 204)] {
        let during = async {
            begins.recv().await.unwrap();
            assert_eq!(post().await, 503, "it may still fail");
            answer.send(is_taken).unwrap();
        };
        assert_eq!(futures_util::future::join(post(), during).await.0, status);
    }
    assert_eq!(post().await, 204);
    assert!(begins.try_recv().is_err(), "it is passed on once");
}
