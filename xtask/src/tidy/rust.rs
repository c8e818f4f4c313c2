//! The rules for Rust source, line by line.

use super::{Finding, Source, after_word, has_word, mask};

/// Macros that mark unfinished work.
const UNFINISHED: &[&str] = &["todo", "unimplemented", "dbg"];

/// Everything against the rules in one file.
pub(super) fn findings(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(module_doc(source));
    let code = mask::code_only(&source.text);
    for (index, (line, code)) in source.text.lines().zip(code.lines()).enumerate() {
        let whats = whitespace(line).map(str::to_owned).into_iter().chain(forbidden(source, code));
        findings.extend(whats.map(|what| source.finding(index + 1, what)));
    }
    findings
}

/// The sources of a crate begin with what the module is for.
fn module_doc(source: &Source) -> Option<Finding> {
    let is_crate = source.path.starts_with("crates/") && source.is_in("src");
    if !is_crate && !source.path.starts_with("xtask/src/") {
        return None;
    }
    let first = source.text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let is_doc = first.starts_with("//!") || first.starts_with("#![doc = include_str!(");
    (!is_doc).then(|| source.finding(1, "no module doc: start with `//!` and say what the module is"))
}

fn whitespace(line: &str) -> Option<&'static str> {
    if line.ends_with([' ', '\t']) {
        Some("trailing white space: delete it")
    } else if line.contains('\t') {
        Some("a tab: indent with spaces, and escape tabs in literals")
    } else {
        None
    }
}

/// What must not stand in code.
fn forbidden(source: &Source, code: &str) -> Vec<String> {
    let mut whats = Vec::new();
    for name in UNFINISHED {
        if after_word(code, name).any(|rest| rest.starts_with('!')) {
            whats.push(format!("`{name}!`: finish the code"));
        }
    }
    if has_word(code, "unsafe") && !source.path.starts_with("benches/") && !source.path.starts_with("fuzz/") {
        whats.push("unsafe code: write it safely".to_owned());
    }
    if code.contains("#[ignore") || (code.contains("cfg_attr") && has_word(code, "ignore")) {
        whats.push("an ignored test: make it run, or delete it".to_owned());
    }
    if source.is_in("tests") && after_word(code, "sleep").any(|rest| rest.starts_with('(')) {
        whats.push("a sleep in a test: wait with a channel, a barrier or paused time".to_owned());
    }
    whats
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::testing::{check, source};

    fn at(path: &str, text: &str, expected: &[(usize, &str)]) {
        check(&findings(&source(path, text)), expected);
    }

    #[test]
    fn unfinished_macros_are_found_in_code_only() {
        at("a.rs", "fn f() {\n    todo!()\n}", &[(2, "`todo!`")]);
        at("a.rs", "fn f() { std::dbg!(1); unimplemented!(\"x\") }", &[(1, "unimplemented"), (1, "dbg")]);
        at("a.rs", "// todo!() is forbidden\nconst A: &str = \"dbg!\"; my_todo!();", &[]);
    }

    #[test]
    fn unsafe_is_found_outside_of_benches_and_fuzz() {
        at("crate/a.rs", "x\nunsafe { y }", &[(2, "unsafe")]);
        at("benches/src/a.rs", "unsafe { y }", &[]);
        at("fuzz/a.rs", "unsafe { y }", &[]);
        at("crate/a.rs", "#![forbid(unsafe_code)] // no unsafe", &[]);
    }

    #[test]
    fn ignored_tests_are_found() {
        at("a.rs", "#[ignore]", &[(1, "ignored")]);
        at("a.rs", "#[ignore = \"slow\"]", &[(1, "ignored")]);
        at("a.rs", "#[cfg_attr(windows, ignore)]", &[(1, "ignored")]);
        at("a.rs", "fn ignore() {}", &[]);
    }

    #[test]
    fn tests_do_not_sleep() {
        at("crates/core/tests/a.rs", "tokio::time::sleep(x).await;", &[(1, "sleep")]);
        at("crates/core/src/a.rs", "//! A.\ntokio::time::sleep(x).await;", &[]);
        at("crates/core/tests/a.rs", "no_sleep(x);", &[]);
    }

    #[test]
    fn tabs_and_trailing_blanks_are_found() {
        at("a.rs", "a\n\tb\nc \n", &[(2, "tab"), (3, "trailing white space")]);
    }

    #[test]
    fn a_module_begins_with_its_doc() {
        at("crates/core/src/a.rs", "use b;", &[(1, "module doc")]);
        at("crates/core/src/a/b.rs", "", &[(1, "module doc")]);
        at("xtask/src/a.rs", "use b;", &[(1, "module doc")]);
        at("crates/core/src/a.rs", "\n//! A.\nuse b;", &[]);
        at("crates/core/src/a.rs", "#![doc = include_str!(\"a.md\")]", &[]);
        at("crates/core/tests/a.rs", "use b;", &[]);
    }
}
