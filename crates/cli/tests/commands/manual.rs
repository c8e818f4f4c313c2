//! Help, manual and completions: made of one source, and complete.

use crate::program::{parts, run};

const COMMANDS: [&str; 21] = [
    "batch",
    "bench",
    "call",
    "check",
    "completions",
    "discover",
    "generate",
    "key",
    "login",
    "logout",
    "man",
    "notify",
    "prompts",
    "repl",
    "replay",
    "resources",
    "serve",
    "tap",
    "tools",
    "top",
    "watch",
];

#[test]
fn every_command_has_help_with_examples() {
    let (_, all, _) = parts(run(&["--help"]));
    for command in COMMANDS {
        assert!(all.contains(&format!("  {command} ")), "no {command} in {all}");
        let (code, help, _) = parts(run(&[command, "--help"]));
        assert_eq!(code, Some(0));
        assert!(help.contains("Examples:\n  ") && help.contains(&format!("switchboard {command}")), "{help}");
    }
    for part in ["Exit codes:", "130  interrupted by a signal", "NO_COLOR", "SWITCHBOARD_TOKEN"] {
        assert!(all.contains(part), "no {part:?} in {all}");
    }
}

#[test]
fn every_command_has_a_page_of_the_manual() {
    let folder = std::env::temp_dir().join(format!("switchboard-man-{}", std::process::id()));
    let output = parts(run(&["man", &folder.join("man1").display().to_string()]));
    assert_eq!(output, (Some(0), String::new(), String::new()));
    for command in COMMANDS {
        let page = std::fs::read_to_string(folder.join(format!("man1/switchboard-{command}.1"))).unwrap();
        assert!(page.contains(".SH SYNOPSIS") && page.contains("Examples:"), "{page}");
    }
    let first = std::fs::read_to_string(folder.join("man1/switchboard.1")).unwrap();
    std::fs::remove_dir_all(folder).unwrap();
    assert!(first.contains("Exit codes:"), "{first}");
    assert_eq!(parts(run(&["man"])), (Some(0), first, String::new()));
    let (code, _, stderr) = parts(run(&["man", "/dev/null/x"]));
    assert_eq!(code, Some(7), "{stderr}");
}

#[test]
fn every_shell_has_a_script_that_knows_every_command() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let (code, script, stderr) = parts(run(&["completions", shell]));
        assert_eq!(code, Some(0), "{stderr}");
        for command in COMMANDS {
            assert!(script.contains(command), "no {command} for {shell}");
        }
        assert!(script.contains("cacert"), "no options for {shell}");
    }
    let (code, _, stderr) = parts(run(&["completions", "csh"]));
    assert_eq!(code, Some(2), "{stderr}");
}
