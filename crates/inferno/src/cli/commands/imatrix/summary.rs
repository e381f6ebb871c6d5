//! The contents of an importance matrix as Markdown tables.

use std::fmt;

use crate::ImportanceMatrix;
use crate::cli::terminal::printable::printable;

/// Figures of all tensors and layers.
pub(super) struct Summary<'a>(pub(super) &'a ImportanceMatrix);

impl fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = [
            "layer", "tensor", "Σx²", "minimum", "maximum", "mean", "σ", "active", "N", "entropy",
            "relative", "ZD", "cosine",
        ];
        header(f, &columns)?;
        for tensor in self.0.tensor_summaries() {
            let layer = tensor.layer.map_or("-".to_owned(), |layer| layer.to_string());
            write!(f, "| {layer} | {} | {:.2} ", printable(tensor.role()), tensor.sum)?;
            write!(f, "| {:.4} | {:.4} ", tensor.minimum, tensor.maximum)?;
            write!(f, "| {:.2} | {:.2} ", tensor.mean, tensor.deviation)?;
            write!(f, "| {:.2}% | {} ", 100.0 * tensor.active, tensor.num_columns)?;
            write!(f, "| {:.4} | {:.2}% ", tensor.entropy, 100.0 * tensor.relative_entropy())?;
            writeln!(f, "| {:.2}% | {:.4} |", 100.0 * tensor.outstanding, tensor.similarity)?;
        }
        writeln!(f)?;
        header(f, &["layer", "mean Σx²", "mean ZD", "mean cosine"])?;
        for (number, layer) in self.0.layer_summaries() {
            write!(f, "| {number} | {:.2} ", layer.sum)?;
            writeln!(f, "| {:.4}% | {:.4} |", 100.0 * layer.outstanding, layer.similarity)?;
        }
        Ok(())
    }
}

/// Writes the head of a table.
fn header(f: &mut fmt::Formatter<'_>, columns: &[&str]) -> fmt::Result {
    writeln!(f, "| {} |", columns.join(" | "))?;
    writeln!(f, "|{}", "---|".repeat(columns.len()))
}
