#![allow(unused)]

use switchboard::service;

struct NotFound;

struct Users;

#[service]
impl Users {
    fn one(&self) -> Result<String, NotFound> {
        Err(NotFound)
    }

    async fn text(&self) -> Result<String, String> {
        Ok(String::new())
    }
}

fn main() {}
