//! The server's routes, called without a socket.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use inferno::{
    EngineOptions, Error, LocalRequest, LocalResponse, LocalServer, ResponsePart, ServerOptions,
};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arguments::keyword_arguments;
use crate::detached::Detached;
use crate::errors::{exception, invalid};
use crate::load::Loaded;
use crate::wait::{callback_waker, wait};

keyword_arguments! {
    /// The options of a server.
    ServerArguments {
        api_keys: Vec<String>,
        allowed_hosts: Vec<String>,
        allowed_origins: Vec<String>,
        strict_fields: bool,
        allow_priority: bool,
    }
}

/// A server of a model, without a socket.
#[pyclass(frozen, module = "inferno._inferno")]
pub struct Server(Detached<LocalServer>);

impl Server {
    pub(crate) fn start(
        py: Python<'_>,
        loaded: &Arc<Loaded>,
        arguments: ServerArguments,
    ) -> PyResult<Self> {
        let defaults = ServerOptions::default();
        let options = ServerOptions {
            api_keys: arguments.api_keys.unwrap_or_default(),
            allowed_hosts: arguments.allowed_hosts.unwrap_or_default(),
            allowed_origins: arguments.allowed_origins.unwrap_or_default(),
            strict_fields: arguments.strict_fields.unwrap_or(defaults.strict_fields),
            ..defaults
        };
        // Unlike the callers of the model, the clients of a server are not trusted with the order of requests.
        let engine_options = EngineOptions {
            honor_priority: arguments.allow_priority.unwrap_or_default(),
            ..loaded.engine_options
        };
        let server = py.detach(|| {
            let served = loaded.model.served(engine_options, vec![loaded.name.clone()])?;
            LocalServer::start(options, served.with_any_name()).map_err(Error::from)
        });
        Ok(Self(Detached::new(server.map_err(|error| exception(&error))?)))
    }
}

#[pymethods]
impl Server {
    /// The maximum size of a request's body in bytes.
    #[getter]
    fn max_body_bytes(&self) -> usize {
        self.0.max_body_bytes()
    }

    /// Passes a request to its route.
    fn request(
        &self,
        method: String,
        target: String,
        headers: Vec<(String, Vec<u8>)>,
        body: Vec<u8>,
    ) -> PyResult<Response> {
        Response::to_request(&self.0, method, target, headers, body)
    }
}

/// The response to a request, part by part: first its head, a pair of the status and the headers, then the bytes of its
/// body. Closing or dropping it cancels the request.
#[pyclass(frozen, module = "inferno._inferno")]
pub struct Response(Mutex<Option<LocalResponse>>);

impl Response {
    pub(crate) fn to_request(
        server: &LocalServer,
        method: String,
        target: String,
        headers: Vec<(String, Vec<u8>)>,
        body: Vec<u8>,
    ) -> PyResult<Self> {
        let response = server.send(LocalRequest { method, target, headers, body });
        let response = response.map_err(|error| invalid(error.to_string()))?;
        Ok(Self(Mutex::new(Some(response))))
    }

    fn poll_part(&self, context: &mut Context<'_>) -> Poll<Option<ResponsePart>> {
        let mut response = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match response.as_mut() {
            Some(response) => response.poll_next(context),
            None => Poll::Ready(None),
        }
    }
}

#[pymethods]
impl Response {
    /// Waits for the next part; `None` after the last one.
    fn next<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let part = wait(py, |context| self.poll_part(context))?;
        part.map(|part| to_object(py, part)).transpose()
    }

    /// Returns the next part in a list, or an empty list, after which `callback` is called from another thread as soon as
    /// there is one; `None` after the last one.
    fn poll<'py>(
        &self,
        py: Python<'py>,
        callback: Py<PyAny>,
    ) -> PyResult<Option<Vec<Bound<'py, PyAny>>>> {
        let waker = callback_waker(callback);
        match self.poll_part(&mut Context::from_waker(&waker)) {
            Poll::Pending => Ok(Some(Vec::new())),
            Poll::Ready(None) => Ok(None),
            Poll::Ready(Some(part)) => Ok(Some(vec![to_object(py, part)?])),
        }
    }

    /// Cancels the request. No effect after its end.
    fn close(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

fn to_object(py: Python<'_>, part: ResponsePart) -> PyResult<Bound<'_, PyAny>> {
    match part {
        ResponsePart::Body(bytes) => Ok(PyBytes::new(py, &bytes).into_any()),
        ResponsePart::Head { status, headers } => {
            let headers: Vec<_> = headers
                .iter()
                .map(|(name, value)| (name.as_str(), PyBytes::new(py, value)))
                .collect();
            Ok((status, headers).into_pyobject(py)?.into_any())
        }
    }
}
