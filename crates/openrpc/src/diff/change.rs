//! What a difference is, and how much it matters.

use std::fmt;

use serde::Serialize;

/// How much a change matters to those who call already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Severity {
    /// Whoever called before can go on as before.
    Harmless,
    /// It depends on what cannot be told from the documents.
    Unsure,
    /// Some who called before cannot go on as before.
    Breaking,
}

impl Severity {
    /// The word for it: `harmless`, `unsure` or `breaking`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Harmless => "harmless",
            Severity::Unsure => "unsure",
            Severity::Breaking => "breaking",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// One difference between two documents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Change {
    /// How much it matters.
    pub severity: Severity,
    /// The method that it is about.
    pub method: String,
    /// The parameter that it is about, if it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub param: Option<String>,
    /// Where it stands, as a JSON pointer into the new document, with references followed; into the old document for what the new one
    /// has not.
    pub place: String,
    /// What is different, in a sentence.
    pub what: String,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.severity, self.method, self.what)
    }
}
