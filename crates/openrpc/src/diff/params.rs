//! Differences of the parameters of a method.

use std::collections::{HashMap, HashSet};

use super::schema::Direction;
use super::{Changes, Severity, below};
use crate::document::{ContentDescriptor, MethodEntry, ParamStructure};

impl Changes {
    pub(super) fn params(&mut self, old: &MethodEntry, new: &MethodEntry, place: &str) {
        match (old.has_unknown_params(), new.has_unknown_params()) {
            (false, false) => {}
            (true, true) => return,
            (false, true) => {
                return self.add(Severity::Unsure, place, "its parameters are no longer described");
            }
            (true, false) => {
                return self.add(Severity::Unsure, place, "its parameters are now described, and may differ");
            }
        }
        match (old.allows_additional_params(), new.allows_additional_params()) {
            (true, false) => self.add(Severity::Breaking, place, "unknown parameters are now rejected"),
            (false, true) => self.add(Severity::Harmless, place, "unknown parameters are now ignored"),
            _ => {}
        }
        self.structure(old.param_structure, new.param_structure, &below(place, "paramStructure"));
        let (before, after): (Vec<_>, Vec<_>) = (old.params().collect(), new.params().collect());
        let place = below(place, "params");
        if old.param_structure == ParamStructure::ByPosition {
            self.by_position(&before, &after, &place);
        } else {
            let has_positions = old.param_structure == ParamStructure::Either;
            self.by_name(&before, &after, &place, has_positions);
        }
        self.param = None;
    }

    fn structure(&mut self, old: ParamStructure, new: ParamStructure, place: &str) {
        use ParamStructure::{ByName, ByPosition, Either};
        let (severity, what) = match (old, new) {
            (Either | ByPosition, ByName) => (Severity::Breaking, "parameters are accepted by name only"),
            (Either | ByName, ByPosition) => (Severity::Breaking, "parameters are accepted by position only"),
            (ByName, Either) => (Severity::Harmless, "parameters are also accepted by position"),
            (ByPosition, Either) => (Severity::Harmless, "parameters are also accepted by name"),
            _ => return,
        };
        self.add(severity, place, what);
    }

    /// Positions alone count: names may change.
    fn by_position(&mut self, old: &[&ContentDescriptor], new: &[&ContentDescriptor], place: &str) {
        for (at, before) in old.iter().enumerate() {
            self.param = Some(before.name.clone());
            let Some(after) = new.get(at) else {
                self.gone(before, format!("{place}/{at}"));
                continue;
            };
            if before.name != after.name {
                let what = format!("the parameter `{}` was renamed to `{}`", before.name, after.name);
                self.add(Severity::Harmless, format!("{place}/{at}"), what);
            }
            self.descriptor(before, after, &format!("{place}/{at}"));
        }
        for (at, after) in new.iter().enumerate().skip(old.len()) {
            self.appeared(after, &format!("{place}/{at}"));
        }
    }

    /// Names count; and positions too, if they could be used.
    fn by_name(
        &mut self,
        old: &[&ContentDescriptor],
        new: &[&ContentDescriptor],
        place: &str,
        has_positions: bool,
    ) {
        let (in_old, in_new) = (places(old), places(new));
        let mut renamed = HashSet::new();
        for (at, before) in old.iter().enumerate() {
            self.param = Some(before.name.clone());
            if let Some(&there) = in_new.get(before.name.as_str()) {
                let place = format!("{place}/{there}");
                if has_positions && at != there {
                    let what = format!("the parameter `{}` moved to another position", before.name);
                    self.add(Severity::Breaking, &place, what);
                }
                self.descriptor(before, new[there], &place);
                continue;
            }
            let is_new = |after: &&&ContentDescriptor| !in_old.contains_key(after.name.as_str());
            match new.get(at).filter(is_new).filter(|after| after.schema == before.schema) {
                Some(after) => {
                    renamed.insert(at);
                    let what = format!("the parameter `{}` was renamed to `{}`", before.name, after.name);
                    self.add(Severity::Breaking, format!("{place}/{at}"), what);
                }
                None => self.gone(before, format!("{place}/{at}")),
            }
        }
        for (at, after) in new.iter().enumerate() {
            if !in_old.contains_key(after.name.as_str()) && !renamed.contains(&at) {
                self.appeared(after, &format!("{place}/{at}"));
            }
        }
    }

    fn gone(&mut self, param: &ContentDescriptor, place: String) {
        self.add(Severity::Breaking, place, format!("the parameter `{}` was removed", param.name));
    }

    fn appeared(&mut self, param: &ContentDescriptor, place: &str) {
        self.param = Some(param.name.clone());
        match param.required {
            true => {
                let what = format!("the new parameter `{}` is required", param.name);
                self.add(Severity::Breaking, place, what);
            }
            false => {
                let what = format!("the new parameter `{}` is optional", param.name);
                self.add(Severity::Harmless, place, what);
            }
        }
    }

    /// One parameter, before and after.
    fn descriptor(&mut self, old: &ContentDescriptor, new: &ContentDescriptor, place: &str) {
        let name = &new.name;
        match (old.required, new.required) {
            (false, true) => {
                self.add(Severity::Breaking, place, format!("the parameter `{name}` is now required"));
            }
            (true, false) => {
                self.add(Severity::Harmless, place, format!("the parameter `{name}` is now optional"));
            }
            _ => {}
        }
        match (old.deprecated, new.deprecated) {
            (false, true) => {
                self.add(Severity::Harmless, place, format!("the parameter `{name}` is now deprecated"));
            }
            (true, false) => {
                self.add(
                    Severity::Harmless,
                    place,
                    format!("the parameter `{name}` is no longer deprecated"),
                );
            }
            _ => {}
        }
        if old.is_variadic() != new.is_variadic() {
            let what = match new.is_variadic() {
                true => format!("the parameter `{name}` now takes all remaining positions"),
                false => format!("the parameter `{name}` now takes one position only"),
            };
            self.add(Severity::Breaking, place, what);
        }
        let default = |param: &ContentDescriptor| param.schema.as_value().get("default").cloned();
        if !old.required && !new.required && default(old) != default(new) {
            let what = format!("the default of the parameter `{name}` changed");
            self.add(Severity::Unsure, format!("{place}/schema/default"), what);
        }
        let schemas = (old.schema.as_value(), new.schema.as_value());
        self.schema(schemas, Direction::In, &below(place, "schema"), &format!("the parameter `{name}`"));
    }
}

/// Where each parameter stands; of two with one name the first.
fn places<'a>(params: &[&'a ContentDescriptor]) -> HashMap<&'a str, usize> {
    let mut places = HashMap::with_capacity(params.len());
    for (at, param) in params.iter().enumerate() {
        places.entry(param.name.as_str()).or_insert(at);
    }
    places
}
