//! What is read rarely: URLs, OpenRPC documents and what differs between two of them, certificates.

use switchboard_openrpc::{Document, diff};
use switchboard_transport::carrier::Url;
use switchboard_transport::internals::tls::read_certificate;

use crate::Case;

const SIZE: usize = 2 << 10;

pub(crate) const CASES: &[Case] = &[
    ("url: a path", SIZE, |size| url("http://localhost/".to_owned() + &"a%20/".repeat(size / 5))),
    ("url: options", SIZE, |size| url("tcp://localhost:1?".to_owned() + &"framing=json&".repeat(size / 13))),
    ("url: a host", SIZE, |size| url(format!("tcp://{}:1", "a.".repeat(size / 2)))),
    ("openrpc: reading methods", SIZE, |size| {
        let text = methods(size, "m");
        Box::new(move || drop(Document::parse(text).unwrap()))
    }),
    ("openrpc: reading and resolving references", SIZE, |size| {
        let text = references(size);
        Box::new(move || drop(Document::parse(text).unwrap().resolved().unwrap()))
    }),
    ("diff: the same methods", SIZE, |size| differ(methods(size, "m"), methods(size, "m"))),
    ("diff: other methods", SIZE, |size| differ(methods(size, "m"), methods(size, "n"))),
    ("diff: parameters that were renamed", SIZE, |size| differ(params(size, "p"), params(size, "q"))),
    ("diff: parameters that were reversed", SIZE, |size| differ(params(size, "p"), reversed_params(size))),
    ("diff: members of a schema", SIZE, |size| differ(members(size, "p"), members(size, "q"))),
    ("diff: required members of a schema", SIZE, |size| differ(required(size, "p"), required(size, "q"))),
    ("diff: values of an enum", SIZE, |size| differ(values(size, "p"), values(size, "q"))),
    ("diff: the same values of an enum", SIZE, |size| differ(values(size, "p"), values(size, "p"))),
    ("diff: alternatives", SIZE, |size| differ(alternatives(size, "p"), alternatives(size, "q"))),
    ("diff: the same alternatives", SIZE, |size| differ(alternatives(size, "p"), alternatives(size, "p"))),
    ("diff: errors", SIZE, |size| differ(errors(size, 0), errors(size, 1 << 20))),
    ("diff: references", SIZE, |size| differ(references(size), references(size))),
    ("certificate: names", SIZE, |size| {
        let names: Vec<_> = (0..size / 20).map(|n| format!("host{n:07}.example")).collect();
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = rcgen::CertificateParams::new(names).unwrap().self_signed(&key).unwrap();
        let der = certificate.der().to_vec();
        Box::new(move || assert!(!read_certificate(&der).dns_names.is_empty()))
    }),
];

fn url(text: String) -> Box<dyn FnOnce()> {
    Box::new(move || {
        if let Ok(url) = text.parse::<Url>() {
            std::hint::black_box(url.to_string());
        }
    })
}

fn differ(old: String, new: String) -> Box<dyn FnOnce()> {
    let (old, new) = (Document::parse(old).unwrap(), Document::parse(new).unwrap());
    Box::new(move || drop(std::hint::black_box(diff(&old, &new).unwrap())))
}

/// As many as have about this size together, each made of its number.
fn list(size: usize, one: impl Fn(usize) -> String) -> String {
    let count = size / (one(0).len() + 1);
    (0..count).map(one).collect::<Vec<_>>().join(",")
}

fn document(methods: &str, more: &str) -> String {
    format!(r#"{{"openrpc":"1.3.2","info":{{"title":"t","version":"1"}},"methods":[{methods}]{more}}}"#)
}

fn methods(size: usize, name: &str) -> String {
    let result = r#"{"name":"r","schema":{"type":"string"}}"#;
    document(&list(size, |n| format!(r#"{{"name":"{name}{n:07}","params":[],"result":{result}}}"#)), "")
}

/// One method with these params and this schema of its result.
fn method(params: &str, schema: &str, more: &str) -> String {
    document(
        &format!(r#"{{"name":"m","params":[{params}],"result":{{"name":"r","schema":{schema}}}{more}}}"#),
        "",
    )
}

fn params(size: usize, name: &str) -> String {
    method(&list(size, |n| format!(r#"{{"name":"{name}{n:07}","schema":{{"type":"string"}}}}"#)), "true", "")
}

fn reversed_params(size: usize) -> String {
    let one = |n: usize| format!(r#"{{"name":"p{n:07}","schema":{{"type":"string"}}}}"#);
    let count = size / (one(0).len() + 1);
    method(&(0..count).rev().map(one).collect::<Vec<_>>().join(","), "true", "")
}

fn members(size: usize, name: &str) -> String {
    let members = list(size, |n| format!(r#""{name}{n:07}":{{"type":"string"}}"#));
    method("", &format!(r#"{{"type":"object","properties":{{{members}}}}}"#), "")
}

fn required(size: usize, name: &str) -> String {
    let names = list(size, |n| format!(r#""{name}{n:07}""#));
    method("", &format!(r#"{{"type":"object","required":[{names}]}}"#), "")
}

fn values(size: usize, name: &str) -> String {
    method("", &format!(r#"{{"enum":[{}]}}"#, list(size, |n| format!(r#""{name}{n:07}""#))), "")
}

fn alternatives(size: usize, name: &str) -> String {
    let members = list(size, |n| {
        format!(r#"{{"type":"object","required":["{name}"],"properties":{{"{name}":{{"const":{n:07}1}}}}}}"#)
    });
    method("", &format!(r#"{{"oneOf":[{}]}}"#, members.replace("const\":0", "const\":1")), "")
}

fn errors(size: usize, from: usize) -> String {
    let errors = list(size, |n| format!(r#"{{"code":{},"message":"no"}}"#, 1_000_000 + from + n));
    method("", "true", &format!(r#","errors":[{errors}]"#))
}

fn references(size: usize) -> String {
    let schemas = list(size, |n| match n {
        0 => r##""s0000000":{"type":"string","description":"the last"}"##.to_owned(),
        n => format!(
            r##""s{n:07}":{{"type":"array","items":{{"$ref":"#/components/schemas/s{:07}"}}}}"##,
            n - 1
        ),
    });
    let result = r##"{"name":"r","schema":{"$ref":"#/components/schemas/s0000001"}}"##;
    document(
        &format!(r#"{{"name":"m","params":[],"result":{result}}}"#),
        &format!(r#","components":{{"schemas":{{{schemas}}}}}"#),
    )
}
