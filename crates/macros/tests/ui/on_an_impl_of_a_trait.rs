#![allow(unused)]

use switchboard::service;

struct Math;

trait Add {
    fn add(&self, a: i64, b: i64) -> i64;
}

#[service]
impl Add for Math {
    fn add(&self, a: i64, b: i64) -> i64 {
        a + b
    }
}

fn main() {}
