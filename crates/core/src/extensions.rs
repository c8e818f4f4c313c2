//! Typed values that travel with a call.

use std::any::Any;
use std::sync::Arc;

/// A set of typed values, one for each type.
///
/// Cloning costs one reference count, and adding to a clone does not affect the original: the set is a list that shares its
/// tail. A lookup walks that list, so it is meant for a handful of values.
#[derive(Clone, Default)]
pub struct Extensions(Option<Arc<Node<dyn Any + Send + Sync>>>);

/// A value and those before it, in one allocation.
struct Node<T: ?Sized> {
    rest: Extensions,
    value: T,
}

impl Extensions {
    /// Adds a value; it hides an earlier one of the same type.
    pub fn insert<T: Send + Sync + 'static>(&mut self, value: T) {
        let rest = std::mem::take(self);
        *self = Extensions(Some(Arc::new(Node { rest, value })));
    }

    /// Whether nothing was added.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The value of this type that was added last.
    #[must_use]
    pub fn get<T: 'static>(&self) -> Option<&T> {
        let mut list = self;
        while let Some(node) = &list.0 {
            if let Some(value) = node.value.downcast_ref() {
                return Some(value);
            }
            list = &node.rest;
        }
        None
    }
}

impl std::fmt::Debug for Extensions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Extensions { .. }")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_value_hides_an_earlier_one_in_that_clone_only() {
        let mut first = Extensions::default();
        first.insert(1_u8);
        let mut second = first.clone();
        second.insert(2_u8);
        second.insert("word");
        assert_eq!((first.get::<u8>(), second.get::<u8>()), (Some(&1), Some(&2)));
        assert_eq!((first.get::<&str>(), second.get::<&str>()), (None, Some(&"word")));
    }
}
