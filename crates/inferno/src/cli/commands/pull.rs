//! `inferno pull`: downloads a model from the hub.

use crate::cli::failure::Failure;
use crate::cli::terminal::note::print_note;
use crate::cli::terminal::output::Output;
use crate::cli::terminal::progress::DownloadBars;
use crate::{Hub, HubReference, Pulled};

/// Download a model from the Hugging Face hub and print the path of its file.
///
/// The model is kept in the usual cache of the hub (HF_HUB_CACHE, HF_HOME, else ~/.cache/huggingface), shards and all,
/// and `-m` with the same name finds it there. A download that was interrupted goes on where it stopped. Without a
/// quantization it is Q4_K_M, else Q8_0, else the only one that there is. HF_TOKEN is sent where it is set.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  inferno pull hf:Qwen/Qwen3-0.6B-GGUF:Q8_0
  inferno pull hf:Qwen/Qwen3-0.6B-GGUF:Qwen3-0.6B-Q8_0.gguf
  inferno inspect \"$(inferno pull hf:Qwen/Qwen3-0.6B-GGUF)\"")]
pub(crate) struct PullArgs {
    /// The model: hf:owner/repo, hf:owner/repo:QUANTIZATION or hf:owner/repo:FILE.
    #[arg(value_name = "MODEL")]
    reference: HubReference,
}

impl PullArgs {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let hub = Hub::from_env()?;
        let mut bars = DownloadBars::default();
        let pulled = hub.pull_or_cached(&self.reference, &mut |progress| bars.show(progress));
        drop(bars);
        let pulled = pulled?;
        if let Pulled::Cached(_) = pulled {
            print_note("warning: the hub was not reached; this is what the cache holds");
        }
        let mut output = Output::new();
        output.line(pulled.into_path().display())?;
        output.flush()?;
        Ok(())
    }
}
