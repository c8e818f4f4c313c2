//! `${NAME}`, `${NAME:-default}` and `${file:PATH}` in texts of the configuration.

use std::path::Path;

/// Replaces secrets.
pub(crate) const MASK: &str = "***";

/// A text with everything filled in.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Expanded {
    pub(crate) text: String,
    /// The text with its references, if anything was filled in: a value from outside the file may be a secret. Paths of files are as
    /// seen from the working directory.
    pub(crate) template: Option<String>,
}

/// What cannot be filled in.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NotExpanded {
    pub(crate) title: String,
    pub(crate) advice: String,
}

/// Fills in variables and files. `$${` stands for `${`; any other `$` is itself.
pub(crate) fn expand(text: &str, base: &Path) -> Result<Expanded, NotExpanded> {
    let (mut out, mut template) = (String::with_capacity(text.len()), String::new());
    let (mut rest, mut is_filled) = (text, false);
    while let Some(at) = rest.find("${") {
        if let Some(before) = rest[..at].strip_suffix('$') {
            out.push_str(before);
            out.push_str("${");
            template.push_str(&rest[..at + 2]);
            rest = &rest[at + 2..];
            continue;
        }
        let after = &rest[at + 2..];
        let end = after.find('}').ok_or_else(|| NotExpanded {
            title: "`${` without `}`".to_owned(),
            advice: "close it, or write $${ for a literal ${".to_owned(),
        })?;
        let name = &after[..end];
        out.push_str(&rest[..at]);
        out.push_str(&value(name, base)?);
        template.push_str(&rest[..at]);
        template.push_str(&reference(name, base));
        is_filled = true;
        rest = &after[end + 1..];
    }
    out.push_str(rest);
    template.push_str(rest);
    Ok(Expanded { text: out, template: is_filled.then_some(template) })
}

/// A text that expands to this one.
pub(crate) fn escape(text: &str) -> String {
    text.replace("${", "$${")
}

/// A text with its references, as people may see it.
pub(crate) fn masked(template: &str) -> String {
    let (mut out, mut rest) = (String::new(), template);
    while let Some(at) = rest.find("${") {
        if let Some(before) = rest[..at].strip_suffix('$') {
            out.extend([before, "${"]);
            rest = &rest[at + 2..];
            continue;
        }
        let end = rest[at..].find('}').map_or(rest.len(), |end| at + end + 1);
        out.extend([&rest[..at], MASK]);
        rest = &rest[end..];
    }
    out + rest
}

fn reference(name: &str, base: &Path) -> String {
    match name.strip_prefix("file:") {
        Some(path) => format!("${{file:{}}}", base.join(path).display()),
        None => format!("${{{name}}}"),
    }
}

fn value(name: &str, base: &Path) -> Result<String, NotExpanded> {
    if let Some(path) = name.strip_prefix("file:") {
        return file(&base.join(path));
    }
    let (name, default) = name.split_once(":-").map_or((name, None), |(name, value)| (name, Some(value)));
    match (std::env::var(name), default) {
        (Ok(value), _) if !value.is_empty() || default.is_none() => Ok(value),
        (_, Some(default)) => Ok(default.to_owned()),
        _ => Err(NotExpanded {
            title: format!("environment variable `{name}` is not set"),
            advice: format!("set it, or write ${{{name}:-default}} or ${{file:PATH}}"),
        }),
    }
}

/// The content of a file that only its owner can read, without the line break at its end.
fn file(path: &Path) -> Result<String, NotExpanded> {
    let wrong = |what: String, advice: String| NotExpanded { title: what, advice };
    #[cfg(unix)]
    if let Ok(metadata) = std::fs::metadata(path) {
        use std::os::unix::fs::PermissionsExt as _;
        if metadata.permissions().mode() & 0o077 != 0 {
            return Err(wrong(
                format!("{} can be read by other users", path.display()),
                format!("run: chmod 600 {}", path.display()),
            ));
        }
    }
    let text = std::fs::read_to_string(path).map_err(|error| {
        wrong(
            format!("cannot read {}", path.display()),
            format!("{error}; paths start at the folder of the file"),
        )
    })?;
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let expanded = expand(text, Path::new("")).unwrap();
        assert_eq!(expanded.text, expected, "{text}");
        let is_filled = text.replace("$${", "").contains("${");
        assert_eq!(expanded.template, is_filled.then(|| text.to_owned()), "{text}");
        let escaped = expand(&escape(expected), Path::new("")).unwrap();
        assert_eq!(escaped, Expanded { text: expected.to_owned(), template: None }, "{text}");
    }

    #[test]
    fn variables_are_filled_in_and_other_dollars_stay() {
        // Every test process has it.
        let path = std::env::var("PATH").unwrap();
        check("a${PATH}b", &format!("a{path}b"));
        check("${SWITCHBOARD_NO_SUCH:-x-${y}", "x-${y");
        check("$5 and $$ and $${PATH}", "$5 and $$ and ${PATH}");
        check("$$${PATH}", "$${PATH}");
        check("", "");
    }

    #[test]
    fn references_are_masked_and_the_rest_is_shown() {
        let check = |template: &str, expected: &str| assert_eq!(masked(template), expected, "{template}");
        check("wss://eth.example/v2/${KEY}", "wss://eth.example/v2/***");
        check("${A:-b}-${file:c}/", "***-***/");
        check("$${A} $5", "${A} $5");
        check("${open", "***");
    }

    #[test]
    fn what_is_missing_is_named_with_what_to_write() {
        let error = expand("${SWITCHBOARD_NO_SUCH}", Path::new("")).unwrap_err();
        assert_eq!(error.title, "environment variable `SWITCHBOARD_NO_SUCH` is not set");
        assert!(error.advice.contains("${SWITCHBOARD_NO_SUCH:-default}"));
        assert!(expand("${OPEN", Path::new("")).unwrap_err().title.contains("without"));
        assert!(expand("${file:no/such}", Path::new("")).unwrap_err().title.contains("no/such"));
    }

    #[cfg(unix)]
    #[test]
    fn secret_files_must_be_private() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = std::env::temp_dir();
        let name = format!("switchboard-secret-{}", std::process::id());
        std::fs::write(folder.join(&name), "s3cret\n").unwrap();
        let read_with = |mode| {
            std::fs::set_permissions(folder.join(&name), std::fs::Permissions::from_mode(mode)).unwrap();
            expand(&format!("${{file:{name}}}"), &folder)
        };
        assert!(read_with(0o644).unwrap_err().advice.starts_with("run: chmod 600"));
        let template = format!("${{file:{}}}", folder.join(&name).display());
        let expected = Expanded { text: "s3cret".to_owned(), template: Some(template) };
        assert_eq!(read_with(0o600).unwrap(), expected);
        std::fs::remove_file(folder.join(&name)).unwrap();
    }
}
