//! Hashes that only this process can compute.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::LazyLock;

use foldhash::SharedSeed;
use foldhash::quality::SeedableRandomState;

/// A fast hash with a random seed of the system. Strangers cannot tell which of their texts collide.
pub(crate) type SecretHashing = SeedableRandomState;

pub(crate) fn secret_hashing() -> SecretHashing {
    static SHARED: LazyLock<SharedSeed> = LazyLock::new(|| SharedSeed::from_u64(random()));
    SeedableRandomState::with_seed(random(), &SHARED)
}

fn random() -> u64 {
    RandomState::new().hash_one(())
}
