//! Files and functions that have grown too long to read.

use super::{Finding, Source, mask};

/// The most lines of a file before its tests.
const FILE: usize = 500;

/// The most lines of a function.
const FUNCTION: usize = 80;

/// The file, if it is too long, and each function that is.
pub(super) fn findings(source: &Source) -> Vec<Finding> {
    let code = mask::code_only(&source.text);
    let mut findings = Vec::new();
    let lines = lines_before_tests(&code);
    if lines > FILE && !is_test(source) {
        let what = format!("{lines} lines, more than {FILE}: split the file");
        findings.push(source.finding(FILE + 1, what));
    }
    for Function { name, line, lines } in functions(&code).into_iter().filter(|f| f.lines > FUNCTION) {
        let what = format!("`{name}` has {lines} lines, more than {FUNCTION}: split it into named parts");
        findings.push(source.finding(line, what));
    }
    findings
}

fn is_test(source: &Source) -> bool {
    source.is_in("tests") || source.path.ends_with("/tests.rs")
}

/// How many lines come before the module of tests.
fn lines_before_tests(code: &str) -> usize {
    let lines: Vec<&str> = code.lines().collect();
    let begins_tests = |pair: &[&str]| pair[0].trim() == "#[cfg(test)]" && pair[1].trim().starts_with("mod ");
    lines.windows(2).position(begins_tests).unwrap_or(lines.len())
}

/// A function with a body.
#[derive(Debug, PartialEq, Eq)]
struct Function {
    name: String,
    /// The line of its `fn`, from one.
    line: usize,
    /// From its `fn` to its last brace.
    lines: usize,
}

/// The functions in source without comments and strings, those inside others included.
fn functions(code: &str) -> Vec<Function> {
    let starts = code.match_indices("fn ").map(|(at, _)| at);
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '#';
    let starts = starts.filter(|at| !code[..*at].chars().next_back().is_some_and(is_part));
    starts.filter_map(|at| function(code, at)).collect()
}

fn function(code: &str, at: usize) -> Option<Function> {
    let rest = &code[at..];
    let name: String =
        rest[3..].trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    if name.is_empty() {
        return None;
    }
    let body = body_start(rest)?;
    let end = body_end(&rest[body..])?;
    let count = |text: &str| text.matches('\n').count() + 1;
    Some(Function { name, line: count(&code[..at]), lines: count(&rest[..body + end]) })
}

/// Where the body begins; nothing for a function without one, whose signature ends in a semicolon.
fn body_start(rest: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in rest.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            ';' if depth == 0 => return None,
            '{' if depth == 0 => return Some(at),
            _ => {}
        }
    }
    None
}

/// Where the brace that opens at the beginning closes.
fn body_end(body: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in body.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => continue,
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::testing::{check, source};

    fn at(path: &str, text: &str, expected: &[(usize, &str)]) {
        check(&findings(&source(path, text)), expected);
    }

    #[test]
    fn a_file_of_500_lines_is_fine_and_one_more_is_not() {
        at("a.rs", &"x\n".repeat(500), &[]);
        at("a.rs", &"x\n".repeat(501), &[(501, "501 lines, more than 500")]);
    }

    #[test]
    fn tests_do_not_count_to_the_length_of_a_file() {
        let text = format!("{}#[cfg(test)]\nmod tests {{\n{}}}\n", "x\n".repeat(500), "y\n".repeat(300));
        at("a.rs", &text, &[]);
        at("crates/core/tests/a.rs", &"x\n".repeat(900), &[]);
        at("crates/core/src/a/tests.rs", &"x\n".repeat(900), &[]);
    }

    #[test]
    fn an_item_for_tests_does_not_end_the_count() {
        let text = format!("#[cfg(test)]\nuse a;\n{}", "x\n".repeat(500));
        at("a.rs", &text, &[(501, "502 lines")]);
    }

    #[test]
    fn a_function_of_80_lines_is_fine_and_one_more_is_not() {
        at("a.rs", &format!("x\nfn f() {{\n{}}}", "a;\n".repeat(78)), &[]);
        at("a.rs", &format!("x\nfn f() {{\n{}}}", "a;\n".repeat(79)), &[(2, "`f` has 81 lines")]);
    }

    #[test]
    fn braces_in_literals_and_comments_do_not_count() {
        let text = "fn f() {\n    // }\n    let a = '}';\n    let b = \"}\";\n}\nfn g() {}";
        let found = functions(&mask::code_only(text));
        let lines: Vec<_> = found.iter().map(|f| (f.name.as_str(), f.line, f.lines)).collect();
        assert_eq!(lines, [("f", 1, 5), ("g", 6, 1)]);
    }

    #[test]
    fn signatures_over_lines_and_arrays_belong_to_their_function() {
        let found = functions("fn f(\n    a: [u8; 4],\n) -> u8\nwhere\n    A: B,\n{\n    1\n}");
        assert_eq!(found, [Function { name: "f".to_owned(), line: 1, lines: 8 }]);
    }

    #[test]
    fn functions_without_a_body_and_function_types_are_left_out() {
        assert!(functions("trait A { fn f(&self); }\ntype B = fn (u8);\nstruct C { my_fn : u8 }").is_empty());
    }

    #[test]
    fn functions_inside_functions_are_found_too() {
        let names: Vec<_> = functions("fn f() { fn g() {} }").into_iter().map(|f| f.name).collect();
        assert_eq!(names, ["f", "g"]);
    }
}
