//! Batches and the reference backend.

mod batch;
mod reference;
