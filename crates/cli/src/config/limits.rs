//! Rate limits, load shedding, trusted proxies and the audit log.

use switchboard::access::{Pattern, Who};
use switchboard::audit::Audit;
use switchboard::rate::{Rate, RateBy, RateLimits, RateRule};
use switchboard::server::Cidr;
use switchboard::shed::{ShedOptions, Shedding};

use super::faults::Fault;
use super::reader::{Reader, text};
use super::rules::Roles;
use super::tree::{Node, Table, Value};
use crate::output;

/// Reads the rate limits; none if there are none.
pub(crate) fn rate(reader: &mut Reader<'_>, roles: &Roles) -> Option<RateLimits> {
    let items = reader.table.get("rate")?.each().to_vec();
    let rules: Vec<RateRule> = items.iter().filter_map(|item| rule(reader, item)).collect();
    let limits = RateLimits::new(rules);
    Some(roles.users().into_iter().fold(limits, |limits, user| limits.with_roles(&user, roles.of(&user))))
}

fn rule(reader: &mut Reader<'_>, item: &Node) -> Option<RateRule> {
    const PATH: &str = "rate";
    let Value::Table(table) = &item.value else { return None };
    let Some(rate) = reader.many::<Rate>(table, PATH, "limit").and_then(|mut rates| rates.pop()) else {
        if table.get("limit").is_none() {
            reader.wrong(item, PATH, "add `limit`, such as limit = \"25/s\"");
        }
        return None;
    };
    let mut rule = RateRule::new(rate).named(Fault::origin(&item.place, reader.source));
    if let Some(methods) = reader.many::<Pattern>(table, PATH, "methods") {
        rule = rule.for_methods(methods);
    }
    if let Some(who) = reader.many::<Who>(table, PATH, "who") {
        rule = rule.for_callers(who);
    }
    if let Some(by) = reader.many::<RateBy>(table, PATH, "per").and_then(|mut by| by.pop()) {
        rule = rule.by(by);
    }
    if let Some(burst) = reader.many::<u32>(table, PATH, "burst").and_then(|mut burst| burst.pop()) {
        rule = rule.with_burst(burst);
    }
    Some(weights(reader, table, rule))
}

/// The cost of calls, by method.
fn weights(reader: &mut Reader<'_>, table: &Table, mut rule: RateRule) -> RateRule {
    const PATH: &str = "rate.weights";
    let Some(node) = table.get("weights") else { return rule };
    let Value::Table(weights) = &node.value else {
        reader.wrong(node, PATH, "write { \"METHOD\" = 5 }");
        return rule;
    };
    for entry in &weights.0 {
        let weight = text(&entry.node).ok().and_then(|text| text.parse::<u32>().ok());
        match (entry.name.parse::<Pattern>(), weight) {
            (Ok(methods), Some(weight)) => rule = rule.with_weight(methods, weight),
            (Err(error), _) => reader.wrong(&entry.node, PATH, &error.to_string()),
            (_, None) => reader.wrong(&entry.node, PATH, "use a whole number, 0 or more"),
        }
    }
    rule
}

/// Reads how many calls may run at once; none if there is no limit.
pub(crate) fn shedding(reader: &mut Reader<'_>) -> Option<Shedding> {
    let queue_time = reader.duration("limits.queue_time");
    let running = reader.count("limits.running")?;
    Some(Shedding::new(ShedOptions::default().with_running(running).with_queue_time(queue_time)))
}

/// Reads which proxies are trusted.
pub(crate) fn proxies(reader: &mut Reader<'_>) -> Vec<Cidr> {
    let texts = reader.texts("trust_proxies");
    let (good, bad): (Vec<_>, Vec<_>) =
        texts.iter().map(|text| text.parse::<Cidr>()).partition(Result::is_ok);
    for error in bad.into_iter().filter_map(Result::err) {
        let fault =
            Fault::new(reader.place("trust_proxies"), "invalid value for `trust_proxies`", error.to_string());
        reader.faults.push(fault);
    }
    good.into_iter().filter_map(Result::ok).collect()
}

/// Where security events go.
pub(crate) fn audit(reader: &mut Reader<'_>) -> Audit {
    const PATH: &str = "log.audit";
    let Some(written) = reader.text(PATH) else { return Audit::default() };
    let audit = match written == "-" {
        // The log writes to stderr too; its queue keeps their lines apart.
        true => Audit::to_fn(|line| output::note(&format!("{line}\n"))),
        false => Audit::to_file(reader.path(PATH).unwrap_or_default()),
    };
    audit.unwrap_or_else(|error| {
        let fault = Fault::new(reader.place(PATH), format!("`{PATH}` cannot be used"), error.to_string());
        reader.faults.push(fault);
        Audit::default()
    })
}
