//! The in-memory transport, through the facade.

#![allow(clippy::unwrap_used)]

use futures_util::StreamExt;
use switchboard::{CallError, Context, Peer, Router, Stream, memory, service};

struct Server;

#[service]
impl Server {
    async fn ask_back(&self, cx: &Context) -> Result<String, CallError> {
        cx.peer().call("name", ()).await
    }

    fn ticks(&self, n: u32) -> impl Stream<Item = u32> + Send + 'static {
        futures_util::stream::iter(0..n)
    }

    fn transport(&self, cx: &Context) -> &'static str {
        cx.origin().transport
    }
}

struct Client;

#[service]
impl Client {
    fn name(&self) -> String {
        "client".to_owned()
    }
}

fn connect() -> Peer {
    let server = Router::builder().add(Server).build().unwrap();
    memory::connect(server, Router::builder().add(Client).build().unwrap())
}

#[tokio::test]
async fn both_ends_call_over_memory() {
    let peer = connect();
    assert_eq!(peer.call::<String>("ask_back", ()).await.as_deref(), Ok("client"));
    assert_eq!(peer.call::<String>("transport", ()).await.as_deref(), Ok("memory"));
    let ticks: Vec<_> = peer.stream::<u32>("ticks", [3]).await.unwrap().collect().await;
    assert_eq!(ticks, [Ok(0), Ok(1), Ok(2)]);
    let outcomes = peer.batch().call("transport", ()).call("nope", ()).send().await.unwrap();
    assert!(outcomes[0].is_ok() && outcomes[1].is_err());
}
