//! Options that choose how the model computes.

use clap::builder::TypedValueParser;
use inferno_backend::KvDType;
use inferno_cpu::Isa;
use inferno_model::Requantize;

use crate::cli::arguments::values::{MAX_THREADS, names, number_in};
use crate::{BackendChoice, BatchLimits, LoadOptions};

/// How the model computes.
#[derive(clap::Args)]
pub(crate) struct ComputeArgs {
    /// What computes: scalar (one thread, portable code), simd (one thread, best instruction set), parallel (all
    /// threads), reference (plain loops that the others are tested against); gpu and metal are not in this build.
    #[arg(long, value_name = "BACKEND", default_value_t, ignore_case = true)]
    #[arg(value_parser = names(BackendChoice::ALL.map(BackendChoice::name)).try_map(|name| name.parse::<BackendChoice>()))]
    backend: BackendChoice,
    /// Threads, whatever the backend's name says.
    #[arg(long, value_name = "N", value_parser = number_in(1..=MAX_THREADS))]
    threads: Option<usize>,
    /// Instruction set, whatever the backend's name says; results are the same with all.
    #[arg(long, value_name = "ISA", ignore_case = true)]
    #[arg(value_parser = names(Isa::ALL.map(Isa::name)).try_map(|name| name.parse::<Isa>()))]
    isa: Option<Isa>,
    /// Format of the KV cache.
    #[arg(long, value_name = "FORMAT", default_value_t, ignore_case = true)]
    #[arg(value_parser = names(KvDType::ALL.map(KvDType::name)).try_map(|name| name.parse::<KvDType>()))]
    kv_dtype: KvDType,
    /// Turn weights that the file has as floats into this format while loading.
    #[arg(long, value_name = "FORMAT", ignore_case = true)]
    #[arg(value_parser = names(Requantize::ALL.map(|choice| choice.to_string())).try_map(|name| name.parse::<Requantize>()))]
    requantize: Option<Requantize>,
    /// Say what memory loading would take, and load nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

impl ComputeArgs {
    /// The options of a load with this context and these batches.
    pub(crate) fn options(
        &self,
        context_length: Option<usize>,
        limits: BatchLimits,
    ) -> LoadOptions {
        LoadOptions {
            backend: self.backend,
            num_threads: self.threads,
            isa: self.isa,
            requantize: self.requantize,
            context_length,
            cache_tokens: None,
            kv_dtype: self.kv_dtype,
            limits,
        }
    }
}

/// Rows of logits that one batch gives where nothing else is asked for; at least one.
pub(crate) fn num_logit_rows(vocab_size: usize) -> usize {
    const LOGIT_BYTES: usize = 64 << 20;
    let row_bytes = vocab_size.saturating_mul(size_of::<f32>()).max(1);
    (LOGIT_BYTES / row_bytes).max(1)
}
