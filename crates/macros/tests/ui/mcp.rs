#![allow(unused)]

use switchboard::service;

struct Desk;

#[service]
impl Desk {
    #[mcp(titel = "Weather")]
    fn unknown(&self) {}

    #[mcp(read_only)]
    fn read_only(&self) {}

    #[mcp(idempotent)]
    fn idempotent(&self) {}

    #[mcp(description = "The weather.")]
    fn description(&self) {}

    #[mcp = "weather"]
    fn without_parentheses(&self) {}

    #[mcp(title = 5)]
    fn number(&self) {}

    #[mcp(title = "")]
    fn empty(&self) {}

    #[mcp(title = "One")]
    #[mcp(title = "Two")]
    fn twice(&self) {}

    #[mcp(name = "desk/weather")]
    fn name(&self) {}

    #[mcp(icon = "http://desk.example/weather.png")]
    fn icon(&self) {}

    #[mcp(open_world)]
    fn flag(&self) {}

    #[mcp(destructive = "yes")]
    fn text(&self) {}

    #[method(safe)]
    #[mcp(destructive = true)]
    fn safe(&self) {}

    #[mcp(scope = "bookings: write ")]
    fn scope(&self) {}

    #[mcp(tool = true)]
    fn tool(&self) {}

    #[mcp(task = "forbidden")]
    fn task(&self) {}

    #[mcp(prompt = true)]
    fn prompt(&self) {}

    #[method(notification)]
    #[mcp(prompt)]
    fn notification(&self) {}

    #[method(extension("x-mcp" = {"title": "Weather"}))]
    #[mcp(title = "Weather")]
    fn extension(&self) {}

    #[method(skip)]
    #[mcp(title = "Weather")]
    fn skipped(&self) {}
}

fn main() {}
