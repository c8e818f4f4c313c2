//! `connect`, `Dial` and `Server` need no other transport than the one that is used.
#![cfg(feature = "tcp")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use switchboard_core::{Context, ErrorObject, Router};
use switchboard_transport::server::Server;
use switchboard_transport::{Dial, connect};

#[tokio::test]
async fn a_server_and_a_client_call_each_other_over_tcp() {
    let router = Router::builder()
        .method("add", |(a, b): (i64, i64), _| Ok::<_, ErrorObject>(a + b))
        .async_method("back", |(): (), cx: Context| async move {
            cx.peer().call::<String>("name", ()).await.map_err(ErrorObject::from)
        });
    let mut server = Server::new(router.build().unwrap());
    server.listen("tcp://127.0.0.1:0?framing=length").await.unwrap();
    let (url, handle) = (server.urls().next().unwrap(), server.handle());
    assert!(url.ends_with("?framing=length"), "{url}");
    let serving = tokio::spawn(server.serve());

    let sum: i64 = connect(&url).await.unwrap().call("add", [2, 3]).await.unwrap();
    assert_eq!(sum, 5);
    let here = Router::builder().method("name", |(): (), _| Ok::<_, ErrorObject>("alice")).build().unwrap();
    let peer = Dial::new(&url).unwrap().with_service(here).connect().await.unwrap();
    assert_eq!(peer.call::<String>("back", ()).await.unwrap(), "alice");

    handle.shutdown();
    serving.await.unwrap();
}

#[test]
fn a_scheme_that_this_build_does_not_have_is_an_error_that_names_those_it_has() {
    let check = |url: &str, expected: &str| {
        let error = Dial::new(url).unwrap_err().to_string();
        assert!(error.contains(expected), "{url}: {error}");
    };
    check("tpc://127.0.0.1:1", "did you mean \"tcp\"?");
    check("gopher://127.0.0.1:1", "this build supports ");
    check("uinx://127.0.0.1:1", "\"tcp\"");
    check("localhost", "is not a URL");
    check("localhost:rpc", "is not a URL");
    if cfg!(not(feature = "http")) {
        check("http://127.0.0.1:1", "unknown scheme \"http\"");
    }
}
