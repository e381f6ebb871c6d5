//! What is known of a model without loading it.

use inferno_chat::ChatTemplate;
use inferno_engine::SamplingParams;
use inferno_gguf::FileWatch;

use crate::ModelFile;
use crate::time::unix_seconds;

/// What is known of a model without loading it: its names, its file, its template and its defaults.
#[derive(Debug)]
pub struct ModelInfo {
    /// Names of the model; responses contain the first.
    pub(crate) names: Vec<String>,
    /// Further names that requests may use.
    pub(crate) aliases: Vec<String>,
    /// Whether requests may use any other name as well.
    pub(crate) accepts_any_name: bool,
    pub(crate) template: Option<ChatTemplate>,
    /// Sampling defaults.
    pub(crate) sampling: SamplingParams,
    /// Whether the model reasons, for templates with a switch; if `None`, the template decides.
    pub(crate) reasoning: Option<bool>,
    pub(crate) file: ModelFile,
    /// Maximum number of tokens of a prompt and its answer.
    pub(crate) context_length: usize,
    pub(crate) generates_text: bool,
    /// Whether it has the tokens for filling gaps in texts; false before it is loaded.
    pub(crate) fills_gaps: bool,
    /// When it was loaded or found, in seconds since 1970.
    pub(crate) created: u64,
}

impl ModelInfo {
    /// A model without a chat template.
    ///
    /// **Panics**: if `names` is empty.
    pub fn new(names: Vec<String>) -> Self {
        assert!(!names.is_empty(), "a model needs at least one name");
        Self {
            names,
            aliases: Vec::new(),
            accepts_any_name: false,
            template: None,
            sampling: SamplingParams::default(),
            reasoning: None,
            file: ModelFile::default(),
            context_length: 0,
            generates_text: true,
            fills_gaps: false,
            created: unix_seconds(),
        }
    }

    /// Answers requests for any model name, instead of only its own names.
    pub fn with_any_name(mut self) -> Self {
        self.accepts_any_name = true;
        self
    }

    /// Answers requests for these names, too, which are not listed.
    pub fn with_aliases(mut self, aliases: Vec<String>) -> Self {
        self.aliases = aliases;
        self
    }

    /// Sets the chat template, which also determines the format of tool calls.
    pub fn with_chat_template(mut self, template: Option<ChatTemplate>) -> Self {
        self.template = template;
        self
    }

    /// Sets the sampling defaults.
    pub fn with_sampling(mut self, sampling: SamplingParams) -> Self {
        self.sampling = sampling;
        self
    }

    /// Sets the facts about the model's file that the server reports.
    pub fn with_file(mut self, file: ModelFile) -> Self {
        self.file = file;
        self
    }

    /// Does not keep the file open to detect changes.
    pub fn without_watch(mut self) -> Self {
        self.file.watch = FileWatch::default();
        self
    }

    /// Switches reasoning on or off for requests that do not, if the chat template has a switch (`enable_thinking`); with
    /// `None`, the template decides.
    pub fn with_reasoning(mut self, reasoning: Option<bool>) -> Self {
        self.reasoning = reasoning;
        self
    }

    /// Sets the maximum number of tokens of a prompt and its answer. A loaded model has that of its engine.
    pub fn with_context_length(mut self, context_length: usize) -> Self {
        self.context_length = context_length;
        self
    }

    /// Sets whether the model generates text. A loaded model has that of its engine.
    pub fn with_text_generation(mut self, generates_text: bool) -> Self {
        self.generates_text = generates_text;
        self
    }

    /// Whether a request may use this name.
    pub(crate) fn accepts_name(&self, name: &str) -> bool {
        self.accepts_any_name || self.has_name(name)
    }

    /// Whether this is one of its names; Ollama's clients may add the tag `latest`.
    pub(crate) fn has_name(&self, name: &str) -> bool {
        let untagged = name.strip_suffix(":latest").unwrap_or(name);
        self.names.iter().chain(&self.aliases).any(|known| known == name || known == untagged)
    }

    /// The first name, which responses contain.
    pub fn name(&self) -> &str {
        &self.names[0]
    }

    /// Whether it answers conversations.
    pub(crate) fn takes_messages(&self) -> bool {
        self.template.is_some() && self.generates_text
    }
}
