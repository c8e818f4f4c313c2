//! Numbers as text. The usual formatting takes several times as long.

/// All numbers of two digits.
const PAIRS: [[u8; 2]; 100] = pairs();
/// All bytes as two hexadecimal digits.
const HEX: [[u8; 2]; 256] = hex();

/// Adds a number.
#[inline]
pub(crate) fn push_number(line: &mut Vec<u8>, number: u64) {
    match number {
        0..10 => push_digit(line, number),
        10..100 => push_pair(line, number),
        _ => push_long(line, number),
    }
}

fn push_long(line: &mut Vec<u8>, number: u64) {
    push_number(line, number / 100);
    push_pair(line, number % 100);
}

/// Adds the last digit of a number.
#[inline(always)]
pub(crate) fn push_digit(line: &mut Vec<u8>, number: u64) {
    line.push(b'0' + (number % 10) as u8);
}

/// Adds the last two digits of a number.
#[inline(always)]
pub(crate) fn push_pair(line: &mut Vec<u8>, number: u64) {
    line.extend_from_slice(&PAIRS[(number % 100) as usize]);
}

/// Adds bytes as hexadecimal digits.
pub(crate) fn push_hex<const N: usize>(line: &mut Vec<u8>, bytes: &[u8; N]) {
    line.extend_from_slice(bytes.map(|byte| HEX[usize::from(byte)]).as_flattened());
}

const fn pairs() -> [[u8; 2]; 100] {
    let mut pairs = [[0; 2]; 100];
    let mut number = 0;
    while number < 100 {
        pairs[number] = [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8];
        number += 1;
    }
    pairs
}

const fn hex() -> [[u8; 2]; 256] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut hex = [[0; 2]; 256];
    let mut byte = 0;
    while byte < 256 {
        hex[byte] = [DIGITS[byte / 16], DIGITS[byte % 16]];
        byte += 1;
    }
    hex
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_are_written_as_usual(number in any::<u64>(), shift in 0..64_u32, bytes in any::<[u8; 16]>()) {
            let mut line = Vec::new();
            push_number(&mut line, number >> shift);
            prop_assert_eq!(&line, &(number >> shift).to_string().into_bytes());
            line.clear();
            push_hex(&mut line, &bytes);
            prop_assert_eq!(line, format!("{:032x}", u128::from_be_bytes(bytes)).into_bytes());
        }
    }
}
