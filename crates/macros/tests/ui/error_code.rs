#![allow(unused)]

use switchboard::RpcError;

#[derive(RpcError)]
enum Failure {
    NoCode,
    #[error_code]
    Empty,
    #[error_code(1001)]
    NoMessage,
    #[error_code(internally)]
    Other,
    #[error_code(1002, "one")]
    One,
    #[error_code(1002, "two")]
    Two,
    #[error_code(internal)]
    Causes(String, String),
}

#[derive(RpcError)]
#[error_code(1001, "generic")]
struct Generic<T>(T);

fn main() {}
