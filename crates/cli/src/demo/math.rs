//! Arithmetic: with a namespace as in the first tutorial, and without as in the others.

use futures_util::stream;
use switchboard::{Stream, service};

use super::bounded::{Bounded, Bounds};
use super::faults::Unacceptable;
use super::number::Number;

fn add(a: Number, b: Number) -> Result<Number, Unacceptable> {
    a.combine(b, i128::checked_add, |a, b| a + b)
}

fn subtract(a: Number, b: Number) -> Result<Number, Unacceptable> {
    a.combine(b, i128::checked_sub, |a, b| a - b)
}

/// Numbers that have a square root.
struct NotNegative;

impl Bounds for NotNegative {
    type Of = f64;
    const NAME: &'static str = "x";
    const LEAST: f64 = 0.0;
    const MOST: Option<f64> = None;
}

/// One of two numbers to add, whose sum fits into 64 bits.
struct Addend;

impl Bounds for Addend {
    type Of = i64;
    const NAME: &'static str = "each number";
    const LEAST: i64 = -1_000_000_000_000_000_000;
    const MOST: Option<i64> = Some(1_000_000_000_000_000_000);
}

/// Arithmetic with `a` and `b`.
pub(super) struct Math;

#[service(namespace = "math")]
impl Math {
    /// Adds two numbers.
    #[method(safe, tag = "arithmetic", example(name = "small numbers", params = [2, 3], result = 5))]
    fn add(&self, a: Number, b: Number) -> Result<Number, Unacceptable> {
        add(a, b)
    }

    /// Subtracts the second number from the first.
    #[method(safe, tag = "arithmetic", example(name = "small numbers", params = [5, 3], result = 2))]
    fn subtract(&self, a: Number, b: Number) -> Result<Number, Unacceptable> {
        subtract(a, b)
    }

    /// Multiplies two numbers.
    #[method(safe, tag = "arithmetic", example(name = "small numbers", params = {"a": 2, "b": 3}, result = 6))]
    fn multiply(&self, a: Number, b: Number) -> Result<Number, Unacceptable> {
        a.combine(b, i128::checked_mul, |a, b| a * b)
    }

    /// Returns the square root of a number.
    #[method(safe, tag = "arithmetic", example(name = "a square", params = [9], result = 3.0))]
    fn sqrt(
        &self,
        /// A number that is not negative.
        x: Bounded<NotNegative>,
    ) -> Result<f64, Unacceptable> {
        x.get().map(f64::sqrt)
    }

    /// Streams the numbers from 0 to the sum of two whole numbers.
    ///
    /// Numbers are produced as fast as they are read, so even a huge sum takes no memory.
    #[method(safe, tag = "streams", example(name = "up to three", params = [1, 2], result = [0, 1, 2, 3]))]
    fn add_stream(
        &self,
        a: Bounded<Addend>,
        /// The sum must not be negative.
        b: Bounded<Addend>,
    ) -> Result<impl Stream<Item = i64> + Send + 'static, Unacceptable> {
        match a.get()? + b.get()? {
            sum @ 0.. => Ok(stream::iter(0..=sum)),
            _ => Err("the sum must not be negative".into()),
        }
    }
}

/// Arithmetic as in the examples of the JSON-RPC specification.
pub(super) struct Plain;

#[service]
impl Plain {
    /// Adds two numbers.
    #[method(safe, tag = "arithmetic", example(name = "small numbers", params = [2, 3], result = 5))]
    fn add(&self, a: Number, b: Number) -> Result<Number, Unacceptable> {
        add(a, b)
    }

    /// Subtracts, as in the examples of the JSON-RPC specification.
    #[method(
        safe,
        tag = "arithmetic",
        example(name = "by position", params = [42, 23], result = 19),
        example(name = "by name", params = {"subtrahend": 23, "minuend": 42}, result = 19),
    )]
    fn subtract(&self, minuend: Number, subtrahend: Number) -> Result<Number, Unacceptable> {
        subtract(minuend, subtrahend)
    }

    /// Adds all its parameters.
    #[method(safe, tag = "arithmetic", example(name = "three numbers", params = [1, 2, 4], result = 7))]
    fn sum(&self, #[arg(rest)] numbers: Vec<Number>) -> Result<Number, Unacceptable> {
        numbers.into_iter().try_fold(Number::Whole(0), add)
    }
}
