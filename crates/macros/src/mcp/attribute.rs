//! From the attribute to [`Mcp`].

use syn::meta::ParseNestedMeta;
use syn::parse::ParseBuffer;
use syn::{Attribute, LitBool, LitStr, Token};

use super::template::Template;
use super::{Completed, Completes, Mcp, Resource, syntax};
use crate::attributes::take;
use crate::options::{Options, key, text, unknown_key};

impl Mcp {
    /// Removes `#[mcp(…)]` and reads it. None if it says nothing.
    pub(crate) fn take(attrs: &mut Vec<Attribute>, options: &Options) -> syn::Result<Option<Mcp>> {
        let mut mcp = Mcp::default();
        take(attrs, "mcp", |meta| mcp.read(meta, options))?;
        Ok((!mcp.given.is_empty()).then_some(mcp))
    }

    fn read(&mut self, meta: &ParseNestedMeta<'_>, options: &Options) -> syn::Result<()> {
        let key = key(meta);
        match key.as_str() {
            "title" => self.title = Some(words(meta)?),
            "name" => self.name = Some(words(meta)?),
            "icon" => self.icons.push(icon(meta)?),
            "open_world" => self.open_world = Some(truth(meta)?),
            "destructive" => self.destructive = Some(truth(meta)?),
            "scope" => self.scope = Some(scope(meta)?),
            "tool" => self.tool = Some(tool(meta)?),
            "resource" => self.resource = Some(Resource::read(meta)?),
            "mime" => self.mime = Some(mime(meta)?),
            "prompt" => self.is_prompt = flag(meta)?,
            "completes" => self.completes = Some(Completes::read(meta, options)?),
            "task" => self.task = Some(task(meta)?),
            other => return Err(unknown(meta, other)),
        }
        if key != "icon" && self.given.iter().any(|given| *given == key) {
            let message = format!("`{key}` is given twice: remove one");
            return Err(syn::Error::new_spanned(&meta.path, message));
        }
        self.given.extend(meta.path.get_ident().cloned());
        Ok(())
    }
}

impl Resource {
    fn read(meta: &ParseNestedMeta<'_>) -> syn::Result<Resource> {
        let uri = text(meta)?;
        let template =
            Template::parse(&uri.value()).map_err(|message| syn::Error::new_spanned(&uri, message))?;
        Ok(Resource { uri, template })
    }
}

impl Completes {
    fn read(meta: &ParseNestedMeta<'_>, options: &Options) -> syn::Result<Completes> {
        let written = text(meta)?;
        let value = written.value();
        let arguments = value.split(',').map(|one| Completed::parse(one.trim(), options)).collect();
        let message = "write methods with their arguments, as in `completes = \"city.name, plan.city\"`";
        let arguments: Option<Vec<Completed>> = arguments;
        let arguments = arguments.ok_or_else(|| syn::Error::new_spanned(&written, message))?;
        Ok(Completes { written, arguments })
    }
}

impl Completed {
    /// Reads `method.argument`. A name without a namespace is that of a method in the same block.
    fn parse(text: &str, options: &Options) -> Option<Completed> {
        let (method, argument) = text.rsplit_once('.')?;
        if method.is_empty() || argument.is_empty() || text.contains(char::is_whitespace) {
            return None;
        }
        let is_near = !method.contains(['/', '.']);
        let method = if is_near { options.full_name(method) } else { method.to_owned() };
        Some(Completed { method, argument: argument.to_owned(), is_near })
    }
}

fn words(meta: &ParseNestedMeta<'_>) -> syn::Result<LitStr> {
    let key = key(meta);
    checked(
        meta,
        |text| !text.trim().is_empty(),
        &format!("the {key} is empty: write one, or remove `{key}`"),
    )
}

fn icon(meta: &ParseNestedMeta<'_>) -> syn::Result<LitStr> {
    let is_safe = |text: &str| text.starts_with("https://") || text.starts_with("data:");
    checked(meta, is_safe, "clients load icons only from `https:` and `data:` URLs: write one of these")
}

fn scope(meta: &ParseNestedMeta<'_>) -> syn::Result<LitStr> {
    let message =
        "write an OAuth scope, or several with one space between them, as in `scope = \"bookings:write\"`";
    checked(meta, syntax::is_scope, message)
}

fn mime(meta: &ParseNestedMeta<'_>) -> syn::Result<LitStr> {
    checked(meta, syntax::is_media_type, "write a media type, as in `mime = \"text/markdown\"`")
}

fn task(meta: &ParseNestedMeta<'_>) -> syn::Result<LitStr> {
    let message =
        "write `task = \"optional\"`, `\"required\"` or `\"manual\"`; without `task`, a call is never a task";
    checked(meta, |text| matches!(text, "optional" | "required" | "manual"), message)
}

fn tool(meta: &ParseNestedMeta<'_>) -> syn::Result<LitBool> {
    let value = truth(meta)?;
    match value.value {
        true => Err(syn::Error::new_spanned(value, "methods are tools by default: remove `tool = true`")),
        false => Ok(value),
    }
}

fn truth(meta: &ParseNestedMeta<'_>) -> syn::Result<LitBool> {
    let value = meta.value().and_then(ParseBuffer::parse::<LitBool>);
    value.map_err(|_| meta.error(format_args!("write `{0} = true` or `{0} = false`", key(meta))))
}

fn flag(meta: &ParseNestedMeta<'_>) -> syn::Result<bool> {
    match meta.input.is_empty() || meta.input.peek(Token![,]) {
        true => Ok(true),
        false => Err(meta.error(format_args!("write `{}` without a value", key(meta)))),
    }
}

fn checked(
    meta: &ParseNestedMeta<'_>,
    is_right: impl Fn(&str) -> bool,
    message: &str,
) -> syn::Result<LitStr> {
    let text = text(meta)?;
    match is_right(&text.value()) {
        true => Ok(text),
        false => Err(syn::Error::new_spanned(text, message)),
    }
}

/// Some hints of MCP are said for every kind of client, in another place.
fn unknown(meta: &ParseNestedMeta<'_>, key: &str) -> syn::Error {
    let elsewhere = match key {
        "read_only" | "safe" => "write `#[method(safe)]`, which clients of MCP see as `readOnlyHint`",
        "idempotent" => "write `#[method(idempotent)]`, which clients of MCP see as `idempotentHint`",
        "description" => "write a doc comment, which clients of MCP see as the description",
        _ => {
            let known = "`title`, `name`, `icon`, `open_world`, `destructive`, `scope`, `tool`, `resource`, `mime`, \
                         `prompt`, `completes` and `task`";
            return unknown_key(meta, "mcp", known);
        }
    };
    syn::Error::new_spanned(&meta.path, format!("unknown key `{key}`; {elsewhere}"))
}
