#![allow(unused)]

use switchboard::{ErrorObject, Stream, service};

#[derive(schemars::JsonSchema)]
struct User {
    name: String,
}

struct Users;

#[service]
impl Users {
    fn one(&self) -> User {
        User { name: String::new() }
    }

    async fn maybe(&self) -> Result<User, ErrorObject> {
        Ok(self.one())
    }

    fn many(&self) -> impl Stream<Item = User> + Send + 'static {
        empty()
    }
}

fn empty() -> Endless {
    Endless
}

struct Endless;

impl Stream for Endless {
    type Item = User;

    fn poll_next(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<User>> {
        std::task::Poll::Ready(None)
    }
}

fn main() {}
