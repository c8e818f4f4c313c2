//! A wrong use of `#[service]` gives an error that a beginner understands, and names of the user's are never in its way.
//!
//! After a change run with `TRYBUILD=overwrite`, and read what the files in `tests/ui` now say.

#[test]
fn every_mistake_is_told_in_plain_words_where_it_was_made() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}

#[test]
fn any_name_can_be_used_beside_the_macro() {
    trybuild::TestCases::new().pass("tests/pass/*.rs");
}
