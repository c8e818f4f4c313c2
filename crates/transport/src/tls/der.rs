//! As much of DER as it takes to read the names in a certificate.
//!
//! The input was verified before. Whatever it is, reading it ends, and yields what could be read.

/// The tags that are looked for.
pub(super) mod tag {
    pub(crate) const BOOLEAN: u8 = 0x01;
    pub(crate) const OCTETS: u8 = 0x04;
    pub(crate) const OBJECT: u8 = 0x06;
    pub(crate) const SEQUENCE: u8 = 0x30;
    pub(crate) const SET: u8 = 0x31;
    pub(crate) const VERSION: u8 = 0xa0;
    pub(crate) const EXTENSIONS: u8 = 0xa3;
}

/// Reads one element after the other.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    /// The next element: its tag and what it holds.
    pub(super) fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (&tag, rest) = self.0.split_first()?;
        let (&first, rest) = rest.split_first()?;
        let (length, rest) = match first {
            0..=0x7f => (usize::from(first), rest),
            // A certificate of 16 MiB and more is none.
            0x81..=0x83 => {
                let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
                (digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit)), rest)
            }
            _ => return None,
        };
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((tag, content))
    }

    /// What the next element holds, if it has this tag. One with another is left alone.
    pub(super) fn take(&mut self, tag: u8) -> Option<&'a [u8]> {
        let mut ahead = *self;
        let (found, content) = ahead.next()?;
        (found == tag).then(|| {
            *self = ahead;
            content
        })
    }

    /// The elements inside the next element.
    pub(super) fn enter(&mut self, tag: u8) -> Option<Reader<'a>> {
        self.take(tag).map(Reader)
    }
}
