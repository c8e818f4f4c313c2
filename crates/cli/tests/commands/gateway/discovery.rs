//! The methods of all servers in one description.

use serde_json::Value;

use super::{demo, free_port, gateway, until};
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
