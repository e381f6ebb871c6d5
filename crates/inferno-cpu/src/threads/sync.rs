//! The primitives that the pool is built from: those of the standard library, or loom's models of them, with which
//! `crates/inferno-cpu/loom` explores all interleavings of short steps.

// Only the model's own workspace sets `loom`.
#![allow(unexpected_cfgs)]

#[cfg(loom)]
pub(crate) use loom::{
    cell::UnsafeCell,
    hint::spin_loop,
    sync::{Arc, Mutex, MutexGuard, atomic},
    thread, thread_local,
};
#[cfg(not(loom))]
pub(crate) use std::{
    hint::spin_loop,
    sync::{Arc, Mutex, MutexGuard, atomic},
    thread, thread_local,
};

/// Iterations of an empty loop before a thread parks, about 20 to 50 microseconds.
pub(super) const SPINS: u32 = if cfg!(loom) { 1 } else { 1500 };

/// The standard library's `UnsafeCell` with loom's interface.
#[cfg(not(loom))]
pub(super) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

#[cfg(not(loom))]
impl<T> UnsafeCell<T> {
    pub(super) fn new(value: T) -> Self {
        Self(std::cell::UnsafeCell::new(value))
    }

    /// Calls `read` with a pointer that it may read.
    pub(super) fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        read(self.0.get())
    }

    /// Calls `write` with a pointer that it may write.
    pub(super) fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        write(self.0.get())
    }
}
