//! The server's routes, called without a socket.

use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use inferno::{
    EngineOptions, Error, LocalRequest, LocalResponse, LocalServer, ResponsePart, ServerOptions,
};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::arguments::keyword_arguments;
use crate::detached::Detached;
use crate::errors::{exception, invalid};
use crate::loaded::Loaded;
use crate::open_stream::{OpenStream, lock};
use crate::wait::{callback_waker, wait};

keyword_arguments! {
    /// The options of a server.
    ServerArguments {
        api_keys: Vec<String>,
        allowed_hosts: Vec<String>,
        allowed_origins: Vec<String>,
        strict_fields: bool,
        allow_priority: bool,
        max_body_bytes: usize,
    }
}

impl ServerArguments {
    /// Returns the options for the server.
    ///
    /// **Errors**: an empty key; bodies of no bytes.
    fn options(self) -> PyResult<ServerOptions> {
        let mut options = ServerOptions {
            api_keys: self.api_keys.unwrap_or_default(),
            allowed_hosts: self.allowed_hosts.unwrap_or_default(),
            allowed_origins: self.allowed_origins.unwrap_or_default(),
            strict_fields: self.strict_fields.unwrap_or_default(),
            ..ServerOptions::default()
        };
        match self.max_body_bytes {
            Some(0) => return Err(invalid("max_body_bytes must be at least 1, but is 0")),
            Some(max_body_bytes) => options.limits.max_body_bytes = max_body_bytes,
            None => {}
        }
        options.check().map_err(|error| invalid(error.to_string()))?;
        Ok(options)
    }
}

/// Checks the options of a server before its model is loaded.
#[pyfunction]
#[pyo3(signature = (**options))]
pub fn check_server(options: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
    ServerArguments::read(options)?.options().map(drop)
}

/// A server of a model, without a socket.
#[pyclass(frozen, module = "inferno._inferno")]
pub struct Server(Detached<Arc<LocalServer>>);

impl Server {
    pub(crate) fn start(
        py: Python<'_>,
        loaded: &Loaded,
        arguments: ServerArguments,
    ) -> PyResult<Self> {
        // Unlike the callers of the model, the clients of a server are not trusted with the order of requests.
        let engine_options = EngineOptions {
            honor_priority: arguments.allow_priority.unwrap_or_default(),
            ..loaded.engine_options
        };
        let options = arguments.options()?;
        let server = py.detach(|| {
            let served = loaded.served(engine_options)?;
            LocalServer::start(options, served).map_err(Error::from)
        });
        let server = server.map_err(|error| exception(&error))?;
        Ok(Self(Detached::new(Arc::new(server))))
    }
}

#[pymethods]
impl Server {
    /// The maximum size of a request's body in bytes.
    #[getter]
    fn max_body_bytes(&self) -> PyResult<usize> {
        Ok(self.0.get()?.max_body_bytes())
    }

    /// Passes a request to its route.
    fn request(
        &self,
        method: String,
        target: String,
        headers: Vec<(String, Vec<u8>)>,
        body: Vec<u8>,
    ) -> PyResult<Response> {
        Response::to_request(self.0.get()?, method, target, headers, body)
    }
}

/// The response to a request, part by part: first its head, a pair of the status and the headers, then the bytes of its
/// body. Closing or dropping it cancels the request.
#[pyclass(frozen, module = "inferno._inferno")]
pub struct Response(OpenStream<LocalResponse>);

impl Response {
    pub(crate) fn to_request(
        server: &Arc<LocalServer>,
        method: String,
        target: String,
        headers: Vec<(String, Vec<u8>)>,
        body: Vec<u8>,
    ) -> PyResult<Self> {
        let response = server.send(LocalRequest { method, target, headers, body });
        let response = response.map_err(|error| exception(&error.into()))?;
        Ok(Self(OpenStream::new(response, server)))
    }
}

fn poll_part(
    response: &Mutex<Option<LocalResponse>>,
    context: &mut Context<'_>,
) -> Poll<Option<ResponsePart>> {
    match lock(response).as_mut() {
        Some(response) => response.poll_next(context),
        None => Poll::Ready(None),
    }
}

#[pymethods]
impl Response {
    /// Waits for the next part; `None` after the last one.
    fn next<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let response = self.0.get()?;
        let part = wait(py, |context| poll_part(response, context))?;
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
        match poll_part(self.0.get()?, &mut Context::from_waker(&waker)) {
            Poll::Pending => Ok(Some(Vec::new())),
            Poll::Ready(None) => Ok(None),
            Poll::Ready(Some(part)) => Ok(Some(vec![to_object(py, part)?])),
        }
    }

    /// Cancels the request. No effect after its end.
    fn close(&self) {
        self.0.close();
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
