#![allow(unused)]

use switchboard::service;

struct Math;

#[service]
impl Math {
    fn add(&self, a: i64, b: i64) -> i64 {
        a + b
    }
}

#[service]
impl Math {
    fn subtract(&self, a: i64, b: i64) -> i64 {
        a - b
    }
}

fn main() {}
