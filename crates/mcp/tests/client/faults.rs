//! Servers that break, lie or send without end.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use http::{HeaderValue, header::AUTHORIZATION};
use serde_json::{Value, json};
use switchboard_core::CallError;
use switchboard_mcp::{Client, Credentials, CredentialsFuture, Refusal, ToolError, Unsent};

use crate::client::within;
use crate::scripted::{Asked, Scripted, events, response, result, stateless, with_sessions};
use crate::ways::builder;

async fn connect(server: &Scripted) -> Client {
    within(builder().connect(&server.url())).await.unwrap()
}

fn done(asked: &Asked) -> Value {
    json!({"jsonrpc": "2.0", "id": asked.body["id"], "result": {"content": [{"type": "text", "text": "done"}]}})
}

// MCP-HTTP-10, MCP-HTTP-11
#[tokio::test]
async fn a_stream_that_is_cut_after_any_event_is_resumed() {
    const EVENTS: usize = 5;
    for cut in 1..=EVENTS {
        let call = Arc::<Mutex<Option<Asked>>>::default();
        let server = Scripted::start(move |asked| {
            let mut call = call.lock().unwrap();
            let after = match (asked.verb.as_str(), asked.method()) {
                ("POST", "tools/call") => {
                    *call = Some(asked.clone());
                    0
                }
                ("GET", _) => {
                    let last = asked.headers.lines().find_map(|line| line.strip_prefix("last-event-id: "));
                    let Some(last) = last else { return with_sessions(&asked) };
                    last.trim().trim_start_matches("e-").parse().unwrap()
                }
                _ => return with_sessions(&asked),
            };
            let call = call.clone().unwrap();
            let token = &call.body["params"]["_meta"]["progressToken"];
            let event = |n: usize| match n {
                1 => format!("id: e-{n}\nretry: 10\ndata:\n\n"),
                EVENTS => format!("id: e-{n}\ndata: {}\n\n", done(&call)),
                _ => {
                    let params = json!({"progressToken": token, "progress": n});
                    let told =
                        json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params});
                    format!("id: e-{n}\ndata: {told}\n\n")
                }
            };
            let until = if after == 0 { cut } else { EVENTS };
            events(&(after + 1..=until).map(event).collect::<String>())
        })
        .await;
        let seen = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&seen);
        let client = connect(&server).await;
        let call =
            client.tool("t", ()).on_progress(move |progress| told.lock().unwrap().push(progress.progress));
        assert_eq!(within(call.into_future()).await.unwrap().text(), "done", "cut after {cut}");
        assert_eq!(*seen.lock().unwrap(), [2.0, 3.0, 4.0], "cut after {cut}");
    }
}

#[tokio::test]
async fn a_stream_that_brings_nothing_new_is_not_resumed_forever() {
    let server = Scripted::start(|asked| match (asked.verb.as_str(), asked.method()) {
        ("POST", "tools/call") => events("id: e-1\nretry: 1\ndata:\n\n"),
        ("GET", _) if asked.headers.contains("last-event-id") => events("retry: 1\n\n"),
        _ => with_sessions(&asked),
    })
    .await;
    let told = within(connect(&server).await.tool("t", ()).into_future()).await;
    assert!(matches!(told, Err(CallError::Protocol(_))), "{told:?}");
}

// MCP-N-06
#[tokio::test]
async fn a_stream_without_identifiers_that_is_cut_is_an_error() {
    let server = Scripted::start(|asked| match asked.method() {
        "tools/call" => events(": nothing\n\n"),
        "tools/list" => result(&asked, &json!({"tools": []})),
        _ => stateless(&asked),
    })
    .await;
    let told = within(connect(&server).await.tool("t", ()).into_future()).await;
    assert!(matches!(told, Err(CallError::Protocol(_))), "{told:?}");
}

// MCP-B-02
#[tokio::test]
async fn an_answer_to_another_request_is_not_taken() {
    let wrong = |body: Value| json!({"jsonrpc": "2.0", "id": body["id"].as_u64().unwrap() + 1000, "result": {"content": []}});
    for is_stream in [true, false] {
        let server = Scripted::start(move |asked| match asked.method() {
            "tools/call" if is_stream => events(&format!("data: {}\n\n", wrong(asked.body))),
            "tools/call" => response("200 OK", "application/json", &wrong(asked.body).to_string()),
            _ => with_sessions(&asked),
        })
        .await;
        let told = within(connect(&server).await.tool("t", ()).into_future()).await;
        assert!(matches!(told, Err(CallError::Protocol(_))), "{told:?}");
    }
}

// MCP-G-01
#[tokio::test]
async fn a_list_without_an_end_ends() {
    for repeats in [true, false] {
        let pages = AtomicUsize::new(0);
        let server = Scripted::start(move |asked| match asked.method() {
            "tools/list" => {
                let page = pages.fetch_add(1, Ordering::Relaxed);
                let cursor = if repeats { "again".to_owned() } else { page.to_string() };
                result(&asked, &json!({"tools": [], "nextCursor": cursor}))
            }
            _ => with_sessions(&asked),
        })
        .await;
        let listed = within(connect(&server).await.tools().all()).await;
        assert!(
            matches!(&listed, Err(CallError::Protocol(text)) if text.contains("does not end")),
            "{listed:?}"
        );
    }
}

// MCP-G-01
#[tokio::test]
async fn an_empty_cursor_is_a_cursor() {
    let server = Scripted::start(|asked| match (asked.method(), &asked.body["params"]["cursor"]) {
        ("tools/list", Value::Null) => result(&asked, &json!({"tools": [], "nextCursor": ""})),
        ("tools/list", cursor) => {
            assert_eq!(cursor, "");
            result(&asked, &json!({"tools": [{"name": "t", "inputSchema": {"type": "object"}}]}))
        }
        _ => with_sessions(&asked),
    })
    .await;
    assert_eq!(within(connect(&server).await.tools().all()).await.unwrap()[0].name, "t");
}

// MCP-B-11
#[tokio::test]
async fn huge_and_strange_schemas_arrive_as_they_are() {
    let nested =
        (0..100).fold(json!({"$ref": "http://127.0.0.1:9/never"}), |inner, _| json!({"items": inner}));
    let wide: Value = (0..20_000).map(|n| (format!("p{n}"), json!({"type": "string"}))).collect();
    let schema = json!({"type": "object", "properties": wide, "x": nested, "big": 1e300, "$defs": {"a": {"$ref": "#/$defs/a"}}});
    let (text, listed) = (schema.to_string(), schema.clone());
    let server = Scripted::start(move |asked| match asked.method() {
        "tools/list" => result(&asked, &json!({"tools": [{"name": "t", "inputSchema": listed}]})),
        _ => with_sessions(&asked),
    })
    .await;
    let tools = within(connect(&server).await.tools().all()).await.unwrap();
    assert_eq!(tools[0].input_schema.as_str(), text);
}

#[tokio::test]
async fn redirects_are_not_followed_and_get_no_credentials() {
    let followed = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&followed);
    let target = Scripted::start(move |asked| {
        count.fetch_add(1, Ordering::Relaxed);
        stateless(&asked)
    })
    .await;
    let location = target.url();
    let server = Scripted::start(move |_| {
        format!("HTTP/1.1 307 Temporary Redirect\r\nlocation: {location}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
    })
    .await;
    let refused = within(builder().connect(&server.url())).await.unwrap_err();
    assert!(refused.to_string().contains(&target.url()), "{refused}");
    assert_eq!(followed.load(Ordering::Relaxed), 0);
}

// MCP-N-14
#[tokio::test]
async fn a_tool_is_listed_again_when_its_headers_have_changed() {
    let lists = AtomicUsize::new(0);
    let server = Scripted::start(move |asked| match asked.method() {
        "tools/list" => {
            let header = ["Old", "New"][lists.fetch_add(1, Ordering::Relaxed).min(1)];
            let properties = json!({"r": {"type": "string", "x-mcp-header": header}});
            let tool = json!({"name": "t", "inputSchema": {"type": "object", "properties": properties}});
            result(&asked, &json!({"tools": [tool], "ttlMs": 60_000, "cacheScope": "private"}))
        }
        "tools/call" if asked.headers.contains("mcp-param-new: eu") => {
            response("200 OK", "application/json", &done(&asked).to_string())
        }
        "tools/call" => {
            let error = json!({"code": -32020, "message": "the header is missing"});
            let body = json!({"jsonrpc": "2.0", "id": asked.body["id"], "error": error});
            response("400 Bad Request", "application/json", &body.to_string())
        }
        _ => stateless(&asked),
    })
    .await;
    let told: Result<String, ToolError> =
        within(connect(&server).await.call("t", json!({"r": "eu"})).into_future()).await;
    assert_eq!(told.unwrap(), "done");
}

// MCP-K-02
#[tokio::test]
async fn a_list_is_asked_for_again_only_when_it_is_stale_or_has_to_be_fresh() {
    let lists = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&lists);
    let server = Scripted::start(move |asked| match asked.method() {
        "tools/list" => {
            count.fetch_add(1, Ordering::Relaxed);
            result(&asked, &json!({"tools": [], "ttlMs": 60_000, "cacheScope": "private"}))
        }
        _ => stateless(&asked),
    })
    .await;
    let client = connect(&server).await;
    within(client.tools().all()).await.unwrap();
    within(client.tools().all()).await.unwrap();
    assert_eq!(lists.load(Ordering::Relaxed), 1);
    within(client.request::<Value>("tools/list", ()).fresh().into_future()).await.unwrap();
    assert_eq!(lists.load(Ordering::Relaxed), 2);
}

/// Takes another token after each refusal, up to three.
#[derive(Debug, Default)]
struct Tokens(AtomicUsize);

impl Credentials for Tokens {
    fn authorize<'a>(&'a self, request: Unsent<'a>) -> CredentialsFuture<'a, ()> {
        let token = format!("Bearer {}", self.0.load(Ordering::Relaxed));
        Box::pin(async move {
            request.headers.insert(AUTHORIZATION, HeaderValue::try_from(token).unwrap());
            Ok(())
        })
    }

    fn refused<'a>(&'a self, refusal: Refusal<'a>) -> CredentialsFuture<'a, bool> {
        assert_eq!(refusal.headers["www-authenticate"], "Bearer");
        assert!(refusal.sent.contains_key(AUTHORIZATION));
        let count = self.0.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move { Ok(count < 3) })
    }
}

fn unauthorized() -> String {
    "HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Bearer\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        .to_owned()
}

#[tokio::test]
async fn a_refused_request_is_sent_again_as_often_as_the_credentials_say() {
    let server = Scripted::start(|asked| match asked.headers.contains("authorization: bearer 2") {
        true => stateless(&asked),
        false => unauthorized(),
    })
    .await;
    within(builder().credentials(Arc::<Tokens>::default()).connect(&server.url())).await.unwrap();
    let never = Scripted::start(|_| unauthorized()).await;
    let refused = within(builder().credentials(Arc::<Tokens>::default()).connect(&never.url())).await;
    assert!(matches!(refused, Err(CallError::CannotConnect(_))), "{refused:?}");
}
