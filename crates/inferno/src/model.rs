//! A model in a file, before its weights are loaded.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use inferno_backend::{KvDType, PassObserver};
use inferno_engine::{EngineError, Runner, Session};
use inferno_gguf::Gguf;
use inferno_model::{LoadProgress, ModelSpec};
use inferno_tokenizer::Tokenizer;

use crate::bench::{DeviceRecorder, DeviceRoofs, GpuWork};
use crate::device::Device;
use crate::draft::Drafting;
use crate::{Error, LoadEstimate, LoadOptions, LoadedModel, checkpoint, embedded, load};

/// A model in a GGUF file: the header is read, the weights are not loaded yet.
///
/// ```
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/qwen3.gguf");
/// use inferno::{GenerationParams, Model, SamplingParams, StopParams};
///
/// let mut session = Model::open(path)?.session()?;
/// let params = GenerationParams {
///     sampling: SamplingParams::greedy(),
///     stop: StopParams { max_tokens: Some(8), ..Default::default() },
///     ..Default::default()
/// };
/// for step in session.generate("Once upon a time", &params)? {
///     print!("{}", step?.text);
/// }
/// # assert_eq!(session.metrics().generated_tokens, 8);
/// # Ok::<(), inferno::Error>(())
/// ```
pub struct Model {
    checkpoint: Arc<Gguf>,
    options: LoadOptions,
    drafting: Option<Drafting>,
    /// Opened once, when it is first needed.
    device: OnceLock<Device>,
}

impl Model {
    /// Opens a GGUF file, a split one by any of its shards, or a folder with a Hugging Face checkpoint, which is converted
    /// while it is loaded (see [`Conversion`](crate::Conversion)).
    ///
    /// **Errors**: a file that cannot be read or is damaged, a checkpoint that cannot be converted.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Ok(checkpoint::open(path.as_ref(), &mut |_| {})?.into())
    }

    /// Opens Ember, the small model built into the program; it is used in place, without a copy on disk or in memory.
    ///
    /// ```
    /// use inferno::{GenerationParams, Model, SamplingParams, StopParams};
    ///
    /// # if cfg!(not(feature = "embedded-model")) {
    /// #     return Ok(());
    /// # }
    /// let mut session = Model::embedded()?.session()?;
    /// let params = GenerationParams {
    ///     sampling: SamplingParams::greedy(),
    ///     stop: StopParams { max_tokens: Some(16), ..Default::default() },
    ///     ..Default::default()
    /// };
    /// for step in session.generate("Once upon a time", &params)? {
    ///     print!("{}", step?.text);
    /// }
    /// # assert_eq!(session.metrics().generated_tokens, 16);
    /// # Ok::<(), inferno::Error>(())
    /// ```
    ///
    /// **Errors**: [`Error::NoModel`] in a build without the feature `embedded-model`.
    pub fn embedded() -> Result<Self, Error> {
        Ok(embedded::checkpoint()?.into())
    }

    /// Sets how the model is loaded. An open device is reused if the options select the same one.
    pub fn with_options(mut self, options: LoadOptions) -> Self {
        if !self.options.has_device_of(&options) {
            self.device = OnceLock::new();
        }
        self.options = options;
        self
    }

    pub(crate) fn with_drafting(self, drafting: Drafting) -> Self {
        Self { drafting: Some(drafting), ..self }
    }

    /// Returns the model of the same files with other options, and with what drafts tokens if `is_drafting`.
    pub(crate) fn reopened(&self, options: LoadOptions, is_drafting: bool) -> Self {
        let drafting = self.drafting.clone().filter(|_| is_drafting);
        Self { checkpoint: self.shared_checkpoint(), options, drafting, device: OnceLock::new() }
    }

    /// Returns what drafts tokens.
    pub(crate) fn drafting(&self) -> Option<&Drafting> {
        self.drafting.as_ref()
    }

    /// Returns the file.
    pub fn checkpoint(&self) -> &Gguf {
        &self.checkpoint
    }

    pub(crate) fn shared_checkpoint(&self) -> Arc<Gguf> {
        Arc::clone(&self.checkpoint)
    }

    /// Returns how the model is loaded.
    pub(crate) fn options(&self) -> &LoadOptions {
        &self.options
    }

    /// Returns the description of the model.
    ///
    /// **Errors**: an unknown architecture, invalid metadata, missing tensors.
    pub(crate) fn spec(&self) -> Result<ModelSpec, Error> {
        Ok(ModelSpec::from_checkpoint(&self.checkpoint)?)
    }

    /// Checks that the model can generate text, before it is loaded.
    ///
    /// **Errors**: [`EngineError::NoLogits`]; an unknown architecture, invalid metadata, missing tensors.
    pub(crate) fn check_generates(&self) -> Result<(), Error> {
        check_generates(&self.spec()?)
    }

    /// Builds the tokenizer that the file describes.
    ///
    /// **Errors**: a file without a tokenizer, or with an unknown one.
    pub fn tokenizer(&self) -> Result<Tokenizer, Error> {
        Ok(Tokenizer::from_metadata(self.checkpoint.metadata())?)
    }

    /// Returns the maximum number of tokens of a session of this model.
    ///
    /// **Errors**: an unknown architecture, invalid metadata, a context longer than the model's.
    pub fn context_length(&self) -> Result<usize, Error> {
        let spec = self.spec()?;
        load::context_length(&spec, &self.options.for_model(&spec))
    }

    /// Estimates the memory that loading would take, and describes the device. Nothing is loaded.
    ///
    /// **Errors**: as [`runner`](Self::runner), as far as the header shows it.
    pub fn estimate(&self) -> Result<LoadEstimate, Error> {
        let options = self.options.for_model(&self.spec()?);
        let estimate = self.device()?.estimate(&self.checkpoint, &options, self.draft_file()?)?;
        let draft = self.estimate_draft(&estimate)?.map(Box::new);
        Ok(LoadEstimate { draft, ..estimate })
    }

    /// Measures the limits of the machine with the device of these options; `None` for a backend that is not
    /// designed to reach them.
    ///
    /// **Errors**: a backend that is not available; no memory for sweeps over `sweep_bytes`.
    pub(crate) fn roofs(&self, sweep_bytes: usize) -> Result<Option<DeviceRoofs>, Error> {
        self.device()?.roofs(sweep_bytes)
    }

    /// Returns what the GPU of these options has done since it was opened; `None` on a CPU.
    pub(crate) fn gpu_work(&self) -> Option<GpuWork> {
        self.device().ok()?.gpu_work()
    }

    /// Loads the weights into a runner, for programs that build batches themselves. `on_progress` is called after each
    /// tensor.
    ///
    /// **Errors**: an unknown architecture; invalid metadata; a tensor that is missing, misshapen or in a format that
    /// cannot be computed; a backend that is not available; no memory.
    pub fn runner(
        &self,
        on_progress: &mut dyn FnMut(LoadProgress),
    ) -> Result<Box<dyn Runner>, Error> {
        let options = self.options.for_model(&self.spec()?);
        self.device()?.runner(&self.checkpoint, &options, self.draft_file()?, on_progress)
    }

    /// Loads as [`runner`](Self::runner) does, and shows passes to `observer`.
    ///
    /// **Errors**: as [`runner`](Self::runner); options that divide the model between devices.
    pub(crate) fn observed_runner<O: PassObserver>(
        &self,
        observer: Arc<O>,
        on_progress: &mut dyn FnMut(LoadProgress),
    ) -> Result<Box<dyn Runner>, Error> {
        let options = self.options.for_model(&self.spec()?);
        self.device()?.observed_runner(&self.checkpoint, &options, observer, on_progress)
    }

    /// Returns what records the operations of the device: on a CPU those of [`observed_runner`](Self::observed_runner), with
    /// keys and values in a format.
    ///
    /// **Errors**: [`Error::BackendOption`] for the reference backend; a GPU without timestamps.
    pub(crate) fn recorder(&self, kv_dtype: KvDType) -> Result<DeviceRecorder, Error> {
        match self.device()? {
            Device::Cpu { backend, .. } => {
                Ok(DeviceRecorder::on_cpu(Arc::clone(backend), kv_dtype))
            }
            #[cfg(feature = "gpu")]
            Device::Gpu(device) => DeviceRecorder::on_gpu(device.backend()),
            other => {
                Err(Error::BackendOption { option: "--profile", backend: other.choice().name() })
            }
        }
    }

    /// Returns why the model was loaded on another device than planned; `None` before it is loaded and if it was not.
    pub fn fallback(&self) -> Option<&str> {
        self.device.get().and_then(Device::fallback)
    }

    /// Returns the memory of a GPU that the model occupies, in bytes; 0 before it is loaded and on a CPU.
    pub fn gpu_bytes(&self) -> usize {
        self.device.get().map_or(0, Device::gpu_bytes)
    }

    /// Loads the weights, once for any number of sessions and engines.
    ///
    /// **Errors**: as [`runner`](Self::runner) and [`tokenizer`](Self::tokenizer).
    pub fn load(&self) -> Result<LoadedModel, Error> {
        self.load_with(&mut |_| {})
    }

    /// Loads as [`load`](Self::load) does, and calls `on_progress` after each tensor.
    ///
    /// **Errors**: as [`load`](Self::load).
    pub fn load_with(
        &self,
        on_progress: &mut dyn FnMut(LoadProgress),
    ) -> Result<LoadedModel, Error> {
        LoadedModel::load(self, Arc::clone(&self.checkpoint), on_progress)
    }

    /// Loads the weights and creates a session.
    ///
    /// **Errors**: as [`load`](Self::load).
    pub fn session(&self) -> Result<Session, Error> {
        self.load()?.session()
    }

    /// Creates a session as [`session`](Self::session) does, and calls `on_progress` after each tensor. Without
    /// `kv_cache`, every step recomputes the whole sequence.
    ///
    /// **Errors**: as [`session`](Self::session).
    pub fn session_with(
        &self,
        kv_cache: bool,
        on_progress: &mut dyn FnMut(LoadProgress),
    ) -> Result<Session, Error> {
        self.load_with(on_progress)?.session_with(kv_cache)
    }

    pub(crate) fn device(&self) -> Result<&Device, Error> {
        match self.device.get() {
            Some(device) => Ok(device),
            None => {
                let device = Device::open(&self.checkpoint, &self.options)?;
                Ok(self.device.get_or_init(|| device))
            }
        }
    }
}

impl From<Gguf> for Model {
    /// Uses an open checkpoint, which may be in memory.
    fn from(checkpoint: Gguf) -> Self {
        let (options, device) = (LoadOptions::default(), OnceLock::new());
        Self { checkpoint: Arc::new(checkpoint), options, drafting: None, device }
    }
}

/// Checks that a model of this kind can generate text.
///
/// **Errors**: [`EngineError::NoLogits`].
pub(crate) fn check_generates(spec: &ModelSpec) -> Result<(), Error> {
    match spec.has_logits() {
        true => Ok(()),
        false => Err(EngineError::NoLogits { is_reranker: spec.has_classifier() }.into()),
    }
}
