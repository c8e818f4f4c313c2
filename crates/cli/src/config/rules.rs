//! Roles and access rules, and the claims about them that must hold.

use switchboard::access::{Access, CallerFacts, Condition, Pattern, Pointer, Rule, Who};
use switchboard::identity::{Identity, Proof};
use switchboard::{Description, Json};

use super::faults::Fault;
use super::reader::{Reader, text};
use super::tree::{Node, Place, Value};
use crate::params;
use crate::suggest::did_you_mean;

/// The members of each role.
#[derive(Clone, Debug, Default)]
pub(crate) struct Roles(Vec<(String, Vec<String>)>);

/// A caller to decide about, as people write it: `bob`, `role:teller`, `anonymous`, `anonymous@local`.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    identity: Option<Identity>,
    is_user: bool,
    is_local: bool,
}

impl Roles {
    /// The roles of this user.
    pub(crate) fn of(&self, user: &str) -> Vec<String> {
        let has = |members: &[String]| members.iter().any(|member| member == user);
        self.0.iter().filter(|(_, members)| has(members)).map(|(role, _)| role.clone()).collect()
    }

    /// All users with roles, each once.
    pub(crate) fn users(&self) -> Vec<String> {
        let mut users: Vec<String> = self.0.iter().flat_map(|(_, members)| members.clone()).collect();
        users.sort_unstable();
        users.dedup();
        users
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(role, _)| role.as_str())
    }
}

impl Subject {
    /// Reads a caller.
    pub(crate) fn parse(text: &str, roles: &Roles) -> Result<Subject, String> {
        let (name, is_local) = match text.strip_suffix("@local") {
            Some(name) => (name, true),
            None => (text, false),
        };
        let someone = || Identity::new("someone", Proof::Token);
        let identity = match name.split_once(':') {
            _ if name.is_empty() => return Err("the caller is missing".to_owned()),
            None if name == "anonymous" => None,
            None | Some(("user", _)) => {
                let user = name.strip_prefix("user:").unwrap_or(name);
                Some(Identity::new(user, Proof::Token).with_roles(roles.of(user)))
            }
            Some(("role", role)) => Some(someone().with_roles([role])),
            Some(("scope", scope)) => Some(someone().with_scopes([scope])),
            Some(("agent", agent)) => Some(someone().with_agent(agent)),
            Some(_) => {
                return Err("write a user, role:NAME, scope:NAME, agent:NAME or anonymous".to_owned());
            }
        };
        let is_user = !name.contains(':') || name.starts_with("user:");
        Ok(Subject { identity, is_user, is_local })
    }

    /// What rules ask about the caller.
    pub(crate) fn facts(&self) -> CallerFacts<'_> {
        CallerFacts::new(self.identity.as_ref(), &[], self.is_local)
    }

    /// The caller as it is to a server that does not ask who calls.
    pub(crate) fn anonymous(self) -> Subject {
        Subject { identity: None, ..self }
    }

    /// The same caller with what this credential of it says.
    pub(crate) fn with_credential(mut self, owner: &Identity) -> Subject {
        let roles = self.roles().iter().filter(|role| !owner.roles.contains(role)).cloned();
        let roles: Vec<String> = owner.roles.iter().cloned().chain(roles).collect();
        self.identity = Some(owner.clone().with_roles(roles));
        self
    }

    /// Its identity, if it has one.
    pub(crate) fn identity(&self) -> Option<&Identity> {
        self.identity.as_ref()
    }

    /// Its name, if it is one user and not anyone with a role.
    pub(crate) fn user(&self) -> Option<&str> {
        self.identity.as_ref().filter(|_| self.is_user).map(|identity| identity.subject.as_str())
    }

    /// Whether it is on this machine.
    pub(crate) fn is_local(&self) -> bool {
        self.is_local
    }

    /// Whether it has no credentials.
    pub(crate) fn is_anonymous(&self) -> bool {
        self.identity.is_none()
    }

    /// The roles of the caller.
    pub(crate) fn roles(&self) -> &[String] {
        self.identity.as_ref().map(|identity| identity.roles.as_slice()).unwrap_or_default()
    }
}

/// Reads the members of each role.
pub(crate) fn roles(reader: &mut Reader<'_>) -> Roles {
    let members = |node: &Node| node.each().iter().map(text).collect();
    Roles(reader.pairs("roles", |role| Ok(role.to_owned()), members))
}

/// Reads the rules; none if there are none.
pub(crate) fn access(reader: &mut Reader<'_>, roles: &Roles, methods: &Description) -> Option<Access> {
    if !reader.is_set("access.rules") {
        return None;
    }
    // A token may name any role.
    let is_any_role = reader.is_set("auth.jwt.issuer") || reader.is_set("auth.keys");
    let known = Some(roles).filter(|_| !is_any_role);
    let rules = reader.forms("access.rules", |reader| rule(reader, known));
    if !rules.is_empty() && rules.iter().all(|rule| rule.effect == switchboard::access::Effect::Deny) {
        let place = reader.place("access.rules");
        let advice = "add a rule such as { allow = \"**\", who = \"authenticated\" }";
        reader.faults.push(Fault::warning(place, "no rule allows anything, so every call is denied", advice));
    }
    let mut access = Access::new(rules).with_names(methods);
    for user in roles.users() {
        access = access.with_roles(&user, roles.of(&user));
    }
    claims(reader, &access, roles);
    Some(access)
}

fn rule(reader: &mut Reader<'_>, known: Option<&Roles>) -> Option<Rule> {
    let set =
        |reader: &mut Reader<'_>, name: &str| reader.is_set(name).then(|| reader.parsed::<Pattern>(name));
    let (allow, deny) = (set(reader, "allow"), set(reader, "deny"));
    if !reader.is_set("who") {
        reader.missing("who", "\"authenticated\"");
        return None;
    }
    let who = reader.parsed::<Who>("who");
    if let Some(roles) = known {
        check_roles(reader, &who, roles);
    }
    let rule = match (allow, deny) {
        (Some(methods), None) => Rule::allow(methods, who),
        (None, Some(methods)) => Rule::deny(methods, who),
        _ => {
            let title = format!("invalid value for `{}`", reader.path);
            reader.faults.push(Fault::new(reader.at.clone(), title, "a rule has either `allow` or `deny`"));
            return None;
        }
    };
    let name = reader.text("name").unwrap_or_else(|| Fault::origin(&reader.at, reader.source));
    let pointer = |name: &str| name.parse::<Pointer>().map_err(|error| error.to_string());
    let faults = reader.faults.len();
    let conditions = reader.pairs("when", pointer, condition).into_iter();
    let rule = conditions.fold(rule, |rule, (pointer, condition)| rule.when(pointer, condition));
    // Claims are not checked against a rule without some of its conditions.
    (reader.faults.len() == faults).then(|| rule.named(name))
}

/// Reports roles without members: with a misspelt role, a rule never matches.
fn check_roles(reader: &mut Reader<'_>, who: &[Who], roles: &Roles) {
    let places: Vec<Place> = reader
        .table
        .get("who")
        .map(|node| node.each().iter().map(|item| item.place.clone()).collect())
        .unwrap_or_default();
    for (who, place) in who.iter().zip(places) {
        let Who::Role(role) = who else { continue };
        if roles.names().any(|name| name == role) {
            continue;
        }
        let advice = did_you_mean(role, roles.names())
            .unwrap_or_else(|| format!("add {role} = [\"USER\"] under [roles]"));
        reader.faults.push(Fault::new(place, format!("no user has the role `{role}`"), advice));
    }
}

/// A scalar must be equal, a list must contain the value, and a table says the rest.
fn condition(node: &Node) -> Result<Condition, String> {
    let Value::Table(table) = &node.value else {
        let values = node.each().iter().map(json).collect::<Result<Vec<_>, _>>()?;
        return Condition::one_of(values).map_err(|error| error.to_string());
    };
    let number = |name: &str| match table.get(name).map(|node| &node.value) {
        None => Ok(None),
        Some(Value::Number(number)) => Ok(Some(number.clone())),
        Some(_) => Err(format!("`{name}` must be a number")),
    };
    let names: Vec<&str> = table.0.iter().map(|entry| entry.name.as_str()).collect();
    match names[..] {
        ["min" | "max"] | ["min", "max"] | ["max", "min"] => {
            Condition::range(number("min")?.as_deref(), number("max")?.as_deref())
                .map_err(|error| error.to_string())
        }
        ["matches"] => {
            let regex = table.get("matches").map_or(Ok(String::new()), text)?;
            Condition::matches(&regex).map_err(|error| error.to_string())
        }
        ["absent"] if matches!(table.get("absent").map(|node| &node.value), Some(Value::Flag(true))) => {
            Ok(Condition::absent())
        }
        _ => Err("use { min = …, max = … }, { matches = \"…\" } or { absent = true }".to_owned()),
    }
}

fn json(node: &Node) -> Result<Json, String> {
    match &node.value {
        Value::List(_) | Value::Table(_) => {
            Err(format!("{} cannot be compared; use a text, a number, true or false", node.kind()))
        }
        _ => node.json(),
    }
}

/// Checks each claim: `WHO may [not] METHOD [PARAMS]`.
fn claims(reader: &mut Reader<'_>, access: &Access, roles: &Roles) {
    let Some(node) = reader.table.get("access.tests") else { return };
    for item in node.each() {
        let verdict = text(item).and_then(|text| claim(&text, access, roles));
        match verdict {
            Ok(None) => {}
            Ok(Some((title, advice))) => reader.faults.push(Fault::new(item.place.clone(), title, advice)),
            Err(advice) => reader.wrong(item, "access.tests", &advice),
        }
    }
}

/// What is wrong with a claim, if it does not hold.
fn claim(text: &str, access: &Access, roles: &Roles) -> Result<Option<(String, String)>, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let (who, is_allowed, rest) = match words[..] {
        [who, "may", "not", ref rest @ ..] => (who, false, rest),
        [who, "may", ref rest @ ..] => (who, true, rest),
        _ => return Err("write: WHO may [not] METHOD [PARAMS]".to_owned()),
    };
    let [method, params @ ..] = rest else {
        return Err("the method is missing: WHO may [not] METHOD [PARAMS]".to_owned());
    };
    let subject = Subject::parse(who, roles)?;
    let words: Vec<String> = params.iter().map(|word| (*word).to_owned()).collect();
    let params = params::of_words(&words).map_err(|failure| crate::output::described(&failure))?;
    let decision = access.decide_for(&subject.facts(), method, params.as_ref());
    if decision.is_allowed() == is_allowed {
        return Ok(None);
    }
    let what = match is_allowed {
        true => "the call is denied",
        false => "the call is allowed",
    };
    let command = format!("switchboard acl explain --as {who} {}", rest.join(" "));
    Ok(Some((format!("access test failed: {what}"), format!("see: {command}"))))
}
