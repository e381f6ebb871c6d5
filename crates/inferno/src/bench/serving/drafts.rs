//! The acceptance of speculative decoding, from the counters of a server.

use std::fmt;

use serde_json::{Value, json};

/// What a server drafted, as vLLM's metrics count it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct DraftAcceptance {
    /// Number of drafts, of one token or more each.
    pub num_drafts: f64,
    /// Drafted tokens.
    pub drafted_tokens: f64,
    /// Drafted tokens that were accepted.
    pub accepted_tokens: f64,
}

impl DraftAcceptance {
    /// Reads the counters from the text of `/metrics`, over all models; `None` if it has none.
    pub(super) fn from_metrics(text: &str) -> Option<Self> {
        let counter = |name: &str| {
            let samples = text.lines().filter_map(|line| {
                let rest = line.strip_prefix("vllm:spec_decode_num_")?.strip_prefix(name)?;
                let is_whole_name = rest.starts_with(['{', ' ']);
                rest.rsplit(' ').next().filter(|_| is_whole_name)?.parse::<f64>().ok()
            });
            samples.reduce(|one, other| one + other)
        };
        Some(Self {
            num_drafts: counter("drafts_total")?,
            drafted_tokens: counter("draft_tokens_total")?,
            accepted_tokens: counter("accepted_tokens_total")?,
        })
    }

    /// What was drafted since `before`; `None` if nothing was.
    pub(super) fn since(self, before: Self) -> Option<Self> {
        let since = Self {
            num_drafts: self.num_drafts - before.num_drafts,
            drafted_tokens: self.drafted_tokens - before.drafted_tokens,
            accepted_tokens: self.accepted_tokens - before.accepted_tokens,
        };
        (since.drafted_tokens > 0.0).then_some(since)
    }

    /// The share of the drafted tokens that were accepted, from 0 to 1.
    pub fn rate(&self) -> f64 {
        self.accepted_tokens / self.drafted_tokens
    }

    /// Mean number of tokens that a pass with drafts generated: the accepted ones and one more.
    pub fn mean_length(&self) -> f64 {
        1.0 + self.accepted_tokens / self.num_drafts
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "drafts": self.num_drafts,
            "drafted_tokens": self.drafted_tokens,
            "accepted_tokens": self.accepted_tokens,
            "acceptance_rate": self.rate(),
            "acceptance_length": self.mean_length(),
        })
    }
}

impl fmt::Display for DraftAcceptance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { drafted_tokens, accepted_tokens, .. } = self;
        write!(
            f,
            "speculative decoding: {accepted_tokens} of {drafted_tokens} drafted tokens accepted ({:.1} %), {:.2} tokens \
             per pass with drafts",
            100.0 * self.rate(),
            self.mean_length()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_all_models_are_added() {
        let text = "# TYPE vllm:spec_decode_num_drafts_total counter\n\
                    vllm:spec_decode_num_drafts_total{engine=\"0\",model_name=\"a b\"} 10\n\
                    vllm:spec_decode_num_draft_tokens_total{engine=\"0\"} 40\n\
                    vllm:spec_decode_num_accepted_tokens_total{engine=\"0\"} 20\n\
                    vllm:spec_decode_num_accepted_tokens_total{engine=\"1\"} 10\n\
                    vllm:spec_decode_num_accepted_tokens_per_pos_total{position=\"0\"} 9\n";
        let now = DraftAcceptance::from_metrics(text).expect("all counters");
        assert_eq!((now.num_drafts, now.drafted_tokens, now.accepted_tokens), (10.0, 40.0, 30.0));
        assert_eq!((now.rate(), now.mean_length()), (0.75, 4.0));
        assert_eq!(now.since(now), None);
        assert_eq!(DraftAcceptance::from_metrics("up 1\n"), None);
    }
}
