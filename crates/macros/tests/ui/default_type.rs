#![allow(unused)]

use switchboard::service;

struct Math;

#[service]
impl Math {
    fn round(&self, #[arg(default = true)] digits: u8) {}
}

fn main() {}
