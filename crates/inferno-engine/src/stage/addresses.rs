//! Where the stages of a model run.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;

use super::StageKey;

/// The addresses of the stages of a model, in the order of their layers. Clones share them.
#[derive(Clone)]
pub struct StageAddresses {
    addresses: Arc<RwLock<Vec<String>>>,
    pub(super) key: StageKey,
    /// How long requests wait for a lost stage.
    pub(super) recovery_timeout: Duration,
}

impl StageAddresses {
    /// How long requests wait for a lost stage by default.
    pub const DEFAULT_RECOVERY_TIMEOUT: Duration = Duration::from_secs(600);

    /// Creates a list of addresses such as `10.0.0.7:4100`.
    pub fn new(addresses: Vec<String>, key: StageKey) -> Self {
        let recovery_timeout = Self::DEFAULT_RECOVERY_TIMEOUT;
        Self { addresses: Arc::new(RwLock::new(addresses)), key, recovery_timeout }
    }

    /// Sets how long requests wait for a stage that is lost, before they fail.
    pub fn with_recovery_timeout(self, recovery_timeout: Duration) -> Self {
        Self { recovery_timeout, ..self }
    }

    /// Sets where stage `index` runs after it was lost.
    ///
    /// **Panics** if there is no such stage.
    pub fn set(&self, index: usize, address: String) {
        self.addresses.write()[index] = address;
    }

    /// Returns the number of stages.
    pub fn len(&self) -> usize {
        self.addresses.read().len()
    }

    /// Whether there are no stages.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn get(&self, index: usize) -> String {
        self.addresses.read()[index].clone()
    }
}
