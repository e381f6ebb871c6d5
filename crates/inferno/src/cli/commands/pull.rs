//! `inferno pull`: downloads a model from the Hugging Face Hub.

use crate::cli::arguments::model::hub_reference;
use crate::cli::failure::Failure;
use crate::cli::terminal::note::print_note;
use crate::cli::terminal::output::Output;
use crate::cli::terminal::progress::DownloadBars;
use crate::{Hub, HubReference, Pulled};

/// Download a model from the Hugging Face Hub and print its path
///
/// Files are stored in the Hugging Face cache (HF_HUB_CACHE, HF_HOME or ~/.cache/huggingface), where -m with the same
/// name finds them. Interrupted downloads are resumed. If no quantization is specified, Q4_K_M is preferred, then Q8_0,
/// then the only one available. Set HF_TOKEN to access private or gated repositories.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  inferno pull qwen3:0.6b
  inferno pull hf:Qwen/Qwen3-0.6B-GGUF:Q8_0
  inferno pull hf:Qwen/Qwen3-0.6B-GGUF:Qwen3-0.6B-Q8_0.gguf
  inferno inspect \"$(inferno pull hf:Qwen/Qwen3-0.6B-GGUF)\"")]
pub(crate) struct PullArgs {
    /// Model: hf:OWNER/REPO, hf:OWNER/REPO:QUANTIZATION, hf:OWNER/REPO:FILE or a short name of inferno list --catalog
    #[arg(value_name = "MODEL", value_parser = hub_reference)]
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
            print_note("warning: could not reach the Hugging Face Hub; using the cached version");
        }
        let mut output = Output::new();
        output.line(pulled.into_path().display())?;
        output.flush()?;
        Ok(())
    }
}
