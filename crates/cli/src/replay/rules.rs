//! What may differ between a recording and its replay.

use std::str::FromStr;

use clap::Args;
use switchboard::access::Pattern;

use super::difference::Difference;

/// What may differ.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Rules {
    /// Ignore differences at this JSON pointer and below; `*` stands for one segment. Examples: /result/time,
    /// /result/items/*/id. Can be repeated.
    #[arg(long = "ignore", value_name = "POINTER")]
    ignored: Vec<PointerPattern>,
    /// Send calls of methods that match this pattern, such as `time/*`, but do not compare their answers. Can be repeated.
    #[arg(long = "ignore-method", value_name = "PATTERN")]
    ignored_methods: Vec<Pattern>,
    /// Compare errors by their codes; their messages and data may differ.
    #[arg(long)]
    pub(crate) only_codes: bool,
}

impl Rules {
    /// Whether answers of this method are compared.
    pub(crate) fn compares(&self, method: &str) -> bool {
        !self.ignored_methods.iter().any(|pattern| pattern.matches(method))
    }

    /// Whether a difference counts.
    pub(crate) fn counts(&self, difference: &Difference) -> bool {
        !self.ignored.iter().any(|pattern| pattern.covers(&difference.path))
    }
}

/// A JSON pointer in which `*` stands for any one segment.
#[derive(Clone, Debug, PartialEq)]
struct PointerPattern(Vec<Segment>);

#[derive(Clone, Debug, PartialEq)]
enum Segment {
    Any,
    Name(String),
}

impl PointerPattern {
    /// Whether a place is the one that it names, or inside it.
    fn covers(&self, path: &[String]) -> bool {
        let fits = |(segment, name): (&Segment, &String)| match segment {
            Segment::Any => true,
            Segment::Name(wanted) => wanted == name,
        };
        self.0.len() <= path.len() && self.0.iter().zip(path).all(fits)
    }
}

impl FromStr for PointerPattern {
    type Err = String;

    fn from_str(text: &str) -> Result<PointerPattern, String> {
        let Some(inside) = text.strip_prefix('/').filter(|inside| !inside.is_empty()) else {
            return Err("not a JSON pointer; write it as /result/time".to_owned());
        };
        let segment = |text: &str| match text {
            "*" => Segment::Any,
            name => Segment::Name(name.replace("~1", "/").replace("~0", "~")),
        };
        Ok(PointerPattern(inside.split('/').map(segment).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_covers_its_place_and_all_below() {
        let check = |pattern: &str, path: &str, expected: bool| {
            let path: Vec<String> = path.split('/').skip(1).map(str::to_owned).collect();
            assert_eq!(
                pattern.parse::<PointerPattern>().unwrap().covers(&path),
                expected,
                "{pattern} {path:?}"
            );
        };
        check("/result", "/result", true);
        check("/result", "/result/a/0", true);
        check("/result/a", "/result", false);
        check("/result/*/id", "/result/7/id", true);
        check("/result/*/id", "/result/id", false);
        check("/result/*", "/error/code", false);
        check("/a~0b", "/a~b", true);
        for wrong in ["", "/", "result", "$.result"] {
            assert!(wrong.parse::<PointerPattern>().is_err(), "{wrong}");
        }
        assert_eq!("/a~1b".parse(), Ok(PointerPattern(vec![Segment::Name("a/b".to_owned())])));
    }
}
