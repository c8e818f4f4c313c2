#![allow(unused)]

use std::cell::Cell;

use switchboard::service;

struct Counter {
    count: Cell<u64>,
}

#[service]
impl Counter {
    fn next(&self) -> u64 {
        self.count.replace(self.count.get() + 1)
    }
}

fn main() {}
