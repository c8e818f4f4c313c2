//! The card, and the extended one.

use serde_json::json;
use switchboard_a2a::model::{AgentCard, AgentSkill};

use crate::raw::send;
use crate::serving::{Gate, agent, serve};

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
