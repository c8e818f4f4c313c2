//! Any text is a configuration or an error.

use proptest::prelude::*;
use proptest::sample::{Index, select, subsequence};

use super::keys::KEYS;
use super::upstream_keys::{ROUTE, UPSTREAM};
use super::*;
use crate::output;

/// Values that suit some keys, and some that suit none.
const VALUES: &[&str] = &[
    "5",
    "0",
    "-1",
    "1.5",
    "nan",
    "99999999999999999999",
    "true",
    "1979-05-27",
    "\"\"",
    "\"é\"",
    "\"5s\"",
    "\"4MB\"",
    "\"-\"",
    "\"file:x\"",
    "\"*/x\"",
    "\"10.0.0.0/8\"",
    "\"${\"",
    "\"${PATH}\"",
    "\"$${PATH}\"",
    "'''a\nb'''",
    "[]",
    "[1, \"a/**\"]",
    "[\"bob may math/add\", \"bob\"]",
    "{}",
    "{ a = [\"b\"], \"\" = 1 }",
    "[{ limit = \"5/s\", weights = { \"a/*\" = 2 } }, { limit = \"x\" }]",
    "{ limit = \"5/s\", per = \"all\", burst = 9 }",
    "{ allow = \"**\", who = \"anyone\", when = { \"/a\" = { min = 1 } } }",
    "false",
    "\"5%\"",
    "\"a\"",
    "\"exec:a b\"",
    "[\"ws://a\", { url = \"mock:${PATH}\", weight = 2 }]",
    "{ url = \"https://a\" }",
    "{ ttl = \"5s\", errors = { -1 = \"1s\" } }",
    "{ method = \"a\", every = \"1s\" }",
    "{ upstream = \"a\", traffic = \"5%\" }",
    "{ \"/a\" = { b = [1] } }",
    "[{ deny = \"**\", who = [\"remote\"], when = { \"a\" = 1, \"/b\" = { matches = \"(\" } } }]",
];

#[derive(Clone, Debug)]
enum Mutation {
    Remove(Index),
    Repeat(Index, Index),
    Uncomment(Index),
    Insert(Index, Index, String),
    CutOff(Index, Index),
}

impl Mutation {
    fn any() -> impl Strategy<Value = Mutation> {
        let index = any::<Index>;
        let piece =
            prop_oneof![select(VALUES).prop_map(str::to_owned), r#"[\[\]{}"'=.,#$\\ \n0-9a-zé-]{1,4}"#,];
        prop_oneof![
            index().prop_map(Mutation::Remove),
            (index(), index()).prop_map(|(from, to)| Mutation::Repeat(from, to)),
            index().prop_map(Mutation::Uncomment),
            (index(), index(), piece).prop_map(|(line, at, piece)| Mutation::Insert(line, at, piece)),
            (index(), index()).prop_map(|(line, at)| Mutation::CutOff(line, at)),
        ]
    }

    fn apply(&self, lines: &mut Vec<String>) {
        let split = |line: &str, at: &Index| {
            let at = line.floor_char_boundary(at.index(line.len() + 1));
            (line[..at].to_owned(), line[at..].to_owned())
        };
        let count = lines.len();
        match self {
            _ if count == 0 => {}
            Mutation::Remove(line) => drop(lines.remove(line.index(count))),
            Mutation::Repeat(from, to) => lines.insert(to.index(count), lines[from.index(count)].clone()),
            Mutation::Uncomment(line) => {
                let line = &mut lines[line.index(count)];
                *line = line.trim_start_matches(['#', ' ']).to_owned();
            }
            Mutation::Insert(line, at, piece) => {
                let line = &mut lines[line.index(count)];
                let (before, after) = split(line, at);
                *line = before + piece + &after;
            }
            Mutation::CutOff(line, at) => {
                let line = &mut lines[line.index(count)];
                *line = split(line, at).0;
            }
        }
    }
}

fn read(path: &Path, text: &str) -> Result<Config, Failure> {
    let (source, table) = Origin::default().read(Source::of(path, text.to_owned()))?;
    Config::read(table, source, &Description::default())
}

/// Reads a text. If it is a configuration, what is printed of it is the same one.
fn check(text: &str) {
    // Without the folder, no file is written.
    let folder = std::env::temp_dir().join("switchboard-no-such-folder");
    match read(&folder.join("switchboard.toml"), text) {
        Err(failure) => assert!(output::described(&failure).contains("error"), "{text}"),
        Ok(config) => {
            assert!(!show::show(&config).is_empty());
            let printed = config.printed();
            let again = read(Path::new("switchboard.toml"), &printed)
                .unwrap_or_else(|failure| panic!("{text}\n{printed}\n{}", output::described(&failure)));
            assert_eq!(again.printed(), printed, "{text}");
            // What is included is printed in place of `include`, and empty tables are not printed.
            let mut keys =
                KEYS.iter().filter(|key| !["include", "log.levels", "roles", "upstream"].contains(&key.path));
            assert!(keys.all(|key| config.has_same(key, &again)), "{text}\n{printed}");
        }
    }
}

proptest! {
    #[test]
    fn any_text_is_a_configuration_or_an_error(text in r#"(\PC|[\[\]{}"'=.,#$\\ \r\n\ta-c0-9]){0,60}"#) {
        check(&text);
    }

    #[test]
    fn any_value_of_a_key_is_read_or_an_error(
        keys in subsequence(KEYS.iter().map(|key| key.path).collect::<Vec<_>>(), 1..5),
        values in proptest::collection::vec(select(VALUES), 5),
    ) {
        let lines = keys.iter().zip(values).map(|(key, value)| format!("{key} = {value}\n"));
        check(&lines.collect::<String>());
    }

    #[test]
    fn any_value_of_an_upstream_or_a_route_is_read_or_an_error(
        of_upstream in subsequence(UPSTREAM.keys.iter().map(|key| key.path).collect::<Vec<_>>(), 0..4),
        of_route in subsequence(ROUTE.iter().map(|key| key.path).collect::<Vec<_>>(), 0..4),
        values in proptest::collection::vec(select(VALUES), 8),
        has_url in any::<bool>(),
    ) {
        let line = |(key, value): (&&str, &&str)| format!("{key} = {value}\n");
        let url = if has_url && !of_upstream.contains(&"url") { "url = [\"exec:a\", \"wss://b\"]\n" } else { "" };
        let upstream: String = of_upstream.iter().zip(&values).map(line).collect();
        let methods = if has_url && !of_route.contains(&"methods") { "methods = \"a*\"\n" } else { "" };
        let route: String = of_route.iter().zip(&values[4..]).map(line).collect();
        check(&format!("[upstream.a]\n{url}{upstream}[[route]]\n{methods}{route}"));
    }

    #[test]
    fn any_change_of_the_example_is_read_or_an_error(
        mutations in proptest::collection::vec(Mutation::any(), 0..6),
    ) {
        let mut lines: Vec<String> = command::EXAMPLE.lines().map(str::to_owned).collect();
        mutations.iter().for_each(|mutation| mutation.apply(&mut lines));
        check(&lines.join("\n"));
    }
}
