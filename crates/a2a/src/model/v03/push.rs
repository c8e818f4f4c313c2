//! Places for notifications as 0.3 writes them: inside another object, and with a list of schemes.

use serde_json::{Value, json};

use super::{change, rename, take};

/// The members that 0.3 has outside.
const OUTSIDE: [&str; 2] = ["taskId", "tenant"];

/// A place of 1.0 as one of 0.3.
pub fn lower(config: &mut Value) {
    let mut outer = json!({});
    for member in OUTSIDE {
        if let Some(value) = take(config, member) {
            outer[member] = value;
        }
    }
    lower_inner(config);
    outer["pushNotificationConfig"] = config.take();
    *config = outer;
}

/// The part that a request with a message has.
pub fn lower_inner(config: &mut Value) {
    change(config, "authentication", |authentication| {
        if let Some(scheme) = take(authentication, "scheme") {
            authentication["schemes"] = json!([scheme]);
        }
    });
}

/// A place of 0.3 as one of 1.0.
pub fn raise(config: &mut Value) {
    let Some(mut inner) = take(config, "pushNotificationConfig").filter(Value::is_object) else { return };
    raise_inner(&mut inner);
    for member in OUTSIDE {
        if let Some(value) = take(config, member) {
            inner[member] = value;
        }
    }
    *config = inner;
}

/// A list of places of 0.3 as a page of 1.0.
pub fn raise_list(list: &mut Value) {
    if let Some(configs) = list.as_array_mut() {
        configs.iter_mut().for_each(raise);
        *list = json!({"configs": list.take()});
    }
}

/// The part that a request with a message has.
pub fn raise_inner(config: &mut Value) {
    change(config, "authentication", |authentication| {
        // 1.0 has one scheme, and credentials are for one.
        if let Some(Value::Array(schemes)) = take(authentication, "schemes") {
            authentication["scheme"] = schemes.into_iter().next().unwrap_or_default();
        }
    });
}

/// The params of a method about one place, or about those of a task.
pub fn lower_params(params: &mut Value) {
    rename(params, "id", "pushNotificationConfigId");
    rename(params, "taskId", "id");
}

/// The same as 1.0 writes them.
pub fn raise_params(params: &mut Value) {
    rename(params, "id", "taskId");
    rename(params, "pushNotificationConfigId", "id");
}

#[cfg(test)]
mod tests {
    use super::*;

    // A2A-D-07
    #[test]
    fn a_place_of_0_3_comes_back_as_it_was() {
        let config = json!({"id": "c", "taskId": "t", "url": "https://a.test", "token": "x",
            "authentication": {"scheme": "Bearer", "credentials": "y"}});
        let mut there = config.clone();
        lower(&mut there);
        let inner = json!({"id": "c", "url": "https://a.test", "token": "x",
            "authentication": {"schemes": ["Bearer"], "credentials": "y"}});
        assert_eq!(there, json!({"taskId": "t", "pushNotificationConfig": inner}));
        raise(&mut there);
        assert_eq!(there, config);
    }

    #[test]
    fn params_of_0_3_name_the_task_by_id() {
        let params = json!({"taskId": "t", "id": "c"});
        let mut there = params.clone();
        lower_params(&mut there);
        assert_eq!(there, json!({"id": "t", "pushNotificationConfigId": "c"}));
        raise_params(&mut there);
        assert_eq!(there, params);
    }
}
