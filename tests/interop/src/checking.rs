//! `switchboard check` against servers of others.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;
use tokio::process::Command;
use tokio::time::timeout;

use crate::demo::Demo;

/// How long a check may take.
const LIMIT: Duration = Duration::from_secs(80);

/// What a check found.
#[derive(Debug)]
pub struct Checked {
    /// The cases that fail, with the rules that they cite.
    pub failed: BTreeMap<String, Vec<String>>,
    /// The cases with a warning.
    pub warned: BTreeSet<String>,
    /// How many pass.
    pub passed: u64,
}

impl Checked {
    /// Whether a case that cites this rule fails.
    #[must_use]
    pub fn breaks(&self, rule: &str) -> bool {
        self.failed.values().flatten().any(|own| own == rule)
    }
}

/// Checks the server at this URL.
///
/// # Panics
///
/// If the program is missing, or makes no report.
pub async fn check(url: &str, more: &[&str]) -> Checked {
    let mut command = Command::new(Demo::program());
    command.args(["check", url, "--json", "--quick", "--case-time", "2"]).args(more).kill_on_drop(true);
    let output = timeout(LIMIT, command.output()).await;
    let output = output.unwrap_or_else(|_| panic!("no report within {LIMIT:?}")).expect("it starts");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    let report: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("no report: {error}"));
    let mut checked = Checked {
        failed: BTreeMap::new(),
        warned: BTreeSet::new(),
        passed: report["pass"].as_u64().unwrap_or(0),
    };
    for finding in report["findings"].as_array().expect("there are findings") {
        let name = finding["case"].as_str().expect("a case has a name").to_owned();
        println!("{} {name} {} {} {}", finding["verdict"], finding["sent"], finding["got"], finding["note"]);
        match finding["verdict"].as_str() {
            Some("fail") => {
                let rules = finding["rules"].as_array().expect("a case cites rules").iter();
                let rules = rules.filter_map(Value::as_str).map(str::to_owned).collect();
                checked.failed.insert(name, rules);
            }
            Some("warn") => {
                checked.warned.insert(name);
            }
            _ => {}
        }
    }
    checked
}
