//! `switchboard check` finds what servers of others do wrong: each claim names the version that does it.

use switchboard_interop::{Other, Program, check};

#[tokio::test]
async fn jayson_over_http() {
    let other = Other::start(Program::Node("server-jayson.mjs"), &["http"]).await;
    let found = check(&other.url, &[]).await;
    assert!(found.passed > 100, "{found:?}");
    // A text that is no JSON is told by HTTP alone, with what the parser of the engine says.
    assert!(found.failed.contains_key("parse-error") && found.breaks("J2-32"), "{found:?}");
    // A string at the top is JSON, and not -32700.
    assert!(found.failed.contains_key("top-string") && found.breaks("J2-33"), "{found:?}");
    // Identifiers above 2^53 come back as others.
    assert!(found.failed.contains_key("id-2-to-53") && found.breaks("J2-28"), "{found:?}");
    // Bytes that are no UTF-8 are replaced without a word.
    assert!(found.failed.contains_key("not-utf-8") && found.breaks("J2-60"), "{found:?}");
    // The identifier null makes a notification.
    assert!(found.warned.contains("id-null"), "{found:?}");
}

#[tokio::test]
async fn jayson_over_https() {
    let other = Other::start(Program::Node("server-jayson.mjs"), &["https"]).await;
    let certificate = concat!(env!("CARGO_MANIFEST_DIR"), "/node/localhost.pem");
    let found = check(&other.url, &["--cacert", certificate, "--only", "requests", "--only", "http"]).await;
    // The same as without TLS.
    assert!(found.passed > 40, "{found:?}");
    assert!(found.failed.contains_key("top-string") && found.breaks("J2-33"), "{found:?}");
}

#[tokio::test]
async fn the_library_of_mcp_over_http() {
    let other = Other::start(Program::Node("server-mcp.mjs"), &[]).await;
    let found = check(&other.url, &["--profile", "mcp"]).await;
    assert!(found.passed > 120, "{found:?}");
    // What is JSON and no request is told as no JSON. It is told by the cases that are about the code, and by no others.
    let about_the_code =
        ["method-number", "empty-object", "top-string", "top-number", "top-true", "top-null"];
    // Foreign origins are let in unless the program asks for a check, and unknown sessions are left to the program.
    let about_the_protocol = ["mcp-origin", "mcp-session-unknown"];
    let is_other = |name: &&String| {
        !about_the_code.contains(&name.as_str()) && !about_the_protocol.contains(&name.as_str())
    };
    assert!(found.failed.contains_key("mcp-origin") && found.breaks("MCP-HTTP-14"), "{found:?}");
    assert!(found.failed.contains_key("method-number") && found.breaks("J2-33"), "{found:?}");
    assert_eq!(found.failed.keys().find(is_other), None, "{found:?}");
}

#[tokio::test]
async fn jsonrpclib_pelix_in_version_1_0() {
    let other = Other::start(Program::Python("server_jsonrpclib.py"), &[]).await;
    let found = check(&other.url, &["--profile", "v1"]).await;
    // A server of 1.0 that does nothing wrong.
    assert!(found.passed > 15 && found.failed.is_empty(), "{found:?}");
}

#[tokio::test]
async fn json_rpc_2_0_over_http() {
    let other = Other::start(Program::Node("server-json-rpc-2.0.mjs"), &[]).await;
    let found = check(&other.url, &[]).await;
    assert!(found.passed > 100, "{found:?}");
    // A batch of one is answered with an object in place of an array.
    assert!(found.failed.contains_key("batch-of-one") && found.breaks("J2-41"), "{found:?}");
    // A method that is no string is looked for, and not found.
    assert!(found.failed.contains_key("method-number") && found.breaks("J2-04"), "{found:?}");
    // Anything is an identifier.
    assert!(found.failed.contains_key("id-true") && found.breaks("J2-13"), "{found:?}");
    // Null in a batch is not answered at all: the library throws.
    assert!(found.failed.contains_key("batch-null") && found.breaks("J2-47"), "{found:?}");
}

#[tokio::test]
async fn vscode_jsonrpc_as_a_child() {
    let words = Program::Node("server-vscode-jsonrpc.mjs").words();
    // Not all of it: many cases bring no answer, and waiting for none takes long.
    let only = ["requests", "id-null", "string-and-number-ids", "lsp-header", "lsp-length-missing"];
    let only = only.iter().flat_map(|name| ["--only", name]);
    let arguments: Vec<&str> = ["--profile", "lsp"].into_iter().chain(only).collect();
    let found = check(&format!("exec:{}?framing=lsp", words.join(" ")), &arguments).await;
    assert!(found.passed > 20, "{found:?}");
    // No version is asked for.
    assert!(found.failed.contains_key("version-2-1") && found.breaks("J2-02"), "{found:?}");
    // What has an identifier and is no request is never answered.
    assert!(found.failed.contains_key("method-number") && found.breaks("J2-33"), "{found:?}");
    // Of calls with the identifiers 1 and "1" one is not answered.
    assert!(found.failed.contains_key("string-and-number-ids") && found.breaks("J2-16"), "{found:?}");
    // A header without a length is neither told nor the end.
    assert!(found.failed.contains_key("lsp-length-missing") && found.breaks("LSP-F-07"), "{found:?}");
}
