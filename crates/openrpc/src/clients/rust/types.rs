//! Types with serde.

use super::cycles::Cycles;
use super::tags::Tags;
use super::uses::Uses;
use super::{STYLE, comment, definition, quoted};
use crate::clients::names::{Scope, pascal, snake};
use crate::clients::text::{Source, prose};
use crate::clients::types::{Choice, Definition, Field, Shape, Type};

/// What is known about all types, to write each of them.
#[derive(Clone, Copy)]
pub(super) struct Written<'a> {
    pub(super) all: &'a [Definition],
    pub(super) cycles: &'a Cycles,
    pub(super) tags: &'a Tags<'a>,
    pub(super) uses: &'a Uses<'a>,
}

impl Written<'_> {
    /// Writes a type.
    pub(super) fn write(self, out: &mut Source, of: &Definition) {
        let name = &of.name;
        if self.tags.is_needless(name) {
            return;
        }
        comment(out, &prose(&of.docs));
        match &of.shape {
            Shape::Record(fields) => self.write_record(out, name, &self.tags.fields(name, fields)),
            Shape::Choice(values) => write_choice(out, name, values),
            Shape::OneOf(kinds) => self.write_union(out, name, kinds),
            // An alias cannot stand for itself.
            Shape::Alias(kind) if self.cycles.is_endless(name) => {
                derive(out, "");
                out.line(format!("pub struct {name}(pub {});", self.held(kind, name)));
            }
            Shape::Alias(kind) => out.line(format!("pub type {name} = {};", owned(kind))),
        }
        out.line("");
    }

    fn write_record(self, out: &mut Source, name: &str, fields: &[&Field]) {
        let mut scope = Scope::default();
        let fields: Vec<Member<'_>> = fields
            .iter()
            .map(|field| {
                let kind = self.held(&field.kind, name);
                let is_option = field.is_required || kind.starts_with("Option<");
                let kind = if is_option { kind } else { format!("Option<{kind}>") };
                Member { name: scope.take(&snake(&field.key), STYLE.keywords), kind, field }
            })
            .collect();
        let is_optional = |member: &Member<'_>| !member.field.is_required;
        derive(out, if fields.iter().all(is_optional) { "Default, " } else { "" });
        out.line(format!("pub struct {name} {{"));
        out.indented(|out| fields.iter().for_each(|member| member.write(out)));
        out.line("}");
        if self.uses.is_given(name) && fields.iter().any(is_optional) && !fields.iter().all(is_optional) {
            out.line("");
            write_new(out, name, &fields);
        }
    }

    fn write_union(self, out: &mut Source, name: &str, kinds: &[Type]) {
        let tag = self.tags.of(name);
        derive(out, "");
        out.line(
            tag.map_or("#[serde(untagged)]".to_owned(), |tag| format!("#[serde(tag = {})]", quoted(tag))),
        );
        out.line(format!("pub enum {name} {{"));
        let mut scope = Scope::new(&["Self"]);
        out.indented(|out| {
            for kind in ordered(kinds, self.all) {
                let Some((branch, value)) = self.tagged(kind) else {
                    let variant = scope.take(&variant(kind, name), &[]);
                    out.line(format!("{variant}({}),", self.held(kind, name)));
                    continue;
                };
                let variant = scope.take(&pascal(value), &[]);
                let is_empty = self.tags.is_needless(&branch.name);
                comment(out, &prose(if is_empty { &branch.docs } else { "" }));
                if variant != value {
                    out.line(format!("#[serde(rename = {})]", quoted(value)));
                }
                match is_empty {
                    true => out.line(format!("{variant},")),
                    false => out.line(format!("{variant}({}),", self.held(kind, name))),
                }
            }
        });
        out.line("}");
    }

    /// A branch of a union with a tag, and what that says.
    fn tagged(&self, kind: &Type) -> Option<(&Definition, &str)> {
        let Type::Named(name) = kind else { return None };
        Some((definition(self.all, name)?, self.tags.value(name)?))
    }

    /// A type as one of this name holds it: in a box, if it holds that one too.
    fn held(self, kind: &Type, by: &str) -> String {
        written(kind, &|other| match self.cycles.needs_box(other, by) {
            true => format!("Box<{other}>"),
            false => other.to_owned(),
        })
    }
}

fn derive(out: &mut Source, more: &str) {
    out.line(format!("#[derive(Clone, Debug, {more}PartialEq, Serialize, Deserialize)]"));
}

fn write_choice(out: &mut Source, name: &str, values: &[Choice]) {
    out.line("#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]");
    out.line(format!("pub enum {name} {{"));
    let mut scope = Scope::new(&["Self"]);
    out.indented(|out| {
        for Choice { value, docs } in values {
            let variant = scope.take(&pascal(value), &[]);
            comment(out, &prose(docs));
            if variant != *value {
                out.line(format!("#[serde(rename = {})]", quoted(value)));
            }
            out.line(format!("{variant},"));
        }
    });
    out.line("}");
}

/// A member of a struct.
struct Member<'a> {
    name: String,
    kind: String,
    field: &'a Field,
}

impl Member<'_> {
    fn write(&self, out: &mut Source) {
        comment(out, &prose(&self.field.docs));
        let mut attributes = Vec::new();
        if self.name != self.field.key {
            attributes.push(format!("rename = {}", quoted(&self.field.key)));
        }
        if !self.field.is_required {
            attributes.push("default, skip_serializing_if = \"Option::is_none\"".to_owned());
        }
        if !attributes.is_empty() {
            out.line(format!("#[serde({})]", attributes.join(", ")));
        }
        out.line(format!("pub {}: {},", self.name, self.kind));
    }
}

/// A function that takes what must be there, so that callers need not name the rest.
fn write_new(out: &mut Source, name: &str, members: &[Member<'_>]) {
    let (must, may): (Vec<&Member<'_>>, Vec<&Member<'_>>) =
        members.iter().partition(|member| member.field.is_required);
    let takes: Vec<String> = must.iter().map(|member| format!("{}: {}", member.name, member.kind)).collect();
    let sets = must.iter().map(|member| member.name.clone());
    let sets: Vec<String> = sets.chain(may.iter().map(|member| format!("{}: None", member.name))).collect();
    out.line(format!("impl {name} {{"));
    out.indented(|out| {
        out.line("/// Sets the required members only.");
        out.line("#[must_use]");
        if takes.len() > 7 {
            out.line("#[allow(clippy::too_many_arguments)]");
        }
        out.line(format!("pub fn new({}) -> {name} {{", takes.join(", ")));
        out.indented(|out| out.line(format!("{name} {{ {} }}", sets.join(", "))));
        out.line("}");
    });
    out.line("}");
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
