//! Pages of lists.

use serde_json::{Value, json};
use switchboard_core::Method;
use switchboard_mcp::Server;

use crate::client::{Client, alone};
use crate::fixtures::{offered, server, text_tool};

fn numbered(count: usize) -> Vec<Method> {
    let each = |n: usize| {
        vec![
            text_tool(&format!("tool{n:03}"), |_, _| async { Ok(String::new()) }),
            offered(&format!("prompt{n:03}"), json!({"prompt": true}), "p"),
            offered(&format!("fixed{n:03}"), json!({"resource": format!("test://{n:03}")}), "r"),
            offered(&format!("template{n:03}"), json!({"resource": format!("test://{n:03}/{{id}}")}), "t"),
        ]
    };
    (0..count).flat_map(each).collect()
}

/// The names on all pages of a list, and how many pages there are.
async fn walk(client: &mut Client, method: &str, member: &str, modern: bool) -> (Vec<String>, usize) {
    let (mut names, mut pages, mut cursor) = (Vec::new(), 0, None::<Value>);
    loop {
        let mut params = cursor.take().map_or(json!({}), |cursor| json!({"cursor": cursor}));
        if modern {
            params = alone(params, json!({}));
        }
        let result = client.ask(method, params).await["result"].clone();
        let entries = result[member].as_array().unwrap();
        names.extend(entries.iter().map(|entry| entry["name"].as_str().unwrap().to_owned()));
        pages += 1;
        match result.get("nextCursor") {
            Some(next) => cursor = Some(next.clone()),
            None => return (names, pages),
        }
    }
}

// MCP-G-01, MCP-K-04, MCP-T-09
#[tokio::test(start_paused = true)]
async fn pages_together_are_the_whole_list_in_order() {
    let server = server(numbered(25)).page_size(10);
    let mut client = Client::session(&server, "2025-06-18", json!({})).await;
    for modern in [false, true] {
        for (method, member, name) in [
            ("tools/list", "tools", "tool"),
            ("prompts/list", "prompts", "prompt"),
            ("resources/list", "resources", "fixed"),
            ("resources/templates/list", "resourceTemplates", "template"),
        ] {
            let (names, pages) = walk(&mut client, method, member, modern).await;
            let expected: Vec<String> = (0..25).map(|n| format!("{name}{n:03}")).collect();
            assert_eq!((names, pages), (expected, 3), "{method}");
        }
    }
}

// MCP-G-01
#[tokio::test(start_paused = true)]
async fn a_list_that_fills_its_pages_exactly_has_no_empty_page_after_them() {
    let server = server(numbered(20)).page_size(10);
    let mut client = Client::session(&server, "2025-06-18", json!({})).await;
    assert_eq!(walk(&mut client, "tools/list", "tools", false).await.1, 2);
}

// MCP-G-01
#[tokio::test(start_paused = true)]
async fn unknown_cursors_are_invalid() {
    let server = server(numbered(3)).page_size(1);
    let mut client = Client::session(&server, "2025-06-18", json!({})).await;
    for method in ["tools/list", "prompts/list", "resources/list", "resources/templates/list"] {
        for cursor in [json!("not a cursor!"), json!(5), json!({}), json!("_w")] {
            let answer = client.ask(method, json!({"cursor": cursor})).await;
            assert_eq!(answer["error"]["code"], -32602, "{method} {cursor}: {answer}");
        }
    }
}

// MCP-G-01
#[tokio::test(start_paused = true)]
async fn a_list_that_changes_between_two_pages_skips_nothing_that_stays() {
    let server: Server = server(numbered(4)).page_size(2);
    let mut client = Client::connect(&server);
    let first = client.ask_alone("tools/list", json!({})).await;
    let cursor = first["result"]["nextCursor"].clone();
    // The last entry of the page goes, and one comes in before it.
    server.disable("tool001");
    server.add(text_tool("tool000b", |_, _| async { Ok(String::new()) })).unwrap();
    let second = client.ask_alone("tools/list", json!({"cursor": cursor})).await;
    let names: Vec<&str> = second["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["tool002", "tool003"]);
}
