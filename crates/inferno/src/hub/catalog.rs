//! Short names of well-known models, such as `qwen3:0.6b`.

use super::HubReference;

/// A model with a short name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CatalogEntry {
    /// `FAMILY:SIZE`.
    pub(crate) name: &'static str,
    repo: &'static str,
    quant: &'static str,
    /// Approximate size of the download, in gigabytes.
    pub(crate) gigabytes: f32,
}

/// The catalog: official repositories, or conversions by well-known publishers. Families are contiguous, from small to
/// large.
///
/// Sources: each repository was checked against download links and configuration files that other public projects use, on
/// 2026-11-23. Sizes are approximate.
pub(crate) const CATALOG: [CatalogEntry; 38] = [
    entry("qwen3:0.6b", "Qwen/Qwen3-0.6B-GGUF", "Q8_0", 0.64),
    entry("qwen3:1.7b", "Qwen/Qwen3-1.7B-GGUF", "Q8_0", 1.8),
    entry("qwen3:4b", "Qwen/Qwen3-4B-GGUF", "Q4_K_M", 2.5),
    entry("qwen3:4b-instruct", "unsloth/Qwen3-4B-Instruct-2507-GGUF", "Q4_K_M", 2.5),
    entry("qwen3:4b-thinking", "unsloth/Qwen3-4B-Thinking-2507-GGUF", "Q4_K_M", 2.5),
    entry("qwen3:8b", "Qwen/Qwen3-8B-GGUF", "Q4_K_M", 5.0),
    entry("qwen3:14b", "Qwen/Qwen3-14B-GGUF", "Q4_K_M", 9.0),
    entry("qwen3:30b", "Qwen/Qwen3-30B-A3B-GGUF", "Q4_K_M", 18.6),
    entry("qwen3:32b", "Qwen/Qwen3-32B-GGUF", "Q4_K_M", 19.8),
    entry("qwen3-coder:30b", "unsloth/Qwen3-Coder-30B-A3B-Instruct-GGUF", "Q4_K_M", 18.6),
    entry("qwen2.5:0.5b", "Qwen/Qwen2.5-0.5B-Instruct-GGUF", "Q4_K_M", 0.49),
    entry("qwen2.5:1.5b", "Qwen/Qwen2.5-1.5B-Instruct-GGUF", "Q4_K_M", 1.1),
    entry("qwen2.5:3b", "Qwen/Qwen2.5-3B-Instruct-GGUF", "Q4_K_M", 2.1),
    entry("qwen2.5:7b", "Qwen/Qwen2.5-7B-Instruct-GGUF", "Q4_K_M", 4.7),
    entry("qwen2.5-coder:1.5b", "Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF", "Q4_K_M", 1.1),
    entry("qwen2.5-coder:3b", "Qwen/Qwen2.5-Coder-3B-Instruct-GGUF", "Q4_K_M", 2.1),
    entry("qwen2.5-coder:7b", "Qwen/Qwen2.5-Coder-7B-Instruct-GGUF", "Q4_K_M", 4.7),
    entry("llama3.2:1b", "bartowski/Llama-3.2-1B-Instruct-GGUF", "Q4_K_M", 0.81),
    entry("llama3.2:3b", "bartowski/Llama-3.2-3B-Instruct-GGUF", "Q4_K_M", 2.0),
    entry("llama3.1:8b", "bartowski/Meta-Llama-3.1-8B-Instruct-GGUF", "Q4_K_M", 4.9),
    entry("gemma3:1b", "ggml-org/gemma-3-1b-it-GGUF", "Q4_K_M", 0.81),
    entry("gemma3:4b", "ggml-org/gemma-3-4b-it-GGUF", "Q4_K_M", 2.5),
    entry("gpt-oss:20b", "ggml-org/gpt-oss-20b-GGUF", "MXFP4", 12.1),
    entry("phi4-mini:3.8b", "unsloth/Phi-4-mini-instruct-GGUF", "Q4_K_M", 2.5),
    entry("phi4:14b", "unsloth/phi-4-GGUF", "Q4_K_M", 9.1),
    entry("mistral:7b", "bartowski/Mistral-7B-Instruct-v0.3-GGUF", "Q4_K_M", 4.4),
    entry("mistral-nemo:12b", "bartowski/Mistral-Nemo-Instruct-2407-GGUF", "Q4_K_M", 7.5),
    entry("mistral-small:24b", "bartowski/Mistral-Small-24B-Instruct-2501-GGUF", "Q4_K_M", 14.3),
    entry("smollm2:135m", "bartowski/SmolLM2-135M-Instruct-GGUF", "Q8_0", 0.14),
    entry("smollm2:360m", "HuggingFaceTB/SmolLM2-360M-Instruct-GGUF", "Q8_0", 0.39),
    entry("smollm2:1.7b", "HuggingFaceTB/SmolLM2-1.7B-Instruct-GGUF", "Q4_K_M", 1.1),
    entry("tinyllama:1.1b", "TheBloke/TinyLlama-1.1B-Chat-v1.0-GGUF", "Q4_K_M", 0.67),
    entry("deepseek-r1:1.5b", "unsloth/DeepSeek-R1-Distill-Qwen-1.5B-GGUF", "Q4_K_M", 1.1),
    entry("deepseek-r1:7b", "unsloth/DeepSeek-R1-Distill-Qwen-7B-GGUF", "Q4_K_M", 4.7),
    entry("deepseek-r1:8b", "unsloth/DeepSeek-R1-Distill-Llama-8B-GGUF", "Q4_K_M", 4.9),
    entry("deepseek-r1:14b", "unsloth/DeepSeek-R1-Distill-Qwen-14B-GGUF", "Q4_K_M", 9.0),
    entry("hermes3:3b", "NousResearch/Hermes-3-Llama-3.2-3B-GGUF", "Q4_K_M", 2.0),
    entry("hermes3:8b", "NousResearch/Hermes-3-Llama-3.1-8B-GGUF", "Q4_K_M", 4.9),
];

/// The largest model that the name of a family without a size selects, if there is a choice, in gigabytes. It runs well on
/// a laptop.
const MAX_DEFAULT_GIGABYTES: f32 = 3.0;

const fn entry(
    name: &'static str,
    repo: &'static str,
    quant: &'static str,
    gigabytes: f32,
) -> CatalogEntry {
    CatalogEntry { name, repo, quant, gigabytes }
}

impl CatalogEntry {
    /// Returns the model on the hub, in another quantization if specified.
    pub(crate) fn reference(&self, quant: Option<&str>) -> HubReference {
        let quant = quant.unwrap_or(self.quant);
        HubReference { repo: self.repo.to_owned(), quant: Some(quant.to_owned()) }
    }

    fn family(&self) -> &'static str {
        self.name.split_once(':').map_or(self.name, |(family, _)| family)
    }

    /// Returns whether the name has more than a size, as in `qwen3:4b-thinking`. Such a model is selected by this name only.
    fn is_variant(&self) -> bool {
        self.name.split_once(':').is_some_and(|(_, size)| size.contains('-'))
    }
}

/// Returns the model with a short name, in any case: `qwen3:4b`; `qwen3:4b:Q8_0` or `qwen3:4b-q8_0` for another
/// quantization; `qwen3` or `qwen3:latest` for the largest model of the family that is at most 3 GB, otherwise its
/// smallest.
pub(crate) fn find(text: &str) -> Option<HubReference> {
    let text = text.to_ascii_lowercase();
    let family = text.strip_suffix(":latest").unwrap_or(&text);
    let members = || CATALOG.iter().filter(|it| it.family() == family && !it.is_variant());
    let default = members().rfind(|entry| entry.gigabytes <= MAX_DEFAULT_GIGABYTES);
    if let Some(entry) = default.or_else(|| members().next()) {
        return Some(entry.reference(None));
    }
    let quant = |entry: &CatalogEntry| match text.strip_prefix(entry.name)? {
        "" => Some(None),
        rest => match rest.strip_prefix([':', '-']) {
            Some(quant) if !quant.is_empty() => Some(Some(quant.to_ascii_uppercase())),
            _ => None,
        },
    };
    // The longest name decides: qwen3:4b-instruct is not qwen3:4b in a quantization of this name.
    let found = CATALOG.iter().filter_map(|entry| Some((entry, quant(entry)?)));
    let (entry, quant) = found.max_by_key(|(entry, _)| entry.name.len())?;
    Some(entry.reference(quant.as_deref()))
}

/// Returns the short names of the family of `text`, or an empty list if `text` does not have the form of a short name.
pub(crate) fn similar(text: &str) -> Vec<String> {
    // Users also write qwen3-0.6b for qwen3:0.6b.
    let family = text.split([':', '-']).next().unwrap_or_default().to_ascii_lowercase();
    let related =
        CATALOG.iter().filter(|entry| !family.is_empty() && entry.family().starts_with(&family));
    related.map(|entry| entry.name.to_owned()).collect()
}

/// Returns the short name of a model on the hub.
pub(crate) fn short_name(reference: &HubReference) -> Option<&'static str> {
    let is_same = |entry: &&CatalogEntry| {
        let quant = reference.quant().unwrap_or_default();
        entry.repo == reference.repo() && entry.quant.eq_ignore_ascii_case(quant)
    };
    CATALOG.iter().find(is_same).map(|entry| entry.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Option<String> {
        find(text).map(|reference| reference.to_string())
    }

    #[test]
    fn short_names_lead_to_references() {
        for (text, expected) in [
            ("qwen3:0.6b", "hf:Qwen/Qwen3-0.6B-GGUF:Q8_0"),
            ("Qwen3:0.6B", "hf:Qwen/Qwen3-0.6B-GGUF:Q8_0"),
            ("qwen3:4b:Q8_0", "hf:Qwen/Qwen3-4B-GGUF:Q8_0"),
            ("qwen3:4b-q8_0", "hf:Qwen/Qwen3-4B-GGUF:Q8_0"),
            ("qwen3:4b-instruct-q8_0", "hf:unsloth/Qwen3-4B-Instruct-2507-GGUF:Q8_0"),
            ("qwen3", "hf:Qwen/Qwen3-4B-GGUF:Q4_K_M"),
            ("QWEN3:latest", "hf:Qwen/Qwen3-4B-GGUF:Q4_K_M"),
            ("qwen3-coder", "hf:unsloth/Qwen3-Coder-30B-A3B-Instruct-GGUF:Q4_K_M"),
            ("llama3.2", "hf:bartowski/Llama-3.2-3B-Instruct-GGUF:Q4_K_M"),
            ("llama3.2:latest", "hf:bartowski/Llama-3.2-3B-Instruct-GGUF:Q4_K_M"),
            ("mistral", "hf:bartowski/Mistral-7B-Instruct-v0.3-GGUF:Q4_K_M"),
        ] {
            assert_eq!(found(text).as_deref(), Some(expected), "{text}");
        }
        for text in ["", "qwen", "qwen3:", "qwen3:5b", "qwen3:4b:", "qwen3.gguf", "./qwen3"] {
            assert_eq!(found(text), None, "{text}");
        }
    }

    #[test]
    fn every_entry_is_valid_and_reachable() {
        for entry in CATALOG {
            let reference = entry.reference(None);
            let parsed: HubReference = reference.to_string().parse().unwrap();
            assert_eq!(parsed, reference);
            assert_eq!(find(entry.name), Some(reference.clone()));
            assert_eq!(short_name(&reference), Some(entry.name));
        }
    }
}
