//! The fuzz targets, built with libFuzzer on the stable toolchain and run.
//!
//! `cargo xtask test` runs each for a short time; `cargo xtask fuzz` runs one for as long as asked. New inputs go to a temporary
//! folder, crashes to `fuzz/artifacts`. With `--keep`, and after the long run of `--thorough`, the smallest set of new inputs that
//! reaches new code is added to the corpus in the repository.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use crate::options::value;
use crate::program::Program;
use crate::step::{self, Done, Failure};
use crate::workspace::{self, is_kind, list, text};
use crate::{needs, summary};

const HELP: &str = "\
Runs one fuzz target of fuzz/.

usage: cargo xtask fuzz TARGET [--seconds N] [--keep]

--seconds N    how long to run (default: 60; 0: no limit)
--keep         add new inputs that reach new code to fuzz/corpus/TARGET
--list         list the targets
--help         print this help

New inputs go to a temporary folder, crashes to fuzz/artifacts/TARGET.";

const MANIFEST: &str = "fuzz/Cargo.toml";

/// How long a target runs as part of `cargo xtask test`.
const BRIEFLY: Amount = Amount::Seconds(6);

/// How many inputs a thorough run tries over all targets.
const MANY: u64 = 100_000_000;

/// The part that targets have in [`MANY`], about the thousands of inputs that they try in a second, so that each runs for about as long: a
/// target that talks to servers over sockets would take weeks for as many as the slowest parser reads in an hour. A target that is not
/// named has the weight 20.
const WEIGHTS: &[(&str, u64)] = &[
    ("certificate", 30),
    ("exchange", 6),
    ("forwarded", 40),
    ("framing", 12),
    ("http_plain", 1),
    ("http_response", 1),
    ("http_signature", 10),
    ("jwt", 30),
    ("mcp", 6),
    ("metadata", 8),
    ("openrpc", 15),
    ("proxy", 400),
    ("signing", 30),
    ("sse", 8),
    ("url", 160),
    ("ws", 15),
];

/// How long a target runs.
#[derive(Clone, Copy)]
enum Amount {
    /// Without end if there are none.
    Seconds(u32),
    Inputs(u64),
}

/// What becomes of the inputs that a run found.
#[derive(Clone, Copy, PartialEq)]
enum Keep {
    Nothing,
    NewInputs,
}

/// What makes the compiler instrument the code for libFuzzer, with the checks of a debug build.
const FLAGS: &[&str] = &[
    "--cfg",
    "fuzzing",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Cdebug-assertions",
    "-Coverflow-checks",
];

/// Runs the command.
pub(crate) fn main(args: &[String]) -> Result<bool, Failure> {
    let mut target = None;
    let mut seconds = 60;
    let mut keep = Keep::Nothing;
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--help" | "-h" => {
                println!("{HELP}");
                return Ok(true);
            }
            "--list" => {
                targets()?.iter().for_each(|target| println!("{target}"));
                return Ok(true);
            }
            "--seconds" => seconds = parse_seconds(&value(arg, args.next())?)?,
            "--keep" => keep = Keep::NewInputs,
            name if !name.starts_with('-') && target.is_none() => target = Some(name.to_owned()),
            other => return Err(Failure::new(format!("unknown argument `{other}`"), "see `--help`")),
        }
    }
    let targets = targets()?;
    let Some(target) = target.filter(|target| targets.contains(target)) else {
        let advice = format!("name one of: {}", targets.join(", "));
        return Err(Failure::new("unknown fuzz target", advice));
    };
    let host = build()?;
    run_one(&host, &target, Amount::Seconds(seconds), keep)?;
    Ok(true)
}

/// Builds all targets and runs each briefly.
pub(crate) fn run_all() -> Result<Done, Failure> {
    run_each(|_, _| BRIEFLY, Keep::Nothing)
}

/// Builds all targets and runs them until they have tried [`MANY`] inputs together.
pub(crate) fn run_many() -> Result<Done, Failure> {
    run_each(|target, targets| Amount::Inputs(share(target, targets)), Keep::NewInputs)
}

/// The inputs of [`MANY`] that a target tries.
fn share(target: &str, targets: &[String]) -> u64 {
    let weight = |target: &str| {
        let named = WEIGHTS.iter().find(|(name, _)| *name == target);
        named.map_or(20, |(_, weight)| *weight)
    };
    let total: u64 = targets.iter().map(|target| weight(target)).sum();
    (MANY * weight(target)).div_ceil(total)
}

fn run_each(amount: impl Fn(&str, &[String]) -> Amount + Sync, keep: Keep) -> Result<Done, Failure> {
    if workspace::existing(MANIFEST).is_none() {
        return Ok(Done::Skipped("there is no fuzz/".to_owned()));
    }
    if cfg!(windows) {
        return Ok(Done::Skipped("libFuzzer needs Linux or macOS".to_owned()));
    }
    let targets = targets()?;
    let host = build()?;
    step::all_at_once(&targets, |target| run_one(&host, target, amount(target, &targets), keep))
}

fn parse_seconds(text: &str) -> Result<u32, Failure> {
    text.parse().map_err(|_| Failure::new(format!("`{text}` is not a number of seconds"), "see `--help`"))
}

/// The names of the targets: the binaries of the fuzz workspace.
fn targets() -> Result<Vec<String>, Failure> {
    let metadata = workspace::metadata(MANIFEST, "--no-deps")?;
    let targets = list(&metadata, "packages").flat_map(|package| list(package, "targets"));
    let binaries = targets.filter(|target| is_kind(target, "bin"));
    Ok(binaries.map(|target| text(target, "name").to_owned()).collect())
}

/// Builds all targets and returns the triple of this machine, which is part of their path.
fn build() -> Result<String, Failure> {
    needs::CXX.ensure()?;
    let host = host(&Program::new("rustc").arg("-vV").output()?)?;
    let build =
        Program::cargo("build --release --bins --target-dir fuzz/target --manifest-path").arg(MANIFEST);
    // With a target named, cargo keeps the flags away from build scripts and macros, which do not link with
    // instrumentation because nothing brings its runtime there.
    let build = build.args(["--target", &host]).env("RUSTFLAGS", FLAGS.join(" "));
    build.unset("CARGO_ENCODED_RUSTFLAGS").run()?;
    Ok(host)
}

/// The triple of this machine, out of what `rustc -vV` says.
fn host(version: &str) -> Result<String, Failure> {
    let line = version.lines().find_map(|line| line.strip_prefix("host: "));
    line.map(str::to_owned)
        .ok_or_else(|| Failure::new("`rustc -vV` names no host", "update the Rust toolchain"))
}

/// Runs one target over its corpus.
fn run_one(host: &str, target: &str, amount: Amount, keep: Keep) -> Result<(), Failure> {
    let artifacts = format!("fuzz/artifacts/{target}/");
    let found = std::env::temp_dir().join(format!("switchboard-fuzz-{target}-{}", std::process::id()));
    make_folder(&workspace::root().join(&artifacts))?;
    make_folder(&found)?;
    let binary = PathBuf::from(format!("fuzz/target/{host}/release/{target}"));
    let program = Program::at(&binary)
        .arg(match amount {
            Amount::Seconds(seconds) => format!("-max_total_time={seconds}"),
            Amount::Inputs(count) => format!("-runs={count}"),
        })
        .args(["-max_len=4096", "-rss_limit_mb=512"])
        .arg(format!("-artifact_prefix={artifacts}"))
        // libFuzzer writes to the first folder only.
        .arg(found.display().to_string());
    let corpus = format!("fuzz/corpus/{target}");
    make_folder(&workspace::root().join(&corpus))?;
    let mut result = stream(target, &program.arg(&corpus));
    if result.is_ok() && keep == Keep::NewInputs {
        let merge = Program::at(&binary).args(["-set_cover_merge=1", "-max_len=4096", &corpus]);
        result = stream(target, &merge.arg(found.display().to_string()));
    }
    let _ = fs::remove_dir_all(&found);
    result.map_err(|failure| {
        failure.advise(format!(
            "the input is in {artifacts}; replay it with `{} {artifacts}FILE`, fix the code, and keep the \
             input in fuzz/corpus/{target}",
            binary.display()
        ))
    })
}

fn make_folder(path: &Path) -> Result<(), Failure> {
    fs::create_dir_all(path).map_err(|error| {
        Failure::new(
            format!("cannot make {}: {error}", path.display()),
            "free some disk space, or give write access",
        )
    })
}

/// Runs the program of a target, and lets through what a person reads, with the name of the target: others run at the same time.
fn stream(target: &str, program: &Program) -> Result<(), Failure> {
    let start = std::time::Instant::now();
    let mut child = program.spawn_filtered()?;
    let errors = child.stderr.take().expect("spawn_filtered pipes standard error");
    for line in BufReader::new(errors).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        if !is_noise(&line) {
            println!("    {target}: {line}");
        }
    }
    let status = child
        .wait()
        .map_err(|error| Failure::new(format!("cannot wait for `{program}`: {error}"), "run it by hand"))?;
    program.expect_success(status)?;
    println!("    {target}: {}", summary::seconds(start.elapsed()));
    Ok(())
}

/// libFuzzer writes a line for each input that reached new code and for each word it tried: thousands.
fn is_noise(line: &str) -> bool {
    let is_new_input = line.starts_with('#') && (line.contains("\tNEW ") || line.contains("\tREDUCE "));
    let is_new_function = line.starts_with("\tNEW_FUNC[");
    let is_word = line.starts_with('"') && line.contains("\" # Uses: ");
    is_new_input
        || is_new_function
        || is_word
        || line.starts_with("###### ")
        || line.starts_with("WARNING: Failed to find function")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_is_read_from_the_compiler_version() {
        let version = "rustc 1.95.0\nbinary: rustc\nhost: x86_64-unknown-linux-gnu\nrelease: 1.95.0\n";
        assert_eq!(host(version).unwrap(), "x86_64-unknown-linux-gnu");
        assert!(host("rustc 1.95.0").is_err());
    }

    #[test]
    fn crashes_and_totals_are_shown_and_single_inputs_are_not() {
        assert!(is_noise("#4\tNEW    cov: 36 ft: 36 corp: 2/7b"));
        assert!(is_noise("#9\tREDUCE cov: 36 ft: 36 corp: 2/7b"));
        assert!(is_noise("\tNEW_FUNC[1/8]: 0x557fa6dac311"));
        assert!(is_noise("\"{,0\" # Uses: 620"));
        assert!(!is_noise("#2\tINITED cov: 34 ft: 34 corp: 1/3b"));
        assert!(!is_noise("#1048576\tpulse  cov: 34"));
        assert!(!is_noise("==5694== ERROR: libFuzzer: deadly signal"));
        assert!(!is_noise("Done 3945463 runs in 21 second(s)"));
    }

    #[test]
    fn the_shares_of_all_targets_are_the_whole() {
        let targets = ["codec", "exchange", "http_plain", "ws"].map(str::to_owned);
        let total: u64 = targets.iter().map(|target| share(target, &targets)).sum();
        assert!((MANY..MANY + 4).contains(&total), "{total}");
        assert!(share("codec", &targets) > 15 * share("http_plain", &targets));
    }

    #[test]
    fn every_weight_is_of_a_target() {
        let targets = targets().unwrap();
        for (name, _) in WEIGHTS {
            assert!(targets.iter().any(|target| target == name), "{name}");
        }
    }

    #[test]
    fn seconds_are_a_number() {
        assert_eq!(parse_seconds("90"), Ok(90));
        assert!(parse_seconds("a while").is_err());
    }
}
