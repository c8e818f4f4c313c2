//! What a key is, and which values it takes.

/// A key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    /// Its dotted path; within another table, its path there.
    pub(crate) path: &'static str,
    pub(crate) kind: Kind,
    /// As TOML writes it; empty if there is none.
    pub(crate) default: &'static str,
    pub(crate) about: &'static str,
    /// The option that sets it, of `switchboard serve` or, within an upstream, of `switchboard gateway`; empty if there is none.
    pub(crate) flag: &'static str,
    /// Whether a running server takes a new value.
    pub(crate) is_live: bool,
}

/// What a value may be.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Flag,
    /// `false`, which switches something off.
    Off,
    /// A whole number, 1 or more.
    Count,
    /// A whole number, 0 or more.
    Whole,
    /// A whole number.
    Code,
    Duration,
    /// A duration, or `never`.
    DurationOrNever,
    Size,
    Percent,
    /// How many times as much, such as `3x`.
    Factor,
    Text,
    /// A text that is never shown.
    Secret,
    /// A JSON pointer.
    Pointer,
    Path,
    /// One of these texts.
    Choice(&'static [&'static str]),
    /// One or many texts.
    Texts,
    /// A value of one of these kinds.
    Either(&'static [Kind]),
    /// One or many of these tables.
    Tables(&'static [Key]),
    /// A table, or something shorter.
    Form(&'static Form),
    /// A table with names of the user's choice, and such a value for each.
    Named(&'static Kind),
    /// Conditions by JSON pointer.
    Conditions,
    /// Any value.
    Json,
}

/// A table, and the shorter values that stand for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    pub(crate) keys: &'static [Key],
    /// The key that a value without a table sets; empty if there is none.
    pub(crate) short: &'static str,
    /// Whether `false` switches it off, and `true` takes the defaults.
    pub(crate) is_switch: bool,
    /// Whether it may be a list.
    pub(crate) is_list: bool,
}

impl Form {
    /// A table with these keys.
    pub(super) const fn table(keys: &'static [Key]) -> Form {
        Form { keys, short: "", is_switch: false, is_list: false }
    }

    /// A value without a table sets this key.
    pub(super) const fn or(self, short: &'static str) -> Form {
        Form { short, ..self }
    }

    /// It can be switched on and off.
    pub(super) const fn or_off(self) -> Form {
        Form { is_switch: true, ..self }
    }

    /// One or many.
    pub(super) const fn list(self) -> Form {
        Form { is_list: true, ..self }
    }
}

impl Kind {
    /// The kind of the values at a dotted path inside a value of this kind.
    fn at(&'static self, path: &str) -> Option<&'static Kind> {
        let (name, rest) = path.split_once('.').map_or((path, None), |(name, rest)| (name, Some(rest)));
        match (self, rest) {
            (Kind::Named(_), _) if name.is_empty() => None,
            (Kind::Named(inner), None) => Some(inner),
            (Kind::Named(inner), Some(rest)) => inner.at(rest),
            (Kind::Form(form), _) => kind_at(form.keys, path),
            _ => None,
        }
    }
}

/// The kind of the values at a dotted path of a table with these keys.
pub(crate) fn kind_at(keys: &'static [Key], path: &str) -> Option<&'static Kind> {
    keys.iter().find_map(|key| match path.strip_prefix(key.path)? {
        "" => Some(&key.kind),
        rest => key.kind.at(rest.strip_prefix('.')?),
    })
}

/// The key with this path in a table with these keys.
pub(crate) fn find_in(keys: &'static [Key], path: &str) -> Option<&'static Key> {
    keys.iter().find(|key| key.path == path)
}

/// The keys of a table: its own, and those that other tables have, too.
pub(super) const fn joined<const N: usize>(own: &[Key], shared: &[Key]) -> [Key; N] {
    let mut all = [own[0]; N];
    let mut at = 0;
    while at < N {
        all[at] = if at < own.len() { own[at] } else { shared[at - own.len()] };
        at += 1;
    }
    all
}

pub(super) const fn key(
    path: &'static str,
    kind: Kind,
    default: &'static str,
    flag: &'static str,
    about: &'static str,
) -> Key {
    Key { path, kind, default, about, flag, is_live: false }
}

pub(super) const fn live(
    path: &'static str,
    kind: Kind,
    default: &'static str,
    flag: &'static str,
    about: &'static str,
) -> Key {
    Key { path, kind, default, about, flag, is_live: true }
}

/// A key of a table inside the configuration, which no option sets.
pub(super) const fn inner(path: &'static str, kind: Kind, default: &'static str, about: &'static str) -> Key {
    live(path, kind, default, "", about)
}
