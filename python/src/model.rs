//! A loaded model: tokens, generations, embeddings and logits.

use std::collections::VecDeque;
use std::sync::Arc;

use inferno::{EmbeddingRequest, EncodeOptions, Event, EventStream, Model, Pooling};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::cache_events::{CacheEventStream, block_hashes};
use crate::errors::{engine_exception, exception, submit_exception};
use crate::generation::request;
use crate::load::{LoadArguments, Loaded};
use crate::server::{Response, Server, ServerArguments};
use crate::session::Session;
use crate::stage::StageAddresses;
use crate::stream::{ChunkStream, Source};
use crate::wait::{run_interruptible, wait};

/// A model on its device, with an engine that computes all requests together.
#[pyclass(frozen, module = "inferno._inferno")]
pub struct LoadedModel(pub(crate) Arc<Loaded>);

#[pymethods]
impl LoadedModel {
    /// Loads a model; without a source, the built-in one.
    #[staticmethod]
    #[pyo3(signature = (source, **options))]
    fn load(
        py: Python<'_>,
        source: Option<String>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let arguments = LoadArguments::read(options)?;
        let options = (arguments.options()?, arguments.drafting()?);
        let loaded = run_interruptible(py, move || arguments.load(source, options, Model::load))?;
        Ok(Self(Arc::new(loaded.map_err(|error| exception(&error))?)))
    }

    /// Uses a model whose stages are in other processes, with this number of caches on each.
    #[staticmethod]
    #[pyo3(signature = (source, stages, num_lanes, **options))]
    fn load_from_stages(
        py: Python<'_>,
        source: Option<String>,
        stages: &StageAddresses,
        num_lanes: usize,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let arguments = LoadArguments::read(options)?;
        let options = (arguments.options()?, arguments.drafting()?);
        let addresses = stages.0.clone();
        let loaded = run_interruptible(py, move || {
            arguments.load(source, options, |model| model.load_from_stages(&addresses, num_lanes))
        })?;
        Ok(Self(Arc::new(loaded.map_err(|error| exception(&error))?)))
    }

    /// The name of the model.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// The maximum number of tokens of a prompt and its continuation.
    #[getter]
    fn context_length(&self) -> usize {
        self.0.server.engine().context_length()
    }

    /// The number of tokens that can be sampled.
    #[getter]
    fn vocab_size(&self) -> usize {
        self.0.server.engine().vocab_size()
    }

    /// The number of values in an embedding.
    #[getter]
    fn hidden_size(&self) -> usize {
        self.0.server.engine().hidden_size()
    }

    /// Descriptions of the devices that compute.
    #[getter]
    fn devices(&self) -> Vec<String> {
        self.0.server.engine().devices().to_vec()
    }

    /// The number format of the KV cache.
    #[getter]
    fn kv_dtype(&self) -> &'static str {
        self.0.server.engine().kv_dtype().name()
    }

    /// The token at the beginning of a text, if the model has one.
    #[getter]
    fn bos_token_id(&self) -> Option<u32> {
        self.0.model.tokenizer().bos()
    }

    /// The token at the end of a text, if the model has one.
    #[getter]
    fn eos_token_id(&self) -> Option<u32> {
        self.0.model.tokenizer().eos()
    }

    /// Whether the model's file has a chat template.
    #[getter]
    fn has_chat_template(&self) -> bool {
        let metadata = self.0.model.checkpoint().metadata();
        metadata.optional::<&str>("tokenizer.chat_template").ok().flatten().is_some()
    }

    /// Splits a text into tokens.
    fn tokenize(
        &self,
        py: Python<'_>,
        text: &str,
        add_special: bool,
        parse_special: bool,
    ) -> Vec<u32> {
        let options = EncodeOptions { add_special, parse_special };
        py.detach(|| self.0.model.tokenizer().encode(text, options))
    }

    /// Splits a prompt into tokens: an empty one consists of the token that starts a text.
    fn tokenize_prompt(&self, py: Python<'_>, text: &str) -> Vec<u32> {
        let options = EncodeOptions { add_special: true, parse_special: true };
        py.detach(|| self.0.model.tokenizer().encode_prompt(text, options))
    }

    /// Converts tokens to text.
    fn detokenize(&self, tokens: Vec<u32>, skip_special: bool) -> PyResult<String> {
        let decoded = self.0.model.tokenizer().decode(&tokens, skip_special);
        decoded.map_err(|error| exception(&error.into()))
    }

    /// Starts a generation.
    fn submit(
        &self,
        py: Python<'_>,
        prompt: Vec<u32>,
        options: &Bound<'_, PyDict>,
    ) -> PyResult<ChunkStream> {
        let request = request(py, &self.0.model, prompt.clone(), Some(options))?;
        let events = self.0.server.engine().submit(request);
        let events = events.map_err(|error| submit_exception(&error))?;
        let seed = events.seed();
        Ok(ChunkStream::new(Source::Engine(events), prompt, seed))
    }

    /// The number of requests that one caller submits before it reads the first: half of the queue.
    #[getter]
    fn max_num_ahead(&self) -> usize {
        self.0.engine_options.max_num_waiting / 2
    }

    /// Computes the embeddings of prompts, one after another: `hidden_size` values in single precision each.
    fn embed<'py>(&self, py: Python<'py>, prompts: Vec<Vec<u32>>) -> PyResult<Bound<'py, PyBytes>> {
        let pooling = Pooling::recommended(self.0.model.checkpoint().metadata());
        let pooling = pooling.map_err(|error| engine_exception(&error))?.unwrap_or_default();
        let mut running = VecDeque::new();
        let mut embeddings = Vec::with_capacity(prompts.len() * self.hidden_size());
        for prompt in prompts {
            let request = EmbeddingRequest::new(prompt, pooling);
            let events = self.0.server.engine().embed(request);
            running.push_back(events.map_err(|error| submit_exception(&error))?);
            if running.len() > self.max_num_ahead() {
                read_values(py, running.pop_front(), &mut embeddings)?;
            }
        }
        while !running.is_empty() {
            read_values(py, running.pop_front(), &mut embeddings)?;
        }
        to_bytes(py, &embeddings)
    }

    /// Computes logits in single precision: `vocab_size` values after the last token of a prompt, or after each.
    fn logits<'py>(
        &self,
        py: Python<'py>,
        prompt: Vec<u32>,
        all_positions: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let events = self.0.server.engine().logits(prompt, all_positions);
        let events = events.map_err(|error| submit_exception(&error))?;
        let mut logits = Vec::new();
        read_values(py, Some(events), &mut logits)?;
        to_bytes(py, &logits)
    }

    /// Returns the state and the counters of the engine after its last step.
    fn metrics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let snapshot = self.0.server.engine().snapshot();
        let metrics = PyDict::new(py);
        metrics.set_item("num_running", snapshot.num_running)?;
        metrics.set_item("num_waiting", snapshot.num_waiting)?;
        metrics.set_item("kv_cache_usage", snapshot.kv_usage())?;
        metrics.set_item("kv_cache_tokens", snapshot.blocks.num_blocks * snapshot.block_tokens)?;
        metrics.set_item("steps", snapshot.steps)?;
        metrics.set_item("failed_steps", snapshot.failed_steps)?;
        metrics.set_item("prompt_tokens", snapshot.prompt_tokens)?;
        metrics.set_item("generation_tokens", snapshot.generation_tokens)?;
        metrics.set_item("prefix_cache_queries", snapshot.scheduler.prefix_queries)?;
        metrics.set_item("prefix_cache_hits", snapshot.scheduler.prefix_hits)?;
        metrics.set_item("preemptions", snapshot.scheduler.preemptions)?;
        Ok(metrics)
    }

    /// Returns the changes of the prefix cache from now on, starting with its blocks.
    fn cache_events(&self) -> PyResult<CacheEventStream> {
        CacheEventStream::of(self.0.server.engine().core())
    }

    /// Computes the hashes of the whole blocks of a prompt, as in the events of the prefix cache.
    fn block_hashes(&self, py: Python<'_>, prompt: Vec<u32>) -> Vec<u64> {
        let block_tokens = self.0.server.engine().snapshot().block_tokens;
        py.detach(|| block_hashes(&prompt, block_tokens))
    }

    /// Creates a session.
    fn session(&self) -> PyResult<Session> {
        Session::new(&self.0)
    }

    /// Passes a request to a route of the model's server.
    fn request(
        &self,
        method: String,
        target: String,
        headers: Vec<(String, Vec<u8>)>,
        body: Vec<u8>,
    ) -> PyResult<Response> {
        Response::to_request(&self.0.server, method, target, headers, body)
    }

    /// Starts another server of the model, with an engine of its own that shares all memory.
    #[pyo3(signature = (**options))]
    fn server(&self, options: Option<&Bound<'_, PyDict>>) -> PyResult<Server> {
        Server::start(&self.0, ServerArguments::read(options)?)
    }
}

/// Waits for the values that a request returns, and appends them to `values`.
///
/// **Errors**: the error of the request; `KeyboardInterrupt`.
fn read_values(py: Python<'_>, events: Option<EventStream>, values: &mut Vec<f32>) -> PyResult<()> {
    let Some(mut events) = events else { return Ok(()) };
    while let Some(event) = wait(py, |context| events.poll_next(context))? {
        match event {
            Event::Embedding(found) | Event::Logits(found) => values.extend(found),
            Event::Failed(error) => return Err(engine_exception(&error)),
            _ => {}
        }
    }
    Ok(())
}

fn to_bytes<'py>(py: Python<'py>, values: &[f32]) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, size_of_val(values), |bytes| {
        for (bytes, value) in bytes.chunks_exact_mut(size_of::<f32>()).zip(values) {
            bytes.copy_from_slice(&value.to_ne_bytes());
        }
        Ok(())
    })
}
