//! The GPU that the tests of a process share.

use std::sync::{Arc, OnceLock};

use inferno_gpu::{GpuAdapter, GpuBackend};

/// The first adapter, or the one named by `INFERNO_GPU`.
///
/// Returns `None`, and prints so, if there is none.
///
/// **Panics** if there is none and `INFERNO_REQUIRE_GPU` is 1.
pub fn adapter() -> Option<&'static Arc<GpuBackend>> {
    static BACKEND: OnceLock<Option<Arc<GpuBackend>>> = OnceLock::new();
    let open = || {
        let adapter = match std::env::var("INFERNO_GPU") {
            Ok(name) => Some(GpuAdapter::named(&name).expect("the adapter")),
            Err(_) => GpuAdapter::all().first(),
        };
        let open = |adapter| GpuBackend::new(adapter).expect("a device that can be opened");
        adapter.map(open).map(Arc::new)
    };
    let backend = BACKEND.get_or_init(open).as_ref();
    if backend.is_none() {
        let required = std::env::var("INFERNO_REQUIRE_GPU").is_ok_and(|value| value == "1");
        assert!(!required, "no GPU adapter, but INFERNO_REQUIRE_GPU is 1");
        println!("skipped: no GPU adapter");
    }
    backend
}
