//! Runs a workload against real servers, with the router of the simulation.

use std::io::{BufRead, BufReader};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use ureq::Agent;

use crate::cost::{CostModel, StepWork};
use crate::error::Error;
use crate::recorder::{Recorder, RequestTimes};
use crate::router::{Policy, Router, RouterOptions};
use crate::workload::{Dialog, Request, Workload};

/// Timeout of a whole request.
const TIMEOUT: Duration = Duration::from_secs(600);
/// Tokens of the prompt and of the reply of a request that measures a server alone.
const PROBE_TOKENS: usize = 64;
/// Tokens of the prompt of a request that fills a server's KV cache.
const FILLING_TOKENS: usize = 512;
/// Stack of the thread of a conversation, in bytes.
const STACK_BYTES: usize = 512 << 10;

/// What a replay is measured with.
pub struct Replay<'a> {
    /// The conversations. The servers' replies are ignored, and [`Workload::foreign_replies`] continue the conversations.
    pub workload: &'a Workload,
    /// Base URLs of the servers, without `/v1`.
    pub urls: &'a [String],
    /// The policy of the router.
    pub policy: Policy,
    /// The options of the router.
    pub router: RouterOptions,
    /// Conversations per second and server.
    pub rate: f64,
    /// Tokens of the KV cache of a server.
    pub cache_tokens: usize,
}

/// What servers answered, and when.
#[derive(Debug, Serialize, Deserialize)]
pub struct Measurement {
    /// Number of servers.
    pub num_servers: usize,
    /// A request to an idle server, before the others.
    #[serde(default)]
    pub probe: Option<MeasuredRequest>,
    /// The requests that succeeded, in the order of their ends.
    pub requests: Vec<MeasuredRequest>,
}

/// A request that a server answered. Times are in seconds from the start of the replay.
#[derive(Debug, Serialize, Deserialize)]
pub struct MeasuredRequest {
    /// Index of the server.
    pub server: usize,
    /// When it was sent.
    pub arrival: f64,
    /// Tokens of the prompt.
    pub prompt_tokens: usize,
    /// Tokens of the prompt that were in the prefix cache.
    pub cached_tokens: usize,
    /// When tokens arrived, and how many.
    pub tokens: Vec<(f64, usize)>,
}

impl MeasuredRequest {
    /// Returns by how much a step of this request, computed alone, exceeded the cost of its forward pass, in seconds: the
    /// median over its tokens, at least 0.
    pub fn overhead(&self, costs: &CostModel) -> f64 {
        let times = self.tokens.windows(2).zip(self.prompt_tokens..).map(|(pair, position)| {
            let mut work = StepWork::default();
            work.add_decode(position);
            pair[1].0 - pair[0].0 - costs.seconds(&work)
        });
        let mut excess: Vec<f64> = times.collect();
        excess.sort_by(f64::total_cmp);
        excess.get(excess.len() / 2).map_or(0.0, |median| median.max(0.0))
    }
}

impl Measurement {
    /// Returns the statistics of the requests of `workload`.
    pub fn recorder(&self, workload: &Workload) -> Recorder {
        let mut recorder = Recorder::new(workload);
        for request in &self.requests {
            let arrival = Duration::from_secs_f64(request.arrival);
            let mut times = RequestTimes::new(arrival, request.prompt_tokens);
            times.cached_tokens = request.cached_tokens;
            for &(time, count) in &request.tokens {
                recorder.tokens(&mut times, Duration::from_secs_f64(time), count);
            }
            recorder.finished(&times);
        }
        recorder
    }
}

/// What the threads of conversations share.
struct Shared<'a> {
    replay: &'a Replay<'a>,
    agent: Agent,
    start: Instant,
    router: Mutex<Router>,
    requests: Mutex<Vec<MeasuredRequest>>,
    last_failure: Mutex<Option<String>>,
}

impl Replay<'_> {
    /// Sends all requests at their times, and returns when they were answered.
    ///
    /// **Errors**: [`Error::NothingServed`] if no request succeeds. Requests that fail are reported on standard error.
    pub fn run(&self) -> Result<Measurement, Error> {
        let config = Agent::config_builder()
            .timeout_global(Some(TIMEOUT))
            .http_status_as_error(false)
            .max_idle_connections(1024)
            .max_idle_connections_per_host(1024);
        let num_servers = self.urls.len();
        let shared = Shared {
            replay: self,
            agent: config.build().into(),
            start: Instant::now(),
            router: Mutex::new(Router::new(
                self.policy,
                self.router,
                num_servers,
                self.cache_tokens,
            )),
            requests: Mutex::new(Vec::new()),
            last_failure: Mutex::new(None),
        };
        shared.fill_caches().map_err(Error::NothingServed)?;
        let request = self.workload.request(0, PROBE_TOKENS, PROBE_TOKENS);
        let probe = Some(shared.send(&request, 0).map_err(Error::NothingServed)?);
        let shared = Shared { start: Instant::now(), ..shared };
        thread::scope(|scope| {
            for conversation in self.workload.conversations(self.rate * num_servers as f64) {
                thread::sleep(conversation.start.saturating_sub(shared.start.elapsed()));
                let dialog = self.workload.begin(conversation);
                let thread = thread::Builder::new().stack_size(STACK_BYTES);
                let spawned = thread.spawn_scoped(scope, || shared.hold_conversation(dialog));
                spawned.map_err(Error::Output)?;
            }
            Ok::<(), Error>(())
        })?;
        let requests = std::mem::take(&mut *lock(&shared.requests));
        match lock(&shared.last_failure).take() {
            Some(failure) if requests.is_empty() => Err(Error::NothingServed(failure)),
            _ => Ok(Measurement { num_servers, probe, requests }),
        }
    }
}

impl Shared<'_> {
    /// Fills the KV caches of all servers with prompts that no conversation repeats, so that none is measured while the
    /// system provides the memory. On a virtual machine, that made prompts of a new server a seventh slower.
    ///
    /// **Errors**: the reason, as text.
    fn fill_caches(&self) -> Result<(), String> {
        let Replay { workload, urls, cache_tokens, .. } = self.replay;
        for number in 1..=cache_tokens.div_ceil(FILLING_TOKENS) {
            let request = workload.request(number, FILLING_TOKENS, 1);
            for server in 0..urls.len() {
                self.send(&request, server)?;
            }
        }
        Ok(())
    }

    /// Sends the messages of a conversation, one after the other.
    fn hold_conversation(&self, mut dialog: Dialog) {
        while let Some(request) = self.replay.workload.next_request(&mut dialog) {
            let replica = lock(&self.router).route(&request.prompt);
            let sent = self.send(&request, replica);
            lock(&self.router).finished(replica);
            match sent {
                Ok(measured) => lock(&self.requests).push(measured),
                Err(failure) => {
                    eprintln!("{}: {failure}", self.replay.urls[replica]);
                    *lock(&self.last_failure) = Some(failure);
                    return;
                }
            }
            if self.replay.workload.is_over(self.start.elapsed() + request.think_time) {
                return;
            }
            thread::sleep(request.think_time);
        }
    }

    /// Sends a request to a server, and returns the times of its tokens.
    ///
    /// **Errors**: the reason, as text.
    fn send(&self, request: &Request, server: usize) -> Result<MeasuredRequest, String> {
        let mut measured = MeasuredRequest {
            server,
            arrival: self.start.elapsed().as_secs_f64(),
            prompt_tokens: request.prompt.len(),
            cached_tokens: 0,
            tokens: Vec::new(),
        };
        let body = json!({
            "prompt": request.prompt,
            "max_tokens": request.reply.len(),
            "ignore_eos": true,
            "temperature": 0,
            "stream": true,
            "stream_options": {"include_usage": true, "continuous_usage_stats": true},
        });
        let post = self
            .agent
            .post(format!("{}/v1/completions", self.replay.urls[server]))
            .header("Content-Type", "application/json");
        let mut response = post.send(body.to_string()).map_err(|error| error.to_string())?;
        if !response.status().is_success() {
            let body = response.body_mut().read_to_string().unwrap_or_default();
            return Err(format!("{}: {body}", response.status()));
        }
        let mut num_tokens = 0;
        for line in BufReader::new(response.body_mut().as_reader()).lines() {
            let line = line.map_err(|error| error.to_string())?;
            let Some(data) = line.strip_prefix("data: ") else { continue };
            if data == "[DONE]" {
                return Ok(measured);
            }
            let now = self.start.elapsed().as_secs_f64();
            let event: Value = serde_json::from_str(data).map_err(|error| error.to_string())?;
            if let Some(error) = event.get("error") {
                return Err(error.to_string());
            }
            let count = |value: &Value| value.as_u64().unwrap_or(0) as usize;
            let usage = &event["usage"];
            let num_new = count(&usage["completion_tokens"]).saturating_sub(num_tokens);
            if num_new > 0 {
                measured.tokens.push((now, num_new));
                num_tokens += num_new;
            }
            let cached_tokens = count(&usage["prompt_tokens_details"]["cached_tokens"]);
            measured.cached_tokens = measured.cached_tokens.max(cached_tokens);
        }
        Err("the response ended early".to_owned())
    }
}

/// Locks a mutex; its value is complete even after a panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_overhead_of_a_step_is_what_its_pass_does_not_explain() {
        let costs = CostModel { step: 0.01, decode_context_token: 0.001, ..CostModel::default() };
        // Passes take 21, 22 and 23 ms; the steps 2, 3 and 9 ms more.
        let tokens = vec![(1.0, 1), (1.023, 1), (1.048, 1), (1.080, 1)];
        let request = |tokens| MeasuredRequest {
            server: 0,
            arrival: 0.9,
            prompt_tokens: 10,
            cached_tokens: 0,
            tokens,
        };
        assert!((request(tokens).overhead(&costs) - 0.003).abs() < 1e-9);
        assert_eq!(request(vec![(1.0, 1), (1.001, 1)]).overhead(&costs), 0.0);
        assert_eq!(request(Vec::new()).overhead(&costs), 0.0);
    }
}
