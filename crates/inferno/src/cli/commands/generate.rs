//! `inferno generate`: generates text from a prompt.

mod answer;

use std::io::{IsTerminal, stdin};
use std::path::{Path, PathBuf};

use clap::Parser;
use inferno_chat::{AnswerOptions, OutputFormat};
use inferno_engine::{FinishReason, GenerationParams, Prompt, Session, StopParams};
use inferno_tokenizer::EncodeOptions;

use crate::cli::arguments::chat::ChatArgs;
use crate::cli::arguments::compute::ComputeArgs;
use crate::cli::arguments::limits::{ContextArgs, StopArgs};
use crate::cli::arguments::model::{SourceArgs, ensure_not_model, with_loading_bar};
use crate::cli::arguments::output_format::OutputFormatArgs;
use crate::cli::arguments::sampling::SamplingArgs;
use crate::cli::arguments::speculation::SpeculateArgs;
use crate::cli::arguments::values::unescape;
use crate::cli::dry_run;
use crate::cli::failure::{Failure, is_broken_pipe};
use crate::cli::input::conversation::{ChatInput, RenderedConversation};
use crate::cli::input::{STDIN_PATH, read_file, with_stdin, without_line_break};
use crate::cli::terminal::interrupt::Interrupt;
use crate::cli::terminal::note::print_note;
use crate::cli::terminal::output::Output;
use crate::cli::terminal::progress::prompt_bar;
use crate::output_file::{ensure_creatable, ensure_not_input, ensure_not_read, ensure_writable};
use crate::{Error, LoadOptions, Model};
use answer::Answer;

/// Generate text from a prompt
///
/// The output is written to standard output as it is generated. The prompt is an argument or a file (--prompt-file),
/// followed by a blank line and standard input if that is not a terminal; either part may be missing. Special tokens that the model expects before the text (such as BOS) are added automatically. With
/// --chat, the prompt is a user message and the output is the model's reply.
///
/// If the conversation in --input has tools, the model may call them: each call is printed as one line of JSON with the fields
/// name and arguments, after the text of the reply. tool_choice in the input is honored.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  inferno generate -m model.gguf \"Once upon a time\"
  inferno generate -m model.gguf --temperature 0.7 --stop \"Yours\" \"Dear reader,\"
  inferno generate -m model.gguf --speculate 12 --prompt-file edit_this.txt
  inferno generate -m model.gguf --draft-model small.gguf \"Once upon a time\"
  inferno generate -m model.gguf --chat --system \"Be brief.\" \"Who are you?\"
  inferno generate -m model.gguf --chat --input request.json
  inferno generate -m model.gguf --json-schema person.json \"A person:\"
  inferno generate -m model.gguf --dry-run --context 32768

Save the state after a long prompt, and continue from it later:
  inferno generate -m model.gguf -n 1 --save-session s.bin < chapter.txt
  inferno generate -m model.gguf --load-session s.bin \"The end came when\"")]
pub(crate) struct GenerateArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// Prompt; same as the argument
    #[arg(
        id = "prompt_option",
        short,
        long = "prompt",
        value_name = "TEXT",
        allow_hyphen_values = true
    )]
    prompt_option: Option<String>,
    /// Read the prompt from this file, without a line break at its end; - reads standard input
    #[arg(long, value_name = "FILE")]
    prompt_file: Option<PathBuf>,
    /// Replace the escape sequences \n, \t, \r, \\, \' and \" in the prompt
    #[arg(short, long)]
    escape: bool,
    #[command(flatten)]
    stop: StopArgs,
    /// Continue past end-of-generation tokens
    #[arg(long)]
    ignore_eos: bool,
    /// Treat special tokens written in the prompt as plain text
    #[arg(long)]
    no_special: bool,
    #[command(flatten)]
    context: ContextArgs,
    #[command(flatten)]
    speculate: SpeculateArgs,
    /// Recompute the whole sequence at every step instead of caching keys and values; the output is identical
    #[arg(long)]
    pub(crate) no_kv: bool,
    /// Continue from a session saved with --save-session
    #[arg(long, value_name = "FILE")]
    load_session: Option<PathBuf>,
    /// Save the session (all tokens with their keys and values) to this file when done
    #[arg(long, value_name = "FILE")]
    save_session: Option<PathBuf>,
    /// Print timings, rates and memory usage to standard error
    #[arg(long)]
    stats: bool,
    /// Write timings, rates and memory usage to this file as JSON; an existing file is overwritten
    #[arg(long, value_name = "FILE")]
    stats_json: Option<PathBuf>,
    /// Prompt, which standard input follows if that is not a terminal; - reads only standard input
    prompt: Option<String>,
    #[command(flatten)]
    chat: ChatArgs,
    #[command(flatten)]
    output_format: OutputFormatArgs,
    #[command(flatten)]
    sampling: SamplingArgs,
    #[command(flatten)]
    compute: ComputeArgs,
}

/// The prompt, before a chat template is applied.
enum UserInput {
    Text(String),
    Conversation(ChatInput),
}

/// The prompt as the model reads it.
enum Prepared {
    Text(String),
    Conversation(Box<RenderedConversation>),
}

impl Prepared {
    /// Compiles the constraint of the answer; returns it with the tokens of the prompt. Special tokens in a text are parsed
    /// if `parse_special` is set.
    ///
    /// **Errors**: [`Error::AnswerSetup`].
    fn compile(
        self,
        format: OutputFormat,
        reasoning_budget: Option<usize>,
        parse_special: bool,
        session: &Session,
    ) -> Result<(Vec<u32>, Answer), Error> {
        match self {
            Self::Text(text) => {
                let answer = match format {
                    OutputFormat::Text => Answer::default(),
                    _ => Answer::plain(&format, session)?,
                };
                let is_beginning = session.tokens().is_empty();
                let options = EncodeOptions { add_special: is_beginning, parse_special };
                let tokens = match is_beginning {
                    true => session.tokenizer().encode_prompt(&text, options),
                    false => session.tokenizer().encode(&text, options),
                };
                Ok((tokens, answer))
            }
            Self::Conversation(conversation) => {
                let tools = conversation.tools()?;
                let tokens = conversation.encode(session.tokenizer())?;
                let RenderedConversation { text, template, .. } = *conversation;
                let options = AnswerOptions { tools, format, reasoning_budget };
                let is_free = !options.tools.are_available()
                    && options.format == OutputFormat::Text
                    && options.reasoning_budget.is_none();
                let answer = match is_free {
                    true => Answer::default(),
                    false => Answer::chat(&template, &text, &options, session)?,
                };
                Ok((tokens, answer))
            }
        }
    }
}

/// Generate text with one optimization at a time
///
/// Decoding is greedy unless --temperature is set. Every step recomputes the whole sequence unless --kv is set.
#[derive(Parser)]
#[command(name = "model-generate", version, max_term_width = 80)]
#[command(mut_arg("no_kv", |arg| arg.hide(true)))]
#[command(after_help = "\
Examples:
  model-generate -m model.gguf --backend scalar \"Once upon a time\"
  model-generate -m model.gguf --backend scalar --kv \"Once upon a time\"
  model-generate -m model.gguf --backend simd --kv \"Once upon a time\"")]
pub(crate) struct ModelGenerate {
    /// Cache keys and values between steps
    #[arg(long, conflicts_with = "no_kv")]
    kv: bool,
    #[command(flatten)]
    generate: GenerateArgs,
}

impl ModelGenerate {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let sampling = self.generate.sampling.or_greedy();
        GenerateArgs { no_kv: !self.kv, sampling, ..self.generate }.run()
    }
}

impl GenerateArgs {
    pub(crate) fn run(self) -> Result<(), Failure> {
        self.chat.check()?;
        if self.chat.chat && self.load_session.is_some() {
            return Err(Failure::Usage(
                "--load-session continues the text of a session, not a conversation: omit --chat, or keep conversations with /save and \
                 /load in inferno chat"
                    .to_owned(),
            ));
        }
        self.sampling.check()?;
        let stop = StopParams { ignore_eos: self.ignore_eos, ..self.stop.params()? };
        let format = self.output_format.format()?;
        let model = || -> Result<Model, Error> {
            let checkpoint = self.source.open()?;
            let context = self.context.length(&checkpoint)?;
            let options = self.compute.options(&checkpoint, context, self.speculate.limits());
            let options = LoadOptions { speculation: self.speculate.is_enabled(), ..options };
            let model = Model::from(checkpoint).with_options(options.for_one_sequence());
            self.speculate.with_draft_model(model)
        };
        if self.compute.dry_run {
            return dry_run::report(&model()?, dry_run::REDUCE_CONTEXT);
        }
        let prompt = self.read_prompt()?;
        let model = model()?;
        model.check_generates()?;
        self.check_outputs(&model)?;
        let metadata = model.checkpoint().metadata();
        let sampling = self.sampling.params(metadata)?;
        let mut params = GenerationParams {
            sampling,
            stop,
            num_speculative_tokens: self.speculate.num_drafts(),
            ..GenerationParams::default()
        };
        let has_format = format != OutputFormat::Text;
        let prompt = match prompt {
            UserInput::Text(text) => Prepared::Text(text),
            UserInput::Conversation(conversation) => {
                let template = self.chat.template(metadata)?;
                Prepared::Conversation(Box::new(conversation.render_prompt(template)?))
            }
        };
        let mut session =
            with_loading_bar(&model, |on_progress| model.session_with(!self.no_kv, on_progress))?;
        if let Some(path) = &self.load_session {
            session.load(path)?;
        }
        let interrupt = Interrupt::watch();
        let reasoning_budget = self.chat.reasoning_budget();
        let (prompt, answer) =
            prompt.compile(format, reasoning_budget, !self.no_special, &session)?;
        params.skip_special_tokens &= !answer.needs_control_tokens;
        let max_context_length = model.spec()?.context_length;
        let finish_reason = self
            .generate(&mut session, &prompt, &params, answer, &interrupt)
            .map_err(|error| error.at_maximum(max_context_length));
        // What was generated is kept, also if nobody reads it.
        if finish_reason.as_ref().map_or_else(is_broken_pipe, |_| true) {
            self.finish(&session)?;
        }
        match finish_reason? {
            FinishReason::Cancelled => Err(Failure::Interrupted),
            FinishReason::Length if has_format => {
                print_note(
                    "note: --max-tokens ended the text, whose format may be incomplete; pass a larger number.",
                );
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn read_prompt(&self) -> Result<UserInput, Failure> {
        match self.chat.chat {
            true => self.chat.conversation(|| self.read_text()).map(UserInput::Conversation),
            false => self.read_text().map(UserInput::Text),
        }
    }

    fn read_text(&self) -> Result<String, Failure> {
        let prompt = match (&self.prompt, &self.prompt_option, &self.prompt_file) {
            (None, None, None) if stdin().is_terminal() => {
                return Err(Failure::Usage(
                    "no prompt specified; pass it as the last argument, or - to type it".to_owned(),
                ));
            }
            (prompt, None, None) if prompt.as_ref().is_none_or(|prompt| prompt == STDIN_PATH) => {
                return self.read_input(Path::new(STDIN_PATH));
            }
            (Some(prompt), None, None) | (None, Some(prompt), None) => self.unescaped(prompt),
            (None, None, Some(path)) if path.as_os_str() == STDIN_PATH => {
                return self.read_input(path);
            }
            (None, None, Some(path)) => self.read_input(path)?,
            (Some(_), Some(_), _) => {
                return Err(Failure::Usage(
                    "both a prompt and --prompt were specified; remove one of them, or put all words of the prompt in \
                     quotes"
                        .to_owned(),
                ));
            }
            _ => {
                return Err(Failure::Usage(
                    "both a prompt and --prompt-file were specified; remove one of them".to_owned(),
                ));
            }
        };
        if !self.source.is_given() {
            ensure_not_model(&prompt, "prompt")?;
        }
        Ok(with_stdin(prompt)?)
    }

    /// Reads a prompt from a file or standard input, without a line break at its end, which `echo` and editors add.
    fn read_input(&self, path: &Path) -> Result<String, Failure> {
        let text = read_file(path)?;
        Ok(self.unescaped(without_line_break(&text)))
    }

    /// A prompt with its escape sequences replaced, if that is wanted.
    fn unescaped(&self, prompt: &str) -> String {
        if self.escape { unescape(prompt) } else { prompt.to_owned() }
    }

    /// Rejects output files that cannot or must not be written, before anything is computed.
    fn check_outputs(&self, model: &Model) -> Result<(), Error> {
        let outputs = self.save_session.iter().chain(&self.stats_json);
        for path in outputs {
            ensure_not_input(model.checkpoint(), path)?;
            // A session may be continued in its own file.
            ensure_not_read(self.prompt_file.iter().chain(self.chat.input.as_ref()), path)?;
        }
        if let Some(path) = &self.stats_json {
            ensure_not_read(self.load_session.iter().chain(&self.save_session), path)?;
        }
        if let Some(path) = &self.save_session {
            ensure_creatable(path)?;
            Session::check_save(path)?;
        }
        if let Some(path) = &self.stats_json {
            ensure_writable(path)?;
        }
        Ok(())
    }

    /// Prints the text as it is generated.
    fn generate(
        &self,
        session: &mut Session,
        tokens: &[u32],
        params: &GenerationParams,
        answer: Answer,
        interrupt: &Interrupt,
    ) -> Result<FinishReason, Error> {
        let context_length = session.context_length();
        let Answer { constraint, mut printer, .. } = answer;
        let prompt = Prompt::Tokens(tokens);
        let mut generation = match constraint {
            Some(constraint) => session.generate_constrained(prompt, params, constraint)?,
            None => session.generate(prompt, params)?,
        };
        interrupt.cancels(generation.cancel_handle());
        generation.on_prompt(prompt_bar(tokens.len()));

        let mut output = Output::new();
        let mut finish_reason = FinishReason::Cancelled;
        let mut ends_line = false;
        for step in generation.by_ref() {
            let step = step?;
            let mut text = step.text;
            if let Some(printer) = &mut printer {
                text = printer.push(&text);
                if step.finish_reason.is_some() {
                    text += &printer.finish();
                }
            }
            if !text.is_empty() {
                output.model_text(&text)?;
                output.flush()?;
                ends_line = text.ends_with('\n');
            }
            finish_reason = step.finish_reason.unwrap_or(finish_reason);
        }
        if !ends_line {
            output.line("")?;
        }
        output.flush()?;
        if finish_reason == FinishReason::ContextFull {
            print_note(&format!(
                "note: stopped because the context of {context_length} tokens is full"
            ));
        }
        if self.stats {
            print_note(&format!("sampling     {}", params.sampling));
            print_note(&format!("seed         {}", generation.seed()));
        }
        Ok(finish_reason)
    }

    /// Saves the session and reports statistics, as requested.
    fn finish(&self, session: &Session) -> Result<(), Error> {
        if let Some(path) = &self.save_session {
            session.save(path)?;
        }
        if self.stats {
            print_note(&session.metrics().to_string());
        }
        if let Some(path) = &self.stats_json {
            let json = serde_json::to_string_pretty(session.metrics())
                .map_err(|error| Error::io(path, error.into()))?;
            std::fs::write(path, json + "\n").map_err(|error| Error::io(path, error))?;
        }
        Ok(())
    }
}
