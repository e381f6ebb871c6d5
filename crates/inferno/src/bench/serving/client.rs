//! One request to a server, and when its answer came.

use std::io::{BufRead, BufReader};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use ureq::http::StatusCode;
use ureq::{Agent, RequestBuilder};

use super::ServingWorkload;
use crate::Error;

/// What requests ask a server for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Endpoint {
    /// `/v1/completions`: the prompt as it is.
    Completions,
    /// `/v1/chat/completions`: the prompt as what a user says.
    Chat,
}

/// A server that speaks OpenAI's API.
pub struct Server {
    url: String,
    endpoint: Endpoint,
    model: Option<String>,
    api_key: Option<String>,
    agent: Agent,
}

/// An answer as its client saw it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Answer {
    /// From when the request was due to its first text.
    pub first_token: Duration,
    /// The times between pieces of text, each of a token or more.
    pub between_tokens: Vec<Duration>,
    /// From when the request was due to the end of its answer.
    pub total: Duration,
    /// Tokens of the prompt, as the server counts them.
    pub prompt_tokens: usize,
    /// Tokens of the prompt that the server had computed before.
    pub cached_tokens: usize,
    /// Tokens of the answer.
    pub completion_tokens: usize,
}

impl Server {
    /// A server at `url`, the part before `/v1`, by plain HTTP where it names no other way; `model` is the first that it lists where it is not given.
    ///
    /// **Units**: a request may take `timeout` in all.
    pub fn new(
        url: &str,
        endpoint: Endpoint,
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
            // One connection for each client stays open between its requests.
            .max_idle_connections(1024)
            .max_idle_connections_per_host(1024)
            .build();
        Self { url, endpoint, model, api_key, agent: config.into() }
    }

    /// Where the server is.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The name of the model that requests ask for.
    pub(super) fn model(&self) -> Result<String, Error> {
        if let Some(model) = &self.model {
            return Ok(model.clone());
        }
        let request = self.authorized(self.agent.get(format!("{}/v1/models", self.url)));
        let answer = self.read(request.call()).map_err(|cause| self.error(cause))?;
        let listed: Value = serde_json::from_str(&answer)
            .map_err(|_| self.error("its list of models is not JSON".to_owned()))?;
        let model = listed["data"][0]["id"].as_str();
        model.map(str::to_owned).ok_or_else(|| self.error("it lists no model".to_owned()))
    }

    /// How many tokens the server counts in `prompt`.
    pub(super) fn count(&self, model: &str, prompt: &str) -> Result<usize, Error> {
        let body = self.body(model, prompt, 1);
        let answer = self.read(self.post(&body)).map_err(|cause| self.error(cause))?;
        let answer: Option<Value> = serde_json::from_str(&answer).ok();
        let counted = answer.and_then(|answer| answer["usage"]["prompt_tokens"].as_u64());
        let counted = counted.and_then(|count| count.try_into().ok());
        counted.ok_or_else(|| self.error("its answers do not count tokens (usage)".to_owned()))
    }

    /// Sends a prompt and reads its answer to the end; times count from `due`.
    ///
    /// **Errors**: what went wrong, in words.
    pub(super) fn stream(
        &self,
        model: &str,
        prompt: &str,
        workload: &ServingWorkload,
        due: Instant,
    ) -> Result<Answer, String> {
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
        let mut answer = Answer::default();
        let mut last_text = None;
        let mut pieces = 0;
        for line in BufReader::new(response.body_mut().as_reader()).lines() {
            let line = line.map_err(|error| error.to_string())?;
            let Some(data) = line.strip_prefix("data:") else { continue };
            if data.trim() == "[DONE]" {
                answer.total = due.elapsed();
                answer.completion_tokens = answer.completion_tokens.max(pieces);
                return match last_text {
                    Some(_) => Ok(answer),
                    None => Err("the answer held no text".to_owned()),
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
                    None => answer.first_token = now - due,
                    Some(last) => answer.between_tokens.push(now - last),
                }
                last_text = Some(now);
                pieces += 1;
            }
            if let usage @ Value::Object(_) = &chunk["usage"] {
                let count = |value: &Value| value.as_u64().unwrap_or(0) as usize;
                answer.prompt_tokens = count(&usage["prompt_tokens"]);
                answer.cached_tokens = count(&usage["prompt_tokens_details"]["cached_tokens"]);
                answer.completion_tokens = count(&usage["completion_tokens"]);
            }
        }
        Err("the answer broke off".to_owned())
    }

    fn body(&self, model: &str, prompt: &str, max_tokens: usize) -> Value {
        let mut body = json!({"model": model, "max_tokens": max_tokens});
        match self.endpoint {
            Endpoint::Completions => body["prompt"] = prompt.into(),
            Endpoint::Chat => body["messages"] = json!([{"role": "user", "content": prompt}]),
        }
        body
    }

    fn post(&self, body: &Value) -> Result<ureq::http::Response<ureq::Body>, ureq::Error> {
        let path = match self.endpoint {
            Endpoint::Completions => "completions",
            Endpoint::Chat => "chat/completions",
        };
        let request = self.authorized(self.agent.post(format!("{}/v1/{path}", self.url)));
        request.header("Content-Type", "application/json").send(body.to_string())
    }

    /// `request` with the key, if there is one.
    fn authorized<B>(&self, request: RequestBuilder<B>) -> RequestBuilder<B> {
        match &self.api_key {
            Some(key) => request.header("Authorization", format!("Bearer {key}")),
            None => request,
        }
    }

    /// The whole of a good answer, or what is wrong.
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
        Error::ServerNotMeasured { url: self.url.clone(), cause }
    }
}

/// Whether a choice brings text, be it an answer or a thought before it.
fn has_text(choice: &Value) -> bool {
    let texts =
        [&choice["text"], &choice["delta"]["content"], &choice["delta"]["reasoning_content"]];
    texts.iter().any(|text| text.as_str().is_some_and(|text| !text.is_empty()))
}

/// What an error says, in any of the shapes that servers give it.
fn message_of(error: &Value) -> String {
    let message = error.get("message").unwrap_or(error);
    excerpt(message.as_str().unwrap_or(&message.to_string()))
}

fn excerpt(text: &str) -> String {
    const MAX_CHARACTERS: usize = 300;
    text.trim().chars().take(MAX_CHARACTERS).collect()
}
