//! Values that match none of several schemas: which one was meant, or what is possible.

use jsonschema::ValidationError as Error;
use jsonschema::error::ValidationErrorKind as Kind;
use serde_json::Value;

use super::expected::{Schemas, values};

/// How many forms to list.
const FORMS: usize = 16;

/// A value that fits none of several schemas, and why it does not fit each of them.
pub(super) struct Union<'e> {
    place: &'e str,
    branches: &'e [Vec<Error<'static>>],
}

impl<'e> Union<'e> {
    pub(super) fn of(error: &'e Error<'_>) -> Option<Union<'e>> {
        match error.kind() {
            Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
                Some(Union { place: error.instance_path().as_str(), branches: context })
            }
            _ => None,
        }
    }

    /// What to tell, if it is about one branch: about that which the value has the form of, or what is missing for all.
    pub(super) fn meant(&self) -> Option<&'e Error<'static>> {
        let mut alike = self.branches.iter().filter(|errors| self.other_form(errors).is_none());
        match (alike.next(), alike.next()) {
            (Some(errors), None) => errors.first(),
            _ => self.missing(),
        }
    }

    /// What there could be, if the value has the form of none, and all of them tell so by the same place.
    pub(super) fn forms(&self, schemas: Schemas<'_>) -> Option<(&'e Error<'static>, String)> {
        let mut forms: Vec<String> = Vec::new();
        let mut choices: Vec<Value> = Vec::new();
        let mut first: Option<&Error<'static>> = None;
        for errors in self.branches {
            let error = self.other_form(errors)?;
            if error.instance_path() != first.get_or_insert(error).instance_path() {
                return None;
            }
            if let Some(values) = schemas.choices(error) {
                choices.extend_from_slice(values);
                continue;
            }
            let form = match (error.kind(), self.required(errors).next()) {
                (Kind::AdditionalProperties { .. }, Some((_, name))) => format!("an object with {name}"),
                (Kind::AdditionalProperties { .. }, None) => "an object".to_owned(),
                _ => schemas.expected(error),
            };
            if !forms.contains(&form) {
                forms.push(form);
            }
        }
        (forms.len() <= FORMS).then_some(())?;
        if !choices.is_empty() {
            forms.insert(0, values(&choices));
        }
        Some((first?, forms.join(" or ")))
    }

    /// The error that says that a branch is another form altogether: of another type, with another tag, or with other members only.
    fn other_form(&self, errors: &'e [Error<'static>]) -> Option<&'e Error<'static>> {
        errors.iter().find(|error| {
            let below = error.instance_path().as_str().strip_prefix(self.place).unwrap_or_default();
            match error.kind() {
                Kind::Type { .. } | Kind::AdditionalProperties { .. } => below.is_empty(),
                Kind::Constant { .. } | Kind::Enum { .. } => below.matches('/').count() <= 1,
                _ => false,
            }
        })
    }

    /// A member that every branch misses, such as the tag.
    fn missing(&self) -> Option<&'e Error<'static>> {
        let (first, rest) = self.branches.split_first()?;
        let is_missed =
            |name: &str| rest.iter().all(|errors| self.required(errors).any(|(_, other)| other == name));
        self.required(first).find(|(_, name)| is_missed(name)).map(|(error, _)| error)
    }

    /// The members that a branch misses, with their errors.
    fn required(&self, errors: &'e [Error<'static>]) -> impl Iterator<Item = (&'e Error<'static>, &'e str)> {
        let here = errors.iter().filter(|error| error.instance_path().as_str() == self.place);
        here.filter_map(|error| match error.kind() {
            Kind::Required { property: Value::String(name) } => Some((error, name.as_str())),
            _ => None,
        })
    }
}
