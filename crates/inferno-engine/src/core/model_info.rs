//! Facts about a model that are known without running it.

use std::sync::Arc;

use inferno_backend::{KvLayout, StateLayout};
use inferno_model::{BatchLimits, PooledHead};
use inferno_tokenizer::{Detokenizer, Tokenizer};

use super::pooling::Pooling;
use crate::sampler::{SequenceBreakerCache, check_tokens};
use crate::{EngineError, Fingerprint, Runner, Sampler, SamplingParams};

/// The facts about a model and its runner that requests are checked against.
pub(crate) struct ModelInfo {
    pub(crate) tokenizer: Arc<Tokenizer>,
    /// Tokens that end a generation.
    pub(crate) end_of_generation: Vec<u32>,
    /// Tokens that are never generated.
    pub(crate) suppressed: Vec<u32>,
    /// Tokens that both model and tokenizer have. Models often have more, as padding.
    pub(crate) vocab_size: usize,
    pub(crate) hidden_size: usize,
    /// Tokens that a prompt and its continuation may have together: the runner's context, or the whole
    /// KV cache if that is smaller.
    pub(crate) context_length: usize,
    runner_context_length: usize,
    pub(crate) limits: BatchLimits,
    pub(crate) layout: KvLayout,
    /// Size of a recurrent state, in bytes; 0 if the model has none.
    pub(crate) state_bytes: usize,
    pub(crate) fingerprint: Fingerprint,
    /// Whether tokens attend to those before them alone.
    pub(crate) is_causal: bool,
    has_logits: bool,
    pub(crate) pooled_head: Arc<PooledHead>,
    /// Descriptions of the devices that compute, in the order of the layers.
    pub(crate) devices: Vec<String>,
    sequence_breakers: SequenceBreakerCache,
}

impl ModelInfo {
    pub(super) fn new(runner: &dyn Runner, tokenizer: Arc<Tokenizer>) -> Self {
        let vocab_size = runner.vocab_size().min(tokenizer.vocab_size());
        let layout = runner.kv_layout().clone();
        let known = 0..u32::try_from(vocab_size).unwrap_or(u32::MAX);
        let runner_context_length = runner.context_length();
        Self {
            end_of_generation: known
                .clone()
                .filter(|&id| tokenizer.is_end_of_generation(id))
                .collect(),
            suppressed: tokenizer
                .special_tokens()
                .suppressed
                .iter()
                .copied()
                .filter(|id| known.contains(id))
                .collect(),
            tokenizer,
            vocab_size,
            hidden_size: runner.hidden_size(),
            runner_context_length,
            context_length: runner_context_length
                .min(layout.num_blocks.saturating_mul(layout.block_tokens)),
            limits: runner.limits(),
            layout,
            state_bytes: runner.state_layout().map_or(0, StateLayout::slot_bytes),
            fingerprint: runner.fingerprint(),
            is_causal: runner.is_causal(),
            has_logits: runner.has_logits(),
            pooled_head: runner.pooled_head(),
            devices: runner.devices(),
            sequence_breakers: SequenceBreakerCache::default(),
        }
    }

    /// Number of values of an embedding.
    pub(crate) fn embedding_size(&self) -> usize {
        self.pooled_head.embedding_size(self.hidden_size)
    }

    /// The pooling of a model whose file does not set it: its classifier, or what encoders and decoders usually have.
    pub(crate) fn default_pooling(&self) -> Pooling {
        match self.pooled_head.classifier() {
            Some(_) => Pooling::Rank,
            None if self.is_causal => Pooling::Last,
            None => Pooling::Mean,
        }
    }

    /// Checks that the model can generate text.
    ///
    /// **Errors**: [`EngineError::NoLogits`].
    pub(crate) fn check_logits(&self) -> Result<(), EngineError> {
        match self.has_logits {
            true => Ok(()),
            false => {
                Err(EngineError::NoLogits { is_reranker: self.pooled_head.classifier().is_some() })
            }
        }
    }

    /// Checks that the model scores inputs with a single value.
    ///
    /// **Errors**: [`EngineError::NoClassifier`], [`EngineError::SeveralOutputs`].
    pub(crate) fn check_reranker(&self) -> Result<(), EngineError> {
        match self.pooled_head.classifier() {
            None => Err(EngineError::NoClassifier),
            Some(classifier) if classifier.is_reranker() => Ok(()),
            Some(classifier) => Err(EngineError::SeveralOutputs {
                num_outputs: classifier.num_outputs(),
                labels: classifier.labels().to_vec(),
            }),
        }
    }

    /// Creates the sampler of a generation.
    ///
    /// **Errors**: as [`Sampler::new`].
    pub(crate) fn sampler(&self, params: &SamplingParams) -> Result<Sampler, EngineError> {
        let sampler = Sampler::new(params.clone(), self.vocab_size)?;
        if !params.dry.is_enabled() {
            return Ok(sampler);
        }
        let breakers = &params.dry.sequence_breakers;
        let breakers = self.sequence_breakers.get(&self.tokenizer, breakers);
        Ok(sampler.with_sequence_breakers(breakers))
    }

    /// Checks that the KV cache holds one sequence of the runner's full context.
    ///
    /// **Errors**: [`EngineError::CacheTooSmall`].
    pub(crate) fn check_cache(&self) -> Result<(), EngineError> {
        let &Self { runner_context_length: context_length, context_length: cache_tokens, .. } =
            self;
        match cache_tokens < context_length {
            true => Err(EngineError::CacheTooSmall { cache_tokens, context_length }),
            false => Ok(()),
        }
    }

    /// Checks a whole prompt after which `room` tokens must fit.
    ///
    /// **Errors**: [`EngineError::EmptyPrompt`], [`EngineError::PromptTooLong`],
    /// [`EngineError::TokenOutOfRange`].
    pub(crate) fn check_prompt(&self, prompt: &[u32], room: usize) -> Result<(), EngineError> {
        if prompt.is_empty() {
            return Err(EngineError::EmptyPrompt);
        }
        self.check_fits(0, prompt.len(), room)?;
        self.check_known(prompt)
    }

    /// **Errors**: [`EngineError::TokenOutOfRange`].
    pub(crate) fn check_known(&self, prompt: &[u32]) -> Result<(), EngineError> {
        check_tokens("the prompt", prompt.iter().copied(), self.vocab_size)
    }

    /// Checks that a prompt and `room` more tokens fit after those of the session.
    ///
    /// **Errors**: [`EngineError::PromptTooLong`].
    pub(crate) fn check_fits(
        &self,
        session_tokens: usize,
        prompt_tokens: usize,
        room: usize,
    ) -> Result<(), EngineError> {
        let context_length = self.context_length;
        match session_tokens + prompt_tokens + room > context_length {
            true => Err(EngineError::PromptTooLong {
                prompt_tokens,
                session_tokens,
                room,
                context_length,
            }),
            false => Ok(()),
        }
    }

    /// Creates a detokenizer that has read `prompt`: spaces, and characters cut in half, depend on what
    /// comes before the first generated token.
    ///
    /// **Errors**: a token that the vocabulary does not have.
    pub(crate) fn detokenizer(
        &self,
        prompt: &[u32],
        skip_special_tokens: bool,
    ) -> Result<Detokenizer, EngineError> {
        let mut detokenizer = self.tokenizer.detokenizer(skip_special_tokens);
        for &token in prompt {
            detokenizer.push(token)?;
        }
        Ok(detokenizer)
    }
}
