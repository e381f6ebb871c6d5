//! Sends requests to a server and measures their times.

use std::io::{BufRead, BufReader};
use std::time::{Duration, Instant};

use clap::ValueEnum;
use serde_json::{Value, json};
use ureq::http::StatusCode;
use ureq::{Agent, RequestBuilder};

use super::{DraftAcceptance, ServingWorkload};
use crate::Error;
use crate::bench::BenchError;

/// The endpoint that requests are sent to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TargetEndpoint {
    /// /v1/completions, with the prompt unchanged
    Completions,
    /// /v1/chat/completions, with the prompt as a user message
    Chat,
}

/// A server that implements the OpenAI API.
pub struct TargetServer {
    url: String,
    endpoint: TargetEndpoint,
    model: Option<String>,
    api_key: Option<String>,
    agent: Agent,
}

/// The times and token counts of a completed request, as seen by the client.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CompletedRequest {
    /// Time from when the request was due to the first text.
    pub first_token: Duration,
    /// Times between pieces of text of one or more tokens each.
    pub between_tokens: Vec<Duration>,
    /// Time from when the request was due to the end of the response.
    pub total: Duration,
    /// Prompt tokens, as counted by the server.
    pub prompt_tokens: usize,
    /// Prompt tokens found in the prefix cache of the server.
    pub cached_tokens: usize,
    /// Generated tokens.
    pub completion_tokens: usize,
}

impl TargetServer {
    /// Creates a client for the server at `url`, the part before `/v1`. The default scheme is `http`, the default `model`
    /// is the first that the server lists, and `timeout` limits each request.
    pub fn new(
        url: &str,
        endpoint: TargetEndpoint,
        model: Option<String>,
        api_key: Option<String>,
        timeout: Duration,
    ) -> Self {
        let scheme = if url.contains("://") { "" } else { "http://" };
        let url = format!("{scheme}{}", url.trim_end_matches('/').trim_end_matches("/v1"));
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_connect(Some(Duration::from_secs(10)))
            .timeout_global(Some(timeout))
            // Every client keeps its connection open between requests.
            .max_idle_connections(1024)
            .max_idle_connections_per_host(1024)
            .build();
        Self { url, endpoint, model, api_key, agent: config.into() }
    }

    /// Returns the base URL of the server.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the model to request.
    pub(super) fn model(&self) -> Result<String, Error> {
        if let Some(model) = &self.model {
            return Ok(model.clone());
        }
        let request = self.authorized(self.agent.get(format!("{}/v1/models", self.url)));
        let body = self.read(request.call()).map_err(|cause| self.error(cause))?;
        let listed: Value = serde_json::from_str(&body)
            .map_err(|_| self.error("the list of models is not JSON".to_owned()))?;
        let model = listed["data"][0]["id"].as_str();
        model.map(str::to_owned).ok_or_else(|| self.error("the server lists no models".to_owned()))
    }

    /// Returns what the server has drafted, if it has vLLM's metrics.
    pub(super) fn draft_acceptance(&self) -> Option<DraftAcceptance> {
        let request = self.authorized(self.agent.get(format!("{}/metrics", self.url)));
        DraftAcceptance::from_metrics(&self.read(request.call()).ok()?)
    }

    /// Returns the number of tokens in `prompt`, as counted by the server.
    pub(super) fn count(&self, model: &str, prompt: &str) -> Result<usize, Error> {
        let request = self.body(model, prompt, 1);
        let body = self.read(self.post(&request)).map_err(|cause| self.error(cause))?;
        let body: Option<Value> = serde_json::from_str(&body).ok();
        let counted = body.and_then(|body| body["usage"]["prompt_tokens"].as_u64());
        let counted = counted.and_then(|count| count.try_into().ok());
        counted
            .ok_or_else(|| self.error("responses do not contain token counts (usage)".to_owned()))
    }

    /// Sends a prompt and reads the whole response; times count from `due`.
    ///
    /// **Errors**: the reason, as text.
    pub(super) fn stream(
        &self,
        model: &str,
        prompt: &str,
        workload: &ServingWorkload,
        due: Instant,
    ) -> Result<CompletedRequest, String> {
        let mut body = self.body(model, prompt, workload.max_tokens);
        body["stream"] = true.into();
        body["stream_options"] = json!({"include_usage": true});
        body["temperature"] = workload.temperature.into();
        if workload.ignore_eos {
            body["ignore_eos"] = true.into();
        }
        let mut response = self.post(&body).map_err(|error| error.to_string())?;
        if response.status() != StatusCode::OK {
            return Err(self.read(Ok(response)).expect_err("the status is not OK"));
        }
        let mut completed = CompletedRequest::default();
        let mut last_text = None;
        let mut pieces = 0;
        for line in BufReader::new(response.body_mut().as_reader()).lines() {
            let line = line.map_err(|error| error.to_string())?;
            let Some(data) = line.strip_prefix("data:") else { continue };
            if data.trim() == "[DONE]" {
                completed.total = due.elapsed();
                completed.completion_tokens = completed.completion_tokens.max(pieces);
                return match last_text {
                    Some(_) => Ok(completed),
                    None => Err("the response contained no text".to_owned()),
                };
            }
            let chunk: Value = serde_json::from_str(data)
                .map_err(|_| format!("an event is not JSON: {}", excerpt(data)))?;
            if let Some(error) = chunk.get("error") {
                return Err(message_of(error));
            }
            if has_text(&chunk["choices"][0]) {
                let now = Instant::now();
                match last_text {
                    None => completed.first_token = now - due,
                    Some(last) => completed.between_tokens.push(now - last),
                }
                last_text = Some(now);
                pieces += 1;
            }
            if let usage @ Value::Object(_) = &chunk["usage"] {
                let count = |value: &Value| value.as_u64().unwrap_or(0) as usize;
                completed.prompt_tokens = count(&usage["prompt_tokens"]);
                completed.cached_tokens = count(&usage["prompt_tokens_details"]["cached_tokens"]);
                completed.completion_tokens = count(&usage["completion_tokens"]);
            }
        }
        Err("the response ended early".to_owned())
    }

    fn body(&self, model: &str, prompt: &str, max_tokens: usize) -> Value {
        let mut body = json!({"model": model, "max_tokens": max_tokens});
        match self.endpoint {
            TargetEndpoint::Completions => body["prompt"] = prompt.into(),
            TargetEndpoint::Chat => body["messages"] = json!([{"role": "user", "content": prompt}]),
        }
        body
    }

    fn post(&self, body: &Value) -> Result<ureq::http::Response<ureq::Body>, ureq::Error> {
        let path = match self.endpoint {
            TargetEndpoint::Completions => "completions",
            TargetEndpoint::Chat => "chat/completions",
        };
        let request = self.authorized(self.agent.post(format!("{}/v1/{path}", self.url)));
        request.header("Content-Type", "application/json").send(body.to_string())
    }

    /// Adds the API key to `request`, if there is one.
    fn authorized<B>(&self, request: RequestBuilder<B>) -> RequestBuilder<B> {
        match &self.api_key {
            Some(key) => request.header("Authorization", format!("Bearer {key}")),
            None => request,
        }
    }

    /// Returns the body of a successful response, or the reason of the failure.
    fn read(
        &self,
        response: Result<ureq::http::Response<ureq::Body>, ureq::Error>,
    ) -> Result<String, String> {
        let mut response = response.map_err(|error| error.to_string())?;
        let status = response.status();
        let text = response.body_mut().read_to_string().map_err(|error| error.to_string())?;
        if status == StatusCode::OK {
            return Ok(text);
        }
        let body: Value = serde_json::from_str(&text).unwrap_or_default();
        Err(format!("{status}: {}", message_of(body.get("error").unwrap_or(&Value::String(text)))))
    }

    fn error(&self, cause: String) -> Error {
        Error::Bench(BenchError::ServerNotMeasured { url: self.url.clone(), cause })
    }
}

/// Returns whether a choice contains text, either content or reasoning.
fn has_text(choice: &Value) -> bool {
    let texts =
        [&choice["text"], &choice["delta"]["content"], &choice["delta"]["reasoning_content"]];
    texts.iter().any(|text| text.as_str().is_some_and(|text| !text.is_empty()))
}

/// Returns the message of an error in any of the common formats.
fn message_of(error: &Value) -> String {
    let message = error.get("message").unwrap_or(error);
    excerpt(message.as_str().unwrap_or(&message.to_string()))
}

fn excerpt(text: &str) -> String {
    const MAX_CHARACTERS: usize = 300;
    text.trim().chars().take(MAX_CHARACTERS).collect()
}
