//! Layers around the method of an agent: they see the method, and not `SendMessage`.

use serde_json::json;
use switchboard_a2a::{Agent, agent_method};
use switchboard_core::{Call, ErrorObject, Layer, Reply, ReplyFuture, Router, Service};

use crate::serving::{Gate, agent, message, serve};

/// Refuses a method, as access rules do.
struct Refusing(&'static str);

impl Layer for Refusing {
    fn layer(&self, inner: std::sync::Arc<dyn Service>) -> std::sync::Arc<dyn Service> {
        let refused = self.0;
        std::sync::Arc::new(switchboard_core::service_fn(move |call: &Call| {
            match call.method.as_str() == refused {
                true => ReplyFuture::ready(Reply::error(ErrorObject::unauthorized()).with_status(403)),
                false => inner.call(call),
            }
        }))
    }
}

// A2A-X-01, A2A-E-03
#[tokio::test]
async fn a_layer_sees_the_method_and_its_errors_do_not_look_like_those_of_a2a() {
    let card = agent(&Gate::default()).build().card().clone();
    let method =
        || agent_method("demo/echo", |message, _| async move { Ok::<_, ErrorObject>(message.text()) });
    let server = |refused| {
        let router = Router::builder().add(method()).build().unwrap();
        let name = switchboard_core::Name::from_static("demo/echo");
        Agent::of(card.clone(), router.layered(Refusing(refused)), name).build()
    };
    let serving = serve(&server("SendMessage")).await;
    assert_eq!(serving.ask("SendMessage", message("hi")).await["message"]["parts"][0]["text"], "hi");
    let serving = serve(&server("demo/echo")).await;
    let answer = serving.post("SendMessage", message("hi")).await.json().await;
    // -32002 would say that the task cannot be cancelled.
    assert_eq!(answer["error"]["code"], -32000, "{answer}");
    assert_eq!(answer["error"]["data"][0]["domain"], "switchboard");
}

#[tokio::test]
async fn the_method_can_be_called_without_a2a() {
    let method = agent_method("echo", |message, task: switchboard_a2a::TaskHandle| async move {
        task.working("on it").await?;
        Ok::<_, switchboard_a2a::Ended>(message.text())
    });
    let peer = switchboard_core::Peer::local(Router::builder().add(method).build().unwrap());
    let outcome: serde_json::Value = peer.call("echo", message("hi")).await.unwrap();
    assert_eq!(outcome["message"]["parts"], json!([{"text": "hi"}]));
    assert_eq!(
        peer.call::<serde_json::Value>("echo", json!({})).await.unwrap_err().rejection().unwrap().code.0,
        -32602
    );
}
