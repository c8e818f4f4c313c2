//! A server started by another program: messages go over its standard input and output, one per line.
//!
//! This program starts itself. The child process and its descendants end when the last handle is dropped.
//!
//! ```text
//! cargo run -p switchboard --features child,stdio,http --example 08_child_process
//! ```
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::sync::Arc;

use switchboard::child::{self, Command};
use switchboard::{Context, ErrorObject, Router, stdio};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    if std::env::args().nth(1).as_deref() == Some("serve") {
        return serve().await;
    }

    // The child can call us, too: it asks for the value that it needs.
    let ours = Router::builder().method("name", |(): (), _| Ok::<_, ErrorObject>("Ann")).build()?;
    let command = Command::new(std::env::current_exe()?).args(["serve"]);
    let peer = child::connect(&command, Arc::new(ours), &stdio::options()).await?;
    println!("{}", peer.call::<String>("greet", ()).await?);

    // The standard error of a child is kept, and shown if it dies.
    let error = peer.call::<()>("die", ()).await.expect_err("the child is gone");
    println!("{error}");
    Ok(())
}

/// The child: only messages may go to its standard output.
async fn serve() -> Result<(), Box<dyn Error>> {
    let router = Router::builder()
        .async_method("greet", |(): (), cx: Context| async move {
            let name: String = cx.peer().call("name", ()).await?;
            Ok::<_, ErrorObject>(format!("hello {name}"))
        })
        .method("die", |(): (), _| -> Result<(), ErrorObject> {
            #[allow(clippy::print_stderr, reason = "these are its last words")]
            {
                eprintln!("out of cheese");
            }
            std::process::exit(3)
        })
        .build()?;
    Ok(stdio::serve(Arc::new(router), &stdio::options()).await?)
}
