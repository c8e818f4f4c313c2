//! A service of plain functions, served over HTTP and called with a typed client.
//!
//! ```text
//! cargo run -p switchboard --features http --example 01_serve_and_call
//! ```
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;

use switchboard::{Router, RpcError, http, service};

/// Why a division fails.
#[derive(Debug, RpcError)]
enum DivisionError {
    #[error_code(1001, "cannot divide by zero")]
    ByZero { dividend: f64 },
}

/// The API.
#[service(namespace = "math")]
trait Math {
    /// Adds two numbers.
    #[method(safe)]
    fn add(&self, a: i64, b: i64) -> i64;

    /// Divides one number by another.
    #[method(safe)]
    async fn divide(&self, a: f64, b: f64) -> Result<f64, DivisionError>;
}

/// The implementation.
struct Calculator;

impl Math for Calculator {
    fn add(&self, a: i64, b: i64) -> i64 {
        a + b
    }

    async fn divide(&self, a: f64, b: f64) -> Result<f64, DivisionError> {
        if b == 0.0 {
            return Err(DivisionError::ByZero { dividend: a });
        }
        Ok(a / b)
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let router = Router::builder().add(MathService(Calculator)).build()?;
    let server = http::HttpServer::bind("127.0.0.1:0").await?;
    let (url, handle) = (format!("http://{}/rpc", server.local_addr()), server.handle());
    let serving = tokio::spawn(server.serve(router));

    // The client generated from the trait. In a test it would work over a router, too.
    let math = MathClient::new(http::connect(&url)?);
    println!("2 + 3 = {}", math.add(2, 3).await?);
    println!("1 / 4 = {}", math.divide(1.0, 4.0).await?);
    let error = math.divide(1.0, 0.0).await.expect_err("it is refused");
    if let Some(DivisionError::ByZero { dividend }) = error.typed() {
        println!("{dividend} / 0 : {error}");
    }

    // Without the trait: names and parameters as values, several calls at once.
    let peer = http::connect(&url)?;
    let outcomes = peer.batch().call("math/add", [1, 2]).call("math/multiply", [1, 2]).send().await?;
    for outcome in outcomes {
        match outcome {
            Ok(json) => println!("answered {json}"),
            Err(error) => println!("refused: {error}"),
        }
    }

    handle.shutdown();
    serving.await?;
    Ok(())
}
