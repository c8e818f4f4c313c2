#![allow(unused)]

use switchboard::service;

#[derive(serde::Serialize, serde::Deserialize)]
struct User {
    name: String,
}

struct Users;

#[service]
impl Users {
    fn same(&self, user: User) -> User {
        user
    }
}

fn main() {}
