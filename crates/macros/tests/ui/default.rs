#![allow(unused)]

use switchboard::service;

struct Math;

#[service]
impl Math {
    fn round(&self, number: f64, #[arg(default = 2)] digits: Option<u8>) {}

}

fn main() {}
