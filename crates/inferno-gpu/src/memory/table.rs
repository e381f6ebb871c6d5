//! Tables for row lookups, which remain in the memory of the host.
//!
//! A pass reads a few rows of a table, decodes them and copies them to the device: a token's row has a few thousand values,
//! whereas a table has as many bytes as several layers.

use inferno_backend::WeightPart;

/// A table for row lookups.
#[derive(Debug)]
pub struct GpuTable {
    pub(crate) part: WeightPart,
}
