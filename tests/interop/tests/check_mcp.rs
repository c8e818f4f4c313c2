//! `switchboard check --profile mcp` finds what servers of others do differently: each claim names the version that does it.

use switchboard_interop::{Fixtures, Other, Program, check};

/// The cases about the protocol fail and warn exactly like that.
async fn found(url: &str, failed: &[&str], warned: &[&str]) {
    let areas = ["mcp-sessions", "mcp-features", "mcp-http", "mcp-stateless", "mcp-stdio"];
    let only = areas.iter().flat_map(|area| ["--only", area]);
    let arguments: Vec<&str> = ["--profile", "mcp"].into_iter().chain(only).collect();
    let found = check(url, &arguments).await;
    assert!(found.passed > 20, "{found:?}");
    let sorted = |names: &[&str]| {
        let mut names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        names.sort();
        names
    };
    assert_eq!(found.failed.into_keys().collect::<Vec<_>>(), sorted(failed));
    assert_eq!(found.warned.into_iter().collect::<Vec<_>>(), sorted(warned));
}

/// The program as a child.
fn child(program: Program) -> String {
    format!("exec:{} stdio", program.words().join(" "))
}

#[tokio::test]
async fn our_server_of_the_conformance_suite() {
    let server = Fixtures::start().await;
    found(&server.url, &[], &[]).await;
    found(&format!("exec:{} stdio", Fixtures::program().display()), &[], &[]).await;
}

/// What version 1.32.2 of the TypeScript SDK does with tools, cursors and invalid parameters, over every transport.
const SDK_1: [&str; 4] =
    ["mcp-initialize-empty", "mcp-cursor-invalid", "mcp-tool-unknown", "mcp-logging-level-unknown"];

#[tokio::test]
async fn server_everything_over_http() {
    let other = Other::start(Program::Node("server-everything.mjs"), &[]).await;
    // It answers unknown sessions, and sessions that were deleted, with 400, and calls from any page.
    let failed = ["mcp-session-unknown", "mcp-session-deleted", "mcp-origin"];
    // It accepts batches in versions that have none, and requests for any host.
    let warned = [&SDK_1[..], &["mcp-batch", "mcp-host"]].concat();
    found(&other.url, &failed, &warned).await;
}

#[tokio::test]
async fn server_everything_as_a_child() {
    // It agrees to 2025-03-26, and then does not answer batches.
    let url = child(Program::Package("@modelcontextprotocol/server-everything/dist/index.js"));
    found(&url, &["mcp-batch-2025-03-26"], &SDK_1).await;
}

/// What version 2.4.0 of the TypeScript SDK does over every transport.
const SDK_2: [&str; 3] = ["mcp-initialize-empty", "mcp-cursor-invalid", "stateless-cursor-invalid"];

#[tokio::test]
async fn the_typescript_sdk_2_over_http() {
    let other = Other::start(Program::Node("server-mcp-2.mjs"), &["http"]).await;
    let warned = [&SDK_2[..], &["mcp-batch"]].concat();
    found(&other.url, &[], &warned).await;
}

#[tokio::test]
async fn the_typescript_sdk_2_as_a_child() {
    // As a child it does not answer batches of 2025-03-26, and answers `server/discover` in any version.
    let failed = ["mcp-batch-2025-03-26", "stateless-version-unknown"];
    found(&child(Program::Node("server-mcp-2.mjs")), &failed, &SDK_2).await;
}

/// What version 2.3.0 of the Python SDK does over every transport: unknown tools are results, and errors have other codes.
const PYTHON: [&str; 8] = [
    "mcp-cursor-invalid",
    "mcp-tool-unknown",
    "mcp-prompt-unknown",
    "mcp-prompt-missing-argument",
    "stateless-cursor-invalid",
    "stateless-tool-unknown",
    "stateless-prompt-unknown",
    "stateless-prompt-missing-argument",
];

#[tokio::test]
async fn the_python_sdk_over_http() {
    let other = Other::start(Program::Python("server_mcp.py"), &["http"]).await;
    // It refuses batches of 2025-03-26, and takes a stateless request with an older version in its header for one of a session.
    let failed = ["mcp-batch-2025-03-26", "stateless-version-header-differs"];
    found(&other.url, &failed, &PYTHON).await;
}

#[tokio::test]
async fn the_python_sdk_as_a_child() {
    found(&child(Program::Python("server_mcp.py")), &["mcp-batch-2025-03-26"], &PYTHON).await;
}
