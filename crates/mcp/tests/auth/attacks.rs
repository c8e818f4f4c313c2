//! Servers that want tokens that are not theirs, or that lead a client where it should not go.

use serde_json::json;
use switchboard_mcp::auth::Login;

use crate::agent::{Shared, call, login};
use crate::hostile::Hostile;
use crate::issuer::Issuer;
use crate::serving::Serving;

/// The error of a login at a server, whose issuer is an honest one that was changed like this.
async fn refused(change: impl FnOnce(&mut crate::issuer::Behaviour)) -> (Issuer, String) {
    let issuer = Issuer::start().await;
    let serving = Serving::start(&issuer.url, &issuer.signer, &[]).await;
    issuer.behave(change);
    let error = call(login(), &serving.url, "math_add").await.unwrap_err();
    (issuer, error)
}

// MCP-A-21
#[tokio::test]
async fn metadata_of_another_issuer_are_not_used() {
    let (issuer, error) = refused(|issuer| {
        issuer.metadata = |metadata| metadata["issuer"] = json!("https://honest.example");
    })
    .await;
    assert!(error.contains("\"https://honest.example\""), "{error}");
    assert_eq!(issuer.asked("/authorize").len() + issuer.asked("/register").len(), 0);
    // Spelled in another way it is another one.
    let (_, error) = refused(|issuer| {
        issuer.metadata =
            |metadata| metadata["issuer"] = json!(format!("{}/", metadata["issuer"].as_str().unwrap()));
    })
    .await;
    assert!(error.contains("issuer"), "{error}");
}

// MCP-A-22
#[tokio::test]
async fn an_authorization_server_without_pkce_is_not_used() {
    let changes: [fn(&mut serde_json::Value); 2] = [
        |metadata| metadata["code_challenge_methods_supported"] = json!(null),
        |metadata| metadata["code_challenge_methods_supported"] = json!(["plain"]),
    ];
    for change in changes {
        let (issuer, error) = refused(|issuer| issuer.metadata = change).await;
        assert!(error.contains("PKCE"), "{error}");
        assert_eq!(issuer.asked("/authorize").len(), 0);
    }
}

// MCP-A-25
#[tokio::test]
async fn a_code_of_another_issuer_is_not_exchanged() {
    for wrong in [Some("https://evil.example"), None] {
        let (issuer, _) = refused(|issuer| {
            issuer.iss = wrong.map(str::to_owned);
            issuer.metadata =
                |metadata| metadata["authorization_response_iss_parameter_supported"] = json!(true);
        })
        .await;
        assert_eq!((issuer.asked("/authorize").len(), issuer.asked("/token").len()), (1, 0), "{wrong:?}");
    }
    let issuer = Issuer::start().await;
    let serving = Serving::start(&issuer.url, &issuer.signer, &[]).await;
    let url = issuer.url.clone();
    issuer.behave(|issuer| issuer.iss = Some(url));
    assert!(call(login(), &serving.url, "math_add").await.is_ok(), "the right one is");
}

// MCP-A-04
#[tokio::test]
async fn a_token_for_another_server_is_refused_and_the_client_gives_up() {
    let (issuer, error) =
        refused(|issuer| issuer.audience = Some("https://other.example/mcp".to_owned())).await;
    assert!(error.contains("does not accept the token"), "{error}");
    assert_eq!(issuer.asked("/authorize").len(), 1);
}

// MCP-A-26
#[tokio::test]
async fn another_authorization_server_gets_nothing_of_the_first() {
    let (first, second) = (Issuer::start().await, Issuer::start().await);
    for issuer in [&first, &second] {
        issuer.behave(|issuer| issuer.secret = Some("secret"));
    }
    let server = Hostile::start(&[&first.url, &second.url]).await;
    let store = Shared::default();
    // The second program finds the token of the first one, and another authorization server.
    for _ in 0..2 {
        let error = call(login().kept_in(store.clone()), &server.url, "math_add").await.unwrap_err();
        assert!(error.contains("does not accept the token"), "{error}");
    }
    assert_eq!((first.asked("/register").len(), second.asked("/register").len()), (1, 1));
    let [at_first, at_second] = [&first, &second].map(|issuer| issuer.asked("/token")[0].clone());
    assert_ne!(at_first.authorization, at_second.authorization);
    assert!(second.asked("/token").iter().all(|asked| asked.params["grant_type"] == "authorization_code"));
}

// MCP-A-29, SEC-X-01
#[tokio::test]
async fn metadata_elsewhere_in_a_private_network_are_not_requested() {
    let inner = Issuer::start().await;
    let targets = [
        "http://169.254.169.254/latest/meta-data",
        "http://10.0.0.1/",
        "https://10.0.0.1/",
        "https://[::ffff:169.254.169.254]/",
        "file:///etc/passwd",
        "ftp://127.0.0.1/",
    ];
    for target in targets {
        let server = Hostile::challenging(&format!("Bearer resource_metadata=\"{target}\"")).await;
        let error = call(login(), &server.url, "math_add").await.unwrap_err();
        assert!(error.contains("not requested") || error.contains("is not allowed"), "{target}: {error}");
        let server = Hostile::start(&[target]).await;
        let error = call(login(), &server.url, "math_add").await.unwrap_err();
        assert!(error.contains("not requested") || error.contains("is not allowed"), "{target}: {error}");
    }
    assert_eq!(inner.paths().len(), 0);
}

// SEC-X-01
#[tokio::test]
async fn a_redirect_is_checked_like_the_first_url_and_redirects_end() {
    for (to, expected) in [("http://10.0.0.1/", "not requested"), ("/.well-known/loop", "redirects")] {
        let server = Hostile::redirecting(to).await;
        let challenge = format!("{}/.well-known/loop", server.origin);
        let other = Hostile::challenging(&format!("Bearer resource_metadata=\"{challenge}\"")).await;
        let error = call(login(), &other.url, "math_add").await.unwrap_err();
        assert!(error.contains(expected), "{to}: {error}");
        assert!(server.requests() <= 4, "{}", server.requests());
    }
}

#[tokio::test]
async fn a_document_that_is_too_long_is_not_read() {
    let server = Hostile::endless().await;
    let error = call(login(), &server.url, "math_add").await.unwrap_err();
    assert!(error.contains("too long"), "{error}");
}

// MCP-A-20
#[tokio::test]
async fn metadata_of_another_resource_are_not_used() {
    let issuer = Issuer::start().await;
    let server = Hostile::claiming("https://honest.example/mcp", &issuer.url).await;
    let error = call(login(), &server.url, "math_add").await.unwrap_err();
    assert!(error.contains("https://honest.example/mcp"), "{error}");
    assert_eq!(issuer.paths().len(), 0);
}

// MCP-A-28
#[tokio::test]
async fn only_pages_of_the_web_are_opened() {
    let changes: [fn(&mut serde_json::Value); 3] = [
        |metadata| metadata["authorization_endpoint"] = json!("javascript:alert(1)"),
        |metadata| metadata["authorization_endpoint"] = json!("file:///etc/passwd"),
        |metadata| metadata["authorization_endpoint"] = json!("http://evil.example/"),
    ];
    for change in changes {
        let (_, error) = refused(|issuer| issuer.metadata = change).await;
        assert!(error.contains("not requested"), "{error}");
    }
}

// MCP-A-26
#[tokio::test]
async fn the_secret_of_a_program_stays_with_its_authorization_server() {
    let evil = Issuer::start().await;
    let server = Hostile::start(&[&evil.url]).await;
    let client = switchboard_mcp::auth::RegisteredClient::new("robot").with_secret("s3cret");
    let login = Login::client_credentials(client.of("https://auth.example"));
    assert!(call(login, &server.url, "math_add").await.is_err());
    assert_eq!(evil.asked("/token").len(), 0);
}
