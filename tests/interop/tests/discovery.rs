//! Tools of the OpenRPC project test the program by the document that it serves.

use switchboard_interop::{Demo, Program, run};

#[tokio::test]
async fn the_tools_of_the_openrpc_project_find_every_method_as_the_document_says() {
    let old = Demo::start_with(&["--openrpc", "1.2"]).await;
    let usual = Demo::start().await;
    let new = Demo::start_with(&["--openrpc", "1.4"]).await;
    run(Program::Node("client-open-rpc.mjs"), &[&old.url, &usual.url, &new.url]).await;
}
