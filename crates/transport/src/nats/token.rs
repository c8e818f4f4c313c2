//! Names of replies that cannot be guessed.

/// The characters of a token: 6 bits each.
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// How many characters a token has.
pub(super) const LENGTH: usize = 22;

/// How many random bytes are drawn at once: for so many tokens that drawing costs little.
const DRAWN: usize = 1024;

/// 128 random bits: the last token of a reply subject. Knowing some does not help to guess others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Token(pub(super) u128);

impl Token {
    /// Writes it in 22 characters.
    pub(super) fn write(self, out: &mut String) {
        let mut rest = self.0;
        for _ in 0..LENGTH {
            out.push(char::from(LETTERS[(rest & 63) as usize]));
            rest >>= 6;
        }
    }

    /// Reads what [`write`](Token::write) wrote.
    pub(super) fn read(text: &str) -> Option<Token> {
        if text.len() != LENGTH {
            return None;
        }
        let mut value = 0_u128;
        for (index, byte) in text.bytes().enumerate() {
            let digit = match byte {
                b'A'..=b'Z' => byte - b'A',
                b'a'..=b'z' => byte - b'a' + 26,
                b'0'..=b'9' => byte - b'0' + 52,
                b'-' => 62,
                b'_' => 63,
                _ => return None,
            };
            value |= u128::from(digit).checked_shl(u32::try_from(index * 6).ok()?)?;
        }
        // The last character has two bits.
        let mut again = String::with_capacity(LENGTH);
        Token(value).write(&mut again);
        (again == text).then_some(Token(value))
    }
}

/// Draws tokens.
#[derive(Default)]
pub(super) struct Tokens {
    drawn: Vec<u8>,
}

impl Tokens {
    pub(super) fn next(&mut self) -> Token {
        if self.drawn.len() < 16 {
            self.drawn = vec![0; DRAWN];
            aws_lc_rs::rand::fill(&mut self.drawn).expect("the system has random numbers");
        }
        let rest = self.drawn.len() - 16;
        let bytes = self.drawn[rest..].try_into().expect("16 bytes");
        self.drawn.truncate(rest);
        Token(u128::from_le_bytes(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(token: Token) -> String {
        let mut text = String::new();
        token.write(&mut text);
        text
    }

    #[test]
    fn a_token_is_read_as_it_was_written() {
        let mut tokens = Tokens::default();
        for token in std::iter::repeat_with(|| tokens.next()).take(200).chain([Token(0), Token(u128::MAX)]) {
            assert_eq!(Token::read(&text(token)), Some(token));
        }
    }

    #[test]
    fn other_texts_are_no_tokens() {
        for wrong in ["", "A", &"A".repeat(21), &"A".repeat(23), &"*".repeat(22), &"_".repeat(22)] {
            assert_eq!(Token::read(wrong), None, "{wrong}");
        }
    }
}
