#![allow(unused)]

use switchboard::service;

struct Written;

#[service]
impl Written {
    #[mcp(completes = "")]
    fn empty(&self, prefix: String) -> Vec<String> {
        vec![prefix]
    }

    #[mcp(completes = "city")]
    fn without_argument(&self, prefix: String) -> Vec<String> {
        vec![prefix]
    }

    #[mcp(completes = "city.name", title = "Cities")]
    fn titled(&self, prefix: String) -> Vec<String> {
        vec![prefix]
    }
}

struct Desk;

#[service(namespace = "desk")]
impl Desk {
    #[mcp(resource = "desk://cities/{name}")]
    fn city(&self, name: String, units: Option<String>) {}

    #[mcp(prompt)]
    fn plan(&self) {}

    fn book(&self, city: String) {}

    #[mcp(completes = "city.nam, city.units")]
    fn variable(&self, prefix: String) -> Vec<String> {
        vec![prefix]
    }

    #[mcp(completes = "plan.city")]
    fn argument(&self, prefix: String) -> Vec<String> {
        vec![prefix]
    }

    #[mcp(completes = "book.city")]
    fn tool(&self, prefix: String) -> Vec<String> {
        vec![prefix]
    }

    #[mcp(completes = "trip.city, trips/plan.city")]
    fn unknown(&self, prefix: String) -> Vec<String> {
        vec![prefix]
    }
}

fn main() {}
