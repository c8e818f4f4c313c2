//! Clients in Python. What carries calls is `python/runtime.py`, the same for every document.

use serde_json::Value;

use super::api::{Answer, Api, Group, Operation, Param, Params, Style};
use super::names::snake;
use super::text::{Source, lines, prose};
use super::types::{Definition, Field, Shape, Type};

pub(super) const STYLE: Style = Style {
    method: snake,
    param: snake,
    keywords: KEYWORDS,
    types: &[
        "Any",
        "Batch",
        "Callable",
        "Client",
        "Dict",
        "Exception",
        "False",
        "Generic",
        "HTTPException",
        "HTTPResponse",
        "HttpTransport",
        "Iterable",
        "Iterator",
        "List",
        "Literal",
        "Mapping",
        "None",
        "OSError",
        "Optional",
        "ParamSpec",
        "Params",
        "Pending",
        "Protocol",
        "RecursionError",
        "Request",
        "RpcError",
        "RuntimeError",
        "Sequence",
        "TimeoutError",
        "Transport",
        "TransportError",
        "True",
        "Tuple",
        "TypeError",
        "TypeVar",
        "TypedDict",
        "Union",
        "ValueError",
    ],
    // As a method, each would hide the type of its name from those that follow.
    members: &["bool", "float", "int", "str"],
    client: &["batch"],
    locals: &["cast", "self"],
    names_unions: false,
};

const KEYWORDS: &[&str] = &[
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "case", "class", "continue",
    "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is",
    "lambda", "match", "nonlocal", "not", "or", "pass", "raise", "return", "try", "type", "while", "with",
    "yield",
];

const HEAD: &str = include_str!("python/head.py");

const BATCH: &str = r#"    def batch(self) -> Batch:
        """Collects calls to send as one message.

            batch = client.batch()
            one = batch.add(client.one, 1, 2)
            batch.send()
            print(one.result())
        """
        return Batch(self._transport)
"#;

const RUNTIME: &str = include_str!("python/runtime.py");

pub(super) fn write(api: &Api) -> String {
    let mut out = Source::new("    ");
    let title = lines(&api.title).join(" ");
    out.line(format!("\"\"\"A client for {}, made by `switchboard generate python`.", escaped(&title)));
    out.line("");
    out.line("Make it again rather than edit it.");
    out.line("");
    out.line("    client = Client(\"http://127.0.0.1:8000\")");
    out.line("\"\"\"");
    out.line("");
    out.raw(HEAD);
    out.line("");
    api.definitions.iter().for_each(|definition| write_definition(&mut out, definition));
    write_group(&mut out, &api.root);
    out.raw(RUNTIME);
    out.finish()
}

fn write_definition(out: &mut Source, definition: &Definition) {
    let name = &definition.name;
    let kind = match &definition.shape {
        Shape::Record(fields) => return write_record(out, name, &definition.docs, fields),
        Shape::Choice(values) => Type::Union(
            values.iter().map(|choice| Type::Literal(Value::from(choice.value.as_str()))).collect(),
        ),
        Shape::OneOf(kinds) => Type::Union(kinds.clone()),
        Shape::Alias(kind) => kind.clone(),
    };
    for line in prose(&definition.docs) {
        out.line(format!("# {line}").trim_end());
    }
    // In quotes what is named there may stand further down. A mere name in quotes would be a string, and no type.
    match kind {
        Type::Named(other) => out.line(format!("{name} = Union[\"{other}\"]")),
        kind => out.line(format!("{name} = {}", quoting(&kind))),
    }
    out.line("");
    out.line("");
}

/// A dictionary with known names. Those that may be missing stand in a class of their own: so it can be said in 3.10.
fn write_record(out: &mut Source, name: &str, docs: &str, fields: &[Field]) {
    let (must, may): (Vec<&Field>, Vec<&Field>) = fields.iter().partition(|field| field.is_required);
    let is_plain = |field: &&Field| is_identifier(&field.key);
    let docs = prose(docs);
    if !fields.iter().all(|field| is_plain(&field)) {
        for (suffix, fields, total) in [("Required", &must, ""), ("Optional", &may, ", total=False")] {
            let all: Vec<String> = fields
                .iter()
                .map(|field| format!("{}: {}", quoted(&field.key), quoted(&of(&field.kind))))
                .collect();
            out.line(format!(
                "_{name}{suffix} = TypedDict(\"_{name}{suffix}\", {{{}}}{total})",
                all.join(", ")
            ));
        }
        out.line("");
        out.line("");
        out.line(format!("class {name}(_{name}Required, _{name}Optional):"));
        out.indented(|out| doc_or(out, &docs, "pass"));
    } else if must.is_empty() || may.is_empty() {
        let total = if must.is_empty() { ", total=False" } else { "" };
        out.line(format!("class {name}(TypedDict{total}):"));
        out.indented(|out| write_fields(out, &docs, fields.iter()));
    } else {
        out.line(format!("class _{name}Required(TypedDict):"));
        out.indented(|out| write_fields(out, &[], must.into_iter()));
        out.line("");
        out.line("");
        out.line(format!("class {name}(_{name}Required, total=False):"));
        out.indented(|out| write_fields(out, &docs, may.into_iter()));
    }
    out.line("");
    out.line("");
}

fn write_fields<'a>(out: &mut Source, docs: &[String], fields: impl Iterator<Item = &'a Field>) {
    if !docs.is_empty() {
        doc_or(out, docs, "");
        out.line("");
    }
    for field in fields {
        for line in prose(&field.docs) {
            out.line(format!("# {line}").trim_end());
        }
        out.line(format!("{}: {}", field.key, of(&field.kind)));
    }
}

fn write_group(out: &mut Source, group: &Group) {
    group.groups.iter().for_each(|group| write_group(out, group));
    let is_root = group.prefix.is_empty();
    out.line(format!("class {}:", group.class));
    out.indented(|out| {
        let (docs, takes) = match is_root {
            true => ("Calls the methods of the API.".to_owned(), "Union[Transport, str]"),
            false => (format!("The methods of `{}`.", lines(&group.prefix).concat()), "Transport"),
        };
        doc_or(out, &[docs], "");
        out.line("");
        out.line(format!("def __init__(self, transport: {takes}) -> None:"));
        out.indented(|out| {
            if is_root {
                doc_or(out, &["Calls over a transport, or over HTTP if it is a URL.".to_owned()], "");
                out.line("self._transport: Transport = HttpTransport(transport) if isinstance(transport, str) else transport");
            } else {
                out.line("self._transport = transport");
            }
            for inner in &group.groups {
                out.line(format!("self.{} = {}(self._transport)", inner.name, inner.class));
            }
        });
        if is_root {
            out.line("");
            out.raw(BATCH);
        }
        group.methods.iter().for_each(|method| write_method(out, method));
    });
    out.line("");
    out.line("");
}

fn write_method(out: &mut Source, method: &Operation) {
    out.line("");
    let takes = takes(&method.params);
    let (gives, call) = match &method.answer {
        Answer::Nothing => ("None".to_owned(), "self._transport.notify".to_owned()),
        Answer::Value(kind) => (of(kind), "self._transport.call".to_owned()),
        Answer::Stream { item, .. } => {
            (format!("Iterator[{}]", of(item)), "self._transport.stream".to_owned())
        }
    };
    let call = format!("{call}({}, {})", quoted(&method.wire), sends(&method.params));
    out.line(format!("def {}(self{}) -> {gives}:", method.name, takes.concat()));
    out.indented(|out| {
        let mut docs = method.docs.paragraphs(&method.wire);
        if let Some(reason) = &method.docs.deprecated {
            docs.push(String::new());
            docs.push(format!("Deprecated. {}", lines(reason).join(" ")).trim_end().to_owned());
        }
        let of_params = method.params.all().iter().filter(|param| !param.docs.trim().is_empty());
        for (at, param) in of_params.enumerate() {
            if at == 0 {
                docs.push(String::new());
            }
            docs.push(format!("{}: {}", param.name, lines(&param.docs).join(" ")));
        }
        doc_or(out, &docs, "");
        match &method.answer {
            Answer::Nothing | Answer::Value(Type::Null) => out.line(call),
            Answer::Value(Type::Any) => out.line(format!("return {call}")),
            _ => out.line(format!("return cast({}, {call})", quoted(&gives))),
        }
    });
}

fn takes(params: &Params) -> Vec<String> {
    if matches!(params, Params::Unknown) {
        return vec![", params: Params = None".to_owned()];
    }
    // What may be left out can only be followed by what may be, too: those that must be given come first, or by name.
    let all = params.all();
    let last = all.iter().rposition(|param| param.is_required);
    all.iter()
        .enumerate()
        .map(|(at, param)| match (param.is_required, last.is_some_and(|last| at < last)) {
            (true, _) => format!(", {}: {}", param.name, of(&param.kind)),
            (false, true) => format!(", {}: {}", param.name, optional(&param.kind)),
            (false, false) => format!(", {}: {} = None", param.name, optional(&param.kind)),
        })
        .collect()
}

fn sends(params: &Params) -> String {
    match params {
        Params::Unknown => "params".to_owned(),
        params if params.all().is_empty() => "None".to_owned(),
        Params::ByName(all) => {
            let pair = |param: &Param| format!("{}: {}", quoted(&param.key), param.name);
            let pairs = all.iter().map(pair).collect::<Vec<_>>().join(", ");
            let optional = all.iter().filter(|param| !param.is_required).map(|param| quoted(&param.key));
            match optional.collect::<Vec<_>>() {
                names if names.is_empty() => format!("{{{pairs}}}"),
                names => format!("_names({{{pairs}}}, {})", names.join(", ")),
            }
        }
        Params::ByPosition(all) => {
            let names = all.iter().map(|param| param.name.as_str()).collect::<Vec<_>>().join(", ");
            let required = all.iter().rposition(|param| param.is_required).map_or(0, |last| last + 1);
            if required == all.len() {
                format!("[{names}]")
            } else {
                format!("_positions([{names}], {required})")
            }
        }
    }
}

fn optional(kind: &Type) -> String {
    match kind {
        Type::Any | Type::Null => of(kind),
        Type::Union(kinds) if kinds.contains(&Type::Null) => of(kind),
        kind => format!("Optional[{}]", of(kind)),
    }
}

fn of(kind: &Type) -> String {
    written(kind, &|name| name.to_owned())
}

/// A type in which other names stand in quotes, because they may be defined further down.
fn quoting(kind: &Type) -> String {
    written(kind, &|name| format!("\"{name}\""))
}

fn written(kind: &Type, name: &dyn Fn(&str) -> String) -> String {
    match kind {
        // There is no type in 3.10 that nothing is of, and anything can be given where nothing fits.
        Type::Any | Type::Never => "Any".to_owned(),
        Type::Null => "None".to_owned(),
        Type::Boolean => "bool".to_owned(),
        Type::Integer { .. } => "int".to_owned(),
        Type::Number => "float".to_owned(),
        Type::String => "str".to_owned(),
        Type::Literal(value) => format!("Literal[{}]", literal(value)),
        Type::List(item) => format!("List[{}]", written(item, name)),
        // JSON has lists only, and their types are one for all elements.
        Type::Tuple(items) => format!("List[{}]", union(items, name)),
        Type::Map(value) => format!("Dict[str, {}]", written(value, name)),
        Type::Named(other) => name(other),
        Type::Union(kinds) => union(kinds, name),
    }
}

fn union(kinds: &[Type], name: &dyn Fn(&str) -> String) -> String {
    let mut literals: Vec<String> = Vec::new();
    let mut others: Vec<String> = Vec::new();
    for kind in kinds.iter().filter(|kind| **kind != Type::Null) {
        match kind {
            Type::Literal(value) => literals.push(literal(value)),
            kind => others.push(written(kind, name)),
        }
    }
    if !literals.is_empty() {
        others.push(format!("Literal[{}]", literals.join(", ")));
    }
    others.dedup();
    let all = match &others[..] {
        [] => "None".to_owned(),
        [one] => one.clone(),
        several => format!("Union[{}]", several.join(", ")),
    };
    if kinds.contains(&Type::Null) && !others.is_empty() { format!("Optional[{all}]") } else { all }
}

fn literal(value: &Value) -> String {
    match value {
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::String(text) => quoted(text),
        value => value.to_string(),
    }
}

fn is_identifier(name: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    // Two underscores at the beginning would be read as private to the class.
    name.chars().all(is_word)
        && name.chars().next().is_some_and(|c| !c.is_ascii_digit())
        && !name.starts_with("__")
        && !KEYWORDS.contains(&name)
        && !STYLE.types.contains(&name)
        && !STYLE.members.contains(&name)
}

/// A string. Everything but printable ASCII is written by its number.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            ' '..='~' => out.push(c),
            c => out.push_str(&format!("\\U{:08x}", u32::from(c))),
        }
    }
    out.push('"');
    out
}

/// Text inside of a documentation string.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace("\"\"\"", "\\\"\\\"\\\"")
}

/// A documentation string; or this line, if there is nothing to say.
fn doc_or(out: &mut Source, lines: &[String], otherwise: &str) {
    match lines {
        [] => out.line(otherwise),
        // A quote at the end would end it too early.
        [one] if !one.ends_with('"') => out.line(format!("\"\"\"{}\"\"\"", escaped(one))),
        lines => {
            out.line(format!("\"\"\"{}", escaped(&lines[0])));
            lines[1..].iter().for_each(|line| out.line(escaped(line)));
            out.line("\"\"\"");
        }
    }
}
