//! A model whose weights are loaded, shared by sessions and engines.

use std::sync::Arc;
use std::time::{Duration, Instant};

use inferno_chat::{AnswerSetupError, ChatTemplate, GrammarCompiler, OutputFormat, RerankTemplate};
use inferno_engine::{
    CoreOptions, DraftModel, Engine, EngineOptions, GenerationCore, Pooling, Runner,
    SamplingParams, Session, SessionOptions,
};
use inferno_gguf::Gguf;
use inferno_model::LoadProgress;
use inferno_server::{ModelFile, ModelInfo, ServedModel};
use inferno_tokenizer::{EncodeOptions, TokenConstraint, Tokenizer};

use crate::constraint::with_grammars;
use crate::{Error, Model};

/// A model on its device. Cloning it is cheap: all clones, [`Session`]s and [`Engine`]s share the weights, the KV cache
/// and the prefix cache.
///
/// ```
/// use inferno::{GenerationParams, Model, SamplingParams, StopParams};
///
/// # if cfg!(not(feature = "embedded-model")) {
/// #     return Ok(());
/// # }
/// let model = Model::embedded()?.load()?;
/// let params = GenerationParams {
///     sampling: SamplingParams::greedy(),
///     stop: StopParams { max_tokens: Some(8), ..Default::default() },
///     ..Default::default()
/// };
/// let (mut first, mut second) = (model.session()?, model.session()?);
/// let one = first.generate("Once upon a time", &params)?.complete()?;
/// let other = second.generate("Once upon a time", &params)?.complete()?;
/// assert_eq!(one.text, other.text);
/// # Ok::<(), inferno::Error>(())
/// ```
#[derive(Clone)]
pub struct LoadedModel {
    checkpoint: Arc<Gguf>,
    /// The first is that of sessions; engines divide their requests between all.
    cores: Arc<[GenerationCore]>,
    grammars: Arc<GrammarCompiler>,
    load_time: Duration,
}

impl LoadedModel {
    /// Loads `model`, whose file is `checkpoint`.
    pub(crate) fn load(
        model: &Model,
        checkpoint: Arc<Gguf>,
        on_progress: &mut dyn FnMut(LoadProgress),
    ) -> Result<Self, Error> {
        let started = Instant::now();
        let mut runner = model.runner(on_progress)?;
        let draft = model.load_draft(&mut *runner, on_progress)?;
        Self::on(model, checkpoint, vec![runner], draft, model.options().core(), started)
    }

    /// Creates a core for each of `runners`, at least one. The draft model drafts for the first.
    pub(crate) fn on(
        model: &Model,
        checkpoint: Arc<Gguf>,
        runners: Vec<Box<dyn Runner>>,
        mut draft: Option<DraftModel>,
        options: CoreOptions,
        started: Instant,
    ) -> Result<Self, Error> {
        let tokenizer = Arc::new(model.tokenizer()?);
        let mut cores = Vec::with_capacity(runners.len());
        for runner in runners {
            let tokenizer = Arc::clone(&tokenizer);
            cores.push(GenerationCore::with_draft_model(runner, tokenizer, options, draft.take())?);
        }
        let cores: Arc<[_]> = cores.into();
        let grammars = GrammarCompiler::new(tokenizer, cores[0].vocab_size());
        let load_time = started.elapsed();
        Ok(Self { checkpoint, cores, grammars: Arc::new(grammars), load_time })
    }

    /// Creates a session, which is computed in the caller's thread.
    ///
    /// **Errors**: [`CacheTooSmall`](inferno_engine::EngineError::CacheTooSmall) when the KV cache does not hold one
    /// context.
    pub fn session(&self) -> Result<Session, Error> {
        self.session_with(true)
    }

    /// Creates a session; without `kv_cache`, every step recomputes the whole sequence.
    ///
    /// **Errors**: as [`session`](Self::session).
    pub fn session_with(&self, kv_cache: bool) -> Result<Session, Error> {
        let options = SessionOptions { kv_cache, load_time: Some(self.load_time) };
        Ok(Session::new(self.core().clone(), options)?)
    }

    /// Starts an engine, whose thread computes many requests at once.
    ///
    /// ```
    /// use inferno::{EngineOptions, Event, GenerationParams, Model, Request, StopParams};
    ///
    /// # if cfg!(not(feature = "embedded-model")) {
    /// #     return Ok(());
    /// # }
    /// let model = Model::embedded()?.load()?;
    /// let engine = model.engine(EngineOptions::default())?;
    /// let stop = StopParams { max_tokens: Some(8), ..Default::default() };
    /// let prompt = model.tokenizer().encode_prompt("Once upon a time", Default::default());
    /// let request = Request::new(prompt, GenerationParams { stop, ..Default::default() });
    /// let mut events = engine.handle().submit(request)?; // dropping `events` cancels the request
    /// while let Some(event) = events.blocking_next() {
    ///     match event {
    ///         Event::Token(token) => print!("{}", token.text),
    ///         Event::Finished(end) => println!("{} ({})", end.text, end.reason.name()),
    ///         Event::Failed(error) => eprintln!("{error}"),
    ///         _ => {}
    ///     }
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// **Errors**: a queue of length 0, no thread available.
    pub fn engine(&self, options: EngineOptions) -> Result<Engine, Error> {
        Ok(Engine::start_lanes(&self.cores, options)?)
    }

    /// Computes the embedding of `text`, a vector of length 1, with the [pooling](Self::pooling) of the model.
    ///
    /// ```
    /// # if cfg!(not(feature = "embedded-model")) {
    /// #     return Ok(());
    /// # }
    /// let model = inferno::Model::embedded()?.load()?;
    /// let vector = model.embed("a small boy")?;
    /// let norm: f32 = vector.iter().map(|value| value * value).sum();
    /// assert!((norm - 1.0).abs() < 1e-5);
    /// # Ok::<(), inferno::Error>(())
    /// ```
    ///
    /// **Errors**: a text longer than the context, pooling that is not supported, a device that fails.
    pub fn embed(&self, text: &str) -> Result<Vec<f32>, Error> {
        let pooling = self.pooling()?;
        let options = EncodeOptions { add_special: true, parse_special: true };
        Ok(self.core().embed(&self.tokenizer().encode_prompt(text, options), pooling)?)
    }

    /// Returns how hidden states are pooled into an embedding, as the file or the kind of the model says.
    ///
    /// **Errors**: pooling that is not supported.
    pub fn pooling(&self) -> Result<Pooling, Error> {
        let recommended = Pooling::recommended(self.checkpoint.metadata())?;
        Ok(recommended.unwrap_or_else(|| self.core().default_pooling()))
    }

    /// Compiles a format into the constraint of one request; `None` if the output is unconstrained.
    ///
    /// ```
    /// use inferno::{GenerationParams, Model, OutputFormat};
    ///
    /// # if cfg!(not(feature = "embedded-model")) {
    /// #     return Ok(());
    /// # }
    /// let model = Model::embedded()?.load()?;
    /// let format = OutputFormat::Choice(vec!["yes".to_owned(), "no".to_owned()]);
    /// if let Some(constraint) = model.constraint(&format)? {
    ///     let mut session = model.session()?;
    ///     let params = GenerationParams::default();
    ///     let answer = session.generate_constrained("Is the sky blue? ", &params, constraint)?.complete()?;
    ///     assert!(["yes", "no"].contains(&answer.text.as_str()));
    /// }
    /// # Ok::<(), inferno::Error>(())
    /// ```
    ///
    /// **Errors**: an invalid or too complex schema, expression or grammar.
    pub fn constraint(
        &self,
        format: &OutputFormat,
    ) -> Result<Option<Box<dyn TokenConstraint>>, Error> {
        with_grammars(&self.grammars, |grammars| {
            let compiled = format.compile(grammars).map_err(AnswerSetupError::Format)?;
            Ok(compiled.constraint)
        })
    }

    /// Starts an engine and describes the model to a server, which lists it under `names`; responses contain the first
    /// one. Chat template, sampling defaults and pooling are those of the file.
    ///
    /// ```
    /// use inferno::{EngineOptions, LocalRequest, LocalServer, Model, ResponsePart, ServerOptions};
    ///
    /// # if cfg!(not(feature = "embedded-model")) {
    /// #     return Ok(());
    /// # }
    /// let model = Model::embedded()?.load()?;
    /// let served = model.served(EngineOptions::default(), model.info(vec!["ember".to_owned()])?)?;
    /// let server = LocalServer::start(ServerOptions::default(), served)?;
    /// let mut response = server.send(LocalRequest {
    ///     method: "POST".to_owned(),
    ///     target: "/v1/completions".to_owned(),
    ///     headers: vec![
    ///         ("host".to_owned(), b"localhost".to_vec()),
    ///         ("content-type".to_owned(), b"application/json".to_vec()),
    ///     ],
    ///     body: br#"{"prompt": "Once upon a time", "max_tokens": 8}"#.to_vec(),
    /// })?;
    /// let Some(ResponsePart::Head { status, .. }) = response.blocking_next() else {
    ///     panic!("a response begins with its head");
    /// };
    /// assert_eq!(status, 200);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// **Errors**: as [`engine`](Self::engine); a file whose pooling is invalid.
    pub fn served(&self, options: EngineOptions, info: ModelInfo) -> Result<ServedModel, Error> {
        let template = RerankTemplate::from_metadata(self.checkpoint.metadata())?;
        Ok(ServedModel::new(self.engine(options)?, info)
            .with_pooling(self.pooling()?)
            .with_rerank_template(template))
    }

    /// Returns what a server tells of the model, with the template and the sampling defaults of the file.
    ///
    /// **Errors**: a file whose template or sampling defaults are invalid.
    ///
    /// **Panics**: if `names` is empty.
    pub fn info(&self, names: Vec<String>) -> Result<ModelInfo, Error> {
        let metadata = self.checkpoint.metadata();
        Ok(ModelInfo::new(names)
            .with_chat_template(ChatTemplate::from_metadata(metadata)?)
            .with_sampling(SamplingParams::recommended(metadata)?)
            .with_file(ModelFile::of(&self.checkpoint)))
    }

    /// Returns the tokenizer of the model.
    pub fn tokenizer(&self) -> &Arc<Tokenizer> {
        self.core().tokenizer()
    }

    /// Returns the file.
    pub fn checkpoint(&self) -> &Gguf {
        &self.checkpoint
    }

    /// Returns what sessions and engines share: snapshots of its state, and saving and loading its prefix cache. Of a model
    /// on stages in other processes, this is the first of several.
    pub fn core(&self) -> &GenerationCore {
        &self.cores[0]
    }
}
