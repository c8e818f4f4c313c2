//! The tutorials, as a reader of them has them, with our program in the place of their server.

use switchboard_interop::{Demo, Program, run};

async fn run_at_demo(program: Program) {
    let demo = Demo::start().await;
    run(program, &[&demo.url, &demo.url.replacen("http", "ws", 1)]).await;
}

#[tokio::test]
async fn the_first_tutorial_with_requests() {
    run_at_demo(Program::Python("tutorial_first.py")).await;
}

#[tokio::test]
async fn the_first_tutorial_with_websockets() {
    run_at_demo(Program::Python("tutorial_first_websocket.py")).await;
}

#[tokio::test]
async fn the_first_tutorial_with_a_child_that_reads_lines() {
    let program = Demo::program().display().to_string();
    run(Program::Python("tutorial_first_stdio.py"), &[&program]).await;
}

#[tokio::test]
async fn the_first_tutorial_with_node() {
    run_at_demo(Program::Node("tutorial-first.mjs")).await;
}

#[tokio::test]
async fn the_second_tutorial_with_requests() {
    run_at_demo(Program::Python("tutorial_second.py")).await;
}

#[tokio::test]
async fn the_third_to_fifth_tutorials_with_node() {
    run_at_demo(Program::Node("tutorial-third.mjs")).await;
}

#[tokio::test]
async fn all_tutorials_with_curl() {
    run_at_demo(Program::Shell("tutorials.sh")).await;
}
