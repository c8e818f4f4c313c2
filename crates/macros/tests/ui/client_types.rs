#![allow(unused)]

use switchboard::service;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Query {
    name: String,
}

#[derive(serde::Serialize, schemars::JsonSchema)]
struct User {
    name: String,
}

#[service]
trait Users {
    async fn find(&self, query: Query) -> User;
}

fn main() {}
