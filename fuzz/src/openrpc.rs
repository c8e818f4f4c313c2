//! Reads any bytes as a document: what is read is written so that it reads the same, and its references end somewhere.

#![no_main]

use libfuzzer_sys::fuzz_target;
use switchboard_openrpc::{Document, Resolver};

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
    let mut fewer = document;
    fewer.retain_methods(|method| method.name.len() % 2 == 0);
    fewer.retain_methods(|_| true);
});
