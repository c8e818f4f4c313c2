//! Tables with an entry for each session.

use std::collections::HashMap;
use std::hash::Hash;

/// A table of this size is kept.
const KEPT: usize = 64;

/// Gives back memory after entries were removed, if the table is mostly empty. It is halved at most as often as it has doubled, so this
/// costs removals little.
pub(crate) fn shrink<K: Eq + Hash, V>(table: &mut HashMap<K, V>) {
    if table.capacity() > KEPT && table.len() < table.capacity() / 4 {
        table.shrink_to(table.len() * 2);
    }
}
