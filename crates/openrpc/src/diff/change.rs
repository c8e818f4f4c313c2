//! A difference, and its severity.

use std::fmt;

use serde::Serialize;

/// How a change affects existing callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Severity {
    /// Existing callers are not affected.
    Harmless,
    /// It depends on something that the documents do not show.
    Unsure,
    /// Some existing callers break.
    Breaking,
}

impl Severity {
    /// Its name: `harmless`, `unsure` or `breaking`.
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
    /// Its severity.
    pub severity: Severity,
    /// The method.
    pub method: String,
    /// The parameter, if it concerns one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub param: Option<String>,
    /// The place, as a JSON pointer into the new document, with references followed; into the old document for what the new one
    /// does not have.
    pub place: String,
    /// The change, in a sentence.
    pub what: String,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.severity, self.method, self.what)
    }
}
