//! Failures of a device, which are reported apart from the calls that caused them, unless these are in a
//! [scope](scoped).

use std::sync::{Arc, Mutex, PoisonError};

use inferno_backend::BackendError;

/// Creates something on a device. An error is returned, and is not a failure of the device.
///
/// **Errors**: those of wgpu, of any kind.
pub(crate) fn scoped<T>(
    device: &wgpu::Device,
    create: impl FnOnce() -> T,
) -> Result<T, wgpu::Error> {
    let filters = [
        wgpu::ErrorFilter::Internal,
        wgpu::ErrorFilter::Validation,
        wgpu::ErrorFilter::OutOfMemory,
    ];
    let scopes = filters.map(|filter| device.push_error_scope(filter));
    let created = create();
    let [outer, middle, inner] = scopes.map(Some);
    let errors = [inner, middle, outer].map(|scope| pollster::block_on(scope?.pop()));
    errors.into_iter().flatten().next().map_or(Ok(created), Err)
}

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
