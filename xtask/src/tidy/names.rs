//! Names of files and folders that say nothing about what is in them.

use super::Finding;

/// Names for a drawer into which anything fits.
const DRAWERS: &[&str] = &["common", "helper", "helpers", "manager", "util", "utils"];

/// The paths with such a name in them.
pub(super) fn findings(paths: &[String]) -> Vec<Finding> {
    paths.iter().filter_map(|path| finding(path)).collect()
}

fn finding(path: &str) -> Option<Finding> {
    let stem = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
    let drawer = path.split('/').map(stem).find(|stem| DRAWERS.contains(&stem.as_str()))?;
    let what = format!("the name `{drawer}` is too vague: name the file after its contents");
    Some(Finding { path: path.to_owned(), line: 1, what })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::testing::check;

    #[test]
    fn files_and_folders_named_like_a_drawer_are_found() {
        let paths = ["a/utils.rs", "a/common/mod.rs", "a/manager.test.js", "a/utilities.rs", "a/pending.rs"];
        check(&findings(&paths.map(str::to_owned)), &[(1, "`utils`"), (1, "`common`"), (1, "`manager`")]);
    }
}
