#![allow(unused)]

use std::collections::HashMap;

use switchboard::service;

struct Users;

#[service]
impl Users {
    fn add(&self, user: &HashMap<String, u8>) {}

    async fn find(&self, user: Option<&u8>) {}
}

fn main() {}
