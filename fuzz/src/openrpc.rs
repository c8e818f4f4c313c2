//! Reads any bytes as a document: what is read is written so that it reads the same, its references end somewhere, it does not differ from
//! itself, it is the same written twice in one version, and clients can be written for it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use switchboard_openrpc::{Document, Language, Resolver, SpecVersion, client, diff};

fuzz_target!(|bytes: &[u8]| {
    let Ok(document) = Document::parse(bytes.to_vec()) else { return };
    let text = serde_json::to_string(&document).expect("a document can be written");
    let again = Document::parse(text.clone()).expect("what was written can be read");
    assert_eq!(again, document);
    assert_eq!(serde_json::to_string(&again).expect("it can be written again"), text);

    let resolver = Resolver::new(&document);
    let _ = resolver.follow(resolver.document());
    if let Ok(resolved) = document.clone().resolved() {
        assert!(resolved.methods.iter().all(|method| method.here().is_some()));
        assert_eq!(resolved.clone().resolved().as_ref(), Ok(&resolved));
    }
    for version in [SpecVersion::V1_2, SpecVersion::V1_3, SpecVersion::V1_4] {
        let written = document.clone().written_in(version);
        assert_eq!(written.clone().written_in(version), written);
    }
    for language in [Language::TypeScript, Language::Python, Language::Rust] {
        let _ = client(&document, language);
    }
    assert!(
        diff(&document, &document).is_ok_and(|changes| changes.is_empty())
            || document.clone().resolved().is_err()
    );
    let mut fewer = document.clone();
    fewer.retain_methods(|method| method.name.len() % 2 == 0);
    fewer.retain_methods(|_| true);
    let _ = diff(&document, &fewer);
});
