//! Where calls go that are not for the upstream of their prefix, and policies for some methods.

use switchboard::Json;
use switchboard::access::{Pattern, Pointer, Who};

use super::faults::Fault;
use super::nodes::header_name;
use super::policies::{self, PolicyConfig, UpstreamNames};
use super::reader::{Reader, text};
use super::tree::{Node, Place, Value};

/// A route.
#[derive(Clone, Debug)]
pub(crate) struct RouteConfig {
    /// At least one.
    pub(crate) methods: Vec<Pattern>,
    /// None is the upstream of the prefix; `Some(None)` refuses the calls.
    pub(crate) upstream: Option<Option<String>>,
    /// Empty is anyone.
    pub(crate) who: Vec<Who>,
    /// Headers that a call must have.
    pub(crate) header: Vec<(String, String)>,
    /// The share of the calls, from 0.0 to 1.0.
    pub(crate) traffic: Option<f64>,
    pub(crate) rename: Option<String>,
    /// Params to set.
    pub(crate) set: Vec<(Pointer, Json)>,
    /// Params to set if they are missing.
    pub(crate) default: Vec<(Pointer, Json)>,
    /// Params to remove.
    pub(crate) drop: Vec<Pointer>,
    pub(crate) params: Option<ParamsForm>,
    pub(crate) policy: PolicyConfig,
    /// Where it is, such as `ethereum.toml:15`.
    pub(crate) place: String,
}

/// The form that params are converted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParamsForm {
    Named,
    Positional,
}

impl RouteConfig {
    /// Whether it is for all calls of its methods.
    pub(crate) fn is_unconditional(&self) -> bool {
        self.who.is_empty() && self.header.is_empty() && self.traffic.is_none()
    }
}

/// Reads all routes.
pub(super) fn routes(reader: &mut Reader<'_>, names: &UpstreamNames) -> Vec<RouteConfig> {
    let read = reader.forms("route", |reader| {
        let place = reader.at.clone();
        route(reader, names).map(|route| (route, place))
    });
    check_patterns(reader, &read);
    read.into_iter().map(|(route, _)| route).collect()
}

fn route(reader: &mut Reader<'_>, names: &UpstreamNames) -> Option<RouteConfig> {
    let methods: Vec<Pattern> = reader.parsed("methods");
    if reader.is_empty("methods") {
        reader.missing("methods", "\"METHOD\"");
    }
    Some(RouteConfig {
        upstream: upstream(reader, names),
        who: reader.parsed("who"),
        header: reader.pairs("header", header_name, text),
        traffic: reader.is_set("traffic").then(|| reader.percent("traffic")),
        rename: rename(reader, &methods),
        set: reader.pairs("set", pointer, Node::json),
        default: reader.pairs("default", pointer, Node::json),
        drop: reader.parsed("drop"),
        params: reader.is_set("params").then(|| match &*reader.choice("params") {
            "named" => ParamsForm::Named,
            _ => ParamsForm::Positional,
        }),
        policy: policies::policy(reader, names),
        place: Fault::origin(&reader.at, reader.source),
        methods: Some(methods).filter(|methods| !methods.is_empty())?,
    })
}

fn upstream(reader: &mut Reader<'_>, names: &UpstreamNames) -> Option<Option<String>> {
    let node = reader.table.get("upstream").cloned()?;
    if matches!(node.value, Value::Flag(false)) {
        return Some(None);
    }
    match text(&node) {
        Ok(name) => {
            names.check(reader, &name, &node);
            Some(Some(name))
        }
        Err(_) => {
            reader.wrong(&node, "upstream", "write the name of an upstream, or false");
            None
        }
    }
}

/// The name of the method at the upstream. A `*` in it needs one in every pattern.
fn rename(reader: &mut Reader<'_>, methods: &[Pattern]) -> Option<String> {
    let name = reader.text("rename")?;
    let stars = |text: &str| text.matches('*').count();
    let is_literal = |pattern: &Pattern| pattern.literal().is_some();
    let problem = match stars(&name) {
        _ if name.is_empty() => Some("write the name of a method"),
        0 => None,
        1 if !methods.iter().any(is_literal) => None,
        1 => Some("`*` is what `*` matched, but a pattern in `methods` has none"),
        _ => Some("write `*` once: it is what `*` matched"),
    };
    if let (Some(advice), Some(node)) = (problem, reader.table.get("rename").cloned()) {
        reader.wrong(&node, "rename", advice);
    }
    Some(name)
}

fn pointer(name: &str) -> Result<Pointer, String> {
    name.parse::<Pointer>().map_err(|error| error.to_string())
}

/// Reports routes of which neither is more specific.
fn check_patterns(reader: &mut Reader<'_>, routes: &[(RouteConfig, Place)]) {
    let mut seen: Vec<(&Pattern, &Place)> = Vec::new();
    for (route, place) in routes.iter().filter(|(route, _)| route.is_unconditional()) {
        for pattern in &route.methods {
            if let Some((_, first)) = seen.iter().find(|(other, _)| *other == pattern) {
                let title = format!("two routes are for `{pattern}`");
                let advice = "merge them, or add a condition: `who`, `header` or `traffic`";
                let fault = Fault::new(place.clone(), title, advice);
                reader.faults.push(fault.with_other((*first).clone(), "the other one"));
            }
            seen.push((pattern, place));
        }
    }
}
