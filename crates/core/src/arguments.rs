//! Typed arguments from raw parameters, with errors that say what was expected where.

use std::any::TypeId;
use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::de::value::U64Deserializer;

use crate::codec::{elements, members};
use crate::error::ErrorObject;
use crate::expected::{escape_pointer, expectation, fault, pointer};
use crate::json::{Json, Kind};

/// The arguments of one call, matched to the `N` parameters of a method by name or by position.
///
/// `#[service]` uses it; a method written by hand can use it too.
///
/// # Examples
///
/// ```
/// use switchboard_core::{Arguments, Json};
///
/// let params = Json::parse(r#"{"b": 3, "a": 2}"#)?;
/// let args = Arguments::read(Some(&params), &["a", "b"])?;
/// assert_eq!((args.required::<i64>(0)?, args.required::<i64>(1)?), (2, 3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Arguments<'a, const N: usize> {
    params: &'a Json,
    names: &'a [&'a str; N],
    slots: [Option<&'a [u8]>; N],
    /// Arguments by position beyond the last parameter.
    surplus: Vec<&'a [u8]>,
    allows_unknown: bool,
}

/// The member of params by name that is metadata in several protocols on top of JSON-RPC. Every method accepts it.
const META: &[u8] = b"_meta";

impl<'a, const N: usize> Arguments<'a, N> {
    /// Matches arguments to parameters of these names.
    ///
    /// The member `_meta` is ignored unless a parameter has that name.
    ///
    /// # Errors
    ///
    /// -32602 when there are more arguments than parameters, or one with an unknown name (J2-12).
    pub fn read(params: Option<&'a Json>, names: &'a [&'a str; N]) -> Result<Self, ErrorObject> {
        let mut arguments = Arguments::new(params, names);
        arguments.fill()?;
        Ok(arguments)
    }

    /// Arguments that are not matched to parameters yet. Fill them in place, because moving
    /// freshly written values stalls the processor.
    #[inline(always)]
    #[must_use]
    pub fn new(params: Option<&'a Json>, names: &'a [&'a str; N]) -> Self {
        let params = params.unwrap_or(&NOTHING);
        Arguments { params, names, slots: [None; N], surplus: Vec::new(), allows_unknown: false }
    }

    /// Ignores arguments with unknown names instead of rejecting them.
    #[inline(always)]
    #[must_use]
    pub fn allow_unknown(mut self) -> Self {
        self.allows_unknown = true;
        self
    }

    /// Matches the arguments to their parameters.
    ///
    /// # Errors
    ///
    /// Those of [`read`](Arguments::read).
    #[inline]
    pub fn fill(&mut self) -> Result<(), ErrorObject> {
        self.fill_variadic()?;
        if self.surplus.is_empty() {
            return Ok(());
        }
        let given = N + self.surplus.len();
        Err(ErrorObject::invalid_params(format!("expected at most {N} parameters, found {given}")))
    }

    /// Matches the arguments to parameters of which the last takes all remaining positions, see
    /// [`rest`](Arguments::rest).
    ///
    /// # Errors
    ///
    /// -32602 when an argument has an unknown name.
    #[inline]
    pub fn fill_variadic(&mut self) -> Result<(), ErrorObject> {
        match self.params.kind() {
            Kind::Array => self.by_position(),
            Kind::Object => self.by_name()?,
            _ => {}
        }
        Ok(())
    }

    #[inline(always)]
    fn by_position(&mut self) {
        let mut values = elements(self.params.as_bytes());
        for slot in &mut self.slots {
            *slot = values.next();
        }
        if let Some(first) = values.next() {
            self.surplus.push(first);
            self.surplus.extend(values);
        }
    }

    fn by_name(&mut self) -> Result<(), ErrorObject> {
        for (name, value) in members(self.params.as_bytes()) {
            match self.names.iter().position(|expected| expected.as_bytes() == &*name) {
                Some(position) => self.slots[position] = Some(value),
                None if self.allows_unknown || &*name == META => {}
                None => return Err(unknown_name(self.names)),
            }
        }
        Ok(())
    }

    /// The argument for this parameter.
    ///
    /// # Errors
    ///
    /// -32602 when it is missing or does not fit.
    pub fn required<T: DeserializeOwned + 'static>(&self, index: usize) -> Result<T, ErrorObject> {
        match self.slots[index] {
            Some(value) => self.decode(index, value),
            None => Err(fault(format!("/{}", self.segment(index)), "a value; this parameter is required")),
        }
    }

    /// The argument for this parameter, if it is given and not null.
    ///
    /// # Errors
    ///
    /// -32602 when it does not fit.
    pub fn optional<T: DeserializeOwned + 'static>(&self, index: usize) -> Result<Option<T>, ErrorObject> {
        match self.slots[index] {
            None | Some(b"null") => Ok(None),
            Some(value) => self.decode(index, value).map(Some),
        }
    }

    /// The argument for this parameter, or its default.
    ///
    /// # Errors
    ///
    /// -32602 when it is given and does not fit.
    pub fn or_else<T: DeserializeOwned + 'static>(
        &self,
        index: usize,
        default: impl FnOnce() -> T,
    ) -> Result<T, ErrorObject> {
        self.slots[index].map_or_else(|| Ok(default()), |value| self.decode(index, value))
    }

    /// The arguments from the position of the last parameter onwards; by name, the array of that name.
    ///
    /// # Errors
    ///
    /// -32602 when one does not fit.
    pub fn rest<T: DeserializeOwned + 'static>(&self) -> Result<Vec<T>, ErrorObject> {
        let last = N - 1;
        let Some(first) = self.slots[last] else { return Ok(Vec::new()) };
        if self.params.kind() == Kind::Object {
            return self.decode(last, first);
        }
        let values = std::iter::once(first).chain(self.surplus.iter().copied());
        values.enumerate().map(|(n, value)| decode_at(self.params, &(last + n).to_string(), value)).collect()
    }

    fn decode<T: DeserializeOwned + 'static>(&self, index: usize, value: &[u8]) -> Result<T, ErrorObject> {
        if TypeId::of::<T>() != TypeId::of::<Json>() {
            if let Some(decoded) = decode_integer(value) {
                return Ok(decoded);
            }
            if let Ok(decoded) = serde_json::from_slice(value) {
                return Ok(decoded);
            }
        }
        decode_at(self.params, &self.segment(index), value)
    }

    /// How the caller wrote this parameter: its name or its position.
    fn segment(&self, index: usize) -> String {
        match self.params.kind() {
            Kind::Array => index.to_string(),
            _ => escape_pointer(self.names[index]),
        }
    }
}

/// The placeholder of parameters that were not given.
static NOTHING: Json = Json::NULL;

/// Reads all parameters as one value.
///
/// Parameters that are absent, `[]` and `{}` mean the same to a method without any (J2-09).
pub(crate) fn decode_params<P: DeserializeOwned + 'static>(params: Option<&Json>) -> Result<P, ErrorObject> {
    let given = params.unwrap_or(&NOTHING);
    let error = match given.decode() {
        Ok(decoded) => return Ok(decoded),
        Err(error) => error,
    };
    let empty: &[&str] = match given.as_bytes() {
        b"null" => &["[]", "{}"],
        b"[]" | b"{}" => &["null"],
        _ => &[],
    };
    if let Some(decoded) = empty.iter().find_map(|text| serde_json::from_str(text).ok()) {
        return Ok(decoded);
    }
    // A type that refuses unknown members does not know of `_meta`.
    if let Some(rest) = without_meta(given) {
        return decode_params(Some(&rest));
    }
    let mut deserializer = serde_json::Deserializer::from_slice(given.as_bytes());
    let located = serde_path_to_error::deserialize::<_, P>(&mut deserializer).err();
    Err(match located {
        Some(located) => fault(pointer(located.path()), &expectation(&located.inner().to_string())),
        None => fault(String::new(), &expectation(&error.to_string())),
    })
}

/// The same params without the member `_meta`, if they have it.
fn without_meta(params: &Json) -> Option<Json> {
    if params.kind() != Kind::Object || !members(params.as_bytes()).any(|(name, _)| &*name == META) {
        return None;
    }
    let others = members(params.as_bytes()).filter(|(name, _)| &**name != META);
    let others = others.map(|(name, value)| (String::from_utf8_lossy(&name).into_owned(), params.sub(value)));
    Json::encode(&others.collect::<BTreeMap<String, Json>>()).ok()
}

/// Reads `value`, a part of `params`; on failure reads it again to find out where exactly it fails.
fn decode_at<T: DeserializeOwned + 'static>(
    params: &Json,
    segment: &str,
    value: &[u8],
) -> Result<T, ErrorObject> {
    if let Ok(decoded) = params.sub(value).decode() {
        return Ok(decoded);
    }
    let mut deserializer = serde_json::Deserializer::from_slice(value);
    match serde_path_to_error::deserialize::<_, T>(&mut deserializer) {
        Ok(decoded) => Ok(decoded),
        Err(error) => {
            let path = format!("/{segment}{}", pointer(error.path()));
            Err(fault(path, &expectation(&error.inner().to_string())))
        }
    }
}

/// Reads a short whole number without a detour through a parser, which most arguments of most calls are.
///
/// `None` says nothing about the value: the parser has the last word.
#[inline]
fn decode_integer<T: DeserializeOwned>(text: &[u8]) -> Option<T> {
    if text.len() > 18 {
        return None;
    }
    let mut number = 0_u64;
    for byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number * 10 + u64::from(digit);
    }
    T::deserialize(U64Deserializer::<NotThis>::new(number)).ok()
}

/// An error that costs nothing to make, for attempts whose failure is not reported.
#[derive(Debug, thiserror::Error)]
#[error("not this")]
struct NotThis;

impl serde::de::Error for NotThis {
    fn custom<T: std::fmt::Display>(_: T) -> NotThis {
        NotThis
    }
}

fn unknown_name(names: &[&str]) -> ErrorObject {
    let known = match names {
        [] => "no parameters".to_owned(),
        names => format!("only the parameters {}", names.join(", ")),
    };
    ErrorObject::invalid_params(format!("expected {known}"))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;
    use crate::code::Code;

    fn data(error: &ErrorObject) -> &str {
        assert_eq!(error.code, Code::INVALID_PARAMS);
        error.data.as_ref().unwrap().as_str()
    }

    fn json(text: &'static str) -> Json {
        Json::parse(text).unwrap()
    }

    #[test]
    fn one_declaration_takes_names_and_positions() {
        for text in ["[2,3]", r#"{"b":3,"a":2}"#, r#"{"\u0061":2,"b":3}"#] {
            let params = json(text);
            let args = Arguments::read(Some(&params), &["a", "b"]).unwrap();
            assert_eq!((args.required::<i64>(0).unwrap(), args.required::<u8>(1).unwrap()), (2, 3));
        }
    }

    #[test]
    fn what_is_left_out_is_optional_defaulted_or_missing() {
        for text in ["[]", "{}"] {
            let params = json(text);
            let args = Arguments::read(Some(&params), &["a"]).unwrap();
            assert_eq!(args.optional::<i64>(0).unwrap(), None);
            assert_eq!(args.or_else(0, || 7).unwrap(), 7);
            assert!(data(&args.required::<i64>(0).unwrap_err()).contains("required"));
        }
    }

    #[test]
    fn surplus_and_unknown_arguments_are_refused() {
        // J2-12
        let three = json("[1,2,3]");
        let error = Arguments::read(Some(&three), &["a", "b"]).unwrap_err();
        assert_eq!(data(&error), r#"{"details":"expected at most 2 parameters, found 3"}"#);
        let unknown = json(r#"{"hunter2":1}"#);
        let error = Arguments::read(Some(&unknown), &["a", "b"]).unwrap_err();
        assert_eq!(data(&error), r#"{"details":"expected only the parameters a, b"}"#);
    }

    #[test]
    fn unknown_names_can_be_allowed() {
        let params = json(r#"{"b":1,"a":2,"_meta":{}}"#);
        let mut args = Arguments::new(Some(&params), &["a"]).allow_unknown();
        args.fill().unwrap();
        assert_eq!(args.required::<u8>(0).unwrap(), 2);
        let three = json("[1,2,3]");
        assert!(Arguments::new(Some(&three), &["a"]).allow_unknown().fill().is_err());
    }

    #[test]
    fn the_member_meta_is_no_argument_unless_it_is_declared() {
        let params = json(r#"{"_meta":{"token":1},"a":2}"#);
        let args = Arguments::read(Some(&params), &["a"]).unwrap();
        assert_eq!(args.required::<u8>(0).unwrap(), 2);
        let args = Arguments::read(Some(&params), &["_meta", "a"]).unwrap();
        assert_eq!(args.required::<Json>(0).unwrap().as_str(), r#"{"token":1}"#);

        #[derive(Deserialize, Debug, PartialEq)]
        #[serde(deny_unknown_fields)]
        struct Strict {
            a: u8,
        }
        assert_eq!(decode_params::<Strict>(Some(&params)), Ok(Strict { a: 2 }));
        let wrong = decode_params::<Strict>(Some(&json(r#"{"_meta":1,"a":"x"}"#))).unwrap_err();
        assert_eq!(data(&wrong), r#"{"path":"/a","expected":"a whole number from 0 to 255"}"#);
        decode_params::<()>(Some(&json(r#"{"_meta":1}"#))).unwrap();
        assert!(decode_params::<Strict>(Some(&json(r#"{"a":2,"meta":1}"#))).is_err());
    }

    #[test]
    fn a_variadic_tail_takes_the_rest() {
        for (text, expected) in [("[1,2,3]", vec![2, 3]), ("[1]", vec![]), (r#"{"a":1,"more":[4]}"#, vec![4])]
        {
            let params = json(text);
            let mut args = Arguments::new(Some(&params), &["a", "more"]);
            args.fill_variadic().unwrap();
            assert_eq!(args.rest::<i64>().unwrap(), expected);
        }
        let params = json(r#"[1,2,"x"]"#);
        let mut args = Arguments::new(Some(&params), &["a", "more"]);
        args.fill_variadic().unwrap();
        assert_eq!(data(&args.rest::<i64>().unwrap_err()), r#"{"path":"/2","expected":"a whole number"}"#);
    }

    #[test]
    fn a_fault_has_its_path_and_not_the_received_value() {
        // JK-02, SEC-E-03
        #[derive(Deserialize, Debug)]
        #[allow(dead_code)]
        struct User {
            name: String,
            ages: Vec<u8>,
        }
        for (text, expected) in [
            (r#"["hunter2"]"#, r#"{"path":"/0","expected":"an object"}"#),
            (
                r#"{"user":{"name":"x","ages":[1,"hunter2"]}}"#,
                r#"{"path":"/user/ages/1","expected":"a whole number from 0 to 255"}"#,
            ),
            (
                r#"{"user":{"name":"x","ages":[1,1000]}}"#,
                r#"{"path":"/user/ages/1","expected":"a whole number from 0 to 255"}"#,
            ),
            (r#"{"user":{"name":"hunter2"}}"#, r#"{"path":"/user","expected":"the member `ages`"}"#),
        ] {
            let params = json(text);
            let args = Arguments::read(Some(&params), &["user"]).unwrap();
            assert_eq!(data(&args.required::<User>(0).unwrap_err()), expected, "{text}");
        }
    }

    #[test]
    fn a_raw_argument_is_a_slice_of_the_params() {
        let params = json(r#"["a string that is longer than what fits into the value itself"]"#);
        let args = Arguments::read(Some(&params), &["raw"]).unwrap();
        let raw: Json = args.required(0).unwrap();
        assert_eq!(raw.as_bytes().as_ptr(), params.as_bytes()[1..].as_ptr());
    }

    #[test]
    fn nothing_can_be_written_in_three_ways() {
        // J2-09
        for params in [None, Some(json("[]")), Some(json("{}"))] {
            decode_params::<()>(params.as_ref()).unwrap();
            assert_eq!(decode_params::<Option<(u8,)>>(params.as_ref()).ok().flatten(), None);
        }
        assert!(decode_params::<()>(Some(&json("[1]"))).is_err());
    }
}
