//! What our client does with every server of others.

use serde_json::{Value, json};
use switchboard::{CallError, Peer};

/// Calls by position and by name, one after the other and at once, and is refused.
///
/// # Panics
///
/// If something is not answered as it should be.
pub async fn calls(peer: &Peer) {
    let difference: i64 = peer.call("subtract", [42, 23]).await.expect("a call by position is answered");
    assert_eq!(difference, 19);
    let named = json!({"subtrahend": 23, "minuend": 42});
    let difference: i64 = peer.call("subtract", named).await.expect("a call by name is answered");
    assert_eq!(difference, 19);
    let data: Value = peer.call("get_data", ()).await.expect("a call without parameters is answered");
    assert_eq!(data, json!(["hello", 5]));
    let text = "\u{1F600} é \u{2028}";
    let echo: String = peer.call("echo", [text]).await.expect("text is answered");
    assert_eq!(echo, text);

    check_boom(peer.call::<Value>("fail", ()).await);
    let unknown = peer.call::<Value>("no_such_method", ()).await;
    assert_eq!(unknown.unwrap_err().rejection().expect("the far side refuses").code.0, -32601);

    let sums = (0..50).map(|n| peer.call::<i64>("sum", [n, n]).into_future());
    let sums = futures_util::future::join_all(sums).await;
    assert!(sums.into_iter().eq((0..50).map(|n| Ok(2 * n))), "many calls at once are answered");
}

/// Notifies, which shows in what is counted.
///
/// # Panics
///
/// If it does not arrive.
pub async fn notification(peer: &Peer) {
    let before: u32 = peer.call("updates", ()).await.expect("it is counted");
    peer.notify("update", [1, 2, 3]).await.expect("a notification is sent");
    let after: u32 = peer.call("updates", ()).await.expect("it is counted");
    assert_eq!(after, before + 1);
}

/// Sends a batch.
///
/// # Panics
///
/// If it is not answered as it should be.
pub async fn batch(peer: &Peer) {
    let batch =
        peer.batch().call("sum", [1, 2, 4]).notify("update", [1]).call("fail", ()).call("get_data", ());
    let [sum, fail, data] = &batch.send().await.expect("a batch is answered")[..] else {
        panic!("each call has its outcome, and a notification has none");
    };
    assert_eq!(sum.as_ref().map(switchboard::Json::as_str), Ok("7"));
    check_boom(fail.clone());
    assert_eq!(data.as_ref().map(|data| data.decode::<Value>().unwrap()), Ok(json!(["hello", 5])));
}

fn check_boom<T: std::fmt::Debug>(outcome: Result<T, CallError>) {
    let error = outcome.expect_err("it fails");
    let error = error.rejection().expect("the far side refuses");
    assert_eq!((error.code.0, error.message.as_ref()), (1234, "boom"));
    let data: Value = error.data.as_ref().expect("it says more").decode().expect("it is JSON");
    assert_eq!(data, json!({"x": 1}));
}
