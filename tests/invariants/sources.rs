//! What the sources must not say.

use std::fs;
use std::path::{Path, PathBuf};

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The files under this folder whose names end like this.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let files = files.into_iter().filter(|path| path.to_string_lossy().ends_with(ending));
    files.chain(folders.iter().flat_map(|folder| self::files(folder, ending))).collect()
}

#[test]
fn the_core_names_no_transport() {
    let words = ["hyper", "http::", "axum", "tokio::net", "std::net::Tcp", "rustls", "tungstenite", "mcp"];
    let sources = files(&workspace().join("crates/core/src"), ".rs");
    assert!(sources.len() > 20, "{sources:?}");
    for source in sources {
        let text = fs::read_to_string(&source).unwrap();
        for word in words {
            assert!(!text.contains(word), "{} names {word}", source.display());
        }
    }
    let manifest = fs::read_to_string(workspace().join("crates/core/Cargo.toml")).unwrap();
    let dependencies = manifest.split("\n[").find(|section| section.starts_with("dependencies]")).unwrap();
    for word in ["hyper", "http", "axum", "\"net\"", "rustls", "switchboard-"] {
        assert!(!dependencies.contains(word), "the core depends on {word}");
    }
}

#[test]
fn unsafe_code_is_forbidden_in_every_crate() {
    let root = fs::read_to_string(workspace().join("Cargo.toml")).unwrap();
    assert!(root.contains("unsafe_code = \"forbid\""));
    for manifest in files(&workspace().join("crates"), "Cargo.toml") {
        let text = fs::read_to_string(&manifest).unwrap();
        assert!(text.contains("[lints]\nworkspace = true"), "{} has lints of its own", manifest.display());
    }
}

// SEC-Z-01
#[test]
fn every_parser_of_what_peers_send_has_a_fuzz_target_and_inputs_to_begin_with() {
    let manifest = fs::read_to_string(workspace().join("fuzz/Cargo.toml")).unwrap();
    let parsers = "codec exchange framing ws sse http_plain http_response forwarded metadata url certificate jwt signing openrpc";
    for parser in parsers.split(' ') {
        assert!(manifest.contains(&format!("\nname = \"{parser}\"\n")), "{parser} is not a target");
        assert!(workspace().join(format!("fuzz/src/{parser}.rs")).exists(), "{parser}");
        let corpus = workspace().join(format!("fuzz/corpus/{parser}"));
        assert!(fs::read_dir(corpus).unwrap().next().is_some(), "{parser} has no inputs");
    }
}
