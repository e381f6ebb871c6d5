//! Options of a model that answers requests: its engine, and the defaults of the requests.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use inferno_chat::ChatTemplate;
use inferno_chat::RerankTemplate;
use inferno_engine::EngineOptions;

use super::pooling::{PoolingArg, check_pooling};
use inferno_gguf::Gguf;
use inferno_model::ModelSpec;
use inferno_server::{ModelFile, ModelInfo, ServedModel};

use crate::cli::arguments::compute::ComputeArgs;
use crate::cli::arguments::limits::ContextArgs;
use crate::cli::arguments::model::{SourceArgs, with_loading_bar};
use crate::cli::arguments::sampling::SamplingArgs;
use crate::cli::arguments::speculation::SpeculateArgs;
use crate::cli::arguments::values::{OrDefault, number_in, or_default, positive, whole};
use crate::cli::dry_run;
use crate::cli::failure::Failure;
use crate::cli::input::conversation::template_of;
use crate::cli::terminal::note::print_note;
use crate::load::context_length;
use crate::{BatchLimits, Error, LoadNote, LoadOptions, Model};

/// The model that answers requests.
#[derive(Clone, clap::Args)]
pub(crate) struct ServedModelArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// Name of the model in API requests; can be repeated, and * accepts any further name [default: the file name, and *]
    #[arg(long, value_name = "NAME")]
    served_model_name: Vec<String>,
    /// Use the chat template in this file instead of the one in the model file; chatml is built in
    #[arg(long, value_name = "FILE")]
    chat_template: Option<PathBuf>,
    /// Parse special tokens in messages, such as <|im_end|>, which are encoded as text otherwise
    #[arg(long)]
    parse_special: bool,
    #[command(flatten)]
    context: ContextArgs,
    /// Size of the KV cache in tokens, shared by running sequences and cached prefixes [default: 4 times the context]
    #[arg(long, value_name = "N", value_parser = positive)]
    kv_cache_tokens: Option<usize>,
    /// Maximum number of sequences in a batch
    #[arg(long, value_name = "N", value_parser = number_in(1..=MAX_SEQUENCES), default_value_t = DEFAULT_SEQUENCES)]
    max_num_seqs: usize,
    /// Maximum number of tokens per forward pass, over all sequences
    #[arg(long, value_name = "N", value_parser = positive, default_value_t = 256)]
    max_num_batched_tokens: usize,
    /// Whether the model reasons before it answers, if the chat template has a switch (enable_thinking) and the request does
    /// not set it
    #[arg(long, value_name = "MODE", default_value = "auto")]
    reasoning: ReasoningArg,
    /// Maximum number of reasoning tokens of an answer, for models with reasoning tags; requests may set a lower limit
    /// [default: -1, no limit]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = or_default(whole::<usize>))]
    reasoning_budget: Option<OrDefault<usize>>,
    #[command(flatten)]
    speculate: SpeculateArgs,
    /// Disable reuse of cached prompt prefixes
    #[arg(long)]
    no_prefix_cache: bool,
    /// Pooling of hidden states for the endpoints of embeddings; none is for /embedding only [default: from the model
    /// file, else that of the kind of model]
    #[arg(long, value_name = "POOLING")]
    pooling: Option<PoolingArg>,
    #[command(flatten)]
    sampling: SamplingArgs,
    #[command(flatten)]
    compute: ComputeArgs,
    /// Further names that are not listed.
    #[arg(skip)]
    aliases: Vec<String>,
}

/// The largest batch. Each sequence needs a row of logits.
const MAX_SEQUENCES: usize = 1 << 16;

/// Default maximum number of sequences in a batch.
const DEFAULT_SEQUENCES: usize = 64;

/// The value of `--served-model-name` that accepts any name.
const ANY_NAME: &str = "*";

/// Default size of the KV cache, in multiples of the context length.
const DEFAULT_CONTEXTS: usize = 4;

#[derive(Clone, Copy, ValueEnum)]
enum ReasoningArg {
    /// Reason before every answer
    On,
    /// Answer directly
    Off,
    /// The chat template decides
    Auto,
}

impl ReasoningArg {
    fn switch(self) -> Option<bool> {
        match self {
            Self::On => Some(true),
            Self::Off => Some(false),
            Self::Auto => None,
        }
    }
}

impl ServedModelArgs {
    /// Returns the same options for another model. The first of `names` is listed, and requests may use all of them.
    pub(crate) fn of_model(&self, source: SourceArgs, names: &[String]) -> Self {
        let (listed, aliases) = names.split_at(1);
        let (served_model_name, aliases) = (listed.to_vec(), aliases.to_vec());
        Self { source, served_model_name, aliases, ..self.clone() }
    }

    /// Returns whether a model is specified.
    pub(crate) fn is_specified(&self) -> bool {
        self.source.is_given()
    }

    /// Checks what does not depend on the model.
    ///
    /// **Errors**: invalid sampling options.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.sampling.check()
    }

    /// Opens the model, with options for many sequences. With `target_itl`, prompts are split so that steps take about that
    /// long while sequences decode.
    ///
    /// **Errors**: a model that cannot be opened.
    pub(crate) fn open(&self, target_itl: Option<Duration>) -> Result<Model, Error> {
        // Every sequence and every draft token needs a row of logits. One more token keeps a prompt progressing.
        let limits = BatchLimits {
            max_num_tokens: self.max_num_batched_tokens.max(self.max_num_seqs + 1),
            max_num_logit_rows: self.max_num_seqs.max(self.speculate.num_rows()),
        };
        let checkpoint = self.source.open()?;
        let context = self.context.length(&checkpoint)?;
        let load = self.compute.options(&checkpoint, context, limits);
        let model = Model::from(checkpoint).with_options(load);
        let one = model.context_length()?;
        let cache_tokens = Some(self.kv_cache_tokens.unwrap_or(DEFAULT_CONTEXTS * one));
        let options = LoadOptions {
            cache_tokens,
            max_num_sequences: Some(self.max_num_seqs),
            prefix_cache: !self.no_prefix_cache,
            speculation: self.speculate.is_enabled(),
            target_itl,
            warm_up: true,
            ..load
        };
        if let Some(note) = LoadNote::of_cache(&options, one) {
            print_note(&format!("note: {note}"));
        }
        let model = model.with_options(options);
        match model.spec()?.has_logits() {
            true => Ok(self.speculate.with_draft_model(model)?),
            false => {
                self.warn_of_generation();
                Ok(model)
            }
        }
    }

    /// Warns of options that have no effect for a model that generates no text.
    fn warn_of_generation(&self) {
        let others = [
            ("--reasoning", self.reasoning.switch().is_some()),
            ("--reasoning-budget", OrDefault::value_of(self.reasoning_budget).is_some()),
            ("--chat-template", self.chat_template.is_some()),
        ];
        let others = others.into_iter().filter_map(|(option, is_given)| is_given.then_some(option));
        for option in self.speculate.given().chain(others) {
            print_note(&format!("warning: {option} has no effect: this model generates no text"));
        }
    }

    /// Returns whether only the memory that the model needs is printed, by [`report_memory`](Self::report_memory).
    pub(crate) fn is_dry_run(&self) -> bool {
        self.compute.dry_run
    }

    /// Prints the memory that the model needs.
    ///
    /// **Errors**: those of [`dry_run::report`].
    pub(crate) fn report_memory(&self, model: &Model) -> Result<(), Failure> {
        dry_run::report(model, "reduce --kv-cache-tokens or --context")
    }

    /// Returns the maximum number of sequences in a batch.
    pub(crate) fn max_num_seqs(&self) -> usize {
        self.max_num_seqs
    }

    /// Checks what can be checked before a model is loaded, which takes long.
    ///
    /// **Errors**: a model that does not fit in the memory of its GPU; a chat template that cannot be read.
    pub(crate) fn prepare(&self, model: Model) -> Result<PreparedModel, Error> {
        check_gpu_memory(&model)?;
        let template = template_of(self.chat_template.as_deref(), model.checkpoint().metadata())?;
        Ok(PreparedModel { model, template, accepts_fallback: true })
    }

    /// Loads the model and starts its engine. The number of draft tokens in `options` is replaced.
    ///
    /// **Errors**: a model that cannot be loaded; no thread available.
    pub(crate) fn load(
        &self,
        prepared: PreparedModel,
        options: EngineOptions,
    ) -> Result<ServedModel, Error> {
        let PreparedModel { model, template, accepts_fallback } = prepared;
        let checkpoint = model.checkpoint();
        let info = self.info(checkpoint, template)?;
        let options =
            EngineOptions { num_speculative_tokens: self.speculate.num_drafts(), ..options };
        let loaded = with_loading_bar(&model, |on_progress| model.load_with(on_progress))?;
        if let Some(reason) = model.fallback().filter(|_| !accepts_fallback) {
            return Err(Error::OtherDevice { reason: reason.to_owned() });
        }
        let pooling = match self.pooling {
            Some(pooling) => pooling.into(),
            None => loaded.pooling()?,
        };
        check_pooling(pooling, &loaded)?;
        Ok(ServedModel::new(loaded.engine(options)?, info)
            .with_pooling(pooling)
            .with_rerank_template(RerankTemplate::from_metadata(checkpoint.metadata())?)
            .with_reasoning_budget(OrDefault::value_of(self.reasoning_budget))
            .with_gpu_bytes(model.gpu_bytes() as u64))
    }

    /// Describes the model without loading it.
    ///
    /// **Errors**: a model that cannot be opened; an unknown architecture; invalid metadata; a chat template that cannot be
    /// compiled.
    pub(crate) fn describe(&self) -> Result<ModelInfo, Error> {
        let checkpoint = self.source.open()?;
        let spec = ModelSpec::from_checkpoint(&checkpoint)?;
        let context = self.context.within(spec.context_length);
        let options = LoadOptions { context_length: context, ..LoadOptions::default() };
        let context_length = context_length(&spec, &options)?;
        let template = template_of(self.chat_template.as_deref(), checkpoint.metadata())?;
        let info = self.info(&checkpoint, template)?.without_watch();
        Ok(info.with_context_length(context_length).with_text_generation(spec.has_logits()))
    }

    fn info(&self, checkpoint: &Gguf, template: Option<ChatTemplate>) -> Result<ModelInfo, Error> {
        let template = template.map(|it| it.with_parsed_contents(self.parse_special));
        let info = ModelInfo::new(self.names(checkpoint))
            .with_aliases(self.aliases.clone())
            .with_chat_template(template)
            .with_sampling(self.sampling.params(checkpoint.metadata())?)
            .with_reasoning(self.reasoning.switch())
            .with_file(ModelFile::of(checkpoint));
        Ok(match self.accepts_any_name() {
            true => info.with_any_name(),
            false => info,
        })
    }

    /// Returns whether requests may use any model name: clients often have one built in.
    fn accepts_any_name(&self) -> bool {
        self.served_model_name.is_empty() || self.served_model_name.iter().any(|it| it == ANY_NAME)
    }

    /// Returns the name of the model in responses.
    pub(crate) fn name(&self, checkpoint: &Gguf) -> String {
        self.names(checkpoint).swap_remove(0)
    }

    /// Returns the names of the model; responses contain the first.
    fn names(&self, checkpoint: &Gguf) -> Vec<String> {
        let names: Vec<_> =
            self.served_model_name.iter().filter(|it| *it != ANY_NAME).cloned().collect();
        if !names.is_empty() {
            return names;
        }
        vec![self.source.name().unwrap_or_else(|| {
            let name = checkpoint.metadata().optional::<String>("general.name").ok().flatten();
            name.unwrap_or_else(|| "model".to_owned())
        })]
    }
}

/// A model that is ready to be loaded.
pub(crate) struct PreparedModel {
    model: Model,
    template: Option<ChatTemplate>,
    accepts_fallback: bool,
}

impl PreparedModel {
    /// Makes it an error to load the model on another device than planned.
    pub(crate) fn without_fallback(self) -> Self {
        Self { accepts_fallback: false, ..self }
    }

    /// Whether the model generates text.
    pub(crate) fn generates_text(&self) -> bool {
        self.model.check_generates().is_ok()
    }

    /// Whether the model has a chat template.
    pub(crate) fn has_chat_template(&self) -> bool {
        self.template.is_some()
    }
}

/// Checks that the part of a model for the GPU fits in its memory, as far as that is known.
///
/// **Errors**: those of [`Model::estimate`], [`Error::GpuTooSmall`].
fn check_gpu_memory(model: &Model) -> Result<(), Error> {
    let Some(gpu) = model.estimate()?.gpu else { return Ok(()) };
    let needed_bytes = gpu.footprint.device_bytes() as u64;
    match gpu.memory_bytes {
        Some(memory_bytes) if !gpu.fits() => Err(Error::GpuTooSmall { needed_bytes, memory_bytes }),
        _ => Ok(()),
    }
}
