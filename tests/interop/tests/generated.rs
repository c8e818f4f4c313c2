//! Clients that our program writes, in other languages than ours: checked by their compilers, and called with. (OR-50)

use switchboard_interop::{Demo, Program, run};

async fn run_at_demo(program: Program) {
    let demo = Demo::start().await;
    let ours = Demo::program().display().to_string();
    run(program, &[&demo.url, &demo.url.replacen("http", "ws", 1), &ours]).await;
}

#[tokio::test]
async fn a_client_in_typescript_fits_its_types_and_calls() {
    run_at_demo(Program::Node("generated.mjs")).await;
}

#[tokio::test]
async fn a_client_in_python_fits_its_types_and_calls() {
    run_at_demo(Program::Python("generated.py")).await;
}
