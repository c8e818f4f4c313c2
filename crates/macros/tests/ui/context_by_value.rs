#![allow(unused)]

use switchboard::{Context, service};

struct Math;

#[service]
impl Math {
    fn add(&self, cx: Context, a: i64, b: i64) -> i64 {
        a + b
    }
}

#[service]
trait Users {
    async fn find(&self, name: String, cx: switchboard::Context);
}

fn main() {}
