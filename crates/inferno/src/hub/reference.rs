//! References to models on the hub: `hf:OWNER/REPO[:QUANTIZATION]`.

use std::fmt;
use std::str::FromStr;

use crate::{Error, HubError};

/// A reference to a model on the hub, written as `hf:OWNER/REPO[:QUANT]`.
///
/// `QUANT` is a quantization such as `Q4_K_M`, or a file in the repository.
///
/// ```
/// let reference: inferno::HubReference = "hf:Qwen/Qwen3-0.6B-GGUF:Q8_0".parse()?;
/// assert_eq!((reference.repo(), reference.quant()), ("Qwen/Qwen3-0.6B-GGUF", Some("Q8_0")));
/// # Ok::<(), inferno::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HubReference {
    pub(super) repo: String,
    pub(super) quant: Option<String>,
}

impl HubReference {
    /// The prefix of every reference.
    pub const PREFIX: &str = "hf:";

    /// Parses the web address of a model, with or without its scheme, or the name that Ollama uses for it:
    /// `hf.co/OWNER/REPO[:QUANT]`, `https://huggingface.co/OWNER/REPO/resolve/main/FILE`. Returns `None` for other text.
    pub(crate) fn from_web_address(text: &str) -> Option<Self> {
        let rest = text.strip_prefix("https://").or(text.strip_prefix("http://")).unwrap_or(text);
        let rest = rest.strip_prefix("hf.co/").or(rest.strip_prefix("huggingface.co/"))?;
        let rest = rest.split(['?', '#']).next().unwrap_or(rest).trim_end_matches('/');
        let parts: Vec<&str> = rest.splitn(5, '/').collect();
        let reference = match parts[..] {
            [owner, repo] | [owner, repo, "tree", "main"] => format!("hf:{owner}/{repo}"),
            [owner, repo, "resolve" | "blob", "main", file] => format!("hf:{owner}/{repo}:{file}"),
            _ => return None,
        };
        reference.parse().ok()
    }

    /// Returns `OWNER/REPO`.
    pub fn repo(&self) -> &str {
        &self.repo
    }

    /// Returns the quantization or file, if specified.
    pub fn quant(&self) -> Option<&str> {
        self.quant.as_deref()
    }
}

impl fmt::Display for HubReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", Self::PREFIX, self.repo)?;
        match &self.quant {
            Some(quant) => write!(f, ":{quant}"),
            None => Ok(()),
        }
    }
}

impl FromStr for HubReference {
    type Err = Error;

    /// Parses `hf:OWNER/REPO[:QUANT]`.
    ///
    /// **Errors**: [`HubError::InvalidReference`].
    fn from_str(text: &str) -> Result<Self, Error> {
        let malformed = || Error::from(HubError::InvalidReference { found: text.to_owned() });
        let rest = text.strip_prefix(Self::PREFIX).ok_or_else(malformed)?;
        let (repo, quant) = match rest.split_once(':') {
            Some((repo, quant)) => (repo, Some(quant)),
            None => (rest, None),
        };
        let (owner, name) = repo.split_once('/').ok_or_else(malformed)?;
        // The names become parts of a path in the cache and of a URL.
        let is_name = |part: &str| {
            let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            !part.is_empty() && !part.starts_with('.') && part.chars().all(allowed)
        };
        if !is_name(owner) || !is_name(name) || quant.is_some_and(str::is_empty) {
            return Err(malformed());
        }
        Ok(Self { repo: repo.to_owned(), quant: quant.map(str::to_owned) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_survives_a_round_trip() {
        for text in ["hf:a/b", "hf:a/b:Q4_K_M", "hf:a-1/b.c_d:dir/x.gguf"] {
            let reference: HubReference = text.parse().unwrap();
            assert_eq!(reference.to_string(), text);
        }
    }

    #[test]
    fn web_addresses_are_references() {
        for (address, reference) in [
            ("hf.co/a/b", "hf:a/b"),
            ("hf.co/a/b:Q8_0", "hf:a/b:Q8_0"),
            ("huggingface.co/a/b/", "hf:a/b"),
            ("https://huggingface.co/a/b", "hf:a/b"),
            ("https://huggingface.co/a/b/tree/main", "hf:a/b"),
            ("https://huggingface.co/a/b/resolve/main/x.gguf?download=true", "hf:a/b:x.gguf"),
            ("https://huggingface.co/a/b/blob/main/dir/x.gguf", "hf:a/b:dir/x.gguf"),
        ] {
            let parsed = HubReference::from_web_address(address).map(|it| it.to_string());
            assert_eq!(parsed.as_deref(), Some(reference), "{address}");
        }
        for other in ["a/b", "hf.co", "hf.co/a", "https://example.com/a/b", "hf.co/a/b/tree/dev"] {
            assert_eq!(HubReference::from_web_address(other), None, "{other}");
        }
    }

    #[test]
    fn names_that_could_escape_the_cache_are_rejected() {
        for text in [
            "hf:",
            "hf:a",
            "hf:a/",
            "hf:/b",
            "hf:a/..",
            "hf:../b",
            "hf:a/b/c",
            "hf:a/b:",
            "hf:a\\b/c",
            "hf:a/b?x",
            "a/b",
        ] {
            assert!(text.parse::<HubReference>().is_err(), "{text}");
        }
    }
}
