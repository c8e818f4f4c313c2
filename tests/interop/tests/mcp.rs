//! Clients of the Model Context Protocol call our server, over HTTP and as a child process, in each era that they speak.

use switchboard_interop::{Fixtures, Program, run};

async fn check(program: Program) {
    let server = Fixtures::start().await;
    let child = Fixtures::program().display().to_string();
    run(program, &[&server.url, &child]).await;
}

#[tokio::test]
async fn the_typescript_sdk_1_has_sessions_over_every_transport() {
    check(Program::Node("client-mcp-1.mjs")).await;
}

#[tokio::test]
async fn the_typescript_sdk_2_speaks_both_eras() {
    check(Program::Node("client-mcp-2.mjs")).await;
}

#[tokio::test]
async fn the_python_sdk_speaks_both_eras() {
    check(Program::Python("client_mcp.py")).await;
}

#[tokio::test]
async fn fastmcp_speaks_both_eras() {
    check(Program::Python("client_fastmcp.py")).await;
}
