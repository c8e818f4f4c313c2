//! The card, and the extended one.

use serde_json::json;
use switchboard_a2a::model::{AgentCard, AgentInterface, AgentSkill, Message, Version};
use switchboard_a2a::{Agent, CardTrust, Client, ClientError, ClientOptions};
use switchboard_layers::identity::jwt::{KeySet, SigningKey};
use switchboard_transport::http::{EndpointOptions, HttpClientOptions, TextRoute};

use crate::raw::send;
use crate::serving::{Gate, Serving, Stopping, agent, serve, serve_with_origin};

const PATH: &str = "GET /.well-known/agent-card.json";

// A2A-C-01, A2A-C-02, A2A-T-05
#[tokio::test]
async fn the_card_says_where_the_agent_is_and_can_be_cached() {
    let serving = serve(&agent(&Gate::default()).build()).await;
    let received = send(serving.address, PATH, &[], None).await;
    assert_eq!(received.status, 200);
    assert_eq!(received.header("content-type"), Some("application/json"));
    assert!(received.header("cache-control").unwrap().contains("max-age="));
    let tag = received.header("etag").unwrap().to_owned();
    let card = received.json().await;
    let url = format!("http://{}/a2a", serving.address);
    assert_eq!(
        card["supportedInterfaces"],
        json!([
            {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
            {"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "0.3"},
        ])
    );
    assert_eq!((&card["url"], &card["protocolVersion"]), (&json!(url), &json!("0.3.0")));
    assert_eq!(card["capabilities"]["streaming"], true);
    assert_eq!(card["skills"][0]["id"], "obey");
    let known = send(serving.address, PATH, &[("if-none-match", &tag)], None).await;
    assert_eq!((known.status, known.header("etag")), (304, Some(tag.as_str())));
    let other = send(serving.address, PATH, &[("if-none-match", "\"other\"")], None).await;
    assert_eq!(other.status, 200);
}

// A2A-C-05, A2A-M-08
#[tokio::test]
async fn the_extended_card_is_for_authenticated_clients() {
    let extended =
        AgentCard::new("Test", "Does more.", "1.0.0").skill(AgentSkill::new("more", "More", "Does more."));
    let serving = serve(&agent(&Gate::default()).with_extended_card(extended).build()).await;
    let received = serving.post("GetExtendedAgentCard", json!({})).await;
    assert_eq!((received.status, received.header("www-authenticate")), (401, Some("Bearer")));
    let card = serving.ask_as("ann", "GetExtendedAgentCard", json!({})).await["result"].clone();
    assert_eq!(
        (&card["skills"][0]["id"], &card["capabilities"]["extendedAgentCard"]),
        (&json!("more"), &json!(true))
    );
    assert_eq!(card["supportedInterfaces"][0]["url"], format!("http://{}/a2a", serving.address));
}

fn jwks(key: &SigningKey) -> String {
    json!({"keys": [key.public_key().unwrap()]}).to_string()
}

fn trusting(trust: CardTrust) -> ClientOptions {
    ClientOptions::default().with_trust(Some(trust))
}

// A2A-C-04, A2A-T-10
#[tokio::test]
async fn a_client_accepts_cards_of_keys_that_it_trusts() {
    let (key, other) = (SigningKey::generate().unwrap().with_id("k"), SigningKey::generate().unwrap());
    let extended = AgentCard::new("Test", "Does more.", "1.0.0");
    let signed = agent(&Gate::default()).with_signing_key(key.clone()).with_extended_card(extended);
    let serving = serve_with_origin(signed);
    let url = format!("http://{}", serving.address);
    let trust = |key: &SigningKey| trusting(CardTrust::keys(KeySet::parse(jwks(key)).unwrap()));
    let options = trust(&key);
    let mut headers = http::HeaderMap::new();
    headers.insert("x-user", "ann".parse().unwrap());
    let options = options.with_http(HttpClientOptions::default().with_headers(headers));
    let client = Client::with_options(&url, options).await.unwrap();
    assert_eq!(client.extended_card().await.unwrap().description, "Does more.");
    let error = Client::with_options(&url, trust(&other)).await.unwrap_err();
    assert!(
        matches!(&error, ClientError::Untrusted { why, .. } if why.contains("no trusted key")),
        "{error}"
    );
    // It is signed once.
    let get = async || send(serving.address, PATH, &[], None).await.header("etag").unwrap().to_owned();
    assert_eq!(get().await, get().await);
    let unsigned = serve(&agent(&Gate::default()).build()).await;
    let error = Client::with_options(&format!("http://{}", unsigned.address), trust(&key)).await.unwrap_err();
    assert!(matches!(&error, ClientError::Untrusted { why, .. } if why.contains("not signed")), "{error}");
}

// A2A-C-04
#[tokio::test]
async fn a_key_is_fetched_only_from_a_url_that_is_trusted() {
    let key = SigningKey::generate().unwrap().with_id("k");
    let (json, text) = (http::HeaderValue::from_static("application/json"), jwks(&key));
    let document = TextRoute::new(json, move || (http::StatusCode::OK, text.clone()));
    let keys = EndpointOptions::default().route("/keys.json", document);
    let keys = Stopping::serve(keys);
    let key_url = format!("http://{}/keys.json", keys.address);
    let serving = serve_with_origin(agent(&Gate::default()).with_signing_key(key).with_key_url(&key_url));
    let url = format!("http://{}", serving.address);
    Client::with_options(&url, trusting(CardTrust::default().and_url(&key_url))).await.unwrap();
    for other in ["http://127.0.0.1:1/keys.json", "https://keys.test/keys.json"] {
        let error =
            Client::with_options(&url, trusting(CardTrust::default().and_url(other))).await.unwrap_err();
        assert!(matches!(error, ClientError::Untrusted { .. }), "{error}");
    }
}

// A2A-C-04
#[tokio::test]
async fn what_a_request_says_about_the_host_is_not_signed() {
    let new = || agent(&Gate::default()).with_signing_key(SigningKey::generate().unwrap());
    let card = async |serving: &Serving| send(serving.address, PATH, &[], None).await.json().await;
    let serving = serve(&new().build()).await;
    let received = card(&serving).await;
    let url = format!("http://{}/a2a", serving.address);
    assert_eq!(received["supportedInterfaces"][0]["url"], url);
    assert!(received.get("signatures").is_none(), "{received}");
    // An agent that knows its origin, and one that knows its interfaces, do not listen to the request.
    let serving = serve(&new().with_origin("https://agent.test/").build()).await;
    let received = card(&serving).await;
    let url = "https://agent.test/a2a";
    assert_eq!((&received["url"], &received["supportedInterfaces"][0]["url"]), (&json!(url), &json!(url)));
    assert!(received["signatures"].is_array(), "{received}");
    let own = AgentInterface::json_rpc("https://agent.test/a2a", Version::V1_0);
    let own = AgentCard::new("Test", "Knows its place.", "1.0.0").interface(own);
    let never = |_: Message, _| async { Ok::<_, switchboard_core::ErrorObject>(()) };
    let key = SigningKey::generate().unwrap();
    let extended = AgentCard::new("Test", "Does more.", "1.0.0");
    let server = Agent::new(own, never).with_signing_key(key).with_extended_card(extended).build();
    let serving = serve(&server).await;
    let answer = serving.ask_as("ann", "GetExtendedAgentCard", json!({})).await;
    for received in [&card(&serving).await, &answer["result"]] {
        assert_eq!(received["supportedInterfaces"].as_array().unwrap().len(), 1);
        assert_eq!(received["supportedInterfaces"][0]["url"], "https://agent.test/a2a");
        assert!(received["signatures"].is_array(), "{received}");
    }
}
