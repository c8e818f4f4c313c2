//! Rate limits, load shedding, trusted proxies and the audit log.

use switchboard::access::{Pattern, Who};
use switchboard::audit::Audit;
use switchboard::rate::{Rate, RateBy, RateLimits, RateRule};
use switchboard::server::Cidr;
use switchboard::shed::{ShedOptions, Shedding};

use super::faults::Fault;
use super::reader::{Reader, text};
use super::rules::Roles;
use super::tree::Node;
use crate::output;

/// Reads the rate limits; none if there are none.
pub(crate) fn rate(reader: &mut Reader<'_>, roles: &Roles) -> Option<RateLimits> {
    reader.is_set("rate").then(|| {
        let limits = RateLimits::new(reader.forms("rate", rule));
        let users = roles.users().into_iter();
        users.fold(limits, |limits, user| limits.with_roles(&user, roles.of(&user)))
    })
}

fn rule(reader: &mut Reader<'_>) -> Option<RateRule> {
    if !reader.is_set("limit") {
        reader.missing("limit", "\"25/s\"");
    }
    let rate = reader.one_parsed::<Rate>("limit")?;
    let name = Fault::origin(&reader.at, reader.source);
    let mut rule = RateRule::new(rate).named(name);
    if reader.is_set("methods") {
        rule = rule.for_methods(reader.parsed::<Pattern>("methods"));
    }
    if reader.is_set("who") {
        rule = rule.for_callers(reader.parsed::<Who>("who"));
    }
    if let Some(by) = reader.one_parsed::<RateBy>("per") {
        rule = rule.by(by);
    }
    if let Some(burst) = reader.one_parsed::<u32>("burst") {
        rule = rule.with_burst(burst);
    }
    let pattern = |name: &str| name.parse::<Pattern>().map_err(|error| error.to_string());
    let weight = |node: &Node| {
        let weight = text(node).ok().and_then(|text| text.parse::<u32>().ok());
        weight.ok_or_else(|| "use a whole number, 0 or more".to_owned())
    };
    let weights = reader.pairs("weights", pattern, weight).into_iter();
    Some(weights.fold(rule, |rule, (methods, weight)| rule.with_weight(methods, weight)))
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
