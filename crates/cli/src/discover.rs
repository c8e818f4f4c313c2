//! `switchboard discover`: shows the methods of a server, as it describes them.

use std::collections::BTreeMap;

use anstyle::{AnsiColor, Style};
use clap::Args;
use switchboard::openrpc::SpecVersion;
use switchboard::{CallError, Json};
use unicode_width::UnicodeWidthStr;

use crate::changes;
use crate::discovery::{self, Described, Example, Found, Member, Method};
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::output;
use crate::session::Session;
use crate::shell::quoted;
use crate::source;
use crate::spec;
use crate::suggest;
use crate::table::{self, Cell, Table};
use crate::target::Target;
use crate::visible::visible;

const EXAMPLES: &str = "\
Examples:
  switchboard discover http://127.0.0.1:8000
  switchboard discover http://127.0.0.1:8000 math/add
  switchboard discover http://127.0.0.1:8000 --openrpc > openrpc.json
  switchboard discover http://127.0.0.1:8000 --openrpc=1.4 > openrpc.json
  switchboard discover openrpc.json math/add           # a file, or `-` for stdin
  switchboard discover http://127.0.0.1:8000 --diff old.json
  switchboard discover new.json --diff old.json --strict
  switchboard discover 'exec:switchboard serve --stdio'";

const LONG: &str = "\
Calls rpc.discover, which returns an OpenRPC document. On a terminal, the methods are listed in a table, or one method is shown \
in detail. In a pipe, the output is JSON: the document as received, or the part that describes the method.

With `--diff`, it lists the differences from an older document, and which of them break clients. Both documents can be files, \
URLs, or `-` for stdin. The exit code is 9 if there are breaking changes; `--strict` treats uncertain changes as breaking.";

/// Lists and describes the methods of a server.
#[derive(Debug, Args)]
#[command(
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{LONG}\n\n{}", exit::HELP),
    mut_args(source::described),
)]
pub(crate) struct Discover {
    #[command(flatten)]
    target: Target,
    /// Method to show in detail.
    method: Option<String>,
    /// Print the OpenRPC document: as received, or converted to this version.
    #[arg(
        long,
        value_name = "VERSION",
        num_args = 0..=1,
        require_equals = true,
        value_parser = spec::version(),
        conflicts_with = "method"
    )]
    #[expect(clippy::option_option, reason = "this is how clap reads an option with an optional value")]
    openrpc: Option<Option<SpecVersion>>,
    /// Compare with this older document: a file, a URL, or `-` for stdin.
    #[arg(long, value_name = "OLD", conflicts_with_all = ["method", "openrpc"])]
    diff: Option<String>,
    /// Treat uncertain changes as breaking.
    #[arg(long, requires = "diff")]
    strict: bool,
}

const HEAD: Style = Style::new().bold();
pub(crate) const METHOD: Style = AnsiColor::Green.on_default();
const TYPE: Style = AnsiColor::Cyan.on_default();
const WARNING: Style = AnsiColor::Yellow.on_default();
pub(crate) const FAINT: Style = Style::new().dimmed();

impl Discover {
    /// Runs the command.
    pub(crate) fn run(self) -> Result<(), Failure> {
        if let Some(old) = &self.diff {
            return changes::show(&self.target, old, self.strict);
        }
        if let Some(Some(version)) = self.openrpc {
            let document = source::document(&self.target.url, &self.target)?.written_in(version);
            // Its parts are JSON, so it can be written.
            let json = Json::encode(&document).unwrap_or(Json::NULL);
            return output::result(&json, self.target.format).map(drop);
        }
        if !source::is_far(&self.target.url) {
            return self.show(&source::local(&self.target.url)?);
        }
        self.target.run(async |session| self.ask(session).await)
    }

    async fn ask(&self, session: &Session<'_>) -> Result<(), Failure> {
        let line = session.open().await?;
        let document = discovery::ask(&line, self.target.timeout)
            .await
            .map_err(|error| discovery::explain(&self.target, error))?;
        self.show(&document)
    }

    fn show(&self, document: &Json) -> Result<(), Failure> {
        let format = self.target.format;
        let is_for_people = format.is_for_people();
        if self.openrpc.is_some() || (!is_for_people && self.method.is_none()) {
            return output::result(document, format).map(drop);
        }
        let found = discovery::read(document).ok_or_else(|| {
            discovery::explain(&self.target, CallError::Protocol(discovery::NO_DOCUMENT.into()))
        })?;
        let Some(name) = &self.method else {
            return output::page(&listing(&found, table::terminal_width())).map(drop);
        };
        match found.method(name) {
            Some(method) if is_for_people => {
                output::page(&detail(method, &self.target.url, table::terminal_width())).map(drop)
            }
            Some(_) => match part(document, name) {
                Some(part) => output::result(&part, format).map(drop),
                None => Ok(()),
            },
            None => {
                let names = found.methods.iter().map(|method| method.name.as_str());
                let failure = Failure::new(Exit::Rejected, format!("unknown method {name:?}"));
                Err(failure.advise(
                    suggest::did_you_mean(name, names)
                        .unwrap_or_else(|| "leave the name out to list all methods".to_owned()),
                ))
            }
        }
    }
}

/// The part of the document that describes a method, as it was received.
fn part(document: &Json, name: &str) -> Option<Json> {
    let members: BTreeMap<String, Json> = document.decode().ok()?;
    let methods: Vec<Json> = members.get("methods")?.decode().ok()?;
    let is_it = |method: &Json| {
        let members: Option<BTreeMap<String, Json>> = method.decode().ok();
        members.and_then(|members| members.get("name")?.decode::<String>().ok()).as_deref() == Some(name)
    };
    methods.into_iter().find(is_it)
}

/// All methods as a table.
pub(crate) fn listing(found: &Found, width: usize) -> String {
    let mut text = String::new();
    if !found.title.is_empty() {
        text.push_str(&format!("{HEAD}{}{HEAD:#}\n\n", visible(&found.title)));
    }
    let mut table = Table::new(["method", "result", "summary"]);
    for method in &found.methods {
        let marks = marks(method);
        let summary = if method.summary.is_empty() { &method.description } else { &method.summary };
        let summary = if marks.is_empty() { summary.clone() } else { format!("{summary} [{marks}]") };
        table.row([
            Cell::new(method.signature(), METHOD),
            Cell::new(method.result.as_ref().map_or("", |result| &result.kind), TYPE),
            Cell::plain(summary.trim_start()),
        ]);
    }
    text + &table.render(width)
}

/// The marks of a method.
fn marks(method: &Method) -> String {
    let marks = [
        (method.is_deprecated, "deprecated"),
        (method.is_stream, "stream"),
        (method.result.is_none(), "notification"),
    ];
    marks.iter().filter(|(is, _)| *is).map(|(_, mark)| *mark).collect::<Vec<_>>().join(", ")
}

/// One method with everything that the document says about it.
pub(crate) fn detail(method: &Method, url: &str, width: usize) -> String {
    let mut text = format!("{METHOD}{}{METHOD:#}\n", visible(&method.signature()));
    for words in [&method.summary, &method.description] {
        if !words.is_empty() {
            text.push_str(&table::wrap(&visible(words), width).join("\n"));
            text.push('\n');
        }
    }
    let all = [
        (method.is_safe, "safe: it changes nothing"),
        (!method.is_safe && method.is_idempotent, "idempotent: calling it twice has the same effect as once"),
        (method.is_durable, "durable: if the server has a queue, a call is stored before it runs"),
        (method.is_stream && !method.is_stream_optional, "returns a stream"),
        (method.is_stream_optional, "returns a stream if the caller asks for one"),
        (method.result.is_none(), "notification: it gets no answer"),
        (!method.is_by_name, "accepts parameters by position only"),
        (!method.is_by_position, "accepts parameters by name only"),
    ];
    for (_, mark) in all.iter().filter(|(is, _)| *is) {
        text.push_str(&format!("{FAINT}{mark}{FAINT:#}\n"));
    }
    if method.is_deprecated {
        let reason = if method.deprecation.is_empty() { "" } else { ": " };
        text.push_str(&format!("{WARNING}deprecated{reason}{}{WARNING:#}\n", visible(&method.deprecation)));
    }
    if !method.tags.is_empty() {
        text.push_str(&format!("{FAINT}tags: {}{FAINT:#}\n", visible(&method.tags.join(", "))));
    }
    if !method.params.is_empty() {
        let mut table = Table::new(["parameter", "type", ""]);
        for param in &method.params {
            let words = Cell::plain(param.value.words(param.is_required));
            table.row([Cell::new(&param.name, METHOD), Cell::new(&param.value.kind, TYPE), words]);
            members(&mut table, &param.name, &param.value.members);
        }
        text.push_str(&format!("\n{}", table.render(width)));
    }
    if let Some(result) = &method.result {
        text.push_str(&format!("\n{}", answer(result, width)));
        if !result.members.is_empty() {
            let mut table = Table::new(["member", "type", ""]);
            members(&mut table, "", &result.members);
            text.push_str(&format!("\n{}", table.render(width)));
        }
    }
    if !method.errors.is_empty() {
        let mut table = Table::new(["error", "message"]);
        for (code, message) in &method.errors {
            table.row([Cell::plain(code.to_string()), Cell::plain(message)]);
        }
        text.push_str(&format!("\n{}", table.render(width)));
    }
    for example in &method.examples {
        text.push_str(&format!("\n{HEAD}example{HEAD:#}  {}\n", visible(&example.name)));
        text.push_str(&format!("  {}\n", visible(&command(method, example, url))));
        if let Some(result) = &example.result {
            text.push_str(&format!("  {FAINT}{}{FAINT:#}\n", visible(result)));
        }
    }
    text
}

/// The members of a value, one per row.
fn members(table: &mut Table, of: &str, members: &[Member]) {
    for member in members {
        // The values of a choice stand for themselves.
        let is_value = member.kind.is_empty();
        let path = if is_value { format!("  {}", member.path) } else { format!("{of}{}", member.path) };
        table.row([Cell::plain(path), Cell::new(&member.kind, TYPE), Cell::plain(member.words())]);
    }
}

/// The result of a method: on one line if it fits, otherwise on several.
fn answer(result: &Described, width: usize) -> String {
    const INDENT: usize = 8;
    let room = width.saturating_sub(INDENT);
    let (kind, words) = (visible(&result.kind), visible(&result.words(true)));
    let lines = |text: &str| table::wrap(text, room).join(&format!("\n{:INDENT$}", ""));
    let is_short = kind.width() + words.width() + 2 <= room;
    let words = match (words.is_empty(), is_short) {
        (true, _) => String::new(),
        (false, true) => format!("  {words}"),
        (false, false) => format!("\n{:INDENT$}{}", "", lines(&words)),
    };
    format!("{HEAD}result{HEAD:#}  {TYPE}{}{TYPE:#}{words}\n", lines(&kind))
}

/// The command that calls as an example does.
fn command(method: &Method, example: &Example, url: &str) -> String {
    let params = example.params.iter().map(|(name, value)| match method.is_by_name && !name.is_empty() {
        true => quoted(&format!("{name}={value}")),
        false => quoted(value),
    });
    let mut words: Vec<String> = std::iter::once(quoted(&method.name)).chain(params).collect();
    // After `--` nothing is taken for an option.
    let is_number = |word: &str| word[1..].chars().all(|c| c.is_ascii_digit() || c == '.');
    let is_option = |word: &str| word.trim_start_matches('\'').starts_with('-');
    if let Some(first) = words.iter().position(|word| is_option(word) && !is_number(word)) {
        words.insert(first, "--".to_owned());
    }
    format!("switchboard call {} {}", quoted(url), words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = r#"{"openrpc":"1.3.2","info":{"title":"Demo","version":"1.0"},"methods":[
        {"name":"math/add","summary":"Adds two numbers.","x-safe":true,
         "params":[{"name":"a","required":true,"schema":{"type":"number"}},
                   {"name":"b","schema":{"type":"number","description":"The other."}}],
         "result":{"name":"sum","schema":{"type":"number"}},
         "errors":[{"code":-32001,"message":"Invalid user data"}],
         "examples":[{"name":"small","params":[{"name":"a","value":2},{"name":"b","value":3}],
                      "result":{"name":"sum","value":5}}]},
        {"name":"ticks","description":"Streams \u001b[2J.","deprecated":true,"x-stream":{"item":{}}}]}"#;

    fn found() -> Found {
        discovery::read(&Json::parse(DOCUMENT).unwrap()).unwrap()
    }

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn methods_are_listed_with_what_they_take_and_give() {
        let expected = "Demo 1.0\n\n\
             method           result  summary\n\
             math/add(a, b?)  number  Adds two numbers.\n\
             ticks()                  Streams \\u001b[2J. [deprecated, stream, notification]\n";
        assert_eq!(plain(&listing(&found(), 80)), expected);
    }

    #[test]
    fn a_method_is_shown_in_detail() {
        let found = found();
        let shown = plain(&detail(found.method("math/add").unwrap(), "http://h:1", 80));
        let expected = "math/add(a, b?)\n\
             Adds two numbers.\n\
             safe: it changes nothing\n\n\
             parameter  type\n\
             a          number\n\
             b          number  optional; The other.\n\n\
             result  number\n\n\
             error   message\n\
             -32001  Invalid user data\n\n\
             example  small\n  \
             switchboard call http://h:1 math/add a=2 b=3\n  5\n";
        assert_eq!(shown, expected);
    }

    #[test]
    fn what_is_too_long_for_a_line_goes_on_in_the_next() {
        let kinds: Vec<String> = (1..=20).map(|number| format!("\"value {number}\"")).collect();
        let values = kinds.join(" | ");
        let document = format!(
            r#"{{"methods":[{{"name":"pick","params":[{{"name":"which","schema":{{"enum":[{}]}}}}],
               "result":{{"name":"r","description":"What it was.","schema":{{"enum":[{}]}}}}}}]}}"#,
            kinds.join(","),
            kinds.join(",")
        );
        let found = discovery::read(&Json::parse(document).unwrap()).unwrap();
        let shown = plain(&detail(found.method("pick").unwrap(), "http://h:1", 80));
        assert!(shown.lines().all(|line| line.width() <= 80), "{shown}");
        let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(&format!("result {values} What it was.")), "{shown}");
        assert_eq!(
            kinds.iter().filter(|kind| words.matches(kind.as_str()).count() == 2).count(),
            20,
            "{shown}"
        );
    }

    #[test]
    fn the_part_of_a_method_is_as_it_was_received() {
        let document = Json::parse(r#"{"methods":[{"name":"a"}, {"x": 1.50, "name":"b"}]}"#).unwrap();
        assert_eq!(part(&document, "b").unwrap().as_str(), r#"{"x": 1.50, "name":"b"}"#);
        assert!(part(&document, "c").is_none());
    }

    #[test]
    fn a_word_of_an_example_is_not_taken_for_an_option() {
        let check = |name: &str, param: (&str, &str), expected: &str| {
            let method = Method { name: name.to_owned(), is_by_name: true, ..Method::default() };
            let params = vec![(param.0.to_owned(), param.1.to_owned())];
            let example = Example { name: String::new(), params, result: None };
            assert_eq!(
                command(&method, &example, "http://h:1"),
                format!("switchboard call http://h:1 {expected}")
            );
        };
        check("--insecure", ("a", "1"), "-- --insecure a=1");
        check("-x y", ("a", "1"), "-- '-x y' a=1");
        check("sum", ("-v", "1"), "sum -- -v=1");
        check("sum", ("", "-1.5"), "sum -1.5");
        check("sum", ("", "-1e+5"), "sum -- -1e+5");
    }
}
