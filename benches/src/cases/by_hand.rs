//! The floor: our own scanner, methods matched by name, the envelope written by hand.

use bytes::Bytes;

use super::Case;
use crate::scanner::{Malformed, Scan, Scanner, plain_prefix};
use crate::workload::{DOCUMENT, TEXT};

/// The floor in process.
#[derive(Debug)]
pub struct ByHand;

impl Case for ByHand {
    fn name(&self) -> &'static str {
        "by-hand"
    }

    fn call(&self, body: Bytes) -> Bytes {
        answer(&body).into()
    }
}

/// Answers one request or one batch.
pub fn answer(body: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len().min(1 << 16) + 64);
    if all(body, &mut out).is_err() {
        out.clear();
        out.extend_from_slice(
            br#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"},"id":null}"#,
        );
    }
    out
}

fn all(body: &[u8], out: &mut Vec<u8>) -> Scan<()> {
    let mut scanner = Scanner::new(body)?;
    if !scanner.take(b'[') {
        Request::scan(&mut scanner)?.answer(out);
        return scanner.end();
    }
    let mut before = b'[';
    loop {
        out.push(before);
        before = b',';
        Request::scan(&mut scanner)?.answer(out);
        if !scanner.take(b',') {
            break;
        }
    }
    scanner.expect(b']')?;
    out.push(b']');
    scanner.end()
}

/// One request, as slices of the body.
struct Request<'a> {
    id: &'a [u8],
    method: &'a [u8],
    params: &'a [u8],
}

impl<'a> Request<'a> {
    fn scan(scanner: &mut Scanner<'a>) -> Scan<Self> {
        let (mut version, mut id, mut method, mut params) = (None, None, None, None);
        scanner.expect(b'{')?;
        loop {
            let member = scanner.string()?;
            scanner.expect(b':')?;
            let earlier = match member {
                b"jsonrpc" => version.replace(scanner.string()?),
                b"id" => id.replace(scanner.value()?),
                b"method" => method.replace(scanner.string()?),
                b"params" => params.replace(scanner.value()?),
                _ => {
                    scanner.value()?;
                    None
                }
            };
            if earlier.is_some() {
                return Err(Malformed);
            }
            if !scanner.take(b',') {
                break;
            }
        }
        scanner.expect(b'}')?;
        match (version, id, method) {
            (Some(b"2.0"), Some(id), Some(method)) => {
                Ok(Self { id, method, params: params.unwrap_or(b"[]") })
            }
            _ => Err(Malformed),
        }
    }

    fn answer(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(br#"{"jsonrpc":"2.0","#);
        let settled = match self.method {
            b"add" => self.add(out),
            b"ignore" => self.result(out, b"true"),
            b"text" => self.text(out),
            b"document" => self.result(out, DOCUMENT.as_bytes()),
            _ => Err(r#"{"code":-32601,"message":"Method not found"}"#),
        };
        if let Err(error) = settled {
            out.extend_from_slice(br#""error":"#);
            out.extend_from_slice(error.as_bytes());
        }
        out.extend_from_slice(br#","id":"#);
        out.extend_from_slice(self.id);
        out.push(b'}');
    }

    fn add(&self, out: &mut Vec<u8>) -> Result<(), &'static str> {
        let invalid = |_| r#"{"code":-32602,"message":"Invalid params"}"#;
        let (left, right) = pair(self.params).map_err(invalid)?;
        out.extend_from_slice(br#""result":"#);
        write_integer(out, left.wrapping_add(right));
        Ok(())
    }

    fn text(&self, out: &mut Vec<u8>) -> Result<(), &'static str> {
        out.reserve(TEXT.len() + 16);
        out.extend_from_slice(br#""result":""#);
        assert_eq!(plain_prefix(TEXT.as_bytes()), TEXT.len(), "the floor writes no escapes");
        out.extend_from_slice(TEXT.as_bytes());
        out.push(b'"');
        Ok(())
    }

    fn result(&self, out: &mut Vec<u8>, json: &[u8]) -> Result<(), &'static str> {
        out.reserve(json.len() + 16);
        out.extend_from_slice(br#""result":"#);
        out.extend_from_slice(json);
        Ok(())
    }
}

fn pair(params: &[u8]) -> Scan<(u64, u64)> {
    let mut scanner = Scanner::over_checked(params);
    scanner.expect(b'[')?;
    let left = scanner.integer()?;
    scanner.expect(b',')?;
    let right = scanner.integer()?;
    scanner.expect(b']')?;
    Ok((left, right))
}

fn write_integer(out: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0; 20];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + u8::try_from(value % 10).expect("a digit fits");
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[start..]);
}
