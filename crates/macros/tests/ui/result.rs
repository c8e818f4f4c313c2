#![allow(unused)]

use std::future::Future;

use switchboard::{CallError, Stream, Values, service};

struct Math {
    name: String,
}

#[service]
impl Math {
    fn name(&self) -> &str {
        &self.name
    }

    fn names(&self) -> Result<Vec<&str>, switchboard::ErrorObject> {
        Ok(vec![&self.name])
    }

    fn numbers(&self) -> impl Iterator<Item = u8> {
        0..3
    }

    fn later(&self) -> impl Future<Output = u8> + Send {
        async { 1 }
    }

    fn ticks(&self) -> impl Stream<Item = Result<u8, CallError>> {
        silence()
    }

    fn some_ticks(&self) -> Option<impl Stream<Item = Result<u8, CallError>> + Send + 'static> {
        Some(silence())
    }
}

fn silence() -> Values<u8> {
    panic!("only its type matters")
}

fn main() {}
