//! Inputs and computations for the tests of backends.
//!
//! The functions compute with one operation, or a few, on any backend: tests compare the results of two backends, or of
//! one backend on different batches. They panic if the device fails.
#![forbid(unsafe_code)]

pub mod attention;
pub mod candidates;
pub mod cases;
pub mod elementwise;
pub mod experts;
#[cfg(feature = "gpu")]
pub mod gpu;
pub mod heads;
pub mod kv_cache;
pub mod products;
pub mod recurrent;
pub mod selective_scan;
