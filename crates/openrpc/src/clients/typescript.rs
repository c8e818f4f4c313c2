//! Clients in TypeScript. What carries calls is `typescript/runtime.ts`, the same for every document.

use serde_json::Value;

use super::api::{Answer, Api, Group, Operation, Params, Style};
use super::names::camel;
use super::text::{Source, lines, prose};
use super::types::{Definition, Field, Shape, Type};

pub(super) const STYLE: Style = Style {
    method: camel,
    param: camel,
    keywords: &[
        "arguments",
        "await",
        "break",
        "case",
        "catch",
        "class",
        "const",
        "constructor",
        "continue",
        "debugger",
        "default",
        "delete",
        "do",
        "else",
        "enum",
        "eval",
        "export",
        "extends",
        "false",
        "finally",
        "for",
        "function",
        "if",
        "implements",
        "import",
        "in",
        "instanceof",
        "interface",
        "let",
        "new",
        "null",
        "package",
        "private",
        "protected",
        "prototype",
        "public",
        "return",
        "static",
        "super",
        "switch",
        "then",
        "this",
        "throw",
        "true",
        "try",
        "typeof",
        "var",
        "void",
        "while",
        "with",
        "yield",
    ],
    types: &[
        "AbortController",
        "AbortSignal",
        "Array",
        "Asked",
        "AsyncIterable",
        "Awaited",
        "BatchEntry",
        "CallOptions",
        "Client",
        "Collected",
        "Error",
        "HttpOptions",
        "HttpTransport",
        "Inbox",
        "JSON",
        "Map",
        "Message",
        "Object",
        "Outcomes",
        "Params",
        "Partial",
        "Patience",
        "Pending",
        "Promise",
        "PromiseSettledResult",
        "ReadableStream",
        "Record",
        "Response",
        "ReturnType",
        "RpcError",
        "Socket",
        "StreamNames",
        "String",
        "TextDecoder",
        "Transport",
        "TransportError",
        "Uint8Array",
        "WebSocket",
        "WebSocketOptions",
        "WebSocketTransport",
    ],
    members: &[],
    client: &["batch"],
    locals: &["options", "params"],
    names_unions: false,
};

const RUNTIME: &str = include_str!("typescript/runtime.ts");

const BATCH: &str = r"  /**
   * Sends the calls that are made inside as one batch, and tells what became of each.
   *
   *     const [one, two] = await client.batch((calls) => [calls.one(), calls.two()]);
   *     if (one.status === 'fulfilled') console.log(one.value); else console.log(one.reason);
   *
   * What is thrown is about all of them. The options of the batch count, not those of a call in it.
   */
  batch<T extends readonly Promise<unknown>[]>(make: (calls: Client) => readonly [...T], options?: CallOptions): Promise<Outcomes<T>> {
    return together(this.#transport, (transport) => make(new Client(transport)), options);
  }
";

const POSITIONS: &str = "\
/** Parameters by position, without those at the end that are left out. */
function positions(values: readonly unknown[]): readonly unknown[] {
  let end = values.length;
  while (end > 0 && values[end - 1] === undefined) end -= 1;
  return values.slice(0, end);
}

";

fn has_positions(group: &Group) -> bool {
    let is_it = |method: &Operation| matches!(&method.params, Params::ByPosition(all) if !all.is_empty());
    group.methods.iter().any(is_it) || group.groups.iter().any(has_positions)
}

pub(super) fn write(api: &Api) -> String {
    let mut out = Source::new("  ");
    let title = lines(&api.title).join(" ");
    out.line(format!("// A client for {title}, made by `switchboard generate typescript`. Make it again rather than edit it."));
    out.line("//");
    out.line("//   const client = new Client(\"http://127.0.0.1:8000\");");
    out.line("");
    api.definitions.iter().for_each(|definition| write_definition(&mut out, definition));
    write_group(&mut out, &api.root);
    if has_positions(&api.root) {
        out.raw(POSITIONS);
    }
    out.raw(RUNTIME);
    out.finish()
}

fn write_definition(out: &mut Source, definition: &Definition) {
    let name = &definition.name;
    comment(out, &prose(&definition.docs));
    match &definition.shape {
        Shape::Record(fields) => {
            out.line(format!("export interface {name} {{"));
            out.indented(|out| fields.iter().for_each(|field| write_field(out, field)));
            out.line("}");
        }
        Shape::Choice(values) => {
            let values: Vec<String> = values.iter().map(|choice| quoted(&choice.value)).collect();
            out.line(format!("export type {name} = {};", values.join(" | ")));
        }
        Shape::OneOf(kinds) => out.line(format!("export type {name} = {};", union(kinds))),
        Shape::Alias(kind) => out.line(format!("export type {name} = {};", of(kind))),
    }
    out.line("");
}

fn write_field(out: &mut Source, field: &Field) {
    comment(out, &prose(&field.docs));
    let mark = if field.is_required { "" } else { "?" };
    out.line(format!("{}{mark}: {};", key(&field.key), of(&field.kind)));
}

fn write_group(out: &mut Source, group: &Group) {
    group.groups.iter().for_each(|group| write_group(out, group));
    let is_root = group.prefix.is_empty();
    match is_root {
        true => comment(out, &["Calls the methods of the API.".to_owned()]),
        false => comment(out, &[format!("The methods of `{}`.", lines(&group.prefix).concat())]),
    }
    out.line(format!("export class {} {{", group.class));
    out.indented(|out| {
        out.line("readonly #transport: Transport;");
        for inner in &group.groups {
            out.line(format!("readonly {}: {};", inner.name, inner.class));
        }
        out.line("");
        if is_root {
            comment(out, &["Calls over a transport, or over that for a URL.".to_owned()]);
        }
        let (takes, gives) = match is_root {
            true => (
                "transport: Transport | string",
                "typeof transport === \"string\" ? connect(transport) : transport",
            ),
            false => ("transport: Transport", "transport"),
        };
        out.line(format!("constructor({takes}) {{"));
        out.indented(|out| {
            out.line(format!("this.#transport = {gives};"));
            for inner in &group.groups {
                out.line(format!("this.{} = new {}(this.#transport);", inner.name, inner.class));
            }
        });
        out.line("}");
        if is_root {
            out.line("");
            out.raw(BATCH);
        }
        group.methods.iter().for_each(|method| write_method(out, method));
    });
    out.line("}");
    out.line("");
}

fn write_method(out: &mut Source, method: &Operation) {
    out.line("");
    let mut docs = method.docs.paragraphs(&method.wire);
    if let Some(reason) = &method.docs.deprecated {
        docs.push(String::new());
        docs.push(format!("@deprecated {}", lines(reason).join(" ")).trim_end().to_owned());
    }
    for (at, (name, text)) in param_docs(&method.params).enumerate() {
        if at == 0 {
            docs.push(String::new());
        }
        docs.push(format!("@param {name} - {text}"));
    }
    comment(out, &docs);
    let (takes, gives) = params(&method.params);
    let takes: Vec<String> = takes.into_iter().chain(["options?: CallOptions".to_owned()]).collect();
    let wire = quoted(&method.wire);
    let head = format!("{}({})", method.name, takes.join(", "));
    let (head, body) = match &method.answer {
        Answer::Nothing => (
            format!("{head}: Promise<void>"),
            format!("return this.#transport.notify({wire}, {gives}, options);"),
        ),
        Answer::Value(Type::Any) => (
            format!("{head}: Promise<unknown>"),
            format!("return this.#transport.call({wire}, {gives}, options);"),
        ),
        Answer::Value(kind) => (
            format!("{head}: Promise<{}>", of(kind)),
            format!("return this.#transport.call({wire}, {gives}, options) as Promise<{}>;", of(kind)),
        ),
        Answer::Stream { item, names } => {
            let names = names.as_ref().map(|(notification, unsubscribe)| {
                format!(
                    ", {{ notification: {}, unsubscribe: {} }}",
                    quoted(notification),
                    quoted(unsubscribe)
                )
            });
            let call =
                format!("this.#transport.stream({wire}, {gives}, options{})", names.unwrap_or_default());
            let kind = of(item);
            (format!("{head}: AsyncIterable<{kind}>"), format!("return {call} as AsyncIterable<{kind}>;"))
        }
    };
    out.line(format!("{head} {{"));
    out.indented(|out| out.line(body));
    out.line("}");
}

/// What is said about parameters, each with the name that it goes by in a comment.
fn param_docs(params: &Params) -> impl Iterator<Item = (String, String)> {
    let is_by_name = matches!(params, Params::ByName(_));
    let documented = params.all().iter().filter(|param| !param.docs.trim().is_empty());
    documented.map(move |param| {
        let name = match key(&param.key) {
            _ if !is_by_name => param.name.clone(),
            key if key.starts_with('"') => format!("params[{key}]"),
            key => format!("params.{key}"),
        };
        (name, lines(&param.docs).join(" "))
    })
}

/// What a method takes, and what is sent of it.
fn params(params: &Params) -> (Vec<String>, String) {
    let mark = |is_required: bool| if is_required { "" } else { "?" };
    match params {
        Params::Unknown => (vec!["params?: Params".to_owned()], "params".to_owned()),
        params if params.all().is_empty() => (Vec::new(), "undefined".to_owned()),
        Params::ByName(all) => {
            let fields: Vec<String> = all
                .iter()
                .map(|param| format!("{}{}: {}", key(&param.key), mark(param.is_required), of(&param.kind)))
                .collect();
            let default = if all.iter().any(|param| param.is_required) { "" } else { " = {}" };
            (vec![format!("params: {{ {} }}{default}", fields.join("; "))], "params".to_owned())
        }
        Params::ByPosition(all) => {
            // What may be left out can only be followed by what may be, too.
            let last = all.iter().rposition(|param| param.is_required);
            let takes = all.iter().enumerate().map(|(at, param)| {
                let is_optional = last.is_none_or(|last| at > last);
                let none = if is_optional || param.is_required { "" } else { " | undefined" };
                format!("{}{}: {}{none}", param.name, mark(!is_optional), of(&param.kind))
            });
            let names: Vec<&str> = all.iter().map(|param| param.name.as_str()).collect();
            (takes.collect(), format!("positions([{}])", names.join(", ")))
        }
    }
}

fn of(kind: &Type) -> String {
    match kind {
        Type::Any => "unknown".to_owned(),
        Type::Never => "never".to_owned(),
        Type::Null => "null".to_owned(),
        Type::Boolean => "boolean".to_owned(),
        Type::Integer { .. } | Type::Number => "number".to_owned(),
        Type::String => "string".to_owned(),
        Type::Literal(Value::String(text)) => quoted(text),
        Type::Literal(value) => value.to_string(),
        Type::List(item) => match &**item {
            Type::Union(_) => format!("({})[]", of(item)),
            item => format!("{}[]", of(item)),
        },
        Type::Tuple(items) => format!("[{}]", items.iter().map(of).collect::<Vec<_>>().join(", ")),
        Type::Map(value) => format!("{{ [name: string]: {} }}", of(value)),
        Type::Named(name) => name.clone(),
        Type::Union(kinds) => union(kinds),
    }
}

fn union(kinds: &[Type]) -> String {
    kinds.iter().map(of).collect::<Vec<_>>().join(" | ")
}

/// A name of a member, in quotes unless it is an identifier.
fn key(name: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    let is_plain = name.chars().all(is_word) && name.chars().next().is_some_and(|c| !c.is_ascii_digit());
    if is_plain { name.to_owned() } else { quoted(name) }
}

/// A string. JSON is JavaScript; what turns the direction of text is written by its number.
fn quoted(text: &str) -> String {
    let json = Value::from(text).to_string();
    json.chars().fold(String::new(), |mut out, c| {
        match c {
            '\u{7f}'..='\u{a0}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202f}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}' => {
                out.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => out.push(c),
        }
        out
    })
}

fn comment(out: &mut Source, lines: &[String]) {
    let clean = |line: &String| line.replace("*/", "* /");
    match lines {
        [] => {}
        [one] => out.line(format!("/** {} */", clean(one))),
        lines => {
            out.line("/**");
            for line in lines {
                out.line(format!(" * {}", clean(line)).trim_end());
            }
            out.line(" */");
        }
    }
}
