//! Ways to write a name of several words.

use syn::LitStr;

/// How names are written on the wire, made from Rust's `snake_case`.
#[derive(Clone, Copy, Default)]
pub(crate) enum Case {
    #[default]
    Unchanged,
    Camel,
    Pascal,
    Kebab,
    Shouting,
}

const CASES: [(&str, Case); 5] = [
    ("snake_case", Case::Unchanged),
    ("camelCase", Case::Camel),
    ("PascalCase", Case::Pascal),
    ("kebab-case", Case::Kebab),
    ("SCREAMING_SNAKE_CASE", Case::Shouting),
];

impl Case {
    pub(crate) fn parse(text: &LitStr) -> syn::Result<Case> {
        let value = text.value();
        let found = CASES.iter().find(|(name, _)| *name == value);
        found.map(|(_, case)| *case).ok_or_else(|| {
            let known: Vec<_> = CASES.iter().map(|(name, _)| format!("\"{name}\"")).collect();
            syn::Error::new_spanned(text, format!("unknown case; write one of {}", known.join(", ")))
        })
    }

    pub(crate) fn apply(self, name: &str) -> String {
        let words = || name.split('_').filter(|word| !word.is_empty());
        match self {
            Case::Unchanged => name.to_owned(),
            Case::Kebab => words().collect::<Vec<_>>().join("-"),
            Case::Shouting => name.to_uppercase(),
            Case::Pascal => words().map(capitalized).collect(),
            Case::Camel => {
                let mut words = words();
                words.next().map(str::to_owned).into_iter().chain(words.map(capitalized)).collect()
            }
        }
    }
}

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_can_be_written_in_every_case() {
        for (case, expected) in [
            (Case::Unchanged, "get_user_by_id"),
            (Case::Camel, "getUserById"),
            (Case::Pascal, "GetUserById"),
            (Case::Kebab, "get-user-by-id"),
            (Case::Shouting, "GET_USER_BY_ID"),
        ] {
            assert_eq!(case.apply("get_user_by_id"), expected);
        }
    }
}
