//! Embeddings: one vector per input, pooled from the hidden states of its tokens.

use inferno_gguf::Metadata;

use crate::EngineError;

/// How the hidden states of an input are pooled into one vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pooling {
    /// The hidden state of the last token, the only one that depends on the whole text.
    #[default]
    Last,
    /// The mean of all hidden states.
    Mean,
    /// The hidden state of the first token, which encoders are trained to summarize a text in.
    Cls,
    /// The outputs of the file's classifier, such as the relevance of a document to a query.
    Rank,
    /// None: the hidden states of all tokens, one after the other.
    None,
}

impl Pooling {
    /// Returns the pooling of the model's file, `{architecture}.pooling_type`; `None` if it has none.
    ///
    /// **Errors**: a key of another type; [`EngineError::Pooling`] for an unsupported value.
    ///
    /// **Source**: llama.cpp's `enum llama_pooling_type`.
    pub fn recommended(metadata: &Metadata) -> Result<Option<Self>, EngineError> {
        let Some(architecture) = metadata.optional::<&str>("general.architecture")? else {
            return Ok(None);
        };
        match metadata.optional::<u32>(&format!("{architecture}.pooling_type"))? {
            // 0 leaves it to the user.
            None | Some(0) => Ok(None),
            Some(1) => Ok(Some(Self::Mean)),
            Some(2) => Ok(Some(Self::Cls)),
            Some(3) => Ok(Some(Self::Last)),
            Some(4) => Ok(Some(Self::Rank)),
            Some(found) => Err(EngineError::Pooling { found }),
        }
    }
}

/// Pools hidden states as they arrive. Sums run in double precision from the first token on, so that the
/// result does not depend on the chunks of the text.
#[derive(Debug)]
pub(super) struct Pooler {
    pooling: Pooling,
    sum: Vec<f64>,
    /// Number of states in the sum, from the first token on.
    num_pooled: usize,
}

/// How a pooled hidden state becomes an embedding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EmbeddingForm {
    /// Whether it is scaled to length 1. Outputs of a classifier and the hidden states of all tokens are not.
    pub normalize: bool,
    /// The number of its first values that are returned, if not all (Matryoshka embeddings).
    pub dimensions: Option<usize>,
}

impl Default for EmbeddingForm {
    /// All values, scaled to length 1.
    fn default() -> Self {
        Self { normalize: true, dimensions: None }
    }
}

impl EmbeddingForm {
    /// The values that are returned of a pooled hidden state.
    pub(super) fn apply(self, mut values: Vec<f64>) -> Vec<f32> {
        values.truncate(self.dimensions.unwrap_or(usize::MAX));
        let norm = values.iter().map(|value| value * value).sum::<f64>().sqrt();
        let scale = match self.normalize {
            true if norm > 0.0 => 1.0 / norm,
            true => 0.0,
            false => 1.0,
        };
        values.into_iter().map(|value| (value * scale) as f32).collect()
    }
}

impl Pooler {
    pub(super) fn new(pooling: Pooling) -> Self {
        Self { pooling, sum: Vec::new(), num_pooled: 0 }
    }

    /// Adds the hidden state of `position`. One that was added before, as happens when a text is computed
    /// again, is ignored.
    ///
    /// **Errors**: [`EngineError::NonFiniteState`].
    pub(super) fn push(&mut self, position: usize, state: &[f32]) -> Result<(), EngineError> {
        if state.iter().any(|value| !value.is_finite()) {
            return Err(EngineError::NonFiniteState { position });
        }
        let values = state.iter().copied().map(f64::from);
        match self.pooling {
            Pooling::Last => self.sum = values.collect(),
            Pooling::Cls if position > 0 => {}
            Pooling::Cls => self.sum = values.collect(),
            _ if position != self.num_pooled => {}
            Pooling::Mean => {
                self.sum.resize(state.len(), 0.0);
                self.sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
                self.num_pooled += 1;
            }
            Pooling::None | Pooling::Rank => {
                self.sum.extend(values);
                self.num_pooled += 1;
            }
        }
        Ok(())
    }

    /// Returns the pooled state.
    pub(super) fn pooled(&self) -> Vec<f64> {
        let divisor = if self.pooling == Pooling::Mean { self.num_pooled.max(1) } else { 1 };
        self.sum.iter().map(|sum| sum / divisor as f64).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_of_every_state_once() {
        let mut pooler = Pooler::new(Pooling::Mean);
        for (position, state) in
            [(0, [3.0, 0.0]), (1, [3.0, 4.0]), (1, [9.0, 9.0]), (2, [0.0, 4.0])]
        {
            pooler.push(position, &state).expect("it is finite");
        }
        // (6, 8) of length 10.
        assert_eq!(EmbeddingForm::default().apply(pooler.pooled()), [0.6, 0.8]);
    }

    #[test]
    fn the_last_state_stands_for_all() {
        let mut pooler = Pooler::new(Pooling::Last);
        pooler.push(6, &[1.0, 0.0]).expect("it is finite");
        pooler.push(7, &[0.0, -2.0]).expect("it is finite");
        assert_eq!(EmbeddingForm::default().apply(pooler.pooled()), [0.0, -1.0]);
        assert!(Pooler::new(Pooling::Last).pooled().is_empty());
    }

    #[test]
    fn fewer_dimensions_are_normalized_again() {
        let form = EmbeddingForm { normalize: true, dimensions: Some(2) };
        assert_eq!(form.apply(vec![3.0, 4.0, 12.0]), [0.6, 0.8]);
        let form = EmbeddingForm { normalize: false, dimensions: Some(2) };
        assert_eq!(form.apply(vec![3.0, 4.0, 12.0]), [3.0, 4.0]);
    }

    #[test]
    fn the_first_state_stands_for_all() {
        let mut pooler = Pooler::new(Pooling::Cls);
        pooler.push(0, &[1.0, 2.0]).expect("it is finite");
        pooler.push(1, &[5.0, 5.0]).expect("it is finite");
        assert_eq!(pooler.pooled(), [1.0, 2.0]);
    }

    #[test]
    fn what_is_no_number_is_an_error_and_zeros_are_not() {
        let mut pooler = Pooler::new(Pooling::Mean);
        pooler.push(0, &[0.0, 0.0]).expect("it is finite");
        assert_eq!(EmbeddingForm::default().apply(pooler.pooled()), [0.0, 0.0]);
        assert!(pooler.push(1, &[f32::NAN, 0.0]).is_err());
    }

    #[test]
    fn a_file_says_how_it_is_pooled_or_leaves_it_open() {
        let of = |pooling_type: Option<u32>| {
            let mut metadata = Metadata::new();
            metadata.insert("general.architecture", "qwen3");
            if let Some(pooling_type) = pooling_type {
                metadata.insert("qwen3.pooling_type", pooling_type);
            }
            Pooling::recommended(&metadata)
        };
        // The numbers of llama.cpp's llama.h.
        for (pooling_type, expected) in [
            (None, None),
            (Some(0), None),
            (Some(1), Some(Pooling::Mean)),
            (Some(2), Some(Pooling::Cls)),
            (Some(3), Some(Pooling::Last)),
            (Some(4), Some(Pooling::Rank)),
        ] {
            assert_eq!(of(pooling_type).expect("it is known"), expected);
        }
        for unknown in [5, 77] {
            let error = of(Some(unknown)).expect_err("it is not known").to_string();
            assert!(error.contains(&unknown.to_string()), "{error}");
        }
    }
}
