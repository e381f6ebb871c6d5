//! Random prompts of a given length, as counted by the server.

use crate::Error;

use super::{ServingWorkload, TargetServer};

/// Common words that are a single token in most vocabularies.
const WORDS: &str = "the of and to in is you that it he was for on are as with his they at be this have from or one \
had by but not what all were we when your can said there use an each which she do how their if will up other about \
out many then them these so some her would make like him into time has look two more write go see number no way \
could people my than first water been call who oil its now find long down day did get come made may part";
/// Word counts of the two prompts used for fitting.
const SHORT_WORDS: usize = 64;
const LONG_WORDS: usize = 192;

/// A generator of prompts.
pub(super) struct Prompts {
    seed: u64,
    shared_words: usize,
    own_words: usize,
}

impl Prompts {
    /// Fits the number of words to the number of tokens of `workload`.
    pub(super) fn fit(
        server: &TargetServer,
        model: &str,
        workload: &ServingWorkload,
    ) -> Result<Self, Error> {
        // Separate random streams, so that these prompts share no prefix with the prompts of a round.
        let count = |words| {
            server.count(
                model,
                &text(words, &mut RandomStream::new(workload.seed, u64::MAX, words as u64)),
            )
        };
        let (short, long) = (count(SHORT_WORDS)?, count(LONG_WORDS)?);
        let per_word = long.saturating_sub(short).max(1) as f64 / (LONG_WORDS - SHORT_WORDS) as f64;
        // Tokens added by the chat template.
        let around = (short as f64 - SHORT_WORDS as f64 * per_word).max(0.0);
        let words = |tokens: f64| (tokens / per_word).round().max(0.0) as usize;
        let shared_words = words(workload.shared_prefix_tokens as f64);
        let all_words = words(workload.prompt_tokens as f64 - around).max(1);
        Ok(Self {
            seed: workload.seed,
            shared_words,
            own_words: all_words.saturating_sub(shared_words),
        })
    }

    /// Returns the prompt of request `index` in round `round`.
    pub(super) fn prompt(&self, round: usize, index: usize) -> String {
        let mut shared = RandomStream::new(self.seed, round as u64, u64::MAX);
        let mut own = RandomStream::new(self.seed, round as u64, index as u64);
        let parts = [text(self.shared_words, &mut shared), text(self.own_words, &mut own)];
        parts.join(" ").trim().to_owned()
    }
}

fn text(num_words: usize, draw: &mut RandomStream) -> String {
    let words: Vec<&str> = WORDS.split(' ').collect();
    let drawn: Vec<&str> = (0..num_words).map(|_| words[draw.below(words.len())]).collect();
    drawn.join(" ")
}

/// Random numbers by SplitMix64 (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", 2014).
pub(super) struct RandomStream(u64);

impl RandomStream {
    /// Returns the stream for this seed, round and request.
    pub(super) fn new(seed: u64, round: u64, index: u64) -> Self {
        let mut draw = Self(seed);
        for number in [round, index] {
            draw.0 = draw.next().wrapping_add(number);
        }
        draw
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    /// Returns a number above 0 and up to 1.
    pub(super) fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_of_a_round_share_only_the_prefix() {
        let prompts = Prompts { seed: 1, shared_words: 50, own_words: 30 };
        let words = |round, index| -> Vec<String> {
            prompts.prompt(round, index).split(' ').map(str::to_owned).collect()
        };
        assert_eq!(words(0, 0).len(), 80);
        assert_eq!(words(0, 0), words(0, 0));
        assert_eq!(words(0, 0)[..50], words(0, 1)[..50]);
        assert_ne!(words(0, 0)[50..], words(0, 1)[50..]);
        assert_ne!(words(0, 0)[..50], words(1, 0)[..50]);
    }
}
