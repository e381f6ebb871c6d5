//! Several residual streams, and the low-rank branch next to attention.

use super::SpecBuilder;
use crate::ModelError;
use crate::spec::streams::{LayerStreamsSpec, LowRankSpec, StreamsSpec};
use crate::spec::tensors::TensorFinder;

impl SpecBuilder<'_> {
    /// The number of streams and the one that layers compute.
    fn stream_numbers(&self) -> Result<Option<(usize, usize)>, ModelError> {
        const NUM_STREAMS: &str = "altup.num_inputs";
        const ACTIVE: &str = "altup.active_idx";
        if !self.facts.has_streams {
            return Ok(None);
        }
        let num_streams = self.keys.positive(NUM_STREAMS)?;
        if num_streams < 2 {
            return Err(self.keys.invalid(NUM_STREAMS, "at least 2", num_streams));
        }
        let active = self.keys.optional::<usize>(ACTIVE)?.unwrap_or(0);
        if active >= num_streams {
            let expected = format!("less than {NUM_STREAMS} ({num_streams})");
            return Err(self.keys.invalid(ACTIVE, expected, active));
        }
        Ok(Some((num_streams, active)))
    }

    pub(super) fn streams(&self) -> Result<Option<StreamsSpec>, ModelError> {
        let Some((num_streams, _)) = self.stream_numbers()? else { return Ok(None) };
        let (width, num_others) = (self.hidden_size, num_streams - 1);
        let matrices = |name, range| self.tensors.matrices(name, [num_others, width, width], range);
        let merge = (0..num_others).map(|stream| matrices("altup_unembd_proj", stream..stream + 1));
        Ok(Some(StreamsSpec {
            num_streams,
            expand: matrices("altup_proj", 0..num_others)?,
            merge: merge.collect::<Result<_, _>>()?,
        }))
    }

    pub(super) fn layer_streams(
        &self,
        tensors: TensorFinder<'_>,
    ) -> Result<Option<LayerStreamsSpec>, ModelError> {
        let Some((num_streams, active)) = self.stream_numbers()? else { return Ok(None) };
        let num_pairs = num_streams * num_streams;
        let scale = "altup_correct_scale.weight";
        Ok(Some(LayerStreamsSpec {
            num_streams,
            active,
            router_norm: self.norm(tensors, "altup_router_norm", self.hidden_size)?,
            router: tensors.linear("altup_router", num_streams, self.hidden_size)?,
            prediction: tensors.linear("altup_predict_coef", num_pairs, num_streams)?,
            correction: tensors.linear("altup_correct_coef", num_streams, num_streams)?,
            output_scale: tensors.optional_vector(scale, self.hidden_size)?,
        }))
    }

    pub(super) fn low_rank(
        &self,
        tensors: TensorFinder<'_>,
    ) -> Result<Option<LowRankSpec>, ModelError> {
        if !self.facts.has_streams {
            return Ok(None);
        }
        let rank = tensors.rows_of("laurel_l.weight").unwrap_or(1);
        Ok(Some(LowRankSpec {
            norm: self.norm(tensors, "attn_norm", self.hidden_size)?,
            down: tensors.linear("laurel_l", rank, self.hidden_size)?,
            up: tensors.linear("laurel_r", self.hidden_size, rank)?,
            post_norm: self.norm(tensors, "laurel_post_norm", self.hidden_size)?,
        }))
    }
}
