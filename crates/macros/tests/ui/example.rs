#![allow(unused)]

use switchboard::service;

struct Math;

#[service]
impl Math {
    #[method(example(params = [1], result = 1))]
    fn one(&self, a: i64) -> i64 {
        a
    }

    #[method(example(name = "x", params = 1, result = 1))]
    fn two(&self, a: i64) -> i64 {
        a
    }

    #[method(example(name = "x", params = [1], result = ))]
    fn three(&self, a: i64) -> i64 {
        a
    }

    #[method(example(name = "x", answer = 1))]
    fn four(&self) {}

    #[method(extension("cost" = 5))]
    fn extended(&self) {}

    #[method(extension("x-cost"))]
    fn extended_by_nothing(&self) {}

    #[method(notification)]
    fn five(&self) -> i64 {
        5
    }
}

fn main() {}
