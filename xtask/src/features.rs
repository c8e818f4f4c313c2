//! Every feature of every crate on its own, none, the defaults, and all of them.

use serde_json::Value;

use crate::program::Program;
use crate::step::{self, Done, Failure};
use crate::workspace::{self, list, text};

/// Lints each crate with features in each selection. Lints, not merely compiles: what only some feature uses
/// is dead code without it, and that is a warning.
pub(crate) fn run() -> Result<Done, Failure> {
    let metadata = workspace::metadata("Cargo.toml", "--no-deps")?;
    let selections = selections(&metadata);
    if selections.is_empty() {
        return Ok(Done::Skipped("no crate has features".to_owned()));
    }
    step::all(selections.iter().map(lint).chain(std::iter::once_with(test_alone)))
}

/// Runs the tests of one transport without any other: what all share must not need them.
fn test_alone() -> Result<(), Failure> {
    let tests = "--test tcp_alone --test outside_listener";
    Program::cargo("test --quiet --package switchboard-transport --no-default-features --features tcp")
        .args(tests.split_whitespace())
        .run()
}

fn lint(Selection { package, flags }: &Selection) -> Result<(), Failure> {
    let clippy = Program::cargo("clippy --quiet --package").arg(package).args(flags.iter().cloned());
    clippy.args(["--", "-D", "warnings"]).run()
}

/// One way to compile one crate.
#[derive(Debug, PartialEq, Eq)]
struct Selection {
    package: String,
    flags: Vec<String>,
}

/// The selections for all crates of the workspace that have features.
fn selections(metadata: &Value) -> Vec<Selection> {
    list(metadata, "packages").flat_map(of_package).collect()
}

fn of_package(package: &Value) -> Vec<Selection> {
    let features: Vec<&str> = match package["features"].as_object() {
        Some(features) if !features.is_empty() => features.keys().map(String::as_str).collect(),
        _ => return Vec::new(),
    };
    let mut lines = vec!["--no-default-features".to_owned()];
    for feature in features {
        lines.push(match feature {
            "default" => String::new(),
            other => format!("--no-default-features --features {other}"),
        });
    }
    lines.push("--all-features".to_owned());
    let name = text(package, "name");
    let selection = |line: String| Selection {
        package: name.to_owned(),
        flags: line.split_whitespace().map(str::to_owned).collect(),
    };
    lines.into_iter().map(selection).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn lines(features: &Value) -> Vec<String> {
        let metadata = json!({"packages": [{"name": "a", "features": features}]});
        let line = |selection: &Selection| format!("{} {}", selection.package, selection.flags.join(" "));
        selections(&metadata).iter().map(line).collect()
    }

    #[test]
    fn a_crate_without_features_is_left_out() {
        assert!(lines(&json!({})).is_empty());
    }

    #[test]
    fn each_feature_is_taken_alone_then_none_the_defaults_and_all() {
        assert_eq!(
            lines(&json!({"default": ["tcp"], "tcp": [], "ws": ["tcp"]})),
            [
                "a --no-default-features",
                "a ",
                "a --no-default-features --features tcp",
                "a --no-default-features --features ws",
                "a --all-features",
            ]
        );
    }
}
