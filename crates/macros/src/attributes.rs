//! The attributes on functions and arguments: ours, which are removed, and Rust's, which are read.

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use quote::quote;
use syn::meta::ParseNestedMeta;
use syn::parse::ParseBuffer;
use syn::spanned::Spanned;
use syn::{Attribute, Expr, ExprLit, Lit, LitStr, Meta, Token, Type};

use crate::mcp::is_token;
use crate::model::{DefaultValue, Example, Extension};
use crate::options::{key, text, unknown_key};

/// What `#[method(…)]` says.
#[derive(Default)]
pub(crate) struct MethodAttribute {
    pub(crate) skip: bool,
    pub(crate) safe: bool,
    pub(crate) idempotent: bool,
    pub(crate) durable: bool,
    pub(crate) allow_unknown_params: bool,
    pub(crate) name: Option<LitStr>,
    pub(crate) tags: Vec<LitStr>,
    pub(crate) subscription: Option<Subscription>,
    pub(crate) notification: Option<Span>,
    pub(crate) result_schema: Option<Type>,
    pub(crate) examples: Vec<Example>,
    pub(crate) extensions: Vec<Extension>,
}

/// What `subscription(…)` says inside `#[method(…)]`: the names that a stream goes by.
pub(crate) struct Subscription {
    pub(crate) item: LitStr,
    pub(crate) unsubscribe: LitStr,
}

impl Subscription {
    fn read(meta: &ParseNestedMeta<'_>) -> syn::Result<Subscription> {
        let (mut item, mut unsubscribe) = (None, None);
        meta.parse_nested_meta(|meta| {
            match key(&meta).as_str() {
                "item" => item = Some(text(&meta)?),
                "unsubscribe" => unsubscribe = Some(text(&meta)?),
                _ => return Err(unknown_key(&meta, "method(subscription", "`item` and `unsubscribe`")),
            }
            Ok(())
        })?;
        match (item, unsubscribe) {
            (Some(item), Some(unsubscribe)) => Ok(Subscription { item, unsubscribe }),
            _ => Err(meta.error("write both names, as in `subscription(item = \"…\", unsubscribe = \"…\")`")),
        }
    }
}

impl Example {
    fn read(meta: &ParseNestedMeta<'_>) -> syn::Result<Example> {
        let (mut name, mut params, mut result) = (None, None, None);
        meta.parse_nested_meta(|meta| {
            match key(&meta).as_str() {
                "name" => name = Some(text(&meta)?),
                "params" => params = Some(params_value(&meta)?),
                "result" => result = Some(json_value(&meta)?),
                _ => return Err(unknown_key(&meta, "method(example", "`name`, `params` and `result`")),
            }
            Ok(())
        })?;
        let Some(name) = name else {
            let message = "an example needs a name, as in `example(name = \"…\", params = […], result = …)`";
            return Err(meta.error(message));
        };
        Ok(Example { name, params: params.unwrap_or_else(|| quote!([])), result })
    }
}

impl Extension {
    fn read(meta: &ParseNestedMeta<'_>) -> syn::Result<Extension> {
        let written = "write a name and a value, as in `extension(\"x-cost\" = 5)`";
        let content;
        syn::parenthesized!(content in meta.input);
        let name: LitStr = content.parse().map_err(|_| meta.error(written))?;
        if !name.value().starts_with("x-") {
            return Err(syn::Error::new_spanned(&name, "the name of an extension must start with `x-`"));
        }
        content.parse::<Token![=]>().map_err(|_| meta.error(written))?;
        let value: TokenStream = content.parse()?;
        if value.is_empty() {
            return Err(meta.error(written));
        }
        Ok(Extension { name, value })
    }
}

/// An array or an object.
fn params_value(meta: &ParseNestedMeta<'_>) -> syn::Result<TokenStream> {
    let value = json_value(meta)?;
    match value.clone().into_iter().next() {
        Some(TokenTree::Group(group))
            if matches!(group.delimiter(), Delimiter::Bracket | Delimiter::Brace) =>
        {
            Ok(value)
        }
        _ => {
            Err(meta
                .error("params must be an array or an object: write `[2, 3]` or `{ \"a\": 2, \"b\": 3 }`"))
        }
    }
}

/// A value as `json!` takes it: all up to the next comma.
fn json_value(meta: &ParseNestedMeta<'_>) -> syn::Result<TokenStream> {
    let input = meta.value()?;
    let mut tokens = TokenStream::new();
    while !input.is_empty() && !input.peek(Token![,]) {
        tokens.extend([input.parse::<TokenTree>()?]);
    }
    if tokens.is_empty() {
        return Err(meta.error(format_args!("write a value as JSON, as in `{} = 5`", key(meta))));
    }
    Ok(tokens)
}

impl MethodAttribute {
    pub(crate) fn take(attrs: &mut Vec<Attribute>) -> syn::Result<MethodAttribute> {
        let mut method = MethodAttribute::default();
        take(attrs, "method", |meta| {
            match key(meta).as_str() {
                "skip" => method.skip = true,
                "safe" => method.safe = true,
                "idempotent" => method.idempotent = true,
                "durable" => method.durable = true,
                "allow_unknown_params" => method.allow_unknown_params = true,
                "name" => method.name = Some(text(meta)?),
                "tag" => method.tags.push(text(meta)?),
                "subscription" => method.subscription = Some(Subscription::read(meta)?),
                "result_schema" => method.result_schema = Some(schema_type(meta)?),
                "notification" => method.notification = Some(meta.path.span()),
                "example" => method.examples.push(Example::read(meta)?),
                "extension" => method.extensions.push(Extension::read(meta)?),
                _ => {
                    let known = "`name`, `safe`, `idempotent`, `durable`, `tag`, `example`, `extension`, \
                                 `notification`, `subscription`, `allow_unknown_params`, `result_schema` and `skip`";
                    return Err(unknown_key(meta, "method", known));
                }
            }
            Ok(())
        })?;
        Ok(method)
    }
}

/// What `#[arg(…)]` says.
#[derive(Default)]
pub(crate) struct ArgAttribute {
    pub(crate) name: Option<LitStr>,
    pub(crate) default: Option<(Span, DefaultValue)>,
    pub(crate) rest: Option<Span>,
    pub(crate) schema: Option<Type>,
    pub(crate) header: Option<LitStr>,
}

impl ArgAttribute {
    pub(crate) fn take(attrs: &mut Vec<Attribute>) -> syn::Result<ArgAttribute> {
        let mut arg = ArgAttribute::default();
        take(attrs, "arg", |meta| {
            match key(meta).as_str() {
                "name" => arg.name = Some(text(meta)?),
                "default" => arg.default = Some((meta.path.span(), default_value(meta)?)),
                "rest" => arg.rest = Some(meta.path.span()),
                "schema" => arg.schema = Some(schema_type(meta)?),
                "header" => arg.header = Some(header(meta)?),
                _ => {
                    return Err(unknown_key(meta, "arg", "`name`, `default`, `rest`, `schema` and `header`"));
                }
            }
            Ok(())
        })?;
        Ok(arg)
    }
}

/// The type whose schema stands for another's.
fn schema_type(meta: &ParseNestedMeta<'_>) -> syn::Result<Type> {
    let key = key(meta);
    let ty = meta.value().and_then(ParseBuffer::parse::<Type>);
    ty.map_err(|_| meta.error(format_args!("write a type that has a JSON Schema, as in `{key} = String`")))
}

/// The name of a header.
fn header(meta: &ParseNestedMeta<'_>) -> syn::Result<LitStr> {
    let name = text(meta)?;
    if !is_token(&name.value()) {
        let message = format!(
            "{:?} is not the name of a header (a token of RFC 9110): use letters, digits and `-`, as in `header = \"Region\"`",
            name.value()
        );
        return Err(syn::Error::new_spanned(name, message));
    }
    Ok(name)
}

fn default_value(meta: &ParseNestedMeta<'_>) -> syn::Result<DefaultValue> {
    if !meta.input.peek(Token![=]) {
        return Ok(DefaultValue::OfType);
    }
    Ok(match meta.value()?.parse()? {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => DefaultValue::Text(text),
        expression => DefaultValue::Expression(Box::new(expression)),
    })
}

/// Removes the attributes of this name and reads their entries.
pub(crate) fn take(
    attrs: &mut Vec<Attribute>,
    name: &str,
    mut read: impl FnMut(&ParseNestedMeta<'_>) -> syn::Result<()>,
) -> syn::Result<()> {
    let mut outcome = Ok(());
    for attr in attrs.extract_if(.., |attr| attr.path().is_ident(name)) {
        let entries = match &attr.meta {
            Meta::Path(_) => Ok(()),
            Meta::List(list) => list.parse_nested_meta(|meta| read(&meta)),
            Meta::NameValue(_) => {
                Err(syn::Error::new_spanned(&attr, format!("write `#[{name}(…)]`, with parentheses")))
            }
        };
        outcome = outcome.and(entries);
    }
    outcome
}

/// The doc comment, without the space that stands before each line.
pub(crate) fn docs(attrs: &[Attribute]) -> String {
    let lines = attrs.iter().filter(|attr| attr.path().is_ident("doc")).filter_map(text_value);
    let lines: Vec<String> = lines
        .flat_map(|text| {
            let lines = text.lines().map(|line| line.strip_prefix(' ').unwrap_or(line).to_owned());
            // An empty `///` is a line too.
            if text.is_empty() { vec![String::new()] } else { lines.collect() }
        })
        .collect();
    lines.join("\n").trim().to_owned()
}

/// The reason that `#[deprecated]` gives.
pub(crate) fn deprecation(attrs: &[Attribute]) -> Option<String> {
    let attr = attrs.iter().find(|attr| attr.path().is_ident("deprecated"))?;
    let mut note = text_value(attr);
    if let Meta::List(list) = &attr.meta {
        // What is wrong with the attribute, rustc says.
        let _ = list.parse_nested_meta(|meta| {
            let value = text(&meta)?.value();
            if meta.path.is_ident("note") {
                note = Some(value);
            }
            Ok(())
        });
    }
    Some(note.unwrap_or_else(|| "deprecated".to_owned()))
}

/// The conditions under which the item exists.
pub(crate) fn conditions(attrs: &[Attribute]) -> Vec<Attribute> {
    attrs.iter().filter(|attr| attr.path().is_ident("cfg")).cloned().collect()
}

fn text_value(attr: &Attribute) -> Option<String> {
    match &attr.meta {
        Meta::NameValue(pair) => match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    }
}
