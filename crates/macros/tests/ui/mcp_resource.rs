#![allow(unused)]

use switchboard::service;

struct Desk;

#[service]
impl Desk {
    #[mcp(resource = "desk://cities/{name}", prompt)]
    fn prompt(&self, name: String) {}

    #[mcp(mime = "text/markdown")]
    fn mime(&self) {}

    #[mcp(resource = "desk://hours", mime = "markdown")]
    fn media_type(&self) {}

    #[mcp(resource = "hours")]
    fn relative(&self) {}

    #[mcp(resource = "desk://opening hours")]
    fn space(&self) {}

    #[mcp(resource = "desk://cities/{name")]
    fn open(&self, name: String) {}

    #[mcp(resource = "desk://cities/name}")]
    fn closed(&self, name: String) {}

    #[mcp(resource = "desk://cities/{city name}")]
    fn expression(&self, name: String) {}

    #[mcp(resource = "desk://cities/{city}")]
    fn unknown(&self, #[arg(default)] name: String, units: Option<String>) {}

    #[mcp(resource = "desk://cities/{city}")]
    fn no_arguments(&self) {}

    #[mcp(resource = "desk://cities/{name}")]
    fn missing(&self, name: String, country: String, #[arg(default)] units: String) {}
}

fn main() {}
