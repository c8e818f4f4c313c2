//! The name of a method.

use std::fmt;

use crate::text::Text;

/// The name of a method, compared by exact code points: no trimming, no case folding, no normalisation (J2-05).
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Name(Text);

impl Name {
    /// A name from a static string.
    #[must_use]
    pub const fn from_static(name: &'static str) -> Name {
        Name(Text::from_static(name))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The name as bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// A copy that shares no buffer, so it can outlive the frame that the name came in.
    #[must_use]
    pub fn detached(&self) -> Name {
        Name(self.0.detached())
    }

    /// Whether the name starts with `rpc.`, which the specification reserves for extensions of the protocol (J2-06).
    #[must_use]
    pub fn is_reserved(&self) -> bool {
        self.as_bytes().starts_with(b"rpc.")
    }

    /// The first byte, or any byte if the name is empty.
    #[inline(always)]
    pub(crate) fn first_byte(&self) -> u8 {
        self.0.first_byte()
    }

    /// The text itself, to be written over.
    pub(crate) fn text(&mut self) -> &mut Text {
        &mut self.0
    }

    pub(crate) fn from_text(text: Text) -> Name {
        Name(text)
    }
}

impl AsRef<[u8]> for Name {
    fn as_ref(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl From<&str> for Name {
    fn from(name: &str) -> Name {
        Name(Text::copy_from(name.as_bytes()))
    }
}

impl From<String> for Name {
    fn from(name: String) -> Name {
        Name(Text::from_vec(name.into_bytes()))
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Escapes control characters, so that a name in a log cannot forge a line (SEC-E-05).
impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}
