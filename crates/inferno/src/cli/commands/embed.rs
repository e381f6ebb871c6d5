//! `inferno embed`: computes embeddings, and scores documents by their relevance to a query.

mod output;

use std::collections::VecDeque;
use std::io::{IsTerminal, stdout};
use std::path::PathBuf;

use inferno_chat::RerankTemplate;
use inferno_engine::{
    EmbeddingForm, EmbeddingRequest, EngineError, EngineHandle, EngineOptions, Event, EventStream,
    Pooling, SubmitError,
};
use inferno_model::ModelSpec;
use inferno_tokenizer::{EncodeOptions, PairLimits, TokenPair};

use crate::cli::arguments::compute::ComputeArgs;
use crate::cli::arguments::limits::ContextArgs;
use crate::cli::arguments::model::{SourceArgs, with_loading_bar};
use crate::cli::arguments::pooling::{PoolingArg, check_pooling};
use crate::cli::arguments::values::positive;
use crate::cli::dry_run;
use crate::cli::failure::Failure;
use crate::cli::input::{read_file, read_stdin};
use crate::cli::terminal::note::print_note;
use crate::cli::terminal::progress::DelayedBar;
use crate::{BatchLimits, Error, InputError, LoadOptions, LoadedModel, Model};
use output::{EmbedFormat, EmbedOutput};

/// Inputs in the engine at once, which share batches.
const MAX_IN_FLIGHT: usize = 64;

/// Tokens of a batch, unless the context of an encoder is longer.
const MAX_BATCH_TOKENS: usize = 512;

/// Compute embeddings of texts, or the relevance of documents to a query
///
/// The inputs are the arguments, and the lines of the files; without either, the lines of standard input. Prints one JSON
/// object per input as soon as it is computed. With --query, prints the documents by their relevance, the most relevant first.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  inferno embed -m bge-small.gguf \"a small boy\" \"a large dog\"
  inferno embed -m nomic-embed.gguf --file sentences.txt --dimensions 256
  inferno embed -m model.gguf --format plain < sentences.txt
  inferno embed -m bge-reranker.gguf --query \"Who eats fish?\" \\
    --file documents.txt")]
pub(crate) struct EmbedArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// Texts to embed, or documents to score
    #[arg(value_name = "TEXT")]
    texts: Vec<String>,
    /// File with one text per line; can be repeated, and - reads standard input
    #[arg(short, long, value_name = "FILE")]
    file: Vec<PathBuf>,
    /// Score each text by its relevance to this query. Scores are the outputs of the model's classifier, which are not between 0
    /// and 1 in general
    #[arg(long, value_name = "TEXT")]
    query: Option<String>,
    /// Pooling of hidden states [default: from the model file, else that of the kind of model]
    #[arg(long, value_name = "TYPE")]
    pooling: Option<PoolingArg>,
    /// Number of the first values of each embedding to print, normalized again [default: all]
    #[arg(long, value_name = "N", value_parser = positive)]
    dimensions: Option<usize>,
    /// Do not scale embeddings to length 1
    #[arg(long)]
    no_normalize: bool,
    /// Truncate texts that exceed the context, which are an error otherwise
    #[arg(long)]
    truncate: bool,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "json")]
    format: EmbedFormat,
    #[command(flatten)]
    context: ContextArgs,
    #[command(flatten)]
    compute: ComputeArgs,
}

impl EmbedArgs {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let checkpoint = self.source.open()?;
        let context = self.context.length(&checkpoint)?;
        let limits =
            BatchLimits { max_num_tokens: MAX_BATCH_TOKENS, max_num_logit_rows: MAX_IN_FLIGHT };
        let options = self.compute.options(&checkpoint, context, limits);
        let model = Model::from(checkpoint).with_options(options);
        let room = model.context_length()?;
        let cache_tokens = MAX_BATCH_TOKENS.max(room);
        let options =
            LoadOptions { cache_tokens: Some(cache_tokens), prefix_cache: false, ..options };
        let model = model.with_options(options);
        if self.compute.dry_run {
            return dry_run::report(&model, dry_run::REDUCE_CONTEXT);
        }
        let inputs = self.inputs()?;
        if inputs.texts.is_empty() {
            let message =
                "no texts specified; pass them as arguments, with --file or on standard input";
            return Err(Failure::Usage(message.to_owned()));
        }
        let loaded = with_loading_bar(&model, |on_progress| model.load_with(on_progress))?;
        let pooling = self.pooling(&loaded)?;
        self.warn_of_unused(pooling);
        let requests = self.requests(&inputs, &loaded, room, pooling)?;
        let engine = loaded.engine(EngineOptions::default())?;
        let mut output = EmbedOutput::new(self.format);
        let (bar, total) = (DelayedBar::steps("embedding"), requests.len());
        match self.query {
            Some(_) => {
                let mut results = Vec::with_capacity(total);
                compute(&engine.handle(), requests, |index, vector| {
                    bar.show(index as u64 + 1, total as u64);
                    results.push(vector);
                    Ok(())
                })?;
                drop(bar);
                output.ranking(&inputs.texts, &results)?;
            }
            None => {
                let is_per_token = matches!(self.pooling, Some(PoolingArg::None));
                let row_len = is_per_token.then(|| engine.handle().hidden_size());
                let is_terminal = stdout().is_terminal();
                compute(&engine.handle(), requests, |index, vector| {
                    // At a terminal, the vectors show the progress themselves.
                    if !is_terminal {
                        bar.show(index as u64 + 1, total as u64);
                    }
                    output.embedding(index, &vector, row_len)
                })?;
            }
        }
        engine.shut_down();
        Ok(())
    }

    /// Warns of options that have no effect with others, and of outputs that are not embeddings.
    fn warn_of_unused(&self, pooling: Pooling) {
        if pooling == Pooling::Rank && self.query.is_none() && self.pooling.is_none() {
            print_note(
                "note: these are outputs of the model's classifier, not embeddings; --query ranks the texts by their relevance",
            );
        }
        let form =
            [("--dimensions", self.dimensions.is_some()), ("--no-normalize", self.no_normalize)];
        for (option, is_set) in form {
            let reason = match pooling {
                Pooling::Rank if self.query.is_some() => {
                    "with --query: documents are scored by the outputs of a classifier"
                }
                Pooling::Rank => "on the outputs of a classifier, which this model computes",
                Pooling::None => "with --pooling none: hidden states are printed as they are",
                _ => continue,
            };
            if is_set {
                print_note(&format!("warning: {option} has no effect {reason}"));
            }
        }
    }

    /// The texts of arguments, files and standard input.
    fn inputs(&self) -> Result<Inputs, Error> {
        let mut inputs = Inputs::default();
        inputs.add("argument ", self.texts.iter().map(String::as_str));
        for path in &self.file {
            let name = match path.as_os_str() == "-" {
                true => "standard input".into(),
                false => path.display().to_string(),
            };
            inputs.add(&format!("{name}, line "), read_file(path)?.lines());
        }
        if self.texts.is_empty() && self.file.is_empty() {
            inputs.add("standard input, line ", read_stdin()?.lines());
        }
        Ok(inputs)
    }

    /// What becomes of the hidden states of a text.
    fn pooling(&self, model: &LoadedModel) -> Result<Pooling, Failure> {
        let pooling = match (&self.query, self.pooling) {
            (Some(_), None | Some(PoolingArg::Rank)) => {
                model.core().check_reranker()?;
                Pooling::Rank
            }
            (Some(_), Some(_)) => {
                let message = "--query requires the outputs of a classifier: omit --pooling";
                return Err(Failure::Usage(message.to_owned()));
            }
            (None, Some(pooling)) => pooling.into(),
            (None, None) => model.pooling()?,
        };
        check_pooling(pooling, model)?;
        Ok(pooling)
    }

    fn requests(
        &self,
        inputs: &Inputs,
        model: &LoadedModel,
        room: usize,
        pooling: Pooling,
    ) -> Result<Vec<EmbeddingRequest>, Failure> {
        let form = EmbeddingForm { normalize: !self.no_normalize, dimensions: self.dimensions };
        let template = RerankTemplate::from_metadata(model.checkpoint().metadata())?;
        let limits = PairLimits { whole: self.truncate.then_some(room), second: None };
        let encode = |text: &str| match (&self.query, &template) {
            (Some(query), Some(template)) => TokenPair {
                ids: template.encode(model.tokenizer(), query, text, limits),
                second_segment: None,
            },
            (Some(query), None) => model.tokenizer().encode_pair(query, text, limits),
            (None, _) => of_text(text, limits.whole, model),
        };
        let is_maximum = room >= ModelSpec::from_checkpoint(model.checkpoint())?.context_length;
        let request = |(index, text): (usize, &String)| {
            let TokenPair { ids, second_segment } = encode(text);
            if ids.len() > room {
                let of_query = self.query.as_ref().map(|_| encode("").ids.len());
                let (context_length, num_tokens) = (room, ids.len());
                return Err(match of_query.filter(|&num_tokens| num_tokens > room) {
                    Some(num_tokens) => Error::Input(InputError::QueryExceedsContext {
                        num_tokens,
                        context_length,
                        is_maximum,
                    }),
                    None => {
                        let input = inputs.name(index);
                        Error::Input(InputError::ExceedsContext {
                            input,
                            num_tokens,
                            context_length,
                            is_maximum,
                        })
                    }
                });
            }
            Ok(EmbeddingRequest { second_segment, form, ..EmbeddingRequest::new(ids, pooling) })
        };
        Ok(inputs.texts.iter().enumerate().map(request).collect::<Result<_, _>>()?)
    }
}

/// The texts of a command, and where they come from.
#[derive(Default)]
struct Inputs {
    texts: Vec<String>,
    /// The first text of each source, and the beginning of the names of its texts.
    sources: Vec<(usize, String)>,
}

impl Inputs {
    fn add<'t>(&mut self, source: &str, texts: impl Iterator<Item = &'t str>) {
        self.sources.push((self.texts.len(), source.to_owned()));
        self.texts.extend(texts.map(str::to_owned));
    }

    /// The name of a text for messages.
    fn name(&self, index: usize) -> String {
        let source = self.sources.iter().rev().find(|(first, _)| *first <= index);
        source.map_or_else(String::new, |(first, name)| format!("{name}{}", index - first + 1))
    }
}

/// Encodes a text, and removes what exceeds `max_len` before the special token at its end.
fn of_text(text: &str, max_len: Option<usize>, model: &LoadedModel) -> TokenPair {
    let tokenizer = model.tokenizer();
    let options = EncodeOptions { add_special: true, parse_special: true };
    let mut ids = tokenizer.encode_prompt(text, options);
    if let Some(max_len) = max_len.filter(|&max_len| ids.len() > max_len) {
        let end = ids.last().copied().filter(|&id| tokenizer.is_special(id));
        ids.truncate(max_len.saturating_sub(usize::from(end.is_some())));
        ids.extend(end);
    }
    TokenPair { ids, second_segment: None }
}

/// Computes the vector of each request. `on_vector` receives each with its index, as soon as it and all earlier ones are
/// computed.
fn compute(
    handle: &EngineHandle,
    requests: Vec<EmbeddingRequest>,
    mut on_vector: impl FnMut(usize, Vec<f32>) -> Result<(), Error>,
) -> Result<(), Failure> {
    let mut running = VecDeque::new();
    let mut finish =
        |(index, events)| -> Result<(), Failure> { Ok(on_vector(index, vector(events)?)?) };
    for (index, request) in requests.into_iter().enumerate() {
        let events = handle.embed(request).map_err(|error| match error {
            SubmitError::Refused(error) => Failure::from(*error),
            _ => Failure::from(EngineError::EngineStopped),
        })?;
        running.push_back((index, events));
        if running.len() == MAX_IN_FLIGHT
            && let Some(oldest) = running.pop_front()
        {
            finish(oldest)?;
        }
    }
    running.into_iter().try_for_each(finish)
}

fn vector(mut events: EventStream) -> Result<Vec<f32>, Failure> {
    let mut values = None;
    while let Some(event) = events.blocking_next() {
        match event {
            Event::Embedding(found) => values = Some(found),
            Event::Failed(error) => return Err(EngineError::Shared(error).into()),
            _ => {}
        }
    }
    values.ok_or_else(|| EngineError::EngineStopped.into())
}
