//! Unique ids.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

/// Returns a unique, unpredictable id: the prefix and 24 hexadecimal digits.
pub fn unique_id(prefix: &str) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    // The standard library's hashers have random keys.
    let random = RandomState::new();
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{prefix}{:016x}{:08x}", random.hash_one(count), random.hash_one(!count) as u32)
}
