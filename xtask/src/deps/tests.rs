//! The dependency rules on small made-up workspaces.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{built, findings};
use crate::workspace::{list, text};

/// A workspace out of lines `package > package, package`; a `?` after a name makes a dev-dependency. Names
/// that start with `switchboard`, and `xtask`, are members; everything else comes from a registry.
fn workspace(lines: &[&str]) -> Value {
    let parsed: Vec<(&str, Vec<&str>)> = lines
        .iter()
        .map(|line| {
            let (name, uses) = line.split_once('>').unwrap_or((line, ""));
            let uses = uses.split(',').map(str::trim).filter(|name| !name.is_empty());
            (name.trim(), uses.collect())
        })
        .collect();
    let kind = |name: &str| if name.ends_with('?') { json!("dev") } else { Value::Null };
    let plain = |name: &str| name.trim_end_matches('?').to_owned();
    let is_ours = |name: &str| name.starts_with("switchboard") || name == "xtask";
    let packages = parsed.iter().map(|(name, uses)| {
        let dependencies =
            uses.iter().map(|used| json!({"name": plain(used), "kind": kind(used), "features": []}));
        json!({
            "id": name, "name": name, "license": "MIT", "rust_version": "1.88", "publish": [],
            "source": if is_ours(name) { Value::Null } else { json!("registry+https://example.org/index") },
            "dependencies": dependencies.collect::<Vec<_>>(),
        })
    });
    let nodes = parsed.iter().map(|(name, uses)| {
        let deps = uses.iter().map(|used| json!({"pkg": plain(used), "dep_kinds": [{"kind": kind(used)}]}));
        json!({"id": name, "deps": deps.collect::<Vec<_>>()})
    });
    let members = parsed.iter().map(|(name, _)| *name).filter(|name| is_ours(name));
    json!({
        "packages": packages.collect::<Vec<_>>(),
        "workspace_members": members.collect::<Vec<_>>(),
        "resolve": {"nodes": nodes.collect::<Vec<_>>()},
    })
}

/// The findings contain exactly these beginnings, in order.
fn check(metadata: &Value, expected: &[&str]) {
    let names = list(metadata, "packages").map(|package| text(package, "name").to_owned()).collect();
    check_built(metadata, &names, expected);
}

/// The same, where only these packages are built.
fn check_built(metadata: &Value, built: &BTreeSet<String>, expected: &[&str]) {
    let found = findings(metadata, built);
    let agrees = found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| a.starts_with(b));
    assert!(agrees, "expected {expected:#?}, found {found:#?}");
}

#[test]
fn dependencies_that_point_down_are_fine() {
    let lines = [
        "switchboard-cli > switchboard",
        "switchboard > switchboard-core",
        "switchboard-core > bytes",
        "bytes",
    ];
    check(&workspace(&lines), &[]);
}

#[test]
fn dependencies_must_not_point_up_or_sideways() {
    check(
        &workspace(&["switchboard-core", "switchboard-mcp > switchboard", "switchboard > switchboard-mcp"]),
        &["switchboard-mcp depends on switchboard, which is not below it"],
    );
    check(
        &workspace(&["switchboard-layers > switchboard-transport", "switchboard-transport"]),
        &["switchboard-layers depends on switchboard-transport, which is not below it"],
    );
}

#[test]
fn dev_dependencies_may_point_anywhere() {
    check(&workspace(&["switchboard-core > switchboard?, hyper?", "switchboard", "hyper"]), &[]);
}

#[test]
fn nothing_depends_on_the_tools() {
    let found = ["switchboard depends on xtask, which is not below it"];
    check(&workspace(&["switchboard > xtask", "xtask"]), &found);
}

#[test]
fn a_new_crate_needs_a_place_in_the_order() {
    check(&workspace(&["switchboard-new"]), &["switchboard-new is missing from the order"]);
}

#[test]
fn the_core_depends_on_listed_crates_only() {
    check(&workspace(&["switchboard-core > regex", "regex"]), &["switchboard-core depends on regex"]);
}

#[test]
fn the_core_reaches_no_transport_by_any_path() {
    check(
        &workspace(&["switchboard-core > tracing", "tracing > middle", "middle > http", "http"]),
        &["switchboard-core reaches http (switchboard-core > tracing > middle > http)"],
    );
}

#[test]
fn the_core_asks_no_network_of_tokio() {
    let mut metadata = workspace(&["switchboard-core > tokio", "tokio"]);
    metadata["packages"][0]["dependencies"][0]["features"] = json!(["rt", "net"]);
    check(&metadata, &["switchboard-core enables the feature net of tokio"]);
}

#[test]
fn a_banned_crate_is_found_with_who_brings_it() {
    check(
        &workspace(&["switchboard-transport > tls", "tls > ring", "ring"]),
        &["ring is in the tree, brought by tls"],
    );
}

#[test]
fn a_banned_crate_that_is_named_and_not_built_is_fine() {
    let metadata = workspace(&["switchboard-transport > tls", "tls > ring", "ring"]);
    let names = ["switchboard-transport", "tls"].map(str::to_owned).into();
    check_built(&metadata, &names, &[]);
}

#[test]
fn what_is_built_is_read_by_name_and_a_list_without_our_crates_is_not_believed() {
    let list =
        "switchboard-core v0.1.0 (/w/core)\nring v0.17.8\nring v0.17.8 (*)\n\nswitchboard-cli v0.1.0 (*)\n";
    let expected = ["ring", "switchboard-cli", "switchboard-core"].map(str::to_owned).into();
    assert_eq!(built(list).ok(), Some(expected));
    for wrong in ["", "warning: nothing to print", "ring v0.17.8\nswitchboard-core v0.1.0"] {
        assert!(built(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_licence_has_to_be_known_and_allowed() {
    let mut metadata = workspace(&["a", "b", "c", "d"]);
    metadata["packages"][0]["license"] = json!("GPL-3.0-only");
    metadata["packages"][1]["license"] = Value::Null;
    metadata["packages"][2]["license"] = json!("MIT AND AND ISC");
    metadata["packages"][3]["license"] = json!("GPL-3.0-only OR Apache-2.0 WITH LLVM-exception");
    check(
        &metadata,
        &["a is licensed GPL-3.0-only", "b declares no SPDX licence", "c is licensed \"MIT AND AND ISC\""],
    );
}

#[test]
fn dependencies_come_from_a_registry() {
    let mut metadata = workspace(&["a"]);
    metadata["packages"][0]["source"] = json!("git+https://example.org/a");
    check(&metadata, &["a does not come from a registry"]);
}

/// The workspace with this key of the package set to this value.
fn with(mut metadata: Value, package: &str, key: &str, value: Value) -> Value {
    let packages = metadata["packages"].as_array_mut().unwrap();
    let found = packages.iter_mut().find(|entry| entry["name"] == package).unwrap();
    found[key] = value;
    metadata
}

#[test]
fn what_a_package_uses_needs_no_newer_rust_than_it_states() {
    let small = || workspace(&["switchboard-core > bytes, proptest?", "bytes > deep", "deep", "proptest"]);
    check(&with(small(), "deep", "rust_version", json!("1.88.0")), &[]);
    check(
        &with(small(), "deep", "rust_version", json!("1.89")),
        &["switchboard-core declares Rust 1.88, but uses deep, which needs 1.89"],
    );
    check(&with(small(), "proptest", "rust_version", json!("1.95")), &[]);
    check(&with(small(), "deep", "rust_version", Value::Null), &[]);
    check(
        &with(small(), "switchboard-core", "rust_version", Value::Null),
        &["switchboard-core declares no Rust"],
    );
}

#[test]
fn what_is_published_says_where_it_comes_from() {
    let core = workspace(&["switchboard-core"]);
    let published = with(core, "switchboard-core", "publish", Value::Null);
    check(
        &published,
        &[
            "switchboard-core has no `description`",
            "switchboard-core has no `documentation`",
            "switchboard-core has no `readme`",
            "switchboard-core has no `repository`",
        ],
    );
}

#[test]
fn what_is_published_contains_its_licences() {
    let mut metadata = with(workspace(&["switchboard-core"]), "switchboard-core", "publish", Value::Null);
    for key in ["description", "documentation", "readme", "repository"] {
        metadata = with(metadata, "switchboard-core", key, json!("given"));
    }
    let manifest = |folder: &str| json!(format!("{}/{folder}Cargo.toml", env!("CARGO_MANIFEST_DIR")));
    check(&with(metadata.clone(), "switchboard-core", "manifest_path", manifest("../crates/core/")), &[]);
    check(
        &with(metadata, "switchboard-core", "manifest_path", manifest("src/")),
        &["switchboard-core has no LICENSE-APACHE", "switchboard-core has no LICENSE-MIT"],
    );
}
