//! Types with serde.

use super::cycles::Cycles;
use super::{STYLE, comment, definition, quoted};
use crate::clients::names::{Scope, pascal, snake};
use crate::clients::text::{Source, lines};
use crate::clients::types::{Choice, Definition, Field, Shape, Type};

const DERIVES: &str = "#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]";

pub(super) fn write(out: &mut Source, of: &Definition, all: &[Definition], cycles: &Cycles) {
    let name = &of.name;
    let boxed = |other: &str| match cycles.needs_box(other, name) {
        true => format!("Box<{other}>"),
        false => other.to_owned(),
    };
    let docs = lines(&of.docs);
    let docs = if docs.is_empty() { vec![format!("`{name}`.")] } else { docs };
    comment(out, &docs);
    match &of.shape {
        Shape::Record(fields) => {
            out.line(DERIVES);
            out.line(format!("pub struct {name} {{"));
            let mut scope = Scope::default();
            out.indented(|out| fields.iter().for_each(|field| write_field(out, field, &mut scope, &boxed)));
            out.line("}");
        }
        Shape::Choice(values) => {
            out.line("#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]");
            out.line(format!("pub enum {name} {{"));
            let mut scope = Scope::new(&["Self"]);
            out.indented(|out| {
                for Choice { value, docs } in values {
                    let variant = scope.take(&pascal(value), &[]);
                    let docs = lines(docs);
                    let plain = || vec![format!("`{}`.", lines(value).join(" "))];
                    comment(out, &if docs.is_empty() { plain() } else { docs });
                    if variant != *value {
                        out.line(format!("#[serde(rename = {})]", quoted(value)));
                    }
                    out.line(format!("{variant},"));
                }
            });
            out.line("}");
        }
        Shape::OneOf(kinds) => {
            out.line(DERIVES);
            out.line("#[serde(untagged)]");
            out.line(format!("pub enum {name} {{"));
            let mut scope = Scope::new(&["Self"]);
            out.indented(|out| {
                for kind in ordered(kinds, all) {
                    let variant = scope.take(&variant(kind, name), &[]);
                    out.line(format!("/// {}.", described(kind)));
                    out.line(format!("{variant}({}),", written(kind, &boxed)));
                }
            });
            out.line("}");
        }
        // An alias cannot stand for itself.
        Shape::Alias(kind) if cycles.is_endless(name) => {
            out.line(DERIVES);
            out.line(format!("pub struct {name}(pub {});", written(kind, &boxed)));
        }
        Shape::Alias(kind) => out.line(format!("pub type {name} = {};", owned(kind))),
    }
    out.line("");
}

fn write_field(out: &mut Source, field: &Field, scope: &mut Scope, boxed: &dyn Fn(&str) -> String) {
    let name = scope.take(&snake(&field.key), STYLE.keywords);
    let docs = lines(&field.docs);
    let docs = if docs.is_empty() { vec![format!("`{}`.", lines(&field.key).concat())] } else { docs };
    comment(out, &docs);
    let mut attributes = Vec::new();
    if name != field.key {
        attributes.push(format!("rename = {}", quoted(&field.key)));
    }
    let mut kind = written(&field.kind, boxed);
    if !field.is_required {
        attributes.push("default, skip_serializing_if = \"Option::is_none\"".to_owned());
        if !kind.starts_with("Option<") {
            kind = format!("Option<{kind}>");
        }
    }
    if !attributes.is_empty() {
        out.line(format!("#[serde({})]", attributes.join(", ")));
    }
    out.line(format!("pub {name}: {kind},"));
}

/// Those that need more members before those that fit more: the first that fits is taken.
fn ordered<'a>(kinds: &'a [Type], all: &[Definition]) -> Vec<&'a Type> {
    let needs = |kind: &Type| match kind {
        Type::Named(name) => match definition(all, name).map(|definition| &definition.shape) {
            Some(Shape::Record(fields)) => fields.iter().filter(|field| field.is_required).count(),
            _ => 0,
        },
        _ => 0,
    };
    let mut kinds: Vec<&Type> = kinds.iter().collect();
    kinds.sort_by_cached_key(|kind| std::cmp::Reverse(needs(kind)));
    kinds
}

/// What a branch is called in an enum of this name, which it does not have to repeat.
fn variant(kind: &Type, of: &str) -> String {
    let is_name = |rest: &&str| rest.starts_with(|c: char| c.is_ascii_uppercase()) && *rest != "Self";
    match kind {
        Type::Named(name) => name.strip_prefix(of).filter(is_name).unwrap_or(name).to_owned(),
        Type::Boolean => "Boolean".to_owned(),
        Type::Integer { .. } => "Integer".to_owned(),
        Type::Number => "Number".to_owned(),
        Type::String => "String".to_owned(),
        Type::List(_) => "List".to_owned(),
        Type::Tuple(_) => "Tuple".to_owned(),
        Type::Map(_) => "Object".to_owned(),
        _ => "Other".to_owned(),
    }
}

fn described(kind: &Type) -> String {
    match kind {
        Type::Named(name) => format!("`{name}`"),
        Type::Boolean => "A boolean".to_owned(),
        Type::Integer { .. } => "An integer".to_owned(),
        Type::Number => "A number".to_owned(),
        Type::String => "A string".to_owned(),
        Type::List(_) | Type::Tuple(_) => "A list".to_owned(),
        Type::Map(_) => "An object".to_owned(),
        _ => "Anything else".to_owned(),
    }
}

/// A type as it is held.
pub(super) fn owned(kind: &Type) -> String {
    written(kind, &str::to_owned)
}

/// The most elements that a tuple can have for serde.
const TUPLE: usize = 16;

fn written(kind: &Type, named: &dyn Fn(&str) -> String) -> String {
    match kind {
        Type::Any | Type::Never | Type::Literal(_) => "Value".to_owned(),
        Type::Null => "()".to_owned(),
        Type::Boolean => "bool".to_owned(),
        Type::Integer { is_unsigned: true } => "u64".to_owned(),
        Type::Integer { is_unsigned: false } => "i64".to_owned(),
        Type::Number => "f64".to_owned(),
        Type::String => "String".to_owned(),
        // What is in a list or a map is on the heap already.
        Type::List(item) => format!("Vec<{}>", owned(item)),
        Type::Map(value) => format!("BTreeMap<String, {}>", owned(value)),
        Type::Tuple(items) if items.len() > TUPLE => "Vec<Value>".to_owned(),
        Type::Tuple(items) => {
            let items: Vec<String> = items.iter().map(|item| written(item, named)).collect();
            format!("({},)", items.join(", ")).replace(",)", if items.len() == 1 { ",)" } else { ")" })
        }
        Type::Named(name) => named(name),
        Type::Union(kinds) => {
            match kinds.iter().filter(|kind| **kind != Type::Null).collect::<Vec<_>>()[..] {
                [one] => format!("Option<{}>", written(one, named)),
                _ => "Value".to_owned(),
            }
        }
    }
}
