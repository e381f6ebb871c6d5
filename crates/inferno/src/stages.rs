//! A model that is divided between processes.

use std::ops::Range;
use std::time::Instant;

use inferno_engine::{
    Fingerprint, ModelRunner, Runner, StageAddresses, StageError, StageKey, StageServer,
};
use inferno_gguf::Gguf;
use inferno_model::{BatchLimits, PooledHead};

use crate::{Error, LoadOptions, LoadedModel, Model};

impl Model {
    /// Divides the layers between `num_stages` processes so that the largest stage is as small as possible.
    ///
    /// ```
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/qwen3.gguf");
    /// let model = inferno::Model::open(path)?;
    /// assert_eq!(model.stages(2)?, [0..1, 1..2]);
    /// # Ok::<(), inferno::Error>(())
    /// ```
    ///
    /// **Errors**: [`StageError::TooManyStages`] if the layers cannot be divided like this; an unknown architecture,
    /// invalid metadata.
    pub fn stages(&self, num_stages: usize) -> Result<Vec<Range<usize>>, Error> {
        let spec = self.spec()?;
        let num_layers = spec.num_layers();
        let is_possible =
            |&cut: &usize| spec.stage(0..cut).is_ok() && spec.stage(cut..num_layers).is_ok();
        let cuts: Vec<usize> = (1..num_layers).filter(is_possible).chain([num_layers]).collect();
        let bytes = layer_bytes(self.checkpoint(), num_layers);
        let stages = divide(&bytes, &cuts, num_stages);
        let limit = cuts.len();
        Ok(stages.ok_or(StageError::TooManyStages { num_stages, limit })?)
    }

    /// Loads the weights of `layers` and computes them for programs in other processes that
    /// [load the model from its stages](Self::load_from_stages). `address` is that to listen on, such as `0.0.0.0:4100`.
    ///
    /// Contexts, caches and batches are those of these programs; only the device and the formats of this model's options
    /// count.
    ///
    /// **Errors**: as [`load`](Self::load); layers that the model does not have or that cannot be separated from the
    /// others; an address that is not available.
    pub fn serve_stage(
        &self,
        layers: Range<usize>,
        address: &str,
        key: StageKey,
    ) -> Result<StageServer, Error> {
        let num_layers = self.spec()?.num_layers();
        if layers.is_empty() || layers.end > num_layers {
            return Err(StageError::NoSuchLayers { found: layers, num_layers }.into());
        }
        let device = self.device()?;
        let stage = device.stage(self.checkpoint(), self.options(), layers, &mut |_| {})?;
        Ok(StageServer::start(stage, address, key)?)
    }

    /// Uses a model whose weights are in other processes, which [serve its stages](Self::serve_stage). Only the header of
    /// this file is read.
    ///
    /// Engines divide their requests between `num_lanes` caches of each stage, so that stages compute passes of different
    /// requests at the same time; as many as there are stages, or one more, keep all of them busy. The sequences and the
    /// KV cache of the options are divided between the lanes.
    ///
    /// **Errors**: as [`load`](Self::load); [`Error::DraftForStages`]; a [`StageError`] if a stage cannot be reached or has other layers or another
    /// model.
    pub fn load_from_stages(
        &self,
        addresses: &StageAddresses,
        num_lanes: usize,
    ) -> Result<LoadedModel, Error> {
        let started = Instant::now();
        if self.drafting().is_some() {
            return Err(Error::DraftForStages);
        }
        let spec = self.spec()?;
        let context_length = self.context_length()?;
        let options = self.options().for_model(&spec).of_lane(num_lanes.max(1), context_length);
        let fingerprint = Fingerprint::of_model(self.checkpoint(), options.requantize);
        let runner = |_| -> Result<Box<dyn Runner>, Error> {
            let options = options.runner(context_length);
            let runner = ModelRunner::remote(&spec, fingerprint, options, addresses)?;
            let head = PooledHead::load(self.checkpoint(), &spec)?;
            Ok(Box::new(runner.with_pooled_head(head)))
        };
        let runners = (0..num_lanes.max(1)).map(runner).collect::<Result<_, _>>()?;
        LoadedModel::on(self, self.shared_checkpoint(), runners, None, options.core(), started)
    }
}

impl LoadOptions {
    /// The options of one of `num_lanes` lanes, which divide sequences and cache.
    fn of_lane(&self, num_lanes: usize, context_length: usize) -> Self {
        let BatchLimits { max_num_tokens, max_num_logit_rows } = self.limits;
        let all_tokens = self.cache_tokens.unwrap_or(context_length);
        let all_sequences = self.max_num_sequences.unwrap_or(max_num_logit_rows);
        let max_num_sequences = all_sequences.div_ceil(num_lanes);
        Self {
            cache_tokens: Some(all_tokens.div_ceil(num_lanes).max(context_length)),
            max_num_sequences: Some(max_num_sequences.min(max_num_tokens)),
            ..*self
        }
    }
}

/// The size of the weights that are read for each layer; the output head belongs to the last one.
fn layer_bytes(checkpoint: &Gguf, num_layers: usize) -> Vec<u64> {
    let mut bytes = vec![0; num_layers];
    let tensors = checkpoint.tensors();
    let has_head = tensors.iter().any(|tensor| tensor.name() == "output.weight");
    let head = if has_head { "output.weight" } else { "token_embd.weight" };
    for tensor in tensors {
        let layer = tensor.name().strip_prefix("blk.").and_then(|rest| rest.split_once('.'));
        let layer = match layer {
            Some((layer, _)) => layer.parse::<usize>().ok(),
            None if tensor.name() == head => num_layers.checked_sub(1),
            None => None,
        };
        if let Some(of_layer) = layer.and_then(|layer| bytes.get_mut(layer)) {
            *of_layer += tensor.num_bytes() as u64;
        }
    }
    bytes
}

/// Divides layers of these sizes into `num_stages` ranges, each of which ends at one of `cuts`, so that the largest is as
/// small as possible; `None` if there are too few cuts. The last cut is the number of layers.
fn divide(bytes: &[u64], cuts: &[usize], num_stages: usize) -> Option<Vec<Range<usize>>> {
    let size = |layers: Range<usize>| bytes[layers].iter().sum::<u64>();
    // The best division of the layers before each cut into the number of stages so far: its largest size, and its ends.
    let mut best: Vec<Option<(u64, Vec<usize>)>> =
        cuts.iter().map(|&cut| Some((size(0..cut), vec![cut]))).collect();
    for _ in 1..num_stages {
        let extended = cuts.iter().enumerate().map(|(place, &cut)| {
            let shorter = best[..place].iter().zip(cuts);
            let found = shorter.filter_map(|(division, &start)| {
                let (largest, ends) = division.as_ref()?;
                Some(((*largest).max(size(start..cut)), ends))
            });
            let (largest, ends) = found.min_by_key(|&(largest, _)| largest)?;
            Some((largest, ends.iter().copied().chain([cut]).collect()))
        });
        best = extended.collect();
    }
    let (_, ends) = best.pop()??;
    let starts = std::iter::once(0).chain(ends.iter().copied());
    (num_stages > 0).then(|| starts.zip(ends.iter().copied()).map(|(a, b)| a..b).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_stage_is_as_small_as_possible() {
        let bytes = [1, 1, 1, 1, 1, 5];
        let all = [1, 2, 3, 4, 5, 6];
        assert_eq!(divide(&bytes, &all, 1).map(|stages| stages[0].clone()), Some(0..6));
        assert_eq!(divide(&bytes, &all, 2), Some(vec![0..5, 5..6]));
        let four = divide(&bytes, &all, 4).expect("enough layers");
        assert_eq!((four.len(), four[3].clone()), (4, 5..6));
        // Layers 1 to 4 share a cache.
        assert_eq!(divide(&bytes, &[1, 5, 6], 2), Some(vec![0..5, 5..6]));
        assert_eq!(divide(&bytes, &[1, 5, 6], 4), None);
        assert_eq!(divide(&bytes, &all, 0), None);
    }
}
