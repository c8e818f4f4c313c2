//! The fuzz targets, built with libFuzzer on the stable toolchain and run.
//!
//! `cargo xtask test` runs each for a short time; `cargo xtask fuzz` runs one for as long as asked. Neither
//! writes to the corpus in the repository: new inputs go to a temporary folder, crashes to `fuzz/artifacts`.

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

usage: cargo xtask fuzz TARGET [--seconds N]

--seconds N    how long to run, 60 if not given; 0 is without end
--list         list the targets
--help         this text

New inputs go to a temporary folder, crashes to fuzz/artifacts/TARGET.";

const MANIFEST: &str = "fuzz/Cargo.toml";

/// How long a target runs as part of `cargo xtask test`.
const BRIEFLY: u32 = 6;

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
            name if !name.starts_with('-') && target.is_none() => target = Some(name.to_owned()),
            other => return Err(Failure::new(format!("unknown argument `{other}`"), "see `--help`")),
        }
    }
    let targets = targets()?;
    let Some(target) = target.filter(|target| targets.contains(target)) else {
        let advice = format!("name one of: {}", targets.join(", "));
        return Err(Failure::new("no such fuzz target", advice));
    };
    let host = build()?;
    run_one(&host, &target, seconds)?;
    Ok(true)
}

/// Builds all targets and runs each briefly.
pub(crate) fn run_all() -> Result<Done, Failure> {
    if workspace::existing(MANIFEST).is_none() {
        return Ok(Done::Skipped("there is no fuzz/".to_owned()));
    }
    if cfg!(windows) {
        return Ok(Done::Skipped("libFuzzer is run on Linux and macOS".to_owned()));
    }
    let targets = targets()?;
    let host = build()?;
    step::all(targets.iter().map(|target| run_one(&host, target, BRIEFLY)))
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
fn run_one(host: &str, target: &str, seconds: u32) -> Result<(), Failure> {
    let artifacts = format!("fuzz/artifacts/{target}/");
    let found = std::env::temp_dir().join(format!("switchboard-fuzz-{target}-{}", std::process::id()));
    make_folder(&workspace::root().join(&artifacts))?;
    make_folder(&found)?;
    let binary = PathBuf::from(format!("fuzz/target/{host}/release/{target}"));
    let program = Program::at(&binary)
        .arg(format!("-max_total_time={seconds}"))
        .args(["-max_len=4096", "-rss_limit_mb=512"])
        .arg(format!("-artifact_prefix={artifacts}"))
        // libFuzzer writes to the first folder only.
        .arg(found.display().to_string());
    let corpus = format!("fuzz/corpus/{target}");
    let program = if workspace::existing(&corpus).is_some() { program.arg(corpus) } else { program };
    let result = stream(&program);
    let _ = fs::remove_dir_all(&found);
    result.map_err(|failure| {
        failure.advise(format!(
            "the input is in {artifacts}; replay it with `{} {artifacts}FILE`, mend the code, and keep the \
             input in fuzz/corpus/{target}",
            binary.display()
        ))
    })
}

fn make_folder(path: &Path) -> Result<(), Failure> {
    fs::create_dir_all(path).map_err(|error| {
        Failure::new(format!("cannot make {}: {error}", path.display()), "make room or give write access")
    })
}

/// Runs the program, and lets through what a person reads.
fn stream(program: &Program) -> Result<(), Failure> {
    let start = std::time::Instant::now();
    let mut child = program.spawn_filtered()?;
    let errors = child.stderr.take().expect("spawn_filtered pipes standard error");
    for line in BufReader::new(errors).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        if !is_noise(&line) {
            println!("    {line}");
        }
    }
    let status = child.wait().map_err(|error| {
        Failure::new(format!("`{program}` cannot be waited for: {error}"), "run it by hand")
    })?;
    program.expect_success(status)?;
    println!("    {}", summary::seconds(start.elapsed()));
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
    fn seconds_are_a_number() {
        assert_eq!(parse_seconds("90"), Ok(90));
        assert!(parse_seconds("a while").is_err());
    }
}
