//! A loaded model: tokens, generations, embeddings and logits.

use std::sync::Arc;

use inferno::{EmbeddingRequest, EncodeOptions, Pooling};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::arguments::{PathArgument, Tokens};
use crate::cache_events::{CacheEventStream, block_hashes};
use crate::detached::Detached;
use crate::errors::{exception, invalid, submit_exception};
use crate::generation::request;
use crate::load::{CheckedArguments, LoadArguments};
use crate::loaded::{Loaded, Weights, load_interruptible};
use crate::server::{Response, Server, ServerArguments};
use crate::session::Session;
use crate::stage::StageAddresses;
use crate::stream::{ChunkStream, Source};
use crate::values::{ValueStream, to_bytes};

/// A model on its device, with an engine that computes all requests together.
#[pyclass(frozen, module = "inferno._inferno")]
pub struct LoadedModel(Detached<Arc<Loaded>>);

impl LoadedModel {
    fn create(
        py: Python<'_>,
        source: Option<PathArgument>,
        checked: CheckedArguments,
        weights: Weights,
    ) -> PyResult<Self> {
        let source = source.map(|path| path.0);
        let loaded = load_interruptible(py, move || Loaded::load(source, checked, &weights))?;
        Ok(Self(Detached::new(Arc::new(loaded))))
    }
}

#[pymethods]
impl LoadedModel {
    /// Loads a model; without a source, the built-in one.
    #[staticmethod]
    #[pyo3(signature = (source, **options))]
    fn load(
        py: Python<'_>,
        source: Option<PathArgument>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let checked = LoadArguments::read(options)?.checked()?;
        Self::create(py, source, checked, Weights::InThisProcess)
    }

    /// Uses a model whose stages are in other processes, with this number of caches on each.
    #[staticmethod]
    #[pyo3(signature = (source, stages, num_lanes, **options))]
    fn load_from_stages(
        py: Python<'_>,
        source: Option<PathArgument>,
        stages: &StageAddresses,
        num_lanes: usize,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let checked = LoadArguments::read(options)?.checked_for_stages(num_lanes)?;
        let addresses = stages.0.clone();
        Self::create(py, source, checked, Weights::InStages { addresses, num_lanes })
    }

    /// How the model was loaded differently than requested.
    #[getter]
    fn notes(&self) -> PyResult<Vec<String>> {
        Ok(self.0.get()?.notes.clone())
    }

    /// The name of the model.
    #[getter]
    fn name(&self) -> PyResult<&str> {
        Ok(&self.0.get()?.name)
    }

    /// The maximum number of tokens of a prompt and its continuation.
    #[getter]
    fn context_length(&self) -> PyResult<usize> {
        Ok(self.0.get()?.server.engine().context_length())
    }

    /// The number of tokens that can be sampled.
    #[getter]
    fn vocab_size(&self) -> PyResult<usize> {
        Ok(self.0.get()?.server.engine().vocab_size())
    }

    /// The number of values in a hidden state.
    #[getter]
    fn hidden_size(&self) -> PyResult<usize> {
        Ok(self.0.get()?.server.engine().hidden_size())
    }

    /// The number of values in an embedding.
    #[getter]
    fn embedding_size(&self) -> PyResult<usize> {
        Ok(self.0.get()?.server.engine().embedding_size())
    }

    /// Descriptions of the devices that compute.
    #[getter]
    fn devices(&self) -> PyResult<Vec<String>> {
        Ok(self.0.get()?.server.engine().devices().to_vec())
    }

    /// The number format of the KV cache.
    #[getter]
    fn kv_dtype(&self) -> PyResult<&'static str> {
        Ok(self.0.get()?.server.engine().kv_dtype().name())
    }

    /// The token at the beginning of a text, if the model has one.
    #[getter]
    fn bos_token_id(&self) -> PyResult<Option<u32>> {
        Ok(self.0.get()?.model.tokenizer().bos())
    }

    /// The token at the end of a text, if the model has one.
    #[getter]
    fn eos_token_id(&self) -> PyResult<Option<u32>> {
        Ok(self.0.get()?.model.tokenizer().eos())
    }

    /// Whether there is a chat template.
    #[getter]
    fn has_chat_template(&self) -> PyResult<bool> {
        Ok(self.0.get()?.has_chat_template())
    }

    /// Splits a text into tokens.
    fn tokenize(
        &self,
        py: Python<'_>,
        text: &str,
        add_special: bool,
        parse_special: bool,
    ) -> PyResult<Vec<u32>> {
        let loaded = self.0.get()?;
        let options = EncodeOptions { add_special, parse_special };
        Ok(py.detach(|| loaded.model.tokenizer().encode(text, options)))
    }

    /// Splits a prompt into tokens: an empty one consists of the token that starts a text.
    fn tokenize_prompt(&self, py: Python<'_>, text: &str) -> PyResult<Vec<u32>> {
        let loaded = self.0.get()?;
        let options = EncodeOptions { add_special: true, parse_special: true };
        Ok(py.detach(|| loaded.model.tokenizer().encode_prompt(text, options)))
    }

    /// Converts tokens to text.
    fn detokenize(&self, tokens: Tokens, skip_special: bool) -> PyResult<String> {
        let decoded = self.0.get()?.model.tokenizer().decode(&tokens.0, skip_special);
        decoded.map_err(|error| invalid(error.to_string()))
    }

    /// Starts a generation.
    fn submit(
        &self,
        py: Python<'_>,
        prompt: Tokens,
        options: &Bound<'_, PyDict>,
    ) -> PyResult<ChunkStream> {
        let Loaded { model, server, .. } = &**self.0.get()?;
        let request = request(py, model, prompt.0.clone(), Some(options))?;
        let events = server.engine().submit(request);
        let events = events.map_err(|error| submit_exception(&error))?;
        let seed = events.seed();
        Ok(ChunkStream::new(Source::Engine(events), prompt.0, seed, server))
    }

    /// The number of requests that one caller submits before it reads the first: half of the queue.
    #[getter]
    fn max_num_ahead(&self) -> PyResult<usize> {
        Ok(self.0.get()?.engine_options.max_num_waiting / 2)
    }

    /// Starts to compute the embedding of a prompt: `embedding_size` values.
    fn submit_embedding(&self, prompt: Tokens) -> PyResult<ValueStream> {
        let Loaded { model, server, .. } = &**self.0.get()?;
        let pooling = model.pooling().map_err(|error| exception(&error))?;
        if pooling == Pooling::Rank {
            return Err(invalid(
                "this model computes the scores of a classifier, not embeddings; use the routes of inferno.asgi_app, such \
                 as /v1/rerank, or load an embedding model",
            ));
        }
        let events = server.engine().embed(EmbeddingRequest::new(prompt.0, pooling));
        Ok(ValueStream::new(events.map_err(|error| submit_exception(&error))?, server))
    }

    /// Computes logits in single precision: `vocab_size` values after the last token of a prompt, or after each.
    fn logits<'py>(
        &self,
        py: Python<'py>,
        prompt: Tokens,
        all_positions: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let server = &self.0.get()?.server;
        let events = server.engine().logits(prompt.0, all_positions);
        let events = events.map_err(|error| submit_exception(&error))?;
        let stream = ValueStream::new(events, server);
        let mut logits = Vec::new();
        while let Some(values) = stream.next_values(py)? {
            logits.extend(values);
        }
        to_bytes(py, &logits)
    }

    /// Returns the state and the counters of the engine after its last step.
    fn metrics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let snapshot = self.0.get()?.server.engine().snapshot();
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
    fn cache_events(&self, py: Python<'_>) -> PyResult<CacheEventStream> {
        CacheEventStream::of(py, &self.0.get()?.server)
    }

    /// Computes the hashes of the whole blocks of a prompt, as in the events of the prefix cache.
    fn block_hashes(&self, py: Python<'_>, prompt: Tokens) -> PyResult<Vec<u64>> {
        let block_tokens = self.0.get()?.server.engine().snapshot().block_tokens;
        Ok(py.detach(|| block_hashes(&prompt.0, block_tokens)))
    }

    /// Creates a session.
    fn session(&self, py: Python<'_>) -> PyResult<Session> {
        Session::new(py, self.0.get()?)
    }

    /// Passes a request to a route of the model's server.
    fn request(
        &self,
        method: String,
        target: String,
        headers: Vec<(String, Vec<u8>)>,
        body: Vec<u8>,
    ) -> PyResult<Response> {
        Response::to_request(&self.0.get()?.server, method, target, headers, body)
    }

    /// Starts another server of the model, with an engine of its own that shares all memory.
    #[pyo3(signature = (**options))]
    fn server(&self, py: Python<'_>, options: Option<&Bound<'_, PyDict>>) -> PyResult<Server> {
        Server::start(py, self.0.get()?, ServerArguments::read(options)?)
    }
}
