//! Identifiers that cannot be guessed.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// A new identifier: 22 characters. It begins with a letter, so that no command line takes it for an option.
pub(crate) fn random() -> String {
    loop {
        let mut bytes = [0; 16];
        aws_lc_rs::rand::fill(&mut bytes).expect("the system has randomness");
        let text = URL_SAFE_NO_PAD.encode(bytes);
        if text.starts_with(|first: char| first.is_ascii_alphabetic()) {
            return text;
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn identifiers_are_no_options_and_no_numbers() {
        let ids: std::collections::HashSet<String> = (0..1000).map(|_| super::random()).collect();
        assert_eq!(ids.len(), 1000);
        assert!(ids.iter().all(|id| id.len() == 22 && id.as_bytes()[0].is_ascii_alphabetic()));
    }
}
