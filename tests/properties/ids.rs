//! Identifiers come back byte for byte.

use proptest::prelude::*;
use switchboard_core::Settings;
use switchboard_tests::demo;

use crate::{ask, config, text};

proptest! {
    #![proptest_config(config(500))]

    // SEC-J-03
    #[test]
    fn an_id_of_2_0_comes_back_byte_for_byte(id in prop_oneof![text::string(), text::number()]) {
        // J2-14, J2-28
        let body = format!(r#"{{"jsonrpc":"2.0","method":"false_result","id": {id} }}"#);
        let answer = ask(demo::router(), body, &Settings::default());
        prop_assert_eq!(answer, Some(format!(r#"{{"jsonrpc":"2.0","result":false,"id":{id}}}"#)));
    }

    #[test]
    fn an_id_of_1_0_of_any_kind_comes_back_byte_for_byte(id in text::value()) {
        // J1-04, J1-07
        prop_assume!(id != "null" && id.len() <= 1024);
        let body = format!(r#"{{"method":"false_result","params":[],"id": {id} }}"#);
        let answer = ask(demo::router(), body, &Settings::default());
        prop_assert_eq!(answer, Some(format!(r#"{{"result":false,"error":null,"id":{id}}}"#)));
    }
}
