#![allow(unused)]

use switchboard::service;

struct Math;

#[service]
impl Math {
    fn new() -> u8 {
        1
    }

    fn change(&mut self) {}

    fn consume(self) {}

    fn boxed(self: Box<Self>) {}
}

fn main() {}
