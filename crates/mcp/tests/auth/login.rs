//! Clients that log in, as users and as themselves.

use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_mcp::Client;
use switchboard_mcp::auth::{IdentityProvider, Login, RegisteredClient, SigningKey, TokenSource};

use crate::agent::{No, Shared, ask, call, connect, login};
use crate::client::within;
use crate::issuer::{Issuer, claims_of};
use crate::serving::Serving;
use crate::tokens::claims;

async fn servers(scopes: &[&str]) -> (Issuer, Serving) {
    let issuer = Issuer::start().await;
    let serving = Serving::start(&issuer.url, &issuer.signer, scopes).await;
    (issuer, serving)
}

/// A client that the issuer knows.
fn known(issuer: &Issuer) -> RegisteredClient {
    issuer.knows("robot");
    RegisteredClient::new("robot").of(&issuer.url)
}

fn params(issuer: &Issuer, path: &str, name: &str) -> Vec<String> {
    let asked = issuer.asked(path);
    asked.iter().map(|asked| asked.params.get(name).cloned().unwrap_or_default()).collect()
}

// MCP-A-20, MCP-A-21, MCP-A-22, MCP-A-23, MCP-A-24
#[tokio::test]
async fn a_user_logs_in_when_the_server_asks_for_it() {
    let (issuer, serving) = servers(&["orders:read"]).await;
    let client = connect(login(), &serving.url).await.unwrap();
    assert!(ask(&client, "math_add").await.unwrap().contains('5'));
    assert!(ask(&client, "math_add").await.unwrap().contains('5'));
    let [registered] = &issuer.asked("/register")[..] else { panic!("{:?}", issuer.paths()) };
    let expected = json!({
        "client_name": "test",
        "redirect_uris": ["http://127.0.0.1:7/callback"],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
        "application_type": "native",
    });
    assert_eq!(registered.body, expected);
    for path in ["/authorize", "/token"] {
        assert_eq!(params(&issuer, path, "resource"), [serving.url.as_str()], "{path}");
    }
    assert_eq!(params(&issuer, "/authorize", "scope"), ["orders:read"]);
    assert_eq!(params(&issuer, "/token", "code_verifier")[0].len(), 43);
    // No token was sent before one was asked for, and only one was used.
    let mut seen = serving.seen();
    seen.dedup();
    assert_eq!(seen.len(), 1);
}

#[tokio::test]
async fn a_user_can_log_in_before_a_client_connects() {
    let (issuer, serving) = servers(&["orders:read"]).await;
    let store = Shared::default();
    let first = login().kept_in(store.clone());
    let running = Arc::new(Login::user(No).kept_in(store.clone()));
    let connect = || Client::builder("test", "1.0.0").credentials(running.clone()).connect(&serving.url);
    assert!(within(connect()).await.is_err());
    first.log_in(&serving.url).await.unwrap();
    assert_eq!(params(&issuer, "/authorize", "scope"), ["orders:read"]);
    // One that runs already finds the token of another one.
    assert!(ask(&within(connect()).await.unwrap(), "math_add").await.is_ok());
    assert!(call(login().kept_in(store.clone()), &serving.url, "math_add").await.is_ok());
    assert_eq!(issuer.asked("/authorize").len(), 1);
    first.log_in(&serving.url).await.unwrap();
    assert_eq!(issuer.asked("/authorize").len(), 2, "a second login replaces the first");
    let refused = login().log_in(&format!("{}/mcp", issuer.url)).await.unwrap_err();
    assert!(refused.to_string().contains("does not ask for a login"), "{refused}");
}

#[tokio::test]
async fn clients_that_share_a_store_use_the_token_that_one_of_them_renewed() {
    let (issuer, serving) = servers(&[]).await;
    let store = Shared::default();
    issuer.behave(|issuer| issuer.lifetime = 10);
    let [one, other] = [(); 2].map(|()| login().kept_in(store.clone()));
    let (one, other) =
        (connect(one, &serving.url).await.unwrap(), connect(other, &serving.url).await.unwrap());
    issuer.behave(|issuer| issuer.lifetime = 3600);
    assert!(ask(&one, "math_add").await.is_ok());
    let asked = issuer.asked("/token").len();
    // The refresh token of the other one has been used, and is not good any more.
    assert!(ask(&other, "math_add").await.is_ok());
    assert_eq!((issuer.asked("/token").len(), issuer.asked("/authorize").len()), (asked, 1));
}

// MCP-A-24
#[tokio::test]
async fn a_client_that_is_known_does_not_register() {
    let (issuer, serving) = servers(&[]).await;
    issuer.behave(|issuer| issuer.secret = Some("s3cret"));
    let client = known(&issuer).with_secret("s3cret");
    assert!(call(login().client(client), &serving.url, "math_add").await.is_ok());
    assert_eq!(params(&issuer, "/authorize", "client_id"), ["robot"]);
    assert_eq!(params(&issuer, "/authorize", "scope"), [""], "the server named none");
    // One that another authorization server knows is not shown to this one.
    let other = RegisteredClient::new("other").with_secret("other").of("https://auth.example");
    assert!(call(login().client(other), &serving.url, "math_add").await.is_ok());
    assert_eq!(issuer.asked("/register").len(), 1);
    assert_ne!(params(&issuer, "/authorize", "client_id")[1], "other");
}

// MCP-A-24
#[tokio::test]
async fn a_document_about_the_client_is_its_identifier() {
    const DOCUMENT: &str = "https://desk.example/client.json";
    let (issuer, serving) = servers(&[]).await;
    issuer.knows(DOCUMENT);
    issuer.behave(|issuer| {
        issuer.metadata = |metadata| metadata["client_id_metadata_document_supported"] = json!(true);
    });
    assert!(call(login().described_at(DOCUMENT), &serving.url, "math_add").await.is_ok());
    assert_eq!(params(&issuer, "/authorize", "client_id"), [DOCUMENT]);
    assert_eq!(issuer.asked("/register").len(), 0);
}

#[tokio::test]
async fn a_server_that_registers_no_clients_is_said_so() {
    let (issuer, serving) = servers(&[]).await;
    issuer.behave(|issuer| issuer.metadata = |metadata| metadata["registration_endpoint"] = Value::Null);
    let error = call(login(), &serving.url, "math_add").await.unwrap_err();
    assert!(error.contains("does not register clients"), "{error}");
}

// MCP-A-21
#[tokio::test]
async fn metadata_of_openid_connect_are_found_too() {
    let (issuer, serving) = servers(&[]).await;
    issuer.behave(|issuer| issuer.place = "/.well-known/openid-configuration");
    assert!(call(login(), &serving.url, "math_add").await.is_ok());
}

// MCP-A-23, MCP-A-30
#[tokio::test]
async fn a_token_that_expires_is_renewed_without_the_user() {
    let (issuer, serving) = servers(&["orders:read"]).await;
    issuer.behave(|issuer| issuer.lifetime = 1);
    let client = connect(login(), &serving.url).await.unwrap();
    assert!(ask(&client, "math_add").await.is_ok());
    assert_eq!(issuer.asked("/authorize").len(), 1);
    let refreshes: Vec<_> = issuer
        .asked("/token")
        .into_iter()
        .filter(|asked| asked.params["grant_type"] == "refresh_token")
        .collect();
    assert!(!refreshes.is_empty());
    assert!(refreshes.iter().all(|asked| asked.params["resource"] == serving.url));
}

#[tokio::test]
async fn a_token_that_cannot_be_renewed_is_asked_for_again() {
    let (issuer, serving) = servers(&[]).await;
    issuer.behave(|issuer| (issuer.lifetime, issuer.gives_refresh_tokens) = (0, false));
    let client = connect(login(), &serving.url).await.unwrap();
    assert!(ask(&client, "math_add").await.is_ok());
    assert!(issuer.asked("/authorize").len() > 1);
}

#[tokio::test]
async fn a_token_that_is_kept_is_used_by_the_next_program() {
    let (issuer, serving) = servers(&[]).await;
    let store = Shared::default();
    for _ in 0..2 {
        assert!(call(login().kept_in(store.clone()), &serving.url, "math_add").await.is_ok());
    }
    assert_eq!(issuer.asked("/authorize").len(), 1);
    assert!(!format!("{:?} {store:?}", login()).contains("eyJ"), "tokens are not shown");
}

// MCP-A-27
#[tokio::test]
async fn a_tool_that_needs_more_makes_the_user_log_in_for_more() {
    let (issuer, serving) = servers(&["profile"]).await;
    let client = connect(login(), &serving.url).await.unwrap();
    assert!(ask(&client, "refund").await.unwrap().contains("refunded"));
    assert_eq!(params(&issuer, "/authorize", "scope"), ["profile", "profile orders:read orders:write"]);
    assert!(ask(&client, "math_add").await.is_ok());
    assert_eq!(issuer.asked("/authorize").len(), 2);
}

// MCP-A-27
#[tokio::test]
async fn a_scope_that_is_not_granted_is_not_asked_for_again_and_again() {
    let (issuer, serving) = servers(&["profile"]).await;
    issuer.behave(|issuer| issuer.granted = Some("profile".to_owned()));
    let client = connect(login(), &serving.url).await.unwrap();
    let error = ask(&client, "refund").await.unwrap_err();
    assert!(error.contains("orders:read orders:write"), "{error}");
    assert_eq!(issuer.asked("/authorize").len(), 2);
    assert!(ask(&client, "math_add").await.is_ok(), "the token is good for other tools");
}

// MCP-A-30
#[tokio::test]
async fn offline_access_is_asked_for_where_it_is_offered() {
    let (issuer, serving) = servers(&["profile"]).await;
    issuer.behave(|issuer| {
        issuer.metadata = |metadata| metadata["scopes_supported"] = json!(["profile", "offline_access"]);
    });
    assert!(call(login(), &serving.url, "math_add").await.is_ok());
    assert_eq!(params(&issuer, "/authorize", "scope"), ["profile offline_access"]);
    assert_eq!(params(&issuer, "/authorize", "prompt"), ["consent"]);
}

// MCP-A-32
#[tokio::test]
async fn a_program_logs_in_as_itself_with_a_secret() {
    let (issuer, serving) = servers(&["orders:read"]).await;
    issuer.behave(|issuer| issuer.secret = Some("a:b c"));
    // What is not plain is escaped before it becomes part of the header (RFC 6749, section 2.3.1).
    issuer.behave(|issuer| issuer.secret = Some("a%3Ab%20c"));
    let login = Login::client_credentials(known(&issuer).with_secret("a:b c"));
    assert!(call(login, &serving.url, "math_add").await.is_ok());
    assert_eq!(params(&issuer, "/token", "grant_type"), ["client_credentials"]);
    assert_eq!(params(&issuer, "/token", "scope"), ["orders:read"]);
    assert_eq!(issuer.asked("/authorize").len() + issuer.asked("/register").len(), 0);
}

// MCP-A-32
#[tokio::test]
async fn a_program_logs_in_as_itself_with_a_key() {
    let (issuer, serving) = servers(&[]).await;
    let (pem, keys) = crate::tokens::client_key();
    issuer.behave(|issuer| issuer.client_keys = Some(keys));
    let client = known(&issuer).with_key(SigningKey::from_pem(&pem).unwrap());
    assert!(call(Login::client_credentials(client), &serving.url, "math_add").await.is_ok());
    let assertion = claims_of(&params(&issuer, "/token", "client_assertion")[0]);
    assert_eq!((&assertion["aud"], &assertion["iss"]), (&json!(issuer.url), &json!("robot")));
    assert!(
        SigningKey::from_pem("-----BEGIN EC PRIVATE KEY-----").unwrap_err().to_string().contains("PKCS #8")
    );
}

// MCP-A-32
#[tokio::test]
async fn a_workload_shows_the_token_of_its_platform() {
    let (issuer, serving) = servers(&["orders:read"]).await;
    let assertion = issuer.signer.sign(&claims("https://platform.example", &issuer.url, ""));
    let source = TokenSource::new(move || std::future::ready(Ok(assertion.clone())));
    assert!(call(Login::workload(known(&issuer), source), &serving.url, "math_add").await.is_ok());
    // A wrong one is not tried again, nor in another way.
    let wrong = issuer.signer.sign(&claims("https://platform.example", "https://other.example", ""));
    let source = TokenSource::new(move || std::future::ready(Ok(wrong.clone())));
    let error = call(Login::workload(known(&issuer), source), &serving.url, "math_add").await.unwrap_err();
    assert!(error.contains("invalid_grant"), "{error}");
    assert_eq!(issuer.asked("/token").len(), 2);
}

// MCP-A-32
#[tokio::test]
async fn a_company_decides_what_its_users_may_use() {
    let (issuer, serving) = servers(&["orders:read"]).await;
    let provider = Issuer::start().await;
    provider.knows("desk");
    let identity = TokenSource::new(|| std::future::ready(Ok("the ID token".to_owned())));
    let endpoint = format!("{}/token", provider.url);
    let provided = IdentityProvider::new(&provider.url, endpoint, RegisteredClient::new("desk"), identity);
    let login = Login::enterprise(provided, known(&issuer));
    assert!(call(login, &serving.url, "math_add").await.is_ok());
    let [exchanged] = &provider.asked("/token")[..] else { panic!("{:?}", provider.paths()) };
    let get = |name: &str| exchanged.params[name].as_str();
    assert_eq!((get("subject_token"), get("audience")), ("the ID token", &*issuer.url));
    assert_eq!((get("resource"), get("scope")), (&*serving.url, "orders:read"));
    let assertion = claims_of(&params(&issuer, "/token", "assertion")[0]);
    assert_eq!(assertion["iss"], provider.url);
}

// MCP-A-31
#[tokio::test]
async fn a_server_without_metadata_of_its_own_is_its_own_authorization_server() {
    let issuer = Issuer::start().await;
    for place in ["/.well-known/oauth-authorization-server", "/nowhere"] {
        issuer.behave(|issuer| issuer.place = place);
        let url = format!("{}/mcp", issuer.url);
        // It answers 401 at every path that it does not know.
        issuer.behave(|issuer| issuer.refuses = true);
        let error = call(login(), &url, "math_add").await.unwrap_err();
        assert!(error.contains("does not accept the token"), "{error}");
    }
    assert_eq!(issuer.asked("/register").len(), 2);
    let resource = format!("{}/mcp", issuer.url);
    assert_eq!(params(&issuer, "/token", "resource"), [&*resource, &*resource]);
}
