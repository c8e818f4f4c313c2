#![allow(unused)]

use switchboard::{ErrorObject, Stream, service};

type Answer<T> = Result<T, ErrorObject>;

#[service]
trait Users {
    fn find(&self) -> Answer<String>;

    fn watch(&self) -> impl Stream<Item = Answer<String>> + Send + 'static;
}

#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Wrapped<T>(T);

mod own {
    use super::{Wrapped as Result, service};

    #[service]
    trait Search {
        fn find(&self) -> Result<String>;
    }
}

fn main() {}
