//! The URLs of an upstream.

use switchboard::carrier::{Carriers, Url, redacted};

use super::expand;
use super::health::number;
use super::reader::{Reader, text};
use super::tree::Value;
use crate::address;

/// One of the servers of an upstream.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct NodeConfig {
    /// With its secrets.
    pub(crate) url: String,
    /// Without its secrets.
    pub(crate) shown: String,
    pub(crate) weight: u32,
    /// Nodes are used only while no node of a lower number is healthy.
    pub(crate) priority: u32,
}

impl NodeConfig {
    /// The scheme of the URL.
    pub(crate) fn scheme(&self) -> &str {
        self.url.split_once(':').map_or(&*self.url, |(scheme, _)| scheme)
    }
}

/// Without the secrets.
impl std::fmt::Debug for NodeConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} (weight {}, priority {})", self.shown, self.weight, self.priority)
    }
}

/// Reads a node.
pub(super) fn node(reader: &mut Reader<'_>) -> Option<NodeConfig> {
    let (weight, priority) = (number(reader, "weight"), number(reader, "priority"));
    let Some(node) = reader.table.get("url").cloned() else {
        reader.missing("url", "\"http://127.0.0.1:8000\"");
        return None;
    };
    let urls = text(&node).and_then(|written| {
        let template = match &node.value {
            Value::Text(text) => text.template.as_deref(),
            _ => None,
        };
        addresses(&written, template)
    });
    match urls {
        Ok((url, shown)) => {
            let placed = |url: String| match url.strip_prefix("mock:") {
                Some(path) => format!("mock:{}", reader.beside("url", path).display()),
                None => url,
            };
            Some(NodeConfig { url: placed(url), shown: placed(shown), weight, priority })
        }
        Err(advice) => {
            reader.wrong(&node, "url", &advice);
            None
        }
    }
}

/// The URL and what may be shown of it. Errors do not show what was filled in.
fn addresses(written: &str, template: Option<&str>) -> Result<(String, String), String> {
    let Some(template) = template else {
        let url = checked(written)?;
        let shown = redacted(&url);
        return Ok((url, shown));
    };
    let shown = expand::masked(template);
    match checked(written) {
        Ok(url) => Ok((url, redacted(&shown))),
        Err(_) => {
            checked(&shown)?;
            Err("with its references filled in, this is not a valid URL".to_owned())
        }
    }
}

/// A URL that can be connected to, as the transports write it.
fn checked(text: &str) -> Result<String, String> {
    let text = address::listening(text)?;
    let url: Url = text.parse().map_err(|error: switchboard::carrier::UrlError| error.to_string())?;
    match (url.scheme(), url.text()) {
        ("demo", Some("")) => return Ok("demo:".to_owned()),
        ("demo", _) => return Err("write \"demo:\", without anything after it".to_owned()),
        ("mock", Some(path)) if !path.is_empty() => {}
        ("mock", _) => return Err("write \"mock:FILE\" with an OpenRPC document".to_owned()),
        ("stdio", _) => {
            return Err("`stdio` is for listeners; to start a program, use \"exec:COMMAND\"".to_owned());
        }
        _ => drop(Carriers::of_this_build().find(&url).map_err(|error| error.to_string())?),
    }
    Ok(url.to_string())
}

/// The name of an HTTP header.
pub(super) fn header_name(name: &str) -> Result<String, String> {
    match http::HeaderName::try_from(name) {
        Ok(header) => Ok(header.as_str().to_owned()),
        Err(_) => Err("this is not the name of an HTTP header".to_owned()),
    }
}
