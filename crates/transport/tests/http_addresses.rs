//! Clients that may not connect everywhere.
#![cfg(feature = "http")]

use std::sync::{Arc, Mutex};

use switchboard_core::{CallError, ErrorObject, Peer, Router};
use switchboard_transport::http::{AllowedAddresses, Client, HttpClientOptions, HttpServer};

// SEC-X-01
#[tokio::test]
async fn an_address_is_checked_before_the_client_connects_to_it() {
    let router = Router::builder().method("ping", |(): (), _| Ok::<_, ErrorObject>("pong")).build().unwrap();
    let server = HttpServer::bind("127.0.0.1:0").await.unwrap();
    let port = server.local_addr().port();
    tokio::spawn(server.serve(router));
    for host in ["127.0.0.1", "localhost"] {
        for is_allowed in [true, false] {
            let asked = Arc::new(Mutex::new(Vec::new()));
            let seen = Arc::clone(&asked);
            let addresses = AllowedAddresses::new(move |address| {
                seen.lock().unwrap().push(address);
                is_allowed
            });
            let options = HttpClientOptions::default().with_addresses(Some(addresses));
            let client = Client::with_options(&format!("http://{host}:{port}/"), options).unwrap();
            let called: Result<String, CallError> = Peer::new(client).call("ping", ()).await;
            assert_eq!(called.is_ok(), is_allowed, "{host}: {called:?}");
            assert!(asked.lock().unwrap().iter().all(std::net::IpAddr::is_loopback));
            assert!(!asked.lock().unwrap().is_empty(), "{host}");
        }
    }
}
