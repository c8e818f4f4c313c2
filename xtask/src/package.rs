//! The packages as they would be published, each built from its archive alone.

use crate::program::Program;
use crate::step::{Done, Failure};
use crate::workspace::{self, list, text};

/// Packages everything that is published, and builds it from what was packaged.
pub(crate) fn run() -> Result<Done, Failure> {
    let metadata = workspace::metadata("Cargo.toml", "--no-deps")?;
    let tools = list(&metadata, "packages")
        .filter(|package| package["publish"].as_array().is_some_and(Vec::is_empty))
        .flat_map(|package| ["--exclude".to_owned(), text(package, "name").to_owned()]);
    Program::cargo("package --workspace --allow-dirty").args(tools).run()?;
    Ok(Done::Passed)
}
