//! What a careful user writes without a framework: serde_json, everything borrowed, params left raw.

use std::borrow::Cow;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue as Raw;

use super::Case;
use crate::workload::{DOCUMENT, TEXT};

/// serde_json's borrowed `RawValue` in process.
#[derive(Debug)]
pub struct RawValue;

impl Case for RawValue {
    fn name(&self) -> &'static str {
        "raw-value"
    }

    fn call(&self, body: Bytes) -> Bytes {
        answer(&body).into()
    }
}

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    jsonrpc: Cow<'a, str>,
    #[serde(borrow)]
    id: &'a Raw,
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    params: Option<&'a Raw>,
}

#[derive(Serialize)]
struct Response<'a, T> {
    jsonrpc: &'static str,
    result: T,
    id: &'a Raw,
}

/// Answers one request or one batch.
pub fn answer(body: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len().min(1 << 16) + 64);
    let is_batch = body.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[');
    let settled = if is_batch { batch(body, &mut out) } else { single(body, &mut out) };
    if settled.is_err() {
        out.clear();
        out.extend_from_slice(
            br#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"},"id":null}"#,
        );
    }
    out
}

fn single(body: &[u8], out: &mut Vec<u8>) -> serde_json::Result<()> {
    dispatch(&serde_json::from_slice(body)?, out)
}

fn batch(body: &[u8], out: &mut Vec<u8>) -> serde_json::Result<()> {
    let requests: Vec<Request<'_>> = serde_json::from_slice(body)?;
    out.push(b'[');
    for (n, request) in requests.iter().enumerate() {
        if n > 0 {
            out.push(b',');
        }
        dispatch(request, out)?;
    }
    out.push(b']');
    Ok(())
}

fn dispatch(request: &Request<'_>, out: &mut Vec<u8>) -> serde_json::Result<()> {
    if request.jsonrpc != "2.0" {
        return fail(request, out, -32600, "Invalid request");
    }
    match request.method.as_ref() {
        "add" => match request.params.map(|params| serde_json::from_str::<(u64, u64)>(params.get())) {
            Some(Ok((left, right))) => succeed(request, out, left.wrapping_add(right)),
            _ => fail(request, out, -32602, "Invalid params"),
        },
        "ignore" => succeed(request, out, true),
        "text" => succeed(request, out, TEXT.as_str()),
        "document" => {
            out.extend_from_slice(br#"{"jsonrpc":"2.0","result":"#);
            out.extend_from_slice(DOCUMENT.as_bytes());
            out.extend_from_slice(br#","id":"#);
            out.extend_from_slice(request.id.get().as_bytes());
            out.push(b'}');
            Ok(())
        }
        _ => fail(request, out, -32601, "Method not found"),
    }
}

fn succeed(request: &Request<'_>, out: &mut Vec<u8>, result: impl Serialize) -> serde_json::Result<()> {
    serde_json::to_writer(out, &Response { jsonrpc: "2.0", result, id: request.id })
}

fn fail(request: &Request<'_>, out: &mut Vec<u8>, code: i32, message: &str) -> serde_json::Result<()> {
    let error = serde_json::json!({"code": code, "message": message});
    serde_json::to_writer(out, &serde_json::json!({"jsonrpc": "2.0", "error": error, "id": request.id}))
}
