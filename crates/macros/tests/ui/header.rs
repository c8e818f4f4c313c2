#![allow(unused)]

use switchboard::{Context, service};

struct Desk;

#[service]
impl Desk {
    fn token(&self, #[arg(header = "My Region")] region: String) {}

    fn text(&self, #[arg(header)] region: String) {}

    fn twice(&self, #[arg(header = "Region")] from: String, #[arg(header = "region")] to: String) {}

    fn rest(&self, #[arg(rest, header = "Region")] regions: Vec<String>) {}

    fn context(&self, #[arg(header = "Region")] cx: &Context) {}
}

fn main() {}
