#![allow(unused)]

use switchboard::service;

#[service]
struct Math;

#[service(namespace = "math")]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn main() {}
