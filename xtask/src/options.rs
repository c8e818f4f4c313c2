//! The options that every command made of steps understands.

use crate::step::Failure;

/// The help text of the options, for the commands' own help.
pub(crate) const HELP: &str = "\
options:
  --only STEP    run only this step (may be repeated)
  --skip STEP    skip this step (may be repeated)
  --thorough     `test` only: also run the steps that are too slow for every change
  --fail-fast    stop at the first step that fails
  --list         list the steps without running them
  --help         print this help";

/// Which steps to run, and how.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// Run only these; empty means all.
    only: Vec<String>,
    /// Leave these out.
    skip: Vec<String>,
    /// Run the steps too that take too long for every change.
    pub(crate) thorough: bool,
    /// Stop at the first failed step.
    pub(crate) fail_fast: bool,
    /// Print the steps instead of running them.
    pub(crate) list: bool,
    /// Print the help instead of running anything.
    pub(crate) help: bool,
}

impl Options {
    /// Parses the arguments after the command.
    pub(crate) fn parse(args: &[String]) -> Result<Self, Failure> {
        let mut options = Self::default();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--only" => options.only.push(value(arg, args.next())?),
                "--skip" => options.skip.push(value(arg, args.next())?),
                "--thorough" => options.thorough = true,
                "--fail-fast" => options.fail_fast = true,
                "--list" => options.list = true,
                "--help" | "-h" => options.help = true,
                other => {
                    return Err(Failure::new(format!("unknown argument `{other}`"), "see `--help`"));
                }
            }
        }
        Ok(options)
    }

    /// Whether the step with this name is to run.
    pub(crate) fn selects(&self, name: &str) -> bool {
        let named = |list: &[String]| list.iter().any(|entry| entry == name);
        (self.only.is_empty() || named(&self.only)) && !named(&self.skip)
    }

    /// Fails if a step is named that does not exist, so that a typing error cannot pass as success.
    pub(crate) fn verify(&self, known: &[&str]) -> Result<(), Failure> {
        match self.only.iter().chain(&self.skip).find(|name| !known.contains(&name.as_str())) {
            None => Ok(()),
            Some(name) => {
                let advice = format!("name one of: {}", known.join(", "));
                Err(Failure::new(format!("unknown step `{name}`"), advice))
            }
        }
    }
}

/// The value of an option that needs one.
pub(crate) fn value(option: &str, next: Option<&String>) -> Result<String, Failure> {
    next.cloned().ok_or_else(|| Failure::new(format!("`{option}` needs a value"), "see `--help`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, Failure> {
        Options::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn without_options_every_step_is_selected() {
        assert!(parse("").unwrap().selects("tidy"));
    }

    #[test]
    fn only_selects_the_named_steps() {
        let options = parse("--only tidy --only deps").unwrap();
        assert!(options.selects("tidy") && options.selects("deps") && !options.selects("fmt"));
    }

    #[test]
    fn skip_leaves_the_named_step_out() {
        let options = parse("--skip fuzz").unwrap();
        assert!(options.selects("tidy") && !options.selects("fuzz"));
    }

    #[test]
    fn a_step_that_does_not_exist_is_refused() {
        assert!(parse("--only tydi").unwrap().verify(&["tidy"]).is_err());
        assert!(parse("--skip tydi").unwrap().verify(&["tidy"]).is_err());
        assert!(parse("--only tidy").unwrap().verify(&["tidy"]).is_ok());
    }

    #[test]
    fn unknown_arguments_and_missing_values_are_refused() {
        assert!(parse("--onyl tidy").is_err());
        assert!(parse("--only").is_err());
    }
}
