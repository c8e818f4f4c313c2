//! Work is bounded: what a parser does grows with the bytes it gets, and with nothing else.
//!
//! Each case reads inputs of three sizes under valgrind, which counts instructions exactly. Of `c = a + b·nᵏ` the exponent
//! is `log((c₃ - c₂) / (c₂ - c₁))` to the base of the step between the sizes; it must not exceed 1.1. Only what runs inside
//! [`measured_work`] counts, so that making an input does not.
//!
//! A comparison does the same in several ways, which must cost the same, within three percent.
//!
//! `cargo xtask test --thorough --only work` runs it.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod credentials;
mod documents;
mod drip;
mod http;
mod json;
mod messages;

use std::fs;
use std::path::Path;
use std::process::Command;

type Work = Box<dyn FnOnce()>;

/// Makes an input of about this size, and gives what reads it.
type Prepare = fn(usize) -> Work;

/// Pieces of work that nobody should be able to tell apart.
type Comparison = (&'static str, fn() -> Vec<Repeatable>);

type Repeatable = Box<dyn FnMut()>;

/// What is read, how, and from which size on: that, four times and sixteen times as much.
type Case = (&'static str, usize, Prepare);

/// The most that an exponent may be.
const MOST: f64 = 1.1;
const STEP: usize = 4;

/// The most that pieces of work may differ that are compared, as a part of the smallest.
const APART: f64 = 0.03;

/// How often each of them is done.
const ROUNDS: usize = 16;

/// The variable that names a part of the cases' names, to run only those.
const VARIABLE: &str = "SWITCHBOARD_WORK";

fn cases() -> impl Iterator<Item = &'static Case> {
    [json::CASES, messages::CASES, http::CASES, documents::CASES, CONTROL].into_iter().flatten()
}

/// Shows that the measure tells squares from lines.
const CONTROL: &[Case] = &[("control: a square", 256, |size| {
    Box::new(move || {
        let sum: usize = (0..size).map(|_| std::hint::black_box(vec![1; size]).iter().sum::<usize>()).sum();
        assert_eq!(sum, size * size);
    })
})];

fn comparisons() -> impl Iterator<Item = &'static Comparison> {
    credentials::COMPARISONS.iter().chain(COMPARISON_CONTROL)
}

/// Shows that the measure tells a comparison that stops early from one that does not.
const COMPARISON_CONTROL: &[Comparison] = &[("control: the first byte and the last", || {
    let right = vec![1_u8; 4096];
    [0, 4095]
        .map(|at| {
            let (right, mut wrong) = (right.clone(), right.clone());
            wrong[at] = 2;
            let is_equal = move || right.iter().zip(&wrong).all(|(a, b)| std::hint::black_box(a) == b);
            Box::new(move || assert!(!is_equal())) as Repeatable
        })
        .into()
})];

/// The argument that tells a process to do the work, and not to count it.
const WORK: &str = "--work";

fn main() {
    match std::env::args().any(|argument| argument == WORK) {
        true => do_the_work(),
        false => work_is_what_it_should_be(),
    }
}

fn work_is_what_it_should_be() {
    let only = std::env::var(VARIABLE).unwrap_or_default();
    let folder = std::env::temp_dir().join(format!("switchboard-work-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let counts = counts(&folder, &only);
    fs::remove_dir_all(&folder).unwrap();
    let cases: Vec<_> = cases().filter(|(name, ..)| name.contains(&only)).collect();
    let (of_cases, of_comparisons) = counts.split_at(3 * cases.len());
    no_parser_does_more_than_the_bytes_ask_for(cases, of_cases);
    nobody_can_tell_apart_what_is_compared(of_comparisons, &only);
}

fn nobody_can_tell_apart_what_is_compared(mut counts: &[f64], only: &str) {
    let mut told = Vec::new();
    for (name, works) in comparisons().filter(|(name, _)| name.contains(only)) {
        let (own, rest) = counts.split_at(works().len());
        counts = rest;
        let (least, most) = own
            .iter()
            .fold((f64::MAX, 0.0_f64), |(least, most), count| (least.min(*count), most.max(*count)));
        let apart = most / least - 1.0;
        println!("{:5.2} % apart, {most:8} instructions  {name}", apart * 100.0);
        if (apart > APART) != name.starts_with("control") {
            told.push(format!("{name}: {own:?}"));
        }
    }
    assert!(counts.is_empty() && told.is_empty(), "more than {APART} apart: {told:?}");
}

fn no_parser_does_more_than_the_bytes_ask_for(cases: Vec<&Case>, counts: &[f64]) {
    let (counts, _) = counts.as_chunks::<3>();
    let mut over = Vec::new();
    for ((name, smallest, _), [small, middle, large]) in cases.into_iter().zip(counts) {
        let exponent = ((large - middle) / (middle - small)).log(STEP as f64);
        let each = large / (smallest * STEP * STEP) as f64;
        println!("{exponent:5.2}  {each:8.1} instructions a byte  {name}");
        if (exponent > MOST) != name.starts_with("control") {
            over.push(format!("{name}: {exponent:.2}"));
        }
    }
    assert!(over.is_empty(), "exponents over {MOST}: {over:?}");
}

/// The instructions of each piece of work, in their order. Valgrind writes a file for each.
fn counts(folder: &Path, only: &str) -> Vec<f64> {
    let file = |number: usize| folder.join(format!("counts.{number}"));
    let output = Command::new("valgrind")
        .args([
            "--tool=callgrind",
            "--toggle-collect=work::measured_work",
            "--dump-after=work::measured_work",
        ])
        .arg(format!("--callgrind-out-file={}", folder.join("counts").display()))
        .arg(std::env::current_exe().unwrap())
        .arg(WORK)
        .env(VARIABLE, only)
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
    let texts = (1..).map_while(|number| fs::read_to_string(file(number)).ok());
    let totals = texts.filter(|text| text.contains("\ndesc: Trigger: --dump-after="));
    totals
        .map(|text| text.lines().find_map(|line| line.strip_prefix("summary: ")?.parse().ok()).unwrap())
        .collect()
}

fn do_the_work() {
    let only = std::env::var(VARIABLE).unwrap_or_default();
    for (_, smallest, prepare) in cases().filter(|(name, ..)| name.contains(&only)) {
        for factor in [1, STEP, STEP * STEP] {
            measured_work(prepare(smallest * factor));
        }
    }
    for (_, works) in comparisons().filter(|(name, _)| name.contains(&only)) {
        for mut work in works() {
            // What is made at the first use does not count, and what the allocator does evens out.
            work();
            measured_work(Box::new(move || (0..ROUNDS).for_each(|_| work())));
        }
    }
}

#[inline(never)]
fn measured_work(work: Work) {
    work();
    // So that this call does not become the end of the function.
    std::hint::black_box(());
}
