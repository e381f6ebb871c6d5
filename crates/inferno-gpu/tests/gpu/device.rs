//! The device that all tests share.

use std::sync::Arc;

use inferno_backend::{Backend, DeviceMemory, Function, Pass};
use inferno_conformance::cases::run;
use inferno_conformance::gpu;
use inferno_gpu::GpuBackend;

/// See [`gpu::adapter`].
pub fn adapter() -> Option<&'static GpuBackend> {
    gpu::adapter().map(Arc::as_ref)
}

#[test]
fn a_pass_is_one_submission() {
    let Some(backend) = adapter() else { return };
    let mut x = backend.alloc(2, 3).expect("memory");
    backend.upload(&[1.0, -2.0, 3.0, 4.0, 5.0, -6.0], &mut x);
    let y = backend.alloc(2, 3).expect("memory");
    let before = backend.counters();
    run(backend, |pass| {
        pass.add_scaled(2, &y, 1.0, &mut x);
        pass.apply(2, Function::ReluSquared, &mut x);
    });
    let mut staging = Vec::new();
    let found = backend.download(&x, 0..6, &mut staging).expect("a device that works");
    assert_eq!(found, [1.0, 0.0, 9.0, 16.0, 25.0, 0.0]);
    let after = backend.counters();
    // Other tests submit passes at the same time.
    assert!(after.submissions > before.submissions && after.dispatches >= before.dispatches + 2);
}

#[test]
fn a_flushed_pass_continues() {
    let Some(backend) = adapter() else { return };
    let mut x = backend.alloc(1, 2).expect("memory");
    backend.upload(&[1.0, 2.0], &mut x);
    let mut pass = backend.begin();
    for factor in [3.0, 5.0] {
        pass.apply(1, Function::Scale { factor }, &mut x);
        pass.flush().expect("a device that works");
    }
    assert_eq!(backend.download(&x, 0..2, &mut Vec::new()).expect("it works"), [15.0, 30.0]);
    backend.upload(&[7.0], &mut x);
    pass.apply(1, Function::Scale { factor: 2.0 }, &mut x);
    pass.submit().expect("a device that works");
    assert_eq!(backend.download(&x, 0..2, &mut Vec::new()).expect("it works"), [14.0, 60.0]);
}

#[test]
fn a_dropped_pass_does_not_run() {
    let Some(backend) = adapter() else { return };
    let mut x = backend.alloc(1, 2).expect("memory");
    backend.upload(&[1.0, 2.0], &mut x);
    let mut dropped = backend.begin();
    dropped.apply(1, Function::Scale { factor: 10.0 }, &mut x);
    drop(dropped);
    run(backend, |pass| pass.apply(1, Function::Scale { factor: 3.0 }, &mut x));
    assert_eq!(backend.download(&x, 0..2, &mut Vec::new()).expect("it works"), [3.0, 6.0]);
}

#[test]
fn a_pass_has_any_number_of_dispatches() {
    let Some(backend) = adapter() else { return };
    let (mut x, mut y) =
        (backend.alloc(1, 1).expect("memory"), backend.alloc(1, 1).expect("memory"));
    backend.upload(&[1.0], &mut y);
    run(backend, |pass| {
        for number in 0..1000 {
            pass.add_scaled(1, &y, number as f32, &mut x);
        }
    });
    assert_eq!(backend.download(&x, 0..1, &mut Vec::new()).expect("it works"), [499_500.0]);
    // Buffers that no longer exist are not bound again.
    for number in 0..20 {
        let mut other = backend.alloc(1, 1).expect("memory");
        run(backend, |pass| pass.add_scaled(1, &y, number as f32, &mut other));
        let found = backend.download(&other, 0..1, &mut Vec::new()).expect("it works")[0];
        assert_eq!(found, number as f32);
    }
}
