//! Arbitrary values, and what must hold for every type.

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use switchboard_core::Json;
use switchboard_mcp::model::{Annotations, Icon, Implementation, Meta, Revision, Role, Theme, Wire};

use crate::schemas::{self, Reading};

/// Writes the value for every revision that has the type, and checks it against the schema. What is read again and written
/// again is the same.
#[track_caller]
pub(crate) fn check<T: Wire + DeserializeOwned>(value: &T, name: &str, revisions: &[Revision]) {
    check_inside(value, name, revisions, |_, value| value);
}

/// Does the same for a type that the schema has only as a part of another, which `around` builds.
#[track_caller]
pub(crate) fn check_inside<T: Wire + DeserializeOwned>(
    value: &T,
    name: &str,
    revisions: &[Revision],
    around: impl Fn(Revision, Value) -> Value,
) {
    for &revision in revisions {
        let written = value.to_json(revision);
        let again: T = serde_json::from_str(written.as_str()).unwrap();
        assert_eq!(again.to_json(revision), written, "{revision}");
        let whole = around(revision, serde_json::from_str(written.as_str()).unwrap());
        schemas::check(revision, name, &whole, Reading::Closed);
    }
}

/// A request with these params, with the members that the revision's schema has for it.
pub(crate) fn request(revision: Revision, name: &str, method: &str, params: &Value) -> Value {
    let mut request = json!({"method": method, "params": params});
    if schemas::definition(revision, name).unwrap()["properties"].get("jsonrpc").is_some() {
        request["jsonrpc"] = "2.0".into();
        request["id"] = 1.into();
    }
    request
}

/// A notification with these params, with the members that the revision's schema has for it.
pub(crate) fn notification(revision: Revision, name: &str, method: &str, params: &Value) -> Value {
    let mut notification = request(revision, name, method, params);
    notification.as_object_mut().unwrap().remove("id");
    notification
}

/// The revisions from this one on.
pub(crate) fn since(first: Revision) -> Vec<Revision> {
    Revision::ALL.into_iter().filter(|revision| *revision >= first).collect()
}

pub(crate) fn text() -> impl Strategy<Value = String> {
    ".{0,12}"
}

pub(crate) fn uri() -> impl Strategy<Value = String> {
    "[a-z]{1,5}://[a-z]{1,8}/[a-z0-9]{0,5}"
}

pub(crate) fn bytes() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..40)
}

pub(crate) fn some<T: std::fmt::Debug>(
    strategy: impl Strategy<Value = T>,
) -> impl Strategy<Value = Option<T>> {
    option::of(strategy)
}

pub(crate) fn few<T: std::fmt::Debug>(strategy: impl Strategy<Value = T>) -> impl Strategy<Value = Vec<T>> {
    vec(strategy, 0..3)
}

/// A number from 0 to 1.
pub(crate) fn share() -> impl Strategy<Value = f64> {
    0.0..=1.0
}

/// An object of plain values.
pub(crate) fn object() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        any::<i32>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        text().prop_map(Value::from)
    ];
    btree_map("[a-z]{1,4}", leaf, 0..3).prop_map(|members| Json::encode(&members).unwrap())
}

/// Any JSON value.
pub(crate) fn any_json() -> impl Strategy<Value = Json> {
    prop_oneof![object(), few(object()).prop_map(|list| Json::encode(&list).unwrap()), Just(Json::TRUE)]
}

pub(crate) fn objects() -> impl Strategy<Value = Meta> {
    btree_map("[a-z]{1,4}/[a-z]{1,4}", object(), 0..3)
}

pub(crate) fn meta() -> impl Strategy<Value = Meta> {
    btree_map("[a-z]{1,4}/[a-z]{1,4}", any_json(), 0..3)
}

pub(crate) fn role() -> impl Strategy<Value = Role> {
    prop_oneof![Just(Role::User), Just(Role::Assistant)]
}

prop_compose! {
    pub(crate) fn annotations()(
        audience in few(role()), priority in some(share()), last_modified in some(text())
    ) -> Annotations {
        let mut annotations = Annotations::default();
        annotations.audience = audience;
        annotations.priority = priority;
        annotations.last_modified = last_modified;
        annotations
    }
}

prop_compose! {
    pub(crate) fn icon()(
        src in uri(), mime_type in some(text()), sizes in few(text()),
        theme in some(prop_oneof![Just(Theme::Light), Just(Theme::Dark)])
    ) -> Icon {
        let mut icon = Icon::new(src);
        icon.mime_type = mime_type;
        icon.sizes = sizes;
        icon.theme = theme;
        icon
    }
}

prop_compose! {
    pub(crate) fn implementation()(
        name in text(), version in text(), title in some(text()), description in some(text()),
        website_url in some(uri()), icons in few(icon())
    ) -> Implementation {
        let mut implementation = Implementation::new(name, version);
        implementation.title = title;
        implementation.description = description;
        implementation.website_url = website_url;
        implementation.icons = icons;
        implementation
    }
}
