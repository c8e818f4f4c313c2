//! The versions of the protocol.

/// A version of the protocol: major and minor. Patches never matter (A2A-B-04).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// 0.3, whose methods have names such as `message/send`.
    V0_3,
    /// 1.0.
    V1_0,
}

impl Version {
    /// The version as text.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Version::V0_3 => "0.3",
            Version::V1_0 => "1.0",
        }
    }

    /// Reads a version, with or without a patch number.
    ///
    /// # Examples
    ///
    /// ```
    /// use switchboard_a2a::model::Version;
    ///
    /// assert_eq!(Version::parse("1.0.1"), Some(Version::V1_0));
    /// assert_eq!(Version::parse("2.0"), None);
    /// ```
    #[must_use]
    pub fn parse(text: &str) -> Option<Version> {
        let mut numbers = text.trim().split('.');
        let number = |text: Option<&str>| text.and_then(|text| text.parse::<u32>().ok());
        let version = match (number(numbers.next())?, number(numbers.next())?) {
            (0, 3) => Version::V0_3,
            (1, 0) => Version::V1_0,
            _ => return None,
        };
        let patch = numbers.next();
        (patch.is_none() || number(patch).is_some() && numbers.next().is_none()).then_some(version)
    }
}
