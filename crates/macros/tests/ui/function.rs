#![allow(unused)]

use switchboard::service;

struct Math;

#[service]
impl Math {
    fn generic<T>(&self, value: T) {}

    fn sized<const N: usize>(&self) {}

    const fn constant(&self) {}

    extern "C" fn foreign(&self) {}
}

fn main() {}
