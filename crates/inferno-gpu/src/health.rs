//! Failures of a device, which are reported apart from the calls that caused them.

use std::sync::{Arc, Mutex, PoisonError};

use inferno_backend::BackendError;

/// The first failure of a device, after which nothing that it computes is valid.
#[derive(Debug, Default)]
pub(crate) struct Health {
    failure: Mutex<Option<String>>,
}

impl Health {
    /// Observes a device.
    pub(crate) fn of(device: &wgpu::Device) -> Arc<Self> {
        let health = Arc::new(Self::default());
        let observer = Arc::clone(&health);
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            observer.fail(error.to_string());
        }));
        let observer = Arc::clone(&health);
        device.set_device_lost_callback(move |reason, message| {
            // A device that is dropped is lost as well.
            if reason != wgpu::DeviceLostReason::Destroyed {
                observer.fail(message);
            }
        });
        health
    }

    /// Records a failure, unless there is one.
    pub(crate) fn fail(&self, reason: String) {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.get_or_insert(reason);
    }

    /// **Errors**: [`BackendError::DeviceLost`] if the device has failed.
    pub(crate) fn check(&self) -> Result<(), BackendError> {
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.clone().map_or(Ok(()), |reason| Err(BackendError::DeviceLost { reason }))
    }
}
