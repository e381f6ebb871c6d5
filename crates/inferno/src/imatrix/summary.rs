//! What an importance matrix contains, in figures per tensor and per layer.
//!
//! **Source**: the figures and their order are those of llama.cpp's `llama-imatrix --show-statistics`.

use std::collections::BTreeMap;

use super::{ImportanceMatrix, InputStatistics};

/// Mean squares up to this one are those of inactive columns.
const INACTIVE: f64 = 1e-5;

/// The mean squares of the inputs of one tensor, over the columns of all its matrices that were used.
#[derive(Debug, Clone, PartialEq)]
pub struct TensorSummary {
    /// Name of the tensor.
    pub tensor: String,
    /// Its layer; `None` for tensors of no layer.
    pub layer: Option<u32>,
    /// Sum of the mean squares.
    pub sum: f64,
    /// The smallest one.
    pub minimum: f64,
    /// The largest one.
    pub maximum: f64,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation.
    pub deviation: f64,
    /// Share of columns that are active: whose mean square is above 0.00001.
    pub active: f64,
    /// Number of columns.
    pub num_columns: usize,
    /// Entropy of the distribution of the sum over the columns, in bits.
    pub entropy: f64,
    /// Share of columns that are more than a standard deviation above the mean.
    pub outstanding: f64,
    /// Cosine similarity with the tensor of the same name in the previous layer; 0 if there is none.
    pub similarity: f64,
}

/// Means over the tensors of a layer, weighted by their number of columns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LayerSummary {
    /// Mean of the tensors' sums of mean squares.
    pub sum: f64,
    /// Mean share of columns that are more than a standard deviation above the mean.
    pub outstanding: f64,
    /// Mean similarity with the previous layer.
    pub similarity: f64,
}

impl TensorSummary {
    /// Returns the entropy relative to that of equal columns.
    pub fn relative_entropy(&self) -> f64 {
        match self.num_columns {
            0 | 1 => 1.0,
            count => self.entropy / (count as f64).log2(),
        }
    }

    /// Returns the part of the name that tensors of all layers share, such as `attn_q`.
    pub fn role(&self) -> &str {
        let name = self.tensor.strip_suffix(".weight").unwrap_or(&self.tensor);
        name.rsplit('.').next().unwrap_or(name)
    }
}

impl ImportanceMatrix {
    /// Returns figures of all tensors with inputs: those with the same role together, the largest sum first.
    pub fn tensor_summaries(&self) -> Vec<TensorSummary> {
        let entries = self.entries.iter();
        let summaries = entries.filter_map(|(tensor, entry)| self.summarized(tensor, entry));
        let mut summaries: Vec<TensorSummary> = summaries.collect();
        summaries.sort_by(|a, b| a.role().cmp(b.role()).then(b.sum.total_cmp(&a.sum)));
        summaries
    }

    /// Returns figures of all layers.
    pub fn layer_summaries(&self) -> BTreeMap<u32, LayerSummary> {
        let mut layers = BTreeMap::<u32, (f64, LayerSummary)>::new();
        for tensor in self.tensor_summaries() {
            let Some(layer) = tensor.layer else { continue };
            let empty = LayerSummary { sum: 0.0, outstanding: 0.0, similarity: 0.0 };
            let (num_columns, total) = layers.entry(layer).or_insert((0.0, empty));
            let weight = tensor.num_columns as f64;
            *num_columns += weight;
            total.sum += weight * tensor.sum;
            total.outstanding += weight * tensor.outstanding;
            total.similarity += weight * tensor.similarity;
        }
        let mean = |(num_columns, total): (f64, LayerSummary)| LayerSummary {
            sum: total.sum / num_columns,
            outstanding: total.outstanding / num_columns,
            similarity: total.similarity / num_columns,
        };
        layers.into_iter().map(|(layer, total)| (layer, mean(total))).collect()
    }

    /// `None` if the tensor has no inputs.
    fn summarized(&self, tensor: &str, entry: &InputStatistics) -> Option<TensorSummary> {
        let cols = entry.sums.len() / entry.counts.len();
        let matrices = entry.sums.chunks(cols.max(1)).zip(&entry.counts);
        let used = matrices.filter(|(_, count)| **count > 0);
        let means: Vec<f64> = used
            .flat_map(|(sums, &count)| sums.iter().map(move |sum| sum / count as f64))
            .collect();
        if means.is_empty() {
            return None;
        }
        let count = means.len() as f64;
        let sum: f64 = means.iter().sum();
        let mean = sum / count;
        let squares: f64 = means.iter().map(|x| (x - mean) * (x - mean)).sum();
        let deviation = (squares / count).sqrt();
        let share = |matches: &dyn Fn(f64) -> bool| {
            means.iter().filter(|&&x| matches(x)).count() as f64 / count
        };
        let information = |x: &f64| {
            let share = x / sum;
            if share > 0.0 { -share * share.log2() } else { 0.0 }
        };
        let place = layer(tensor);
        Some(TensorSummary {
            tensor: tensor.to_owned(),
            layer: place.map(|(layer, _)| layer),
            sum,
            minimum: means.iter().copied().fold(f64::INFINITY, f64::min),
            maximum: means.iter().copied().fold(0.0, f64::max),
            mean,
            deviation,
            active: share(&|x| x > INACTIVE),
            num_columns: means.len(),
            entropy: means.iter().map(information).sum(),
            outstanding: share(&|x| x > mean + deviation && deviation > 0.0),
            similarity: place.map_or(0.0, |(layer, rest)| self.similarity(entry, layer, rest)),
        })
    }

    /// The cosine similarity of the sums of a tensor `blk.LAYER.REST` with those of the previous layer.
    fn similarity(&self, entry: &InputStatistics, layer: u32, rest: &str) -> f64 {
        let previous = layer.checked_sub(1).map(|layer| format!("blk.{layer}.{rest}"));
        let Some(previous) = previous.and_then(|name| self.entries.get(&name)) else { return 0.0 };
        let product = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
        let (own, other) = (&entry.sums, &previous.sums);
        let magnitudes = (product(own, own) * product(other, other)).sqrt();
        if magnitudes > 0.0 { product(own, other) / magnitudes } else { 0.0 }
    }
}

/// Divides the name of a tensor into its layer and the rest; `None` for tensors of no layer.
fn layer(tensor: &str) -> Option<(u32, &str)> {
    let (number, rest) = tensor.strip_prefix("blk.")?.split_once('.')?;
    Some((number.parse().ok()?, rest))
}
