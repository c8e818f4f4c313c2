//! Batches of callers: split over upstreams, joined in order, and sent on as batches over HTTP.

use serde_json::json;

use super::call;
use crate::program::{Serving, post, program};

/// What a server logs of a batch of four calls to it and one to another, behind a gateway with these options.
fn logged(options: &[&str]) -> String {
    let mut server = Serving::spawn(program(&["serve", "--listen", "http://127.0.0.1:0", "-v"]));
    let other = Serving::spawn(program(&["serve", "--listen", "http://127.0.0.1:0"]));
    let (one, two) = (format!("one={}", server.url()), format!("two={}", other.url()));
    let arguments = [&["gateway", &one, &two, "--listen", "http://127.0.0.1:0"], options].concat();
    let gateway = Serving::spawn(program(&arguments));
    let entry = |method: &str, id: u32| {
        format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":[{id},1],"id":{id}}}"#)
    };
    let methods = ["one/math/add", "two/math/add", "one/math/add", "one/missing", "one/math/add"];
    let entries: Vec<String> = (1..).zip(methods).map(|(id, method)| entry(method, id)).collect();
    let answers = post(&gateway.url(), "", &format!("[{}]", entries.join(",")));
    let told = |index: usize| [&answers[index]["id"], &answers[index]["result"]];
    for (index, (id, sum)) in [(1, 2), (2, 3), (3, 4)].into_iter().enumerate() {
        assert_eq!(told(index), [&json!(id), &json!(sum)], "{answers}");
    }
    assert_eq!(answers[3]["error"]["code"], -32601, "{answers}");
    assert_eq!(told(4), [&json!(5), &json!(6)], "{answers}");
    assert_eq!(call(&server.url(), &["getUser", "1"]).0, Some(0));
    server.read_until("getUser")
}

#[test]
fn a_batch_is_one_request_to_each_server_over_http() {
    let log = logged(&[]);
    assert_eq!(log.matches(r#""event":"batch""#).count(), 1, "{log}");
    assert_eq!(log.matches("math/add").count(), 3, "{log}");
}

#[test]
fn a_server_that_is_to_get_no_batches_gets_none() {
    let log = logged(&["--set", "upstream.one.batches=false"]);
    assert_eq!(log.matches(r#""event":"batch""#).count(), 0, "{log}");
    assert_eq!(log.matches("math/add").count(), 3, "{log}");
}
