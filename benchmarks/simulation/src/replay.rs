//! Runs a workload against real servers, with the router of the simulation.

use std::io::{BufRead, BufReader};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use ureq::Agent;

use crate::error::Error;
use crate::recorder::{Recorder, RequestTimes};
use crate::report::Report;
use crate::router::{Policy, Router, RouterOptions};
use crate::workload::{Dialog, Request, Workload};

/// Timeout of a whole request.
const TIMEOUT: Duration = Duration::from_secs(600);
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

/// What the threads of conversations share.
struct Shared<'a> {
    replay: &'a Replay<'a>,
    agent: Agent,
    start: Instant,
    router: Mutex<Router>,
    recorder: Mutex<Recorder>,
    last_failure: Mutex<Option<String>>,
}

impl Replay<'_> {
    /// Sends all requests at their times and returns the measured times.
    ///
    /// **Errors**: [`Error::NothingServed`] if no request succeeds. Requests that fail are reported on standard error.
    pub fn run(&self) -> Result<Report, Error> {
        let config = Agent::config_builder()
            .timeout_global(Some(TIMEOUT))
            .http_status_as_error(false)
            .max_idle_connections(1024)
            .max_idle_connections_per_host(1024);
        let num_replicas = self.urls.len();
        let shared = Shared {
            replay: self,
            agent: config.build().into(),
            start: Instant::now(),
            router: Mutex::new(Router::new(
                self.policy,
                self.router,
                num_replicas,
                self.cache_tokens,
            )),
            recorder: Mutex::new(Recorder::new(self.workload)),
            last_failure: Mutex::new(None),
        };
        thread::scope(|scope| {
            for conversation in self.workload.conversations(self.rate * num_replicas as f64) {
                thread::sleep(conversation.start.saturating_sub(shared.start.elapsed()));
                let dialog = self.workload.begin(conversation);
                let thread = thread::Builder::new().stack_size(STACK_BYTES);
                let spawned = thread.spawn_scoped(scope, || shared.hold_conversation(dialog));
                spawned.map_err(Error::Output)?;
            }
            Ok::<(), Error>(())
        })?;
        let measured = lock(&shared.recorder).clone();
        match lock(&shared.last_failure).take() {
            Some(failure) if measured.num_requests() == 0 => Err(Error::NothingServed(failure)),
            _ => Ok(Report {
                source: "measured",
                policy: self.policy,
                num_replicas,
                rate: self.rate,
                measured,
                utilization: None,
                preemptions: None,
                price_per_hour: None,
            }),
        }
    }
}

impl Shared<'_> {
    /// Sends the messages of a conversation, one after the other.
    fn hold_conversation(&self, mut dialog: Dialog) {
        while let Some(request) = self.replay.workload.next_request(&mut dialog) {
            let replica = lock(&self.router).route(&request.prompt);
            let sent = self.send(&request, &self.replay.urls[replica]);
            lock(&self.router).finished(replica);
            if let Err(failure) = sent {
                eprintln!("{}: {failure}", self.replay.urls[replica]);
                *lock(&self.last_failure) = Some(failure);
                return;
            }
            if lock(&self.recorder).is_over(self.start.elapsed() + request.think_time) {
                return;
            }
            thread::sleep(request.think_time);
        }
    }

    /// Sends a request, and records the times of its tokens.
    ///
    /// **Errors**: the reason, as text.
    fn send(&self, request: &Request, url: &str) -> Result<(), String> {
        let mut times = RequestTimes::new(self.start.elapsed(), request.prompt.len());
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
            .post(format!("{url}/v1/completions"))
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
                lock(&self.recorder).finished(&times);
                return Ok(());
            }
            let now = self.start.elapsed();
            let event: Value = serde_json::from_str(data).map_err(|error| error.to_string())?;
            if let Some(error) = event.get("error") {
                return Err(error.to_string());
            }
            let count = |value: &Value| value.as_u64().unwrap_or(0) as usize;
            let usage = &event["usage"];
            let num_new = count(&usage["completion_tokens"]).saturating_sub(num_tokens);
            if num_new > 0 {
                lock(&self.recorder).tokens(&mut times, now, num_new);
                num_tokens += num_new;
            }
            times.cached_tokens =
                times.cached_tokens.max(count(&usage["prompt_tokens_details"]["cached_tokens"]));
        }
        Err("the response ended early".to_owned())
    }
}

/// Locks a mutex; its value is complete even after a panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
