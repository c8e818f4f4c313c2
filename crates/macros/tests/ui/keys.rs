#![allow(unused)]

use switchboard::service;

struct Math;

#[service(prefix = "math")]
impl Math {
    #[method(pure)]
    fn one(&self) {}

    #[method(name = one)]
    fn two(&self) {}

    #[method(name)]
    fn three(&self) {}

    #[method(result_schema = "Text")]
    fn schema(&self, #[arg(schema)] a: i64) {}

    #[method = "four"]
    fn four(&self, #[arg(rename = "x")] a: i64) {}
}

struct Other;

#[service(namespace = "")]
impl Other {}

struct Third;

#[service(separator = ".")]
impl Third {}

struct Fourth;

#[service(rename_all = "CamelCase")]
impl Fourth {}

fn main() {}
