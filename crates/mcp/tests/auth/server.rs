//! What a server that needs tokens answers.

use serde_json::{Value, json};

use crate::client::{Received, everything, post_alone, send};
use crate::serving::Serving;
use crate::tokens::{Signer, claims, now};

const ISSUER: &str = "https://auth.example";

async fn serving(signer: &Signer) -> Serving {
    Serving::start(ISSUER, signer, &["orders:read"]).await
}

async fn call(serving: &Serving, token: Option<&str>, tool: &str) -> Received {
    let header = token.map(|token| format!("Bearer {token}"));
    let headers: Vec<_> = header.iter().map(|header| ("authorization", header.as_str())).collect();
    let params = json!({"name": tool, "arguments": {"a": 2, "b": 3}});
    post_alone(serving.address, &headers, "tools/call", params, everything()).await
}

/// The challenge of a refusal with this status.
async fn refused(serving: &Serving, token: Option<&str>, tool: &str, status: u16) -> String {
    let received = call(serving, token, tool).await;
    let challenge = received.header("www-authenticate").unwrap_or_default().to_owned();
    assert_eq!(received.status, status, "{challenge}");
    challenge
}

fn metadata_url(serving: &Serving) -> String {
    format!("http://{}/.well-known/oauth-protected-resource/mcp", serving.address)
}

// MCP-A-01, MCP-A-06
#[tokio::test]
async fn the_metadata_need_no_token_and_are_at_both_paths() {
    let serving = serving(&Signer::new()).await;
    for path in ["/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"] {
        let received = send(serving.address, &format!("GET {path}"), &[], None).await;
        assert_eq!((received.status, received.header("content-type")), (200, Some("application/json")));
        let expected = json!({
            "resource": serving.url,
            "authorization_servers": [ISSUER],
            "scopes_supported": ["orders:read"],
            "bearer_methods_supported": ["header"],
            "resource_name": "Desk",
        });
        assert_eq!(received.json().await, expected);
    }
    let posted = send(serving.address, "POST /.well-known/oauth-protected-resource", &[], Some("{}")).await;
    assert_ne!(posted.status, 200);
}

// MCP-A-02
#[tokio::test]
async fn a_client_without_a_token_learns_where_to_get_one() {
    let serving = serving(&Signer::new()).await;
    let expected = format!("Bearer scope=\"orders:read\", resource_metadata=\"{}\"", metadata_url(&serving));
    assert_eq!(refused(&serving, None, "math_add", 401).await, expected);
    // The event stream of a session is no page that a browser shows.
    let headers = [("accept", "text/event-stream")];
    let received = send(serving.address, "GET /mcp", &headers, None).await;
    assert_eq!((received.status, received.header("www-authenticate")), (401, Some(&*expected)));
}

// MCP-A-04, SEC-T-02
#[tokio::test]
async fn only_tokens_of_the_issuer_for_this_endpoint_are_accepted() {
    let signer = Signer::new();
    let serving = serving(&signer).await;
    let right = claims(ISSUER, &serving.url, "orders:read");
    let answer = call(&serving, Some(&signer.sign(&right)), "math_add").await.answer().await;
    assert_eq!(crate::fixtures::text(&answer["result"]), "5", "{answer}");
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut claims = right.clone();
        change(&mut claims);
        signer.sign(&claims)
    };
    let wrong = [
        ("an audience of the same server", changed(&|claims| claims["aud"] = json!("https://api.example"))),
        ("another audience", changed(&|claims| claims["aud"] = json!("https://other.example/mcp"))),
        ("another issuer", changed(&|claims| claims["iss"] = json!("https://evil.example"))),
        ("an expired token", changed(&|claims| claims["exp"] = json!(now() - 120))),
        ("another key", Signer::new().sign(&right)),
        ("no token", "nonsense".to_owned()),
    ];
    for (what, token) in wrong {
        let challenge = refused(&serving, Some(&token), "math_add", 401).await;
        assert!(challenge.starts_with("Bearer error=\"invalid_token\""), "{what}: {challenge}");
        assert!(challenge.contains(&metadata_url(&serving)), "{what}: {challenge}");
    }
    let both = changed(&|claims| claims["aud"] = json!(["https://api.example", serving.url]));
    assert_eq!(call(&serving, Some(&both), "math_add").await.status, 200);
    // A token in the query is none (MCP-A-04).
    let line = format!("POST /mcp?access_token={}", signer.sign(&right));
    assert_eq!(send(serving.address, &line, &[], Some("{}")).await.status, 401);
}

// MCP-A-03
#[tokio::test]
async fn a_tool_that_needs_more_scopes_names_all_of_them() {
    let signer = Signer::new();
    let serving = serving(&signer).await;
    let token = |scope: &str| signer.sign(&claims(ISSUER, &serving.url, scope));
    let challenge = refused(&serving, Some(&token("orders:read")), "refund", 403).await;
    let expected = format!(
        "Bearer error=\"insufficient_scope\", scope=\"orders:read orders:write\", resource_metadata=\"{}\"",
        metadata_url(&serving)
    );
    assert_eq!(challenge, expected);
    let answer = call(&serving, Some(&token("orders:write orders:read")), "refund").await.answer().await;
    assert_eq!(crate::fixtures::text(&answer["result"]), "refunded");
}
