//! `tokenizer-demo`: shows how a text is split into tokens.

use std::io::IsTerminal;

use clap::Parser;
use inferno_tokenizer::{EncodeOptions, Tokenizer};

use crate::cli::arguments::model::open;
use crate::cli::failure::Failure;
use crate::cli::terminal::output::Output;
use crate::plural::count;
use crate::{Error, embedded};

/// Show how a text is split into tokens
#[derive(Parser)]
#[command(name = "tokenizer-demo", version, max_term_width = 80)]
#[command(override_usage = "tokenizer-demo [FILE] TEXT")]
#[command(after_help = "\
Examples:
  tokenizer-demo \"Once upon a time\"
  tokenizer-demo model.gguf \"Once upon a time\"")]
pub(crate) struct TokenizerDemo {
    /// Text to tokenize, optionally preceded by a model: a GGUF file or hf:OWNER/REPO[:QUANTIZATION]
    #[arg(value_names = ["FILE", "TEXT"], num_args = 1..=2, required = true)]
    arguments: Vec<String>,
}

impl TokenizerDemo {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let (source, text) = match &self.arguments[..] {
            [file, text] => (Some(file.parse()?), text),
            [text] if embedded::IS_BUILT_IN => (None, text),
            _ => {
                return Err(Failure::Usage(
                    "no model specified; pass its file before the text: tokenizer-demo FILE TEXT"
                        .to_owned(),
                ));
            }
        };
        let model =
            open(source.as_ref(), "Pass FILE or hf:OWNER/REPO before the text to use another.")?;
        let tokenizer = Tokenizer::from_metadata(model.metadata())?;
        let ids = tokenizer.encode(text, EncodeOptions { add_special: true, parse_special: true });
        let mut output = Output::new();
        show(&tokenizer, &ids, std::io::stdout().is_terminal(), &mut output)?;
        output.flush()?;
        Ok(())
    }
}

fn show(
    tokenizer: &Tokenizer,
    ids: &[u32],
    is_terminal: bool,
    output: &mut Output,
) -> Result<(), Error> {
    let piece = |id: u32| {
        let bytes = tokenizer.token_bytes(id).unwrap_or_default();
        String::from_utf8_lossy(&bytes).escape_debug().to_string()
    };
    for (index, &id) in ids.iter().enumerate() {
        match is_terminal {
            // Adjacent tokens have different colors.
            true => {
                output.write(format_args!("\x1b[30;4{}m{}\x1b[0m", 2 + index % 5, piece(id)))?
            }
            false => output.write(format_args!("[{}]", piece(id)))?,
        }
    }
    output.line("")?;
    for &id in ids {
        let role = if tokenizer.is_special(id) { "  (special)" } else { "" };
        output.line(format_args!("{id:>7}  {}{role}", piece(id)))?;
    }
    output.line(count(ids.len(), "token"))
}
