//! Ends a server that can answer no more requests.

use std::io;
use std::process;
use std::thread;
use std::time::Duration;

use inferno_server::{ModelWatch, print_line};

use crate::cli::failure::EXIT_FAILURE;

/// Time between two checks.
const INTERVAL: Duration = Duration::from_secs(1);
/// Time from a failure to the end of the process, in which clients and probes of `/health` receive the reason.
const GRACE_PERIOD: Duration = Duration::from_secs(10);

/// Ends the process with a failure some seconds after the model has failed for good, so that a supervisor restarts it.
///
/// **Errors**: no thread available.
pub(super) fn start(model: ModelWatch) -> io::Result<()> {
    let watch = move || {
        let failure = loop {
            if model.is_draining() {
                return;
            }
            match model.failure() {
                Some(failure) => break failure,
                None => thread::sleep(INTERVAL),
            }
        };
        let seconds = GRACE_PERIOD.as_secs();
        print_line(&format!("error: {failure}; the server exits in {seconds} seconds"));
        thread::sleep(GRACE_PERIOD);
        // A server that drains exits by itself.
        if !model.is_draining() {
            process::exit(EXIT_FAILURE.into());
        }
    };
    thread::Builder::new().name("inferno-watch".to_owned()).spawn(watch)?;
    Ok(())
}

#[cfg(all(test, feature = "embedded-model"))]
mod tests {
    use inferno_engine::EngineError;
    use inferno_gguf::FileWatch;

    use super::*;
    use crate::{EngineOptions, Model};

    #[test]
    fn an_engine_that_has_stopped_is_a_failure() {
        let model = Model::embedded().and_then(|model| model.load()).expect("a model");
        let engine = model.engine(EngineOptions::default()).expect("an engine");
        let watch = ModelWatch::new(engine.handle(), FileWatch::default());
        assert!(watch.failure().is_none());
        engine.shut_down();
        assert!(matches!(watch.failure(), Some(EngineError::EngineStopped)));
    }
}
