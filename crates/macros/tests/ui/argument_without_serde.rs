#![allow(unused)]

use switchboard::service;

struct User {
    name: String,
}

struct Users;

#[service]
impl Users {
    fn add(&self, user: User) {
        drop(user.name);
    }

    async fn add_all(&self, #[arg(rest)] users: Vec<User>) {
        drop(users);
    }
}

fn main() {}
