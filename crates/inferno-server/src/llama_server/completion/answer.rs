//! Completions, whole and in part.

use std::sync::Arc;

use inferno_engine::{GenerationParams, SampledToken};
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::answer_fields::LlamaAnswerFields;
use super::probabilities::TokenProbability;
use crate::ServedModel;
use crate::chat::{Answer, AnswerByKind, FinishedChoice};
use crate::generation::{StopCause, TokenCounts};
use crate::openai::logprobs::spelled_text;
use crate::openai::timings::{PromptProgress, RequestTimings};

/// A completion, or a part of it.
#[derive(Serialize, ToSchema)]
pub(crate) struct LlamaCompletion {
    /// Number of the prompt.
    index: usize,
    content: String,
    /// The generated tokens: in a stream, those of this part; otherwise only with `return_tokens`.
    tokens: Vec<u32>,
    /// Always 0: any number of requests are computed together.
    id_slot: usize,
    /// Whether this is the last part.
    stop: bool,
    /// Generated tokens so far.
    tokens_predicted: usize,
    /// Prompt tokens.
    tokens_evaluated: usize,
    /// With `n_probs`.
    #[serde(skip_serializing_if = "Option::is_none")]
    completion_probabilities: Option<Vec<TokenProbability>>,
    /// In the last part; with `timings_per_token`, in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    timings: Option<RequestTimings>,
    /// With `return_progress`, in the parts before the first token.
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_progress: Option<PromptProgress>,
    #[serde(flatten)]
    end: Option<LlamaCompletionEnd>,
}

impl LlamaCompletion {
    pub fn with_progress(self, prompt_progress: Option<PromptProgress>) -> Self {
        Self { prompt_progress, ..self }
    }
}

/// Further fields of the last part.
#[derive(Serialize, ToSchema)]
pub(crate) struct LlamaCompletionEnd {
    model: String,
    /// The prompt as text, with its special tokens.
    prompt: String,
    /// Sampling parameters and limits.
    generation_settings: Map<String, Value>,
    /// Whether the answer has a line break.
    has_new_line: bool,
    /// Whether the answer ended because the context was full.
    truncated: bool,
    /// `eos`, `limit` or `word`.
    stop_type: &'static str,
    /// The stop sequence that was generated.
    stopping_word: String,
    /// Tokens of the prompt and the answer, which are cached.
    tokens_cached: usize,
}

/// The fields of a completion that were requested.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum SelectedFields {
    All(Box<LlamaCompletion>),
    Selected(Map<String, Value>),
}

/// What the answers to a request have in common.
pub(super) struct AnswerFormat {
    pub model: Arc<ServedModel>,
    fields: LlamaAnswerFields,
    settings: Map<String, Value>,
    /// The text of each prompt.
    prompts: Vec<String>,
}

/// The answer to one prompt.
pub(super) struct CompletedPrompt {
    pub answer: Answer,
    pub end: FinishedChoice,
    pub counts: TokenCounts,
}

impl AnswerFormat {
    pub fn new(
        prompts: &[Vec<u32>],
        fields: LlamaAnswerFields,
        params: &GenerationParams,
        model: &Arc<ServedModel>,
    ) -> Self {
        let text = |tokens: &Vec<u32>| spelled_text(tokens, model.tokenizer());
        Self {
            settings: settings(params, model),
            prompts: prompts.iter().map(text).collect(),
            model: Arc::clone(model),
            fields,
        }
    }

    /// A complete answer.
    pub fn whole(&self, index: usize, completed: CompletedPrompt) -> SelectedFields {
        let CompletedPrompt { answer, end, counts } = completed;
        let AnswerByKind { content, tokens, .. } = answer.by_kind();
        let ids = tokens.iter().map(|token| token.id);
        let ids = if self.fields.return_tokens == Some(true) { ids.collect() } else { Vec::new() };
        let probabilities = self.probabilities(&tokens);
        let has_new_line = content.contains('\n');
        let end = self.end(index, has_new_line, &end);
        self.selected(LlamaCompletion {
            tokens: ids,
            completion_probabilities: probabilities,
            ..part(index, content, RequestTimings::of(&counts), Some(end))
        })
    }

    /// A part of a stream before the last one.
    pub fn part(
        &self,
        index: usize,
        content: String,
        token: Option<SampledToken>,
        timings: RequestTimings,
    ) -> LlamaCompletion {
        let mut part = part(index, content, timings, None);
        part.timings = part.timings.filter(|_| self.fields.timings_per_token == Some(true));
        part.completion_probabilities = self.probabilities(token.as_slice());
        part.tokens = token.iter().map(|token| token.id).collect();
        part
    }

    /// The last part of a stream.
    pub fn last(
        &self,
        index: usize,
        content: String,
        has_new_line: bool,
        end: &FinishedChoice,
        timings: RequestTimings,
    ) -> SelectedFields {
        let end = self.end(index, has_new_line, end);
        self.selected(part(index, content, timings, Some(end)))
    }

    fn end(&self, index: usize, has_new_line: bool, end: &FinishedChoice) -> LlamaCompletionEnd {
        let finish = &end.finish;
        let num_tokens = finish.prompt_tokens + finish.generated_tokens;
        let (stop_type, stopping_word) = match &finish.cause {
            StopCause::EndOfGeneration => ("eos", ""),
            StopCause::Text(text) => ("word", text.as_str()),
            StopCause::Token(_) => ("word", ""),
            StopCause::Length => ("limit", ""),
        };
        LlamaCompletionEnd {
            model: self.model.info.name().to_owned(),
            prompt: self.prompts.get(index).cloned().unwrap_or_default(),
            generation_settings: self.settings.clone(),
            has_new_line,
            truncated: finish.cause == StopCause::Length
                && num_tokens >= self.model.handle.context_length(),
            stop_type,
            stopping_word: stopping_word.to_owned(),
            tokens_cached: num_tokens,
        }
    }

    fn probabilities(&self, tokens: &[SampledToken]) -> Option<Vec<TokenProbability>> {
        let tokenizer = self.model.tokenizer();
        let found: Vec<_> =
            tokens.iter().filter_map(|token| TokenProbability::of(token, tokenizer)).collect();
        (!found.is_empty()).then_some(found)
    }

    /// The requested fields; all if none are named.
    fn selected(&self, completion: LlamaCompletion) -> SelectedFields {
        let Some(names) = self.fields.response_fields.as_ref().filter(|names| !names.is_empty())
        else {
            return SelectedFields::All(Box::new(completion));
        };
        let all = json!(completion);
        let found = names.iter().filter_map(|name| {
            let value = all.pointer(&format!("/{}", name.replace('~', "~0")))?;
            Some((name.clone(), value.clone()))
        });
        SelectedFields::Selected(found.collect())
    }
}

fn part(
    index: usize,
    content: String,
    timings: RequestTimings,
    end: Option<LlamaCompletionEnd>,
) -> LlamaCompletion {
    LlamaCompletion {
        index,
        content,
        tokens: Vec::new(),
        id_slot: 0,
        stop: end.is_some(),
        tokens_predicted: timings.predicted_n,
        tokens_evaluated: timings.prompt_n + timings.cache_n,
        completion_probabilities: None,
        timings: Some(timings),
        prompt_progress: None,
        end,
    }
}

/// Sampling parameters and limits, with llama-server's names. Samplers that are not available have their neutral values.
pub(crate) fn settings(params: &GenerationParams, model: &ServedModel) -> Map<String, Value> {
    let GenerationParams { sampling, stop, .. } = params;
    let n_predict = stop.max_tokens.map_or(json!(-1), |count| json!(count));
    // A bias of minus infinity, which is null in JSON.
    let vocab_size = u32::try_from(model.handle.vocab_size()).unwrap_or(u32::MAX);
    let ends =
        (0..vocab_size).filter(|&id| stop.ignore_eos && model.tokenizer().is_end_of_generation(id));
    let ends = ends.map(|token| json!({"token": token, "bias": null}));
    let biases = sampling.logit_bias.iter();
    let biases = biases.map(|(token, bias)| json!({"token": token, "bias": bias}));
    let settings = json!({
        "n_predict": n_predict,
        "max_tokens": n_predict,
        "seed": sampling.seed.unwrap_or(u32::MAX.into()),
        "temperature": sampling.temperature,
        "top_k": sampling.top_k,
        "top_p": sampling.top_p,
        "min_p": sampling.min_p,
        "typical_p": sampling.typical_p,
        "repeat_last_n": -1,
        "repeat_penalty": sampling.repetition_penalty,
        "presence_penalty": sampling.presence_penalty,
        "frequency_penalty": sampling.frequency_penalty,
        "dynatemp_range": 0.0,
        "dry_multiplier": sampling.dry.multiplier,
        "dry_base": sampling.dry.base,
        "dry_allowed_length": sampling.dry.allowed_length,
        "dry_penalty_last_n": sampling.dry.penalty_last_n.map_or(json!(-1), |count| json!(count)),
        "dry_sequence_breakers": sampling.dry.sequence_breakers,
        "xtc_probability": 0.0,
        "top_n_sigma": -1.0,
        "mirostat": 0,
        "adaptive_target": -1.0,
        "adaptive_decay": 0.0,
        "stop": stop.stop,
        "ignore_eos": stop.ignore_eos,
        "logit_bias": ends.chain(biases).collect::<Vec<_>>(),
        "n_probs": sampling.logprobs.unwrap_or(0),
        "samplers": ["penalties", "dry", "top_k", "typ_p", "top_p", "min_p", "temperature"],
    });
    match settings {
        Value::Object(settings) => settings,
        _ => Map::new(),
    }
}
