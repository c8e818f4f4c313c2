//! JSON that nobody reads is never parsed into values.

use switchboard_core::Settings;
use switchboard_tests::demo;

use crate::ask;

/// Sends these params to `echo`, which must give them back byte for byte.
async fn check(params: &str) {
    let body = format!(r#"{{"jsonrpc":"2.0","method":"echo","params":{params},"id":1}}"#);
    let answer = ask(demo::router(), body, &Settings::default()).await.unwrap();
    assert_eq!(answer, format!(r#"{{"jsonrpc":"2.0","result":{params},"id":1}}"#));
}

#[tokio::test]
async fn what_no_number_type_holds_passes_byte_for_byte() {
    // J2-63
    let digits = "9".repeat(200);
    for number in ["1e999999", "-0.0", "1E+2", "0.10", &digits, &format!("-0.{digits}e-{digits}")] {
        check(&format!("[{number}]")).await;
    }
}

#[tokio::test]
async fn white_space_and_escapes_pass_byte_for_byte() {
    // J2-57, J2-76
    check("{ \"a\" :\t[ 1 ,\r\n2 ] }").await;
    check(r#"["\u0041\/\ud83d\ude00","/","é漢😀","\u0000"]"#).await;
    check(r#"{"z":1,"a":2,"__proto__":{}}"#).await;
}

#[tokio::test]
async fn nesting_up_to_the_limit_passes_byte_for_byte() {
    // J2-65: the message itself is the first of 128 levels.
    check(&format!("{}{}", "[".repeat(127), "]".repeat(127))).await;
    check(&format!("{}1{}", r#"{"a":"#.repeat(127), "}".repeat(127))).await;
}

#[tokio::test]
async fn members_that_nobody_knows_are_not_read_either() {
    // J2-62
    let body = r#"{"jsonrpc":"2.0","method":"add","params":[1,2],"id":1,"x":1e999999,"y":[[{"z":-0}]]}"#;
    let answer = ask(demo::router(), body, &Settings::default()).await.unwrap();
    assert_eq!(answer, r#"{"jsonrpc":"2.0","result":3,"id":1}"#);
}
