//! A server with jsonrpsee.

use jsonrpsee::server::{RpcModule, Server, ServerHandle, SubscriptionMessage};
use jsonrpsee::types::ErrorObjectOwned;
use serde_json::{Value, json};

/// The methods that every server here has, and a subscription.
pub(crate) async fn start() -> (String, ServerHandle) {
    let server = Server::builder().build("127.0.0.1:0").await.unwrap();
    let address = server.local_addr().unwrap();
    let mut module = RpcModule::new(());
    module.register_method("echo", |params, _, _| params.one::<Value>()).unwrap();
    module
        .register_method("subtract", |params, _, _| {
            let (minuend, subtrahend) = match params.parse::<Value>()? {
                Value::Object(named) => (named["minuend"].as_i64(), named["subtrahend"].as_i64()),
                values => (values[0].as_i64(), values[1].as_i64()),
            };
            Ok::<_, ErrorObjectOwned>(minuend.zip(subtrahend).map(|(a, b)| a - b))
        })
        .unwrap();
    module
        .register_method("sum", |params, _, _| {
            Ok::<_, ErrorObjectOwned>(params.parse::<Vec<i64>>()?.into_iter().sum::<i64>())
        })
        .unwrap();
    module.register_method("get_data", |_, _, _| Ok::<_, ErrorObjectOwned>(("hello", 5))).unwrap();
    module
        .register_method("fail", |_, _, _| {
            Err::<(), _>(ErrorObjectOwned::owned(1234, "boom", Some(json!({"x": 1}))))
        })
        .unwrap();
    module
        .register_subscription("subscribe_ticks", "ticks", "unsubscribe_ticks", async |_, pending, _, _| {
            let sink = pending.accept().await?;
            for tick in 1..=3 {
                let message = serde_json::value::to_raw_value(&tick)?;
                sink.send(SubscriptionMessage::from(message)).await?;
            }
            sink.closed().await;
            Ok(())
        })
        .unwrap();
    module
        .register_subscription(
            "eth_subscribe",
            "eth_subscription",
            "eth_unsubscribe",
            async |_, pending, _, _| {
                let sink = pending.accept().await?;
                for number in ["0x1", "0x2", "0x3"] {
                    let message = serde_json::value::to_raw_value(&json!({ "number": number }))?;
                    sink.send(SubscriptionMessage::from(message)).await?;
                }
                sink.closed().await;
                Ok(())
            },
        )
        .unwrap();
    (address.to_string(), server.start(module))
}
