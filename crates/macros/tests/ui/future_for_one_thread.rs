#![allow(unused)]

use std::rc::Rc;

use switchboard::service;

struct Math;

#[service]
impl Math {
    async fn add(&self, a: i64) -> i64 {
        let shared = Rc::new(a);
        wait().await;
        *shared
    }
}

async fn wait() {}

fn main() {}
