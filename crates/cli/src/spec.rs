//! The versions of OpenRPC, as they are written on the command line.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use switchboard::openrpc::SpecVersion;

/// Reads one of the versions that documents are written in.
pub(crate) fn version() -> impl TypedValueParser<Value = SpecVersion> {
    PossibleValuesParser::new(["1.2", "1.3", "1.4"]).try_map(|version| version.parse::<SpecVersion>())
}
