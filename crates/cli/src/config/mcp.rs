//! Where clients of the Model Context Protocol (MCP) are answered.

use switchboard::mcp::Protected;

use super::faults::Fault;
use super::reader::Reader;
use crate::tools;

/// Which listeners speak MCP.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mcp {
    /// Those for HTTP, at `/mcp`.
    pub(crate) http: bool,
    /// Standard input and output, which then speaks nothing else.
    pub(crate) stdio: bool,
}

/// The key with the URL of the endpoint that needs tokens.
pub(super) const RESOURCE: &str = "mcp.resource";

/// The endpoint that needs the tokens of an issuer, if its URL is given.
pub(super) fn protected(reader: &mut Reader<'_>) -> Option<Protected> {
    let resource = reader.text(RESOURCE)?;
    let fault = |reader: &mut Reader<'_>, advice: String| {
        let title = format!("`{RESOURCE}` cannot be used");
        reader.faults.push(Fault::new(reader.place(RESOURCE), title, advice));
    };
    let Some(issuer) = reader.text("auth.jwt.issuer") else {
        fault(reader, "add `auth.jwt`: clients need to know where to log in".to_owned());
        return None;
    };
    let scopes = reader.texts("mcp.scopes");
    match Protected::new(&resource, [issuer]) {
        Ok(protected) => Some(protected.scopes(scopes).at(tools::PATHS)),
        Err(error) => {
            fault(reader, error.to_string());
            None
        }
    }
}

/// Reads which of these listeners speak MCP. Standard input and output can only if it is the only one.
pub(super) fn mcp(reader: &mut Reader<'_>, listen: &[String]) -> Mcp {
    const STDIO: &str = "mcp.stdio";
    let mcp = Mcp { http: reader.flag("mcp.http"), stdio: reader.flag(STDIO) };
    let advice = match listen {
        _ if !mcp.stdio => return mcp,
        [url] if url == "stdio" => return mcp,
        urls if urls.iter().any(|url| url.starts_with("stdio")) => {
            "remove the other listeners, or start another server for them"
        }
        _ => "add `--stdio`, or remove this option: HTTP listeners answer MCP at `/mcp` without it",
    };
    let title = "MCP over standard input and output needs `stdio` as the only listener";
    reader.faults.push(Fault::new(reader.place(STDIO), title, advice));
    mcp
}
