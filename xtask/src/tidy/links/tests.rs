//! Links that resolve and links that do not.

use super::*;
use crate::tidy::testing;

/// The findings in a repository with this page, `docs/other.md` and `crates/core/src/lib.rs`.
fn check(path: &str, text: &str, expected: &[(usize, &str)]) {
    let other = testing::source("docs/other.md", "# Other\n## The `Peer` & its *life*\n## Again\n## Again\n");
    let paths = [path, "docs/other.md", "crates/core/src/lib.rs"].map(str::to_owned);
    testing::check(&findings(&paths, &[testing::source(path, text), other]), expected);
}

#[test]
fn links_to_files_and_folders_that_exist_are_fine() {
    check("README.md", "[a](docs/other.md) ![b](./docs/other.md \"t\") [c](crates/core) [d](docs/)", &[]);
    check("docs/a.md", "[a](other.md) [b](../README.md/../docs/other.md) [c](/crates/core/src/lib.rs)", &[]);
}

#[test]
fn links_to_files_that_do_not_exist_are_found() {
    check("README.md", "x\n[a](docs/none.md)", &[(2, "`docs/none.md`: no such file")]);
    check("README.md", "[a](other.md) [b](doc)", &[(1, "other.md"), (1, "doc")]);
    check("README.md", "[a]: docs/none.md", &[(1, "docs/none.md")]);
}

#[test]
fn links_out_of_the_repository_are_found() {
    check("README.md", "[a](../x.md)", &[(1, "points outside the repository")]);
}

#[test]
fn links_to_other_places_are_not_followed() {
    check("README.md", "[a](https://example.org/x) [b](mailto:a@example.org) <https://example.org>", &[]);
}

#[test]
fn anchors_lead_to_headings_of_the_same_page() {
    check("README.md", "# A b\n[x](#a-b) [y](#b)", &[(2, "`#b`: no such heading")]);
    check("README.md", "<a id=\"here\"></a>\n[x](#here)", &[]);
}

#[test]
fn anchors_lead_to_headings_of_other_pages() {
    check("README.md", "[x](docs/other.md#the-peer--its-life) [y](docs/other.md#again-1)", &[]);
    check("README.md", "[x](docs/other.md#again-2)", &[(1, "no such heading")]);
}

#[test]
fn code_is_not_read() {
    check("README.md", "```md\n# A\n[a](none.md)\n```\n`[a](none.md)` and `x`", &[]);
    check("README.md", "```md\n# A\n```\n[x](#a)", &[(4, "no such heading")]);
    check("README.md", "[`a`](none.md)", &[(1, "none.md")]);
    check("README.md", "it`s [a](none.md)", &[(1, "none.md")]);
}

#[test]
fn items_are_left_to_rustdoc_in_the_pages_of_crates() {
    check("crates/core/src/guide.md", "[a](crate::Router) [b](Router) [c](Router::new())", &[]);
    check("README.md", "[b](Router)", &[(1, "Router")]);
}

#[test]
fn targets_may_have_parentheses_and_footnotes_are_text() {
    check("README.md", "[a](https://example.org/a_(b)) (c)\n[^1]: text.md is no link", &[]);
}
