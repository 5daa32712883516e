//! How much users may keep in a cluster state: every node holds all of it, and a new one is sent all of it.

use std::time::Duration;

/// The longest name of a key, setting, index, lease or holder, in bytes.
pub const NAME_BYTES_MAX: usize = 512;
/// The largest value of a key, in bytes.
pub const VALUE_BYTES_MAX: usize = 1 << 20;
/// How many keys there may be.
pub const KEYS_MAX: usize = 100_000;
/// How many bytes all keys, their values and the names of the leases that they are tied to may have together, as they are
/// written in JSON: a byte of a text can take six there, and bytes that are no text take four thirds.
pub const KEY_BYTES_MAX: u64 = 16 << 20;
/// How many bytes the names and values of all settings of the cluster may have together, as they are written in JSON.
pub const SETTING_BYTES_MAX: u64 = 4 << 20;
/// How many conditions, puts and deletes one request may have together.
pub const TXN_MAX: usize = 512;
/// How many leases may be held at a time.
pub const LEASES_MAX: usize = 1_000;
/// The shortest lease: shorter ones end with every hiccup.
pub const TTL_MIN: Duration = Duration::from_millis(100);
/// The longest lease: so long nobody gets what a dead holder had.
pub const TTL_MAX: Duration = Duration::from_secs(86_400);
/// How many keys one answer holds at the most.
pub const RANGE_MAX: usize = 10_000;
/// How many bytes of keys and values one answer holds at the most, but for the first key.
pub const RANGE_BYTES_MAX: usize = 8 << 20;

/// By how many percent a holder's lease is shorter than the service's, so that it ends first on clocks that run apart.
pub const DRIFT_PERCENT: u32 = 10;

/// For how long a holder may believe to hold a lease: counted on its own clock, from the moment at which it first sent
/// the request that was granted, or the keep-alive that was answered.
pub fn holders_ttl(ttl: Duration) -> Duration {
    ttl / 100 * (100 - DRIFT_PERCENT)
}
