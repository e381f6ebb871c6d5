//! One task of a product.

use std::ops::Range;

use super::target::OutputTarget;
use crate::ops::activations::Activations;
use crate::pack::PackedPart;
use crate::scratch::CacheLine;

/// Some panels of one expert, and all of the expert's rows.
pub(crate) struct Product<'a> {
    /// The panels.
    pub(super) panels: &'a [u8],
    /// Bytes of each panel.
    pub(super) panel_bytes: usize,
    /// Columns of the weight.
    pub(super) cols: usize,
    /// The activations of the target's rows, in their order and in the form that the weights read.
    pub(super) inputs: Activations<'a>,
    /// Where the results are stored.
    pub(super) target: OutputTarget<'a>,
    /// At least [`PRODUCT_LINES`](super::PRODUCT_LINES) cache lines to compute in.
    pub(super) scratch: &'a mut [CacheLine],
}

impl<'a> Product<'a> {
    /// The product of panels `panels` of an expert of `part` with the rows of `inputs`.
    pub(crate) fn new(
        part: &'a PackedPart,
        expert: usize,
        panels: Range<usize>,
        inputs: Activations<'a>,
        target: OutputTarget<'a>,
        scratch: &'a mut [CacheLine],
    ) -> Self {
        Self {
            panels: part.panels(expert, panels),
            panel_bytes: part.panel_bytes,
            cols: part.cols,
            inputs,
            target,
            scratch,
        }
    }
}
