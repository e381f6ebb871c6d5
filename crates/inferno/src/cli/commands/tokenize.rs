//! `inferno tokenize`: text to token ids, and back.

use inferno_tokenizer::{EncodeOptions, Tokenizer};

use crate::cli::arguments::model::SourceArgs;
use crate::cli::failure::Failure;
use crate::cli::input::{read_ids, read_stdin};
use crate::cli::terminal::output::Output;

/// Turn the text on standard input into token ids, or ids into text.
///
/// The ids are one JSON array on one line. Files that hold a vocabulary and no weights will do.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  echo -n \"Once upon a time\" | inferno tokenize -m model.gguf
  echo \"[9038, 2501]\" | inferno tokenize -m model.gguf --decode")]
pub(crate) struct TokenizeArgs {
    #[command(flatten)]
    source: SourceArgs,
    /// Read a JSON array of ids and print their text; no newline is added.
    #[arg(long)]
    decode: bool,
    /// Add no special token, such as BOS, even where the file asks for one; with --decode, take none away.
    #[arg(long)]
    no_bos: bool,
    /// Take special tokens that are spelled out in the text as plain text; with --decode, leave them out.
    #[arg(long)]
    no_special: bool,
}

impl TokenizeArgs {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let gguf = self.source.open()?;
        let tokenizer = Tokenizer::from_metadata(gguf.metadata())?;
        let mut output = Output::new();
        if self.decode {
            let ids = read_ids()?;
            let ids = if self.no_bos { &ids[..] } else { without_added(&tokenizer, &ids) };
            output.bytes(&tokenizer.decode_bytes(ids, self.no_special)?)?;
        } else {
            let options =
                EncodeOptions { add_special: !self.no_bos, parse_special: !self.no_special };
            let ids = tokenizer.encode(&read_stdin()?, options);
            output.line(serde_json::Value::from(ids))?;
        }
        output.flush()?;
        Ok(())
    }
}

/// `ids` without the tokens that encoding adds before and after a text, so that decoding is its inverse.
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
