//! The options of `#[service(…)]`.

use proc_macro2::TokenStream;
use syn::meta::ParseNestedMeta;
use syn::parse::{ParseBuffer, Parser};
use syn::{LitStr, Path, parse_quote};

use crate::case::Case;

/// The options of one use of the macro.
pub(crate) struct Options {
    /// The path of the `switchboard` crate.
    pub(crate) krate: Path,
    /// The case of method names.
    pub(crate) methods: Case,
    /// The case of argument names.
    pub(crate) arguments: Case,
    /// Whether all methods ignore named params that they do not know.
    pub(crate) allow_unknown_params: bool,
    namespace: Option<LitStr>,
    separator: Option<LitStr>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            krate: parse_quote!(::switchboard),
            methods: Case::default(),
            arguments: Case::default(),
            allow_unknown_params: false,
            namespace: None,
            separator: None,
        }
    }
}

impl Options {
    pub(crate) fn parse(tokens: TokenStream) -> syn::Result<Options> {
        let mut options = Options::default();
        syn::meta::parser(|meta| options.read(&meta)).parse2(tokens)?;
        if let (None, Some(separator)) = (&options.namespace, &options.separator) {
            let message = "`separator` needs a namespace to separate from the name; add `namespace = \"…\"`";
            return Err(syn::Error::new_spanned(separator, message));
        }
        Ok(options)
    }

    fn read(&mut self, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
        match key(meta).as_str() {
            "namespace" => {
                let text = text(meta)?;
                if text.value().is_empty() {
                    let message = "the namespace is empty; remove it to use names without one";
                    return Err(syn::Error::new_spanned(text, message));
                }
                self.namespace = Some(text);
            }
            "separator" => self.separator = Some(text(meta)?),
            "rename_all" => self.methods = Case::parse(&text(meta)?)?,
            "rename_args" => self.arguments = Case::parse(&text(meta)?)?,
            "allow_unknown_params" => self.allow_unknown_params = true,
            "crate" => self.krate = text(meta)?.parse_with(Path::parse_mod_style)?,
            _ => {
                let known = "`namespace`, `separator`, `rename_all`, `rename_args`, `allow_unknown_params` and `crate`";
                return Err(unknown_key(meta, "service", known));
            }
        }
        Ok(())
    }

    /// The full name of the method with this name.
    pub(crate) fn full_name(&self, own: &str) -> String {
        let separator = self.separator.as_ref().map_or_else(|| "/".to_owned(), LitStr::value);
        self.namespace
            .as_ref()
            .map_or_else(|| own.to_owned(), |namespace| format!("{}{separator}{own}", namespace.value()))
    }
}

/// The key of an entry such as `name = "x"`.
pub(crate) fn key(meta: &ParseNestedMeta<'_>) -> String {
    meta.path.get_ident().map(ToString::to_string).unwrap_or_default()
}

/// The value of an entry such as `name = "x"`.
pub(crate) fn text(meta: &ParseNestedMeta<'_>) -> syn::Result<LitStr> {
    let value = meta.value().and_then(ParseBuffer::parse::<LitStr>);
    value.map_err(|_| meta.error(format_args!("write a string literal, as in `{} = \"…\"`", key(meta))))
}

pub(crate) fn unknown_key(meta: &ParseNestedMeta<'_>, attribute: &str, known: &str) -> syn::Error {
    let message = format!("unknown key `{}`; `#[{attribute}(…)]` accepts {known}", key(meta));
    syn::Error::new_spanned(&meta.path, message)
}
