//! The methods of all servers in one description.

use serde_json::Value;

use super::{call, demo, free_port, gateway, until};
use crate::admin::{admin, get};
use crate::program::{Serving, parts, program, run};

/// The names of the methods that a gateway describes.
pub(super) fn methods(url: &str) -> Vec<String> {
    let (code, stdout, stderr) = parts(run(&["call", url, "rpc.discover"]));
    assert_eq!(code, Some(0), "{stderr}");
    let document: Value = serde_json::from_str(&stdout).unwrap();
    let methods = document["methods"].as_array().unwrap().iter();
    methods.map(|method| method["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_methods_of_all_servers_are_described_under_their_names() {
    let server = Serving::start(&[]);
    let gateway = gateway(&[&format!("web={}", server.url()), &format!("tool={}", demo())]);
    let (alone, all) = (methods(&server.url()), methods(&gateway.url()));
    for name in alone.iter().filter(|name| !name.starts_with("rpc.")) {
        for prefix in ["web/", "tool/"] {
            assert!(all.contains(&format!("{prefix}{name}")), "no {prefix}{name} in {all:?}");
        }
    }
    assert!(all.iter().all(|name| !name.contains("/rpc.")), "{all:?}");
    let described = run(&["call", &gateway.url(), "rpc.discover"]).stdout;
    let document: Value = serde_json::from_slice(&described).unwrap();
    let add = document["methods"].as_array().unwrap().iter().find(|method| method["name"] == "web/math/add");
    assert_eq!(add.unwrap()["params"][0]["name"], "a");
}

#[test]
fn a_server_that_starts_later_is_described_then() {
    let port = free_port();
    let address = format!("tcp://127.0.0.1:{port}");
    let gateway = gateway(&[&format!("late={address}")]);
    let url = gateway.url();
    assert!(!methods(&url).iter().any(|name| name.starts_with("late/")));
    let _server = Serving::spawn(program(&["serve", "--listen", &address]));
    until("the gateway describes its methods", || {
        methods(&url).contains(&"late/math/add".to_owned()).then_some(())
    });
}

#[test]
fn calls_of_a_server_that_starts_later_are_counted_by_method() {
    let address = format!("tcp://127.0.0.1:{}", free_port());
    let gateway = gateway(&[&format!("late={address}"), "--admin", "http://127.0.0.1:0"]);
    let (url, admin) = (gateway.url(), admin(&gateway));
    let counted = |method: &str| {
        let count = format!(
            "rpc_server_call_duration_seconds_count{{rpc_system_name=\"jsonrpc\",rpc_method=\"{method}\""
        );
        let (status, metrics) = get(&admin, "/metrics", "");
        assert_eq!(status, 200);
        metrics.lines().filter(|line| line.starts_with(&count)).map(str::to_owned).collect::<Vec<_>>()
    };
    let _server = Serving::spawn(program(&["serve", "--listen", &address]));
    until("the gateway describes its methods", || {
        methods(&url).contains(&"late/math/add".to_owned()).then_some(())
    });
    assert_eq!(call(&url, &["late/math/add", "2", "3"]).1, "5\n");
    until("the call is counted", || counted("late/math/add").first()?.ends_with("} 1").then_some(()));
    // What callers make up is not.
    call(&url, &["late/made/up"]);
    assert_eq!(counted("late/made/up"), [""; 0]);
}
