//! Links in Markdown: a link into the repository leads to a file that is there, and to a heading in it.
//!
//! Links to other places are not followed. Paths of Rust items (`crate::Router`), which rustdoc resolves and
//! verifies itself, are left to it.

use std::collections::{BTreeMap, BTreeSet};

use super::{Finding, Source};

/// Every link that leads nowhere.
pub(super) fn findings(paths: &[String], sources: &[Source]) -> Vec<Finding> {
    let pages: BTreeMap<&str, BTreeSet<String>> = sources
        .iter()
        .filter(|source| source.is_markdown())
        .map(|source| (source.path.as_str(), anchors(&source.text)))
        .collect();
    let mut findings = Vec::new();
    for source in sources.iter().filter(|source| source.is_markdown()) {
        for Link { line, target } in links(&source.text) {
            if let Err(what) = resolve(&source.path, &target, paths, &pages) {
                findings.push(source.finding(line, format!("link to `{target}`: {what}")));
            }
        }
    }
    findings
}

fn resolve(
    from: &str,
    target: &str,
    paths: &[String],
    pages: &BTreeMap<&str, BTreeSet<String>>,
) -> Result<(), &'static str> {
    if is_elsewhere(target) || is_item(from, target) {
        return Ok(());
    }
    let (path, anchor) = target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor)));
    let path = if path.is_empty() {
        from.to_owned()
    } else {
        join(from, path).ok_or("it points outside the repository; link to a file inside")?
    };
    let folder = format!("{path}/");
    let exists = path.is_empty() || paths.iter().any(|known| *known == path || known.starts_with(&folder));
    if !exists {
        return Err("no such file in the repository; fix the path");
    }
    match (anchor, pages.get(path.as_str())) {
        (Some(anchor), Some(anchors)) if !anchors.contains(anchor) => {
            Err("no such heading; fix the part after `#`")
        }
        _ => Ok(()),
    }
}

/// Whether the target begins with a scheme (`https:`) or a host (`//`).
fn is_elsewhere(target: &str) -> bool {
    let scheme = target.split_once(':').map(|(scheme, _)| scheme).unwrap_or_default();
    let is_scheme =
        !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    target.starts_with("//") || (is_scheme && !target.contains("::"))
}

/// Whether this is the path of a Rust item, in a page that is part of a crate's documentation.
fn is_item(from: &str, target: &str) -> bool {
    from.starts_with("crates/") && target.chars().all(|c| c.is_alphanumeric() || "_:!@()".contains(c))
}

/// The path of a target, seen from the folder of the page; from the root if it begins with `/`.
fn join(from: &str, target: &str) -> Option<String> {
    let folder =
        if target.starts_with('/') { "" } else { from.rsplit_once('/').map_or("", |(folder, _)| folder) };
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(target.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// A link and the line it is in.
#[derive(Debug, PartialEq, Eq)]
struct Link {
    line: usize,
    target: String,
}

/// The targets of all links of a page: `[a](target)`, `![a](target)` and `[a]: target`.
fn links(text: &str) -> Vec<Link> {
    let mut links = Vec::new();
    for (line, text) in prose(text) {
        let text = without_code(text);
        let inline = text.match_indices("](").filter_map(|(at, _)| inline_target(&text[at + 2..]));
        let targets = inline.chain(definition(&text));
        links.extend(targets.map(|target| Link { line, target: target.to_owned() }));
    }
    links
}

/// The lines outside of fenced code, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fence: Option<&str> = None;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let trimmed = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| trimmed.starts_with(mark));
        match (fence, mark) {
            (None, None) => return Some((index + 1, line)),
            (None, Some(_)) => fence = mark,
            (Some(open), Some(mark)) if open == mark => fence = None,
            (Some(_), _) => {}
        }
        None
    })
}

/// The line with code spans taken out.
pub(super) fn without_code(line: &str) -> String {
    // A backtick without a partner is an ordinary character: what follows it is still prose.
    let parts: Vec<&str> = line.split('`').collect();
    let is_open = |index: usize| parts.len().is_multiple_of(2) && index == parts.len() - 1;
    let kept = parts.iter().enumerate().filter(|(index, _)| index % 2 == 0 || is_open(*index));
    kept.map(|(_, part)| *part).collect()
}

/// The target in `target)` or `target "title")`, up to the parenthesis that closes the link.
fn inline_target(rest: &str) -> Option<&str> {
    let mut depth = 1;
    let end = rest.char_indices().find_map(|(at, c)| {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        (depth == 0).then_some(at)
    })?;
    first_word(&rest[..end])
}

/// The target in `[name]: target`. Footnotes (`[^name]:`) are text.
fn definition(line: &str) -> Option<&str> {
    let (name, rest) = line.trim_start().strip_prefix('[')?.split_once("]:")?;
    if name.starts_with('^') || name.contains(']') { None } else { first_word(rest) }
}

fn first_word(text: &str) -> Option<&str> {
    let word = text.split_whitespace().next()?;
    Some(word.trim_start_matches('<').trim_end_matches('>'))
}

/// What a `#` can lead to in a page: its headings, and its `id` and `name` attributes.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for (_, line) in prose(text) {
        let level = line.chars().take_while(|c| *c == '#').count();
        if (1..=6).contains(&level) && line[level..].starts_with(' ') {
            let slug = slug(&line[level..]);
            let again = (1..).map(|n| format!("{slug}-{n}"));
            let free = std::iter::once(slug.clone()).chain(again).find(|name| !anchors.contains(name));
            anchors.extend(free);
        }
        for attribute in ["id=\"", "name=\""] {
            let values = line.split(attribute).skip(1).filter_map(|rest| rest.split('"').next());
            anchors.extend(values.map(str::to_owned));
        }
    }
    anchors
}

/// A heading as its anchor: lower case, blanks as `-`, no punctuation, links as their text.
fn slug(heading: &str) -> String {
    let mut text = heading.trim().trim_end_matches('#').trim().to_owned();
    while let Some((at, end)) = text.find("](").and_then(|at| Some((at, at + text[at..].find(')')?))) {
        text.replace_range(at..=end, "");
    }
    let keep = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    let lower = text.to_lowercase();
    lower.chars().map(|c| if c == ' ' { '-' } else { c }).filter(|c| keep(*c)).collect()
}

#[cfg(test)]
mod tests;
