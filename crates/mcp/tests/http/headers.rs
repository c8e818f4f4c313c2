//! Headers that repeat arguments.

use serde_json::{Value, json};
use switchboard_core::{ErrorObject, Json, Method, MethodDescription, ParamDescription};
use switchboard_mcp::Server;

use crate::client::post_alone;
use crate::fixtures::server;
use crate::serving::serve;

/// A tool whose argument `value` travels in `Mcp-Param-Value` too.
fn mirrored() -> Server {
    let echo = Method::sync("echo", |arguments: Option<Json>, _| Ok::<_, ErrorObject>(arguments));
    server([echo.described(|_| {
        let mut param = ParamDescription::optional("value", json!({}));
        param.schema = json!({"type": "string", "x-mcp-header": "Value"});
        MethodDescription::documented("Returns what it is given.").param(param)
    })])
}

async fn status(address: std::net::SocketAddr, value: Option<&Value>, header: Option<&str>) -> (u16, Value) {
    let headers: Vec<_> = header.map(|header| ("Mcp-Param-Value", header)).into_iter().collect();
    let arguments = value.map_or(json!({}), |value| json!({"value": value}));
    let received = post_alone(
        address,
        &headers,
        "tools/call",
        json!({"name": "echo", "arguments": arguments}),
        json!({}),
    )
    .await;
    (received.status, received.json().await["error"]["code"].clone())
}

// MCP-N-12, MCP-N-13
#[tokio::test]
async fn every_recorded_encoding_is_accepted_and_another_value_is_not() {
    let serving = serve(&mirrored()).await;
    let vectors: Value = serde_json::from_str(include_str!("../data/headers.json")).unwrap();
    for vector in vectors["encode"].as_array().unwrap() {
        let header = vector["header"].as_str().unwrap();
        let (found, _) = status(serving.address, Some(&vector["value"]), Some(header)).await;
        assert_eq!(found, 200, "{vector}");
        let wrong = status(serving.address, Some(&vector["value"]), Some("something else")).await;
        assert_eq!(wrong, (400, json!(-32020)), "{vector}");
        let missing = status(serving.address, Some(&vector["value"]), None).await;
        assert_eq!(missing, (400, json!(-32020)), "{vector}");
    }
    for vector in vectors["decode"].as_array().unwrap() {
        let header = vector["header"].as_str().unwrap();
        let value = vector.get("decodes").cloned().unwrap_or(json!("Hello"));
        let (found, _) = status(serving.address, Some(&value), Some(header)).await;
        assert_eq!(found == 400, vector["reject"] == true, "{vector}");
    }
}

// MCP-N-12
#[tokio::test]
async fn without_a_value_no_header_is_expected_and_numbers_are_compared_as_numbers() {
    let serving = serve(&mirrored()).await;
    assert_eq!(status(serving.address, None, None).await.0, 200);
    assert_eq!(status(serving.address, Some(&json!(null)), None).await.0, 200);
    assert_eq!(status(serving.address, Some(&json!(42)), Some("42.0")).await.0, 200);
    assert_eq!(status(serving.address, Some(&json!(42)), Some("43")).await.0, 400);
    assert_eq!(status(serving.address, Some(&json!(true)), Some("TRUE")).await.0, 400);
}

// MCP-N-13
#[tokio::test]
async fn names_may_be_encoded_too() {
    let serving = serve(&mirrored()).await;
    let encoded = [("mcp-name", "=?base64?ZWNobw==?=")];
    let params = json!({"name": "echo", "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }});
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), encoded[0]];
    let received =
        crate::client::post(serving.address, &headers, &crate::client::request("tools/call", params)).await;
    assert_eq!(received.status, 200);
}

// MCP-N-11
#[test]
fn a_schema_given_as_it_is_has_headers_of_plain_arguments_only() {
    let with = |property: Value| {
        let schema = json!({"type": "object", "properties": {"region": property}});
        let echo = Method::sync("echo", |arguments: Option<Json>, _| Ok::<_, ErrorObject>(arguments));
        let echo = echo.described(move |_| {
            MethodDescription::documented("Echo.").extension("x-mcp-input-schema", schema.clone())
        });
        server([echo]).service().map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(with(json!({"type": "string", "x-mcp-header": "Region"})), Ok(()));
    let wrong = with(json!({"type": "number", "x-mcp-header": "Region"})).unwrap_err();
    assert!(wrong.contains("\"echo\"") && wrong.contains("\"region\""), "{wrong}");
    assert!(with(json!({"type": "string", "x-mcp-header": "a b"})).is_err());
    assert!(with(json!({"type": "array", "items": {"type": "string", "x-mcp-header": "A"}})).is_err());
}
