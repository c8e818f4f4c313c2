//! The methods that `switchboard serve` serves, to try things out with.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use switchboard::{ErrorObject, Json, Router, RouterError, Stream, service};

use crate::number::Number;

/// The router of all demo methods.
pub(crate) fn router() -> Result<Router, RouterError> {
    Router::builder().add(Math).add(Basics).build()
}

/// Arithmetic.
struct Math;

#[service(namespace = "math")]
impl Math {
    /// Adds two numbers.
    #[method(safe)]
    fn add(&self, a: Number, b: Number) -> Result<Number, ErrorObject> {
        a.combine(b, i128::checked_add, |a, b| a + b)
    }

    /// Subtracts the second number from the first.
    #[method(safe)]
    fn subtract(&self, a: Number, b: Number) -> Result<Number, ErrorObject> {
        a.combine(b, i128::checked_sub, |a, b| a - b)
    }

    /// Multiplies two numbers.
    #[method(safe)]
    fn multiply(&self, a: Number, b: Number) -> Result<Number, ErrorObject> {
        a.combine(b, i128::checked_mul, |a, b| a * b)
    }

    /// Takes the square root of a number.
    #[method(safe)]
    fn sqrt(
        &self,
        /// The number; not negative.
        x: Number,
    ) -> Result<f64, ErrorObject> {
        let x = x.to_f64();
        if x < 0.0 { Err(ErrorObject::validation_failed("x must not be negative")) } else { Ok(x.sqrt()) }
    }
}

/// What does not need a namespace.
struct Basics;

#[service]
impl Basics {
    /// Answers with what it was given.
    #[method(safe)]
    fn echo(&self, message: Json) -> Json {
        message
    }

    /// Adds any number of numbers.
    #[method(safe)]
    fn sum(&self, #[arg(rest)] numbers: Vec<Number>) -> Result<Number, ErrorObject> {
        let add = |sum: Number, number| sum.combine(number, i128::checked_add, |a, b| a + b);
        numbers.into_iter().try_fold(Number::Whole(0), add)
    }

    /// Subtracts as the examples of the JSON-RPC specification do.
    #[method(safe)]
    fn subtract(&self, minuend: Number, subtrahend: Number) -> Result<Number, ErrorObject> {
        minuend.combine(subtrahend, i128::checked_sub, |a, b| a - b)
    }

    /// Streams the numbers from 1 on.
    #[method(safe)]
    fn count(
        &self,
        /// The last number.
        to: u32,
    ) -> impl Stream<Item = u32> + Send + 'static {
        futures_util::stream::iter(1..=to)
    }

    /// Answers after some seconds, with their number.
    #[method(safe)]
    async fn wait(
        &self,
        /// How many; not negative.
        seconds: f64,
    ) -> Result<f64, ErrorObject> {
        let time = Duration::try_from_secs_f64(seconds)
            .map_err(|_| ErrorObject::validation_failed("seconds must not be negative, nor too many"))?;
        tokio::time::sleep(time).await;
        Ok(seconds)
    }

    /// Answers with the seconds since 1970.
    #[method(safe, name = "time/now")]
    fn now(&self) -> f64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchboard::{CallError, Peer};

    async fn call(method: &str, params: &str) -> String {
        let peer = Peer::local(router().unwrap());
        let params = Json::parse(params.to_owned()).unwrap();
        match peer.call::<Json>(method, params).await {
            Ok(json) => json.to_string(),
            Err(CallError::Rejected(error)) => {
                format!("{} {}", error.code, error.data.clone().unwrap_or(Json::NULL))
            }
            Err(other) => panic!("{other}"),
        }
    }

    #[tokio::test]
    async fn numbers_keep_their_kind() {
        let check = async |method: &str, params: &str, expected: &str| {
            assert_eq!(call(method, params).await, expected, "{params}");
        };
        check("math/add", "[2,3]", "5").await;
        check("math/add", "[2,3.0]", "5.0").await;
        check("math/add", r#"{"a":-2,"b":-3}"#, "-5").await;
        check("math/add", "[18446744073709551615,18446744073709551615]", "36893488147419103230").await;
        check("math/subtract", "[0.5,1]", "-0.5").await;
        check("math/multiply", "[3000000000,3000000000]", "9000000000000000000").await;
        check("subtract", "[42,23]", "19").await;
        check("sum", "[1,2,3]", "6").await;
        check("sum", "[]", "0").await;
        check("sum", "[1,2.5]", "3.5").await;
        check("math/sqrt", "[9]", "3.0").await;
        check(
            "echo",
            r#"[{"b":1.50,"a":12345678901234567890123}]"#,
            r#"{"b":1.50,"a":12345678901234567890123}"#,
        )
        .await;
    }

    #[tokio::test]
    async fn what_cannot_be_computed_is_an_error_that_says_so() {
        let check = async |method: &str, params: &str, code: &str, detail: &str| {
            let answer = call(method, params).await;
            assert!(answer.starts_with(code) && answer.contains(detail), "{params}: {answer}");
        };
        check("math/sqrt", "[-1]", "-32001", "negative").await;
        let most = i128::MAX.to_string();
        check("math/add", &format!("[{most},1]"), "-32001", "too large").await;
        check("math/multiply", "[1e200,1e200]", "-32001", "too large").await;
        check("math/add", &format!("[{most}0,1]"), "-32602", "128 bits").await;
        check("math/add", r#"["2",3]"#, "-32602", "a number").await;
        check("sum", "[1,null]", "-32602", "a number").await;
        check("math/add", "[1e999,1]", "-32602", "128 bits").await;
    }

    #[test]
    fn every_method_is_described() {
        for method in router().unwrap().describe().methods {
            assert!(!method.summary.is_empty(), "{}", method.name);
            assert!(method.marks.safe, "{}", method.name);
        }
    }
}
