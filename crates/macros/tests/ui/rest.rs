#![allow(unused)]

use switchboard::service;

struct Math;

#[service]
impl Math {
    fn first(&self, #[arg(rest)] numbers: Vec<f64>, last: f64) {}

    fn two(&self, #[arg(rest)] numbers: Vec<f64>, #[arg(rest)] more: Vec<f64>) {}

    fn single(&self, #[arg(rest)] number: f64) {}

    fn filled(&self, #[arg(rest, default)] numbers: Vec<f64>) {}
}

fn main() {}
