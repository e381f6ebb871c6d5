//! The embedding of one text: from rows of hidden states to a vector.

use std::sync::Arc;

use inferno_model::{ClassifierPooling, PooledHead};

use super::event::Event;
use super::event_sender::EventSender;
use super::model_info::ModelInfo;
use super::pooling::{EmbeddingForm, Pooler, Pooling};
use crate::scheduler::RowRequest;
use crate::{EngineError, FinishReason, Row};

/// A sequence whose hidden states are pooled.
pub(crate) struct EmbeddingTask {
    pub(super) sender: EventSender,
    pooling: Pooling,
    form: EmbeddingForm,
    head: Arc<PooledHead>,
    /// The hidden states that are pooled; the outputs of a classifier are computed from them.
    pooled: Pooling,
    pooler: Pooler,
}

impl EmbeddingTask {
    /// Creates a task for the model that `info` describes.
    ///
    /// **Errors**: [`EngineError::NoClassifier`], [`EngineError::Dimensions`].
    pub(crate) fn new(
        sender: EventSender,
        pooling: Pooling,
        form: EmbeddingForm,
        info: &ModelInfo,
    ) -> Result<Self, EngineError> {
        let head = Arc::clone(&info.pooled_head);
        let limit = info.embedding_size();
        if let Some(asked_for) = form.dimensions.filter(|size| !(1..=limit).contains(size)) {
            return Err(EngineError::Dimensions { asked_for, limit });
        }
        let pooled = match (pooling, head.classifier()) {
            (Pooling::Rank, None) => return Err(EngineError::NoClassifier),
            (Pooling::Rank, Some(classifier)) => match classifier.pooling() {
                ClassifierPooling::Mean => Pooling::Mean,
                ClassifierPooling::One if info.is_causal => Pooling::Last,
                ClassifierPooling::One => Pooling::Cls,
            },
            (pooling, _) => pooling,
        };
        Ok(Self { sender, pooling, form, head, pooled, pooler: Pooler::new(pooled) })
    }

    /// The hidden states that pooling needs.
    pub(crate) fn rows(&self) -> RowRequest {
        match self.pooled {
            Pooling::Last => RowRequest::LastHidden,
            Pooling::Cls | Pooling::Mean | Pooling::Rank | Pooling::None => RowRequest::AllHidden,
        }
    }

    /// Reads hidden states, of which the first belongs to `position`.
    ///
    /// **Errors**: [`EngineError::NonFiniteState`], a device that fails.
    pub(super) fn read<'r>(
        &mut self,
        position: usize,
        rows: impl Iterator<Item = Row<'r>>,
    ) -> Result<(), EngineError> {
        let mut end = position;
        for row in rows {
            self.pooler.push(end, &row.values()?)?;
            end += 1;
        }
        if end == self.sender.prompt_tokens() {
            self.sender.send(Event::Embedding(self.values()));
            self.sender.finish(FinishReason::EndOfGeneration, String::new());
        }
        Ok(())
    }

    fn values(&self) -> Vec<f32> {
        const AS_COMPUTED: EmbeddingForm = EmbeddingForm { normalize: false, dimensions: None };
        let pooled = self.pooler.pooled();
        match (self.pooling, self.head.classifier()) {
            (Pooling::Rank, Some(classifier)) => AS_COMPUTED.apply(classifier.classify(pooled)),
            (Pooling::None | Pooling::Rank, _) => AS_COMPUTED.apply(pooled),
            _ => self.form.apply(self.head.project(pooled)),
        }
    }
}
