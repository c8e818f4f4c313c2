//! The upstreams on the command line of `switchboard gateway`, and the options for them.

use clap::ArgMatches;

use super::overlay::given;
use super::tree::{Entry, Node, Place, Table, Text, Value};
use super::upstream_flags;
use super::upstreams::is_name;
use crate::failure::Failure;

/// The name of an upstream that is given without one.
const UNNAMED: &str = "upstream";

/// The text between the name of an upstream and the names of its methods.
const SEPARATOR: &str = "/";

/// The keys that the arguments of `switchboard gateway` set: each is a `URL`, whose methods keep their names, or `NAME=URL`. The
/// options apply to all of them.
pub(super) fn upstreams(arguments: &[String], options: &ArgMatches) -> Result<Vec<(String, Node)>, Failure> {
    let mut values = of_arguments(arguments)?;
    values.extend(names_of_methods(arguments, options)?);
    let names: Vec<&str> =
        arguments.iter().map(|argument| name_and_url(argument).0.unwrap_or(UNNAMED)).collect();
    for key in upstream_flags() {
        let Some(node) = given(options, key) else { continue };
        if names.is_empty() {
            let advice = format!("for those of the file, use --set upstream.NAME.{}=VALUE", key.path);
            let what = format!("{} is for upstreams on the command line, and there are none", key.flag);
            return Err(Failure::usage(what).advise(advice));
        }
        values.extend(names.iter().map(|name| (format!("upstream.{name}.{}", key.path), node.clone())));
    }
    Ok(values)
}

/// The keys that the arguments alone set.
pub(super) fn of_arguments(arguments: &[String]) -> Result<Vec<(String, Node)>, Failure> {
    let mut values: Vec<(String, Node)> = Vec::new();
    for argument in arguments {
        let (name, url) = name_and_url(argument);
        let place = Place::Flag(name.map_or_else(|| "URL".to_owned(), |name| format!("{name}=URL")));
        let path = format!("upstream.{}", name.unwrap_or(UNNAMED));
        let url = (format!("{path}.url"), Node::text(url, place.clone()));
        if values.iter().any(|(other, _)| *other == url.0) {
            let what = match name {
                Some(name) => format!("two upstreams are named `{name}`"),
                None => "only one upstream can be without a name".to_owned(),
            };
            return Err(Failure::usage(what).advise("write `NAME=URL` with a different name for each"));
        }
        values.push(url);
        if name.is_none() {
            values.push((format!("{path}.prefix"), Node::text("", place)));
        }
    }
    Ok(values)
}

/// The keys that `--separator` and `--rename` set.
fn names_of_methods(arguments: &[String], options: &ArgMatches) -> Result<Vec<(String, Node)>, Failure> {
    let given = |name: &str| -> Vec<String> {
        let values = options.try_get_many::<String>(name).ok().flatten();
        values.into_iter().flatten().cloned().collect()
    };
    let (separator, renamed) = (given("separator").pop(), given("rename"));
    if arguments.is_empty() && (separator.is_some() || !renamed.is_empty()) {
        let what = "--separator and --rename are for upstreams on the command line, and there are none";
        let advice = "for those of a file, set `prefix`, or add a route with `rename`";
        return Err(Failure::usage(what).advise(advice));
    }
    let prefix = |name: &str| format!("{name}{}", separator.as_deref().unwrap_or(SEPARATOR));
    let named: Vec<&str> = arguments.iter().filter_map(|argument| name_and_url(argument).0).collect();
    let mut values = Vec::new();
    if separator.is_some() {
        let place = Place::Flag("--separator".to_owned());
        let set = |name: &&str| (format!("upstream.{name}.prefix"), Node::text(prefix(name), place.clone()));
        values.extend(named.iter().map(set));
    }
    let mut routes = Vec::new();
    for text in &renamed {
        let wrong = |what: String| Failure::usage(format!("--rename {text}: {what}"));
        let (old, new) = text
            .split_once('=')
            .filter(|(old, new)| !old.is_empty() && !new.is_empty())
            .ok_or_else(|| wrong("write METHOD=NAME, as in --rename math/add=sum".to_owned()))?;
        let of_name = |name: &str| old.strip_prefix(&prefix(name)).filter(|inside| !inside.is_empty());
        let by_name = named.iter().filter_map(|name| Some((*name, of_name(name)?)));
        let has_unnamed = named.len() < arguments.len();
        let (upstream, inside) = by_name
            .min_by_key(|(_, inside)| inside.len())
            .or(has_unnamed.then_some((UNNAMED, old)))
            .ok_or_else(|| wrong(format!("no upstream on the command line has a method `{old}`")))?;
        let place = Place::Flag(format!("--rename {old}"));
        let name = |text: &str| Value::Text(Text::plain(text));
        routes.push(route(
            &place,
            [("methods", name(new)), ("upstream", name(upstream)), ("rename", name(inside))],
        ));
        routes.push(route(&place, [("methods", name(old)), ("upstream", Value::Flag(false))]));
    }
    if !routes.is_empty() {
        let place = Place::Flag("--rename".to_owned());
        values.push(("route".to_owned(), Node { value: Value::List(routes), place }));
    }
    Ok(values)
}

/// A route with these keys.
fn route<const N: usize>(place: &Place, keys: [(&str, Value); N]) -> Node {
    let entry = |(name, value): (&str, Value)| Entry {
        name: name.to_owned(),
        name_place: place.clone(),
        node: Node { value, place: place.clone() },
    };
    Node { value: Value::Table(Table(keys.map(entry).into())), place: place.clone() }
}

/// `NAME=URL`, or a URL, which may contain `=`, too.
fn name_and_url(argument: &str) -> (Option<&str>, &str) {
    match argument.split_once('=').filter(|(name, _)| is_name(name)) {
        Some((name, url)) => (Some(name), url),
        None => (None, argument),
    }
}

#[cfg(test)]
mod tests {
    use clap::{Arg, Command};

    use super::*;

    /// The text that a command line sets for a key.
    fn set(words: &[&str], path: &str) -> Option<String> {
        let command = Command::new("gateway").arg(Arg::new("upstreams").num_args(0..)).args([
            Arg::new("retry").long("retry"),
            Arg::new("upstream_token").long("upstream-token"),
            Arg::new("env").long("env").action(clap::ArgAction::Append),
            Arg::new("separator").long("separator"),
            Arg::new("rename").long("rename").action(clap::ArgAction::Append),
        ]);
        let options = command.try_get_matches_from([&["gateway"], words].concat()).unwrap();
        let arguments: Vec<String> = options.get_many("upstreams").unwrap_or_default().cloned().collect();
        let mut table = Table::default();
        for (path, node) in upstreams(&arguments, &options).ok()? {
            table.set(&path, node);
        }
        match &table.get(path)?.value {
            Value::Text(text) => Some(text.text.clone()),
            Value::Number(number) => Some(number.clone()),
            _ => None,
        }
    }

    #[test]
    fn options_are_for_all_upstreams_of_the_command_line() {
        let words = ["a=1", "2", "--retry", "5", "--upstream-token", "5", "--env", "X=1", "--env", "Y=a=b"];
        for name in ["a", UNNAMED] {
            let check = |key: &str, expected: &str| {
                assert_eq!(
                    set(&words, &format!("upstream.{name}.{key}")).as_deref(),
                    Some(expected),
                    "{key}"
                );
            };
            check("retry", "5");
            check("token", "5");
            check("env.X", "1");
            check("env.Y", "a=b");
        }
        assert_eq!(set(&words, "upstream.upstream.prefix").as_deref(), Some(""));
        assert_eq!(set(&["a=1", "2", "--separator", "."], "upstream.a.prefix").as_deref(), Some("a."));
        assert_eq!(set(&["a=1", "2", "--separator", "."], "upstream.upstream.prefix").as_deref(), Some(""));
        assert_eq!(set(&["--separator", "."], "upstream"), None);
        assert_eq!(set(&["a=1"], "upstream.a.retry"), None);
        // There must be one.
        assert_eq!(set(&["--retry", "5"], "upstream"), None);
        let no_options = Command::new("gateway").try_get_matches_from(["gateway"]).unwrap();
        assert!(upstreams(&[], &no_options).unwrap().is_empty());
    }
}
