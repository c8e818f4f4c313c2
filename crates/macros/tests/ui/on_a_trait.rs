#![allow(unused)]

use switchboard::service;

#[service]
trait Store<T> {
    fn get(&self) -> u8;
}

#[service]
trait Users {
    type User;

    fn new(&self) -> Self::User;

    fn merge(&self, other: Self);

    fn with_timeout(&self);
}

fn main() {}
