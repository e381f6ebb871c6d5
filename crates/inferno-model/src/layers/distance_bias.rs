//! What the distances of positions add to scores.

use inferno_backend::Backend;

use crate::ModelError;
use crate::loader::Loader;
use crate::spec::layer::DistanceBiasSpec;

/// Slopes, or a value for each distance up to [`MAX_DISTANCE`] in both directions.
pub(super) enum DistanceBias<B: Backend> {
    Slopes(B::Buffer),
    Table(B::Buffer),
}

/// Larger distances are in the same bucket.
const MAX_DISTANCE: usize = 128;

impl<B: Backend> DistanceBias<B> {
    pub(super) fn load(
        loader: &mut Loader<'_, B>,
        spec: &DistanceBiasSpec,
    ) -> Result<Self, ModelError> {
        match spec {
            DistanceBiasSpec::Slopes(slopes) => loader.row(slopes).map(Self::Slopes),
            DistanceBiasSpec::Buckets(buckets) => {
                let (num_buckets, num_heads) = (buckets.rows, buckets.cols());
                let values = loader.values(buckets)?;
                let rows = (0..num_heads).flat_map(|head| {
                    let value = |bucket: usize| values[bucket * num_heads + head];
                    let buckets = (0..=2 * MAX_DISTANCE).map(move |column| {
                        let distance = column.abs_diff(MAX_DISTANCE);
                        bucket(distance, column > MAX_DISTANCE, num_buckets)
                    });
                    buckets.map(value).collect::<Vec<_>>()
                });
                let rows: Vec<f32> = rows.collect();
                loader.buffer(&rows, num_heads, 2 * MAX_DISTANCE + 1).map(Self::Table)
            }
        }
    }

    /// The bias, for an operation.
    pub(super) fn bias(&self) -> inferno_backend::DistanceBias<'_, B::Buffer> {
        match self {
            Self::Slopes(slopes) => inferno_backend::DistanceBias::Slopes(slopes),
            Self::Table(table) => inferno_backend::DistanceBias::Table(table),
        }
    }
}

/// The bucket of a position at `distance`, which is later or earlier than the query's. Half of the buckets are for later ones.
/// Half of each half is for one distance each, the others for ranges whose ends are a geometric series. In single precision, which
/// decides about the ends of the ranges.
///
/// **Source**: Raffel et al., Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer, section 2.1, and
/// the implementation of transformers (`relative_position_bucket`).
fn bucket(distance: usize, is_later: bool, num_buckets: usize) -> usize {
    let half = num_buckets / 2;
    let num_exact = half / 2;
    let first = if is_later { half } else { 0 };
    if distance < num_exact {
        return first + distance;
    }
    let largest = libm::log(MAX_DISTANCE as f64 / num_exact as f64) as f32;
    let part = libm::logf(distance as f32 / num_exact as f32) / largest;
    let range = (part * (half - num_exact) as f32) as usize;
    first + (num_exact + range).min(half - 1)
}
