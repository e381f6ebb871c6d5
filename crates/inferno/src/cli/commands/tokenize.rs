//! `inferno tokenize`: converts between text and token ids.

use inferno_tokenizer::{EncodeOptions, Tokenizer};

use crate::cli::arguments::model::{SourceArgs, ensure_not_model};
use crate::cli::compatibility::quotes_advice;
use crate::cli::failure::Failure;
use crate::cli::input::{STDIN_PATH, parse_ids, read_stdin};
use crate::cli::terminal::output::Output;

/// Convert text to token ids, or ids to text
///
/// The input is the argument, or standard input without it. The ids are printed as a JSON array on one line. A GGUF file with a vocabulary but no weights is sufficient.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  inferno tokenize -m model.gguf \"Once upon a time\"
  inferno tokenize -m model.gguf < story.txt
  inferno tokenize -m model.gguf --decode 9038 2501
  echo \"[9038, 2501]\" | inferno tokenize -m model.gguf --decode")]
pub(crate) struct TokenizeArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// Text, or with --decode the ids as 1 2 3, 1,2,3 or [1, 2, 3]; - reads standard input [default: standard input]
    #[arg(value_name = "TEXT")]
    input: Vec<String>,
    /// Convert ids to text; no newline is added
    #[arg(long)]
    decode: bool,
    /// Do not add special tokens such as BOS; with --decode, do not remove them
    #[arg(long)]
    no_bos: bool,
    /// Treat special tokens written in the text as plain text; with --decode, omit them
    #[arg(long)]
    no_special: bool,
}

impl TokenizeArgs {
    pub(crate) fn run(self) -> Result<(), Failure> {
        self.check_input()?;
        let gguf = self.source.open()?;
        let tokenizer = Tokenizer::from_metadata(gguf.metadata())?;
        let inputs = match &self.input[..] {
            [] => vec![read_stdin()?],
            [path] if path == STDIN_PATH => vec![read_stdin()?],
            inputs => inputs.to_vec(),
        };
        let mut output = Output::new();
        if self.decode {
            let ids: Vec<_> = inputs.iter().map(|ids| parse_ids(ids)).collect::<Result<_, _>>()?;
            let ids = ids.concat();
            let ids = if self.no_bos { &ids[..] } else { without_added(&tokenizer, &ids) };
            output.model_bytes(&tokenizer.decode_bytes(ids, self.no_special)?)?;
        } else {
            let options =
                EncodeOptions { add_special: !self.no_bos, parse_special: !self.no_special };
            let ids = tokenizer.encode(&inputs.concat(), options);
            output.line(serde_json::Value::from(ids))?;
        }
        output.flush()?;
        Ok(())
    }

    /// Checks the arguments, before a model is downloaded.
    ///
    /// **Errors**: [`Failure::Usage`] for a model without its option, and for a text of several arguments.
    fn check_input(&self) -> Result<(), Failure> {
        let [first, _, ..] = &self.input[..] else { return Ok(()) };
        if self.decode {
            return Ok(());
        }
        if !self.source.is_given() {
            ensure_not_model(first, "text")?;
        }
        let advice = quotes_advice("text");
        Err(Failure::Usage(format!("the text is more than one argument; {advice}")))
    }
}

/// Returns `ids` without the tokens that encoding adds before and after a text, so that decoding reverses encoding.
fn without_added<'a>(tokenizer: &Tokenizer, mut ids: &'a [u32]) -> &'a [u32] {
    let added = tokenizer.encode("", EncodeOptions { add_special: true, parse_special: false });
    let (before, after) = match added[..] {
        [only] if Some(only) == tokenizer.bos() => (Some(only), None),
        [only] => (None, Some(only)),
        [before, after] => (Some(before), Some(after)),
        _ => (None, None),
    };
    if let (Some(before), [first, rest @ ..]) = (before, ids) {
        ids = if *first == before { rest } else { ids };
    }
    if let (Some(after), [rest @ .., last]) = (after, ids) {
        ids = if *last == after { rest } else { ids };
    }
    ids
}
