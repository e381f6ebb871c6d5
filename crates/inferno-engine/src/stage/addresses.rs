//! Where the stages of a model run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::RwLock;

use super::StageKey;

/// The addresses of the stages of a model, in the order of their layers. Clones share them.
#[derive(Clone)]
pub struct StageAddresses {
    places: Arc<Places>,
    pub(super) key: StageKey,
    /// How long requests wait for a lost stage.
    pub(super) recovery_timeout: Duration,
}

/// What the clones share.
struct Places {
    addresses: RwLock<Vec<String>>,
    is_closed: AtomicBool,
}

impl StageAddresses {
    /// How long requests wait for a lost stage by default.
    pub const DEFAULT_RECOVERY_TIMEOUT: Duration = Duration::from_secs(600);

    /// Creates a list of addresses such as `10.0.0.7:4100`.
    pub fn new(addresses: Vec<String>, key: StageKey) -> Self {
        let recovery_timeout = Self::DEFAULT_RECOVERY_TIMEOUT;
        let (addresses, is_closed) = (RwLock::new(addresses), AtomicBool::new(false));
        Self { places: Arc::new(Places { addresses, is_closed }), key, recovery_timeout }
    }

    /// Sets how long requests wait for a stage that is lost, before they fail.
    pub fn with_recovery_timeout(self, recovery_timeout: Duration) -> Self {
        Self { recovery_timeout, ..self }
    }

    /// Sets where stage `index` runs after it was lost.
    ///
    /// **Panics** if there is no such stage.
    pub fn set(&self, index: usize, address: String) {
        self.places.addresses.write()[index] = address;
    }

    /// Announces that the stages end and do not return: requests that wait for a lost stage fail at once with
    /// [`EngineError::EngineStopped`](crate::EngineError::EngineStopped), as do later ones. A pass that a stage computes is not
    /// interrupted.
    pub fn close(&self) {
        self.places.is_closed.store(true, Ordering::Relaxed);
    }

    /// Whether there are clones, such as those of a model that was loaded with these addresses.
    pub fn is_shared(&self) -> bool {
        Arc::strong_count(&self.places) > 1
    }

    /// Returns the number of stages.
    pub fn len(&self) -> usize {
        self.places.addresses.read().len()
    }

    /// Whether there are no stages.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn get(&self, index: usize) -> String {
        self.places.addresses.read()[index].clone()
    }

    /// Whether the stages do not return.
    pub(super) fn is_closed(&self) -> bool {
        self.places.is_closed.load(Ordering::Relaxed)
    }
}
