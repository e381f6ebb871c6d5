//! Answers the requests of a batch, many at once.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use inferno_server::{CompleteResponse, LocalServer, ServerError};

use super::answers::{Answer, OrderedAnswers};
use super::requests::{BatchError, BatchRequest};
use super::{BatchCounts, BatchStream};
use crate::Error;

/// Size of the answers that may wait for an earlier one, in bytes. Beyond, no request is started until that one is written.
const MAX_WAITING_BYTES: usize = 256 << 20;
/// Number of different reports of ignored parts that are collected.
const MAX_REPORTS: usize = 16;
/// How often the caller is asked whether to continue.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// How to answer the requests of a batch.
pub(crate) struct BatchRun<'a> {
    pub server: &'a LocalServer,
    /// The names of the streams, for errors.
    pub input: &'a BatchStream,
    pub output: &'a BatchStream,
    /// Maximum number of requests that are computed or prepared at once.
    pub max_in_flight: usize,
}

/// What was done so far.
#[derive(Debug, Default)]
pub(crate) struct BatchProgress {
    /// Requests whose answers were written.
    pub counts: BatchCounts,
    /// Bytes of the input up to the last request that was started.
    pub input_bytes: u64,
    /// What was ignored in requests.
    pub reports: BTreeSet<String>,
}

/// What the loop waits for.
enum Event {
    /// The next request, or the end of the input.
    Request(io::Result<Option<BatchRequest>>),
    Answer {
        place: u64,
        answer: Answer,
    },
}

/// The state of a run.
struct Loop<'a> {
    run: &'a BatchRun<'a>,
    sender: Sender<Event>,
    /// Each permits the reader to read one request.
    permits: Sender<()>,
    /// Requests that the reader may still send.
    num_permits: usize,
    has_input: bool,
    num_in_flight: usize,
    answers: OrderedAnswers,
    progress: BatchProgress,
}

impl BatchRun<'_> {
    /// Answers all requests, and writes each answer when those before it are written. Calls `on_progress` regularly; on
    /// [`ControlFlow::Break`], requests that are not answered are aborted.
    ///
    /// **Errors**: [`Error::Cancelled`] after a break; an input that cannot be read, an output that cannot be written, an
    /// engine that stops, a model file that is overwritten. All answers written so far are complete.
    pub fn answer(
        &self,
        requests: impl Iterator<Item = io::Result<BatchRequest>> + Send + 'static,
        output: &mut dyn Write,
        on_progress: &mut dyn FnMut(&BatchProgress) -> ControlFlow<()>,
    ) -> Result<BatchProgress, Error> {
        let (sender, events) = mpsc::channel();
        let (permits, permitted) = mpsc::channel();
        let replies = sender.clone();
        let reader = thread::Builder::new().name("batch input".to_owned());
        // Detached, since a read of standard input cannot be interrupted.
        reader.spawn(move || read(requests, &permitted, &sender)).map_err(Error::Thread)?;
        let mut state = Loop {
            run: self,
            sender: replies,
            permits,
            num_permits: 0,
            has_input: true,
            num_in_flight: 0,
            answers: OrderedAnswers::default(),
            progress: BatchProgress::default(),
        };
        while state.permit_requests() {
            match events.recv_timeout(POLL_INTERVAL) {
                Ok(event) => state.handle(event)?,
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
            state.write(output).map_err(|error| self.output.unwritable(error))?;
            if on_progress(&state.progress).is_break() {
                return Err(Error::Cancelled);
            }
        }
        Ok(state.progress)
    }
}

impl Loop<'_> {
    /// Permits the reader to read as many requests as may be started; returns whether there is still something to wait for.
    fn permit_requests(&mut self) -> bool {
        while self.has_input
            && self.num_permits + self.num_in_flight < self.run.max_in_flight
            && self.answers.waiting_bytes() < MAX_WAITING_BYTES
        {
            self.num_permits += 1;
            // Without a reader, its last event is still to be received.
            let _ = self.permits.send(());
        }
        self.has_input || self.num_in_flight > 0
    }

    fn handle(&mut self, event: Event) -> Result<(), Error> {
        match event {
            Event::Request(request) => {
                self.num_permits -= 1;
                match request.map_err(|error| self.run.input.unreadable(error))? {
                    Some(request) => self.start(request),
                    None => self.has_input = false,
                }
            }
            Event::Answer { place, answer } => {
                // A request that was not computed for one of these reasons can be answered by the next run.
                if answer.failure.is_some()
                    && let Some(error) = self.run.server.failure()
                {
                    return Err(error.into());
                }
                self.num_in_flight -= 1;
                let reports = &mut self.progress.reports;
                reports.extend(answer.reports.iter().take(MAX_REPORTS - reports.len()).cloned());
                self.answers.insert(place, answer);
            }
        }
        Ok(())
    }

    fn start(&mut self, request: BatchRequest) {
        let BatchRequest { id, custom_id, request, input_bytes } = request;
        self.progress.input_bytes = input_bytes;
        self.num_in_flight += 1;
        let place = self.answers.reserve();
        let mut reply = Reply { place, id, custom_id, response: None, events: self.sender.clone() };
        match request {
            Ok(request) => {
                // A request that cannot be sent drops its reply, which reports it.
                let _ = self.run.server.complete(request, move |response| reply.set(response));
            }
            Err(error) => reply.response = Some(Err(error)),
        }
    }

    /// Writes the answers whose turn it is.
    fn write(&mut self, output: &mut dyn Write) -> io::Result<()> {
        while let Some(answer) = self.answers.take_next() {
            output.write_all(&answer.line)?;
            self.progress.counts.add(answer.failure);
        }
        output.flush()
    }
}

/// Sends an answer when it is dropped, so that none is missing, whatever happens to the request.
struct Reply {
    place: u64,
    id: String,
    custom_id: Option<String>,
    response: Option<Result<CompleteResponse, BatchError>>,
    events: Sender<Event>,
}

impl Reply {
    fn set(&mut self, response: Result<CompleteResponse, ServerError>) {
        self.response = Some(response.map_err(|error| aborted(error.to_string())));
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        let unanswered = || Err(aborted("the request was aborted".to_owned()));
        let response = self.response.take().unwrap_or_else(unanswered);
        let answer = Answer::new(&self.id, self.custom_id.as_deref(), &response);
        let answer = match &response {
            Ok(response) => answer.with_reports(response),
            Err(_) => answer,
        };
        // Nobody receives it after the run.
        let _ = self.events.send(Event::Answer { place: self.place, answer });
    }
}

fn aborted(message: String) -> BatchError {
    BatchError { code: "request_aborted", message }
}

/// Reads a request for each permit.
fn read(
    mut requests: impl Iterator<Item = io::Result<BatchRequest>>,
    permitted: &Receiver<()>,
    events: &Sender<Event>,
) {
    for () in permitted {
        let request = requests.next().transpose();
        let is_last = !matches!(request, Ok(Some(_)));
        if events.send(Event::Request(request)).is_err() || is_last {
            return;
        }
    }
}
