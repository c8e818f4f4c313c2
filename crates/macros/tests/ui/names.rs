#![allow(unused)]

use switchboard::service;

struct Math;

#[service]
impl Math {
    #[method(name = "rpc.add")]
    fn reserved(&self) {}

    #[method(name = "")]
    fn empty(&self) {}

    fn add(&self) {}

    #[method(name = "add")]
    fn plus(&self) {}

    fn twins(&self, a: u8, #[arg(name = "a")] b: u8) {}
}

struct Rpc;

#[service(namespace = "rpc", separator = ".")]
impl Rpc {
    fn discover(&self) {}
}

fn main() {}
