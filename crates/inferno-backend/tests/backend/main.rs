//! Batches and the reference backend.

mod batch;
mod observed;
mod reference;
