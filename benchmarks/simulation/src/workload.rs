//! Conversations: when they begin, how long their messages and replies are, and which tokens they share.
//!
//! Everything is drawn from a seed, so a workload is the same in the simulation and in a replay against real servers.

use std::ops::Range;
use std::time::Duration;

use rand::{Rng, SeedableRng};
use rand_distr::{Distribution, Exp, Geometric, LogNormal, Zipf};
use rand_pcg::Pcg64Mcg;

use crate::error::Error;

/// Spread of message and reply lengths: the standard deviation of their logarithms.
const LENGTH_SIGMA: f64 = 1.0;
/// Exponent of the popularity of system prompts: the k-th most popular one is used in proportion to 1/k.
const POPULARITY_EXPONENT: f64 = 1.0;

/// A stream of random conversations.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Workload")]
pub struct Workload {
    /// Time during which requests arrive, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 600.0, value_parser = positive)]
    pub duration: f64,
    /// Requests that arrive before this time are not measured, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 200.0)]
    pub warm_up: f64,
    /// Number of different system prompts
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..))]
    pub system_prompts: u32,
    /// Length of a system prompt, in tokens
    #[arg(long, value_name = "TOKENS", default_value_t = 512)]
    pub system_tokens: usize,
    /// Mean length of a user message, in tokens (ShareGPT: 161)
    #[arg(long, value_name = "TOKENS", default_value_t = 161.0, value_parser = positive)]
    pub message_tokens: f64,
    /// Mean length of a reply, in tokens (ShareGPT: 338)
    #[arg(long, value_name = "TOKENS", default_value_t = 338.0, value_parser = positive)]
    pub reply_tokens: f64,
    /// Mean number of turns of a conversation
    #[arg(long, value_name = "N", default_value_t = 3.0, value_parser = at_least_one)]
    pub turns: f64,
    /// Mean time between a reply and the next message, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 20.0, value_parser = positive)]
    pub think_time: f64,
    /// Conversations end before they exceed this number of tokens
    #[arg(long, value_name = "TOKENS", default_value_t = 4096)]
    pub context: usize,
    /// Factor by which more conversations begin in the first tenth of each minute; 1 for no bursts
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = at_least_one)]
    pub burst: f64,
    /// Number of different tokens
    #[arg(long, value_name = "N", default_value_t = 32_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub vocabulary: u32,
    /// Continue conversations with other replies than the generated ones, as a replay does
    #[arg(long)]
    pub foreign_replies: bool,
    /// Random seed
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
}

/// A conversation of one user.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversation {
    /// When the first message is sent.
    pub start: Duration,
    system: u64,
    /// Random streams of its tokens begin here.
    stream: u64,
    /// The turns, in order.
    pub turns: Vec<Turn>,
}

/// A message and its reply.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Turn {
    /// Length of the message, in tokens.
    pub message_tokens: usize,
    /// Length of the reply, in tokens.
    pub reply_tokens: usize,
    /// Time from the end of the reply to the next message.
    pub think_time: Duration,
}

/// A conversation in progress: the tokens so far.
#[derive(Debug, Clone)]
pub struct Dialog {
    conversation: Conversation,
    history: Vec<u32>,
    next_turn: usize,
}

/// One request to a server.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The system prompt, the turns so far and the new message.
    pub prompt: Vec<u32>,
    /// The tokens of the reply.
    pub reply: Vec<u32>,
    /// Time from the end of the reply to the next request.
    pub think_time: Duration,
}

/// What a random stream of tokens is for.
#[derive(Debug, Clone, Copy)]
enum Purpose {
    System = 1,
    Message,
    Reply,
    ForeignReply,
}

impl Workload {
    /// Returns the conversations that begin at an average rate of `rate` per second, in order.
    pub fn conversations(&self, rate: f64) -> Vec<Conversation> {
        let mut random = Pcg64Mcg::seed_from_u64(self.seed);
        let mut at = 0.0;
        let mut conversations = Vec::new();
        loop {
            // Arrivals of the highest rate are thinned to the current one (Lewis and Shedler, 1979).
            at += sample(Exp::new(rate * self.peak()), &mut random);
            if at >= self.duration {
                return conversations;
            }
            let conversation = self.conversation(at, conversations.len() as u64, &mut random);
            if random.random::<f64>() * self.peak() < self.intensity(at) {
                conversations.push(conversation);
            }
        }
    }

    /// Checks that requests arrive after the warm-up.
    ///
    /// **Errors**: [`Error::NothingAfterWarmUp`].
    pub fn check(&self) -> Result<(), Error> {
        let &Self { warm_up, duration, .. } = self;
        match warm_up < duration {
            true => Ok(()),
            false => Err(Error::NothingAfterWarmUp { warm_up, duration }),
        }
    }

    /// The time in which requests are measured: from the end of the warm-up until no more arrive.
    pub fn measured_time(&self) -> Range<Duration> {
        Duration::from_secs_f64(self.warm_up.max(0.0))..Duration::from_secs_f64(self.duration)
    }

    /// Whether no request arrives at `time` any more.
    pub fn is_over(&self, time: Duration) -> bool {
        time.as_secs_f64() >= self.duration
    }

    /// The rate in a burst, relative to the mean.
    fn peak(&self) -> f64 {
        self.burst / (0.1 * self.burst + 0.9)
    }

    /// The rate at a time, relative to the mean.
    fn intensity(&self, at: f64) -> f64 {
        if at % 60.0 < 6.0 { self.peak() } else { self.peak() / self.burst }
    }

    fn conversation(&self, start: f64, index: u64, random: &mut Pcg64Mcg) -> Conversation {
        let popularity = Zipf::new(f64::from(self.system_prompts), POPULARITY_EXPONENT);
        let system = sample(popularity, random) as u64;
        let num_turns = 1 + sample(Geometric::new(1.0 / self.turns), random);
        let mut num_tokens = self.system_tokens;
        let mut turns = Vec::new();
        for _ in 0..num_turns {
            let message_tokens = length(self.message_tokens, random);
            let reply_tokens = length(self.reply_tokens, random);
            let think_time = sample(Exp::new(1.0 / self.think_time), random);
            num_tokens += message_tokens + reply_tokens;
            if num_tokens > self.context {
                break;
            }
            let think_time = Duration::from_secs_f64(think_time);
            turns.push(Turn { message_tokens, reply_tokens, think_time });
        }
        let stream = index + 1;
        Conversation { start: Duration::from_secs_f64(start), system, stream, turns }
    }

    /// Returns the tokens of a random stream.
    fn tokens(&self, purpose: Purpose, stream: u64, turn: usize, count: usize) -> Vec<u32> {
        let mut seed = self.seed;
        for number in [purpose as u64, stream, turn as u64] {
            seed = Pcg64Mcg::seed_from_u64(seed.wrapping_add(number)).random();
        }
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        (0..count).map(|_| random.random_range(0..self.vocabulary)).collect()
    }

    /// Returns a request outside of all conversations; its tokens depend on `number`.
    pub fn request(&self, number: usize, prompt_tokens: usize, reply_tokens: usize) -> Request {
        let tokens = |purpose, count| self.tokens(purpose, 0, number, count);
        Request {
            prompt: tokens(Purpose::Message, prompt_tokens),
            reply: tokens(Purpose::Reply, reply_tokens),
            think_time: Duration::ZERO,
        }
    }

    /// Begins a conversation.
    pub fn begin(&self, conversation: Conversation) -> Dialog {
        let history = self.tokens(Purpose::System, conversation.system, 0, self.system_tokens);
        Dialog { conversation, history, next_turn: 0 }
    }

    /// Returns the next request of a conversation; `None` at its end.
    pub fn next_request(&self, dialog: &mut Dialog) -> Option<Request> {
        let turn = *dialog.conversation.turns.get(dialog.next_turn)?;
        let tokens = |purpose, count| {
            self.tokens(purpose, dialog.conversation.stream, dialog.next_turn, count)
        };
        let message = tokens(Purpose::Message, turn.message_tokens);
        let reply = tokens(Purpose::Reply, turn.reply_tokens);
        let quoted = match self.foreign_replies {
            true => tokens(Purpose::ForeignReply, turn.reply_tokens),
            false => reply.clone(),
        };
        dialog.history.extend(message);
        let prompt = dialog.history.clone();
        dialog.history.extend(quoted);
        dialog.next_turn += 1;
        Some(Request { prompt, reply, think_time: turn.think_time })
    }
}

/// Draws from a distribution whose parameters were checked by the command line.
fn sample<T, D: Distribution<T>, E: std::fmt::Debug>(
    distribution: Result<D, E>,
    random: &mut Pcg64Mcg,
) -> T {
    distribution.expect("the parameters are positive").sample(random)
}

/// Draws a length with a log-normal distribution.
fn length(mean: f64, random: &mut Pcg64Mcg) -> usize {
    let location = mean.ln() - LENGTH_SIGMA * LENGTH_SIGMA / 2.0;
    (sample(LogNormal::new(location, LENGTH_SIGMA), random).round() as usize).max(1)
}

/// Parses a number above 0.
pub fn positive(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| "expected a number above 0".to_owned())
}

/// Parses a number of at least 1.
fn at_least_one(text: &str) -> Result<f64, String> {
    positive(text)
        .ok()
        .filter(|number| *number >= 1.0)
        .ok_or_else(|| "expected a number of at least 1".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Arguments {
        #[command(flatten)]
        workload: Workload,
    }

    fn workload(arguments: &[&str]) -> Workload {
        Arguments::parse_from([&["test"], arguments].concat()).workload
    }

    #[test]
    fn lengths_and_rates_have_the_requested_means() {
        let workload = workload(&["--duration", "20000", "--context", "1000000", "--burst", "5"]);
        let conversations = workload.conversations(1.0);
        let near = |value: f64, expected: f64| {
            assert!((value / expected - 1.0).abs() < 0.05, "{value} {expected}")
        };
        near(conversations.len() as f64, 20_000.0);
        let turns: Vec<Turn> = conversations.iter().flat_map(|it| it.turns.clone()).collect();
        let mean =
            |value: fn(&Turn) -> f64| turns.iter().map(value).sum::<f64>() / turns.len() as f64;
        near(turns.len() as f64, 60_000.0);
        near(mean(|turn| turn.message_tokens as f64), 161.0);
        near(mean(|turn| turn.reply_tokens as f64), 338.0);
        near(mean(|turn| turn.think_time.as_secs_f64()), 20.0);
        let in_bursts = conversations.iter().filter(|it| it.start.as_secs_f64() % 60.0 < 6.0);
        // A tenth of the time at five times the rate of the rest.
        near(in_bursts.count() as f64, 20_000.0 * 5.0 / 14.0);
    }

    #[test]
    fn prompts_extend_the_conversation() {
        let workload = workload(&["--turns", "5"]);
        let conversations = workload.conversations(1.0);
        assert_eq!(conversations, workload.conversations(1.0));
        let long = conversations.iter().find(|it| it.turns.len() > 1).expect("there are many");
        let mut dialog = workload.begin(long.clone());
        let first = workload.next_request(&mut dialog).expect("a first turn");
        let second = workload.next_request(&mut dialog).expect("a second turn");
        let history = [first.prompt, first.reply].concat();
        assert_eq!(second.prompt[..history.len()], history);
        let foreign = Workload { foreign_replies: true, ..workload };
        let mut dialog = foreign.begin(long.clone());
        assert_eq!(
            foreign.next_request(&mut dialog).map(|it| it.prompt.len()),
            Some(512 + long.turns[0].message_tokens)
        );
        let other = foreign.next_request(&mut dialog).expect("a second turn");
        assert_eq!(other.prompt.len(), second.prompt.len());
        assert_ne!(other.prompt, second.prompt);
    }
}
