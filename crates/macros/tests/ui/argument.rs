#![allow(unused)]

use switchboard::{Context, service};

struct Math;

#[service]
impl Math {
    fn pattern(&self, (a, b): (i64, i64)) {}

    fn unnamed(&self, _: i64) {}

    fn text(&self, text: &str, other: Option<&'static str>) {}

    fn list(&self, list: &[u8]) {}

    fn option(&self, bytes: Option<&[u8]>) {}

    fn any(&self, text: impl Into<String>) {}

    fn context(&self, cx: &mut Context) {}

    fn sometimes(&self, #[cfg(unix)] a: u8) {}
}

fn main() {}
