//! A stage in another process, as its head uses it.

use std::cell::RefCell;
use std::io;
use std::ops::Range;
use std::time::{Duration, Instant};

use inferno_backend::{
    BackendError, Batch, BlockId, CandidateRows, CandidateShape, KvBlockPart, StateSlot,
};
use inferno_model::{CacheLayout, LogitSource, ModelSpec, StageOutput, StageRows};

use super::addresses::StageAddresses;
use super::batch::to_chunks;
use super::connection::{Connection, to_bytes, to_values};
use super::message::{OpenMessage, Reply, Request, from_updates};
use super::{Stage, StageError};
use crate::{EngineError, WindowUpdate};

/// Time between attempts to reopen a stage that answered with an error: each may allocate a cache there.
const REJECTED_PAUSE: Duration = Duration::from_millis(500);

/// A stage in another process, with a cache of its own there.
pub(crate) struct RemoteStage {
    link: RefCell<Link>,
    opened: Opened,
    layout: CacheLayout,
    /// The rows of the last pass.
    values: Vec<f32>,
    /// What the last pass selects from its rows of logits.
    candidates: Option<CandidateShape>,
    /// Number of rows of logits that the last pass returns.
    num_rows: usize,
    vocab_size: usize,
}

/// What a stage reported when it was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Opened {
    layers: Range<usize>,
    devices: Vec<String>,
    has_long_rotary: bool,
}

impl RemoteStage {
    /// Connects to stage `index`, which computes the layers from `first_layer` on, and allocates its part of the cache.
    /// `layout` is that of the whole model.
    ///
    /// **Errors**: [`StageError::Lost`] if it cannot be reached, [`StageError::Failed`] if it has another model or no
    /// memory for the cache, [`StageError::OtherLayers`]; layers that cannot be separated from the others.
    pub(crate) fn open(
        addresses: &StageAddresses,
        index: usize,
        message: OpenMessage,
        spec: &ModelSpec,
        layout: &CacheLayout,
        first_layer: usize,
    ) -> Result<Self, EngineError> {
        let address = addresses.get(index);
        let addresses = addresses.clone();
        let lost_since = Instant::now();
        let mut link = Link {
            addresses,
            index,
            address,
            message,
            state: Err(lost_since),
            next_attempt: lost_since,
            payload: Vec::new(),
        };
        let opened = link.open()?;
        let Range { start, end } = opened.layers;
        if start != first_layer || end <= start || end > spec.num_layers() {
            let (expected, found) = (first_layer, start..end);
            return Err(StageError::OtherLayers { address: link.address, expected, found }.into());
        }
        let layout = spec.stage(start..end)?.stage_cache(layout);
        Ok(Self {
            link: RefCell::new(link),
            opened,
            layout,
            values: Vec::new(),
            candidates: None,
            num_rows: 0,
            vocab_size: spec.vocab_size,
        })
    }

    /// The layers that it computes.
    pub(crate) fn layers(&self) -> Range<usize> {
        self.opened.layers.clone()
    }
}

impl Stage for RemoteStage {
    fn layout(&self) -> &CacheLayout {
        &self.layout
    }

    fn devices(&self) -> Vec<String> {
        let address = &self.link.borrow().address;
        self.opened.devices.iter().map(|device| format!("{device} at {address}")).collect()
    }

    fn has_long_rotary(&self) -> bool {
        self.opened.has_long_rotary
    }

    fn is_lost(&self) -> bool {
        self.link.borrow().state.is_err()
    }

    fn recover(&mut self) -> Result<bool, EngineError> {
        let link = self.link.get_mut();
        let Err(lost_since) = link.state else { return Ok(true) };
        if link.addresses.is_closed() {
            return Err(EngineError::EngineStopped);
        }
        if Instant::now() < link.next_attempt {
            return Ok(false);
        }
        let error = match link.open() {
            Ok(opened) if opened.layers == self.opened.layers => {
                self.opened = opened;
                return Ok(true);
            }
            Ok(Opened { layers: found, .. }) => {
                link.state = Err(lost_since);
                let (address, expected) = (link.address.clone(), self.opened.layers.start);
                StageError::OtherLayers { address, expected, found }
            }
            Err(error) => error,
        };
        let timeout = link.addresses.recovery_timeout;
        let has_time = lost_since.elapsed() < timeout;
        match error {
            StageError::Lost { .. } if has_time => Ok(false),
            StageError::Lost { address, .. } => {
                Err(StageError::NotRecovered { address, seconds: timeout.as_secs() }.into())
            }
            // A process that answers may still compute for the connection that was lost, whose cache occupies its memory, or
            // its address may not be announced yet.
            _ if has_time => {
                link.next_attempt = Instant::now() + REJECTED_PAUSE;
                Ok(false)
            }
            error => Err(error.into()),
        }
    }

    fn submit(
        &mut self,
        batch: &Batch,
        residual: Option<&[f32]>,
        rows: StageRows,
    ) -> Result<(), EngineError> {
        self.candidates = match rows {
            StageRows::Candidates(shape) => Some(shape),
            StageRows::Logits | StageRows::Hidden | StageRows::Residual => None,
        };
        self.num_rows = batch.logit_rows().len();
        let link = self.link.get_mut();
        let mut payload = std::mem::take(&mut link.payload);
        to_bytes(residual.unwrap_or_default(), &mut payload);
        let request = Request::Pass { chunks: to_chunks(batch), rows: rows.into() };
        let sent = link.send(&request, &payload).and_then(|()| link.flush());
        link.payload = payload;
        Ok(sent?)
    }

    fn wait(&mut self) -> Result<StageOutput<'_>, EngineError> {
        let link = self.link.get_mut();
        link.result()?;
        to_values(&link.payload, &mut self.values);
        let Some(shape) = self.candidates else { return Ok(StageOutput::Values(&self.values)) };
        let rows = CandidateRows::new(shape, &self.values);
        if !rows.are_valid() || rows.len() != self.num_rows {
            return Err(link.failed("invalid candidates".to_owned()).into());
        }
        let logits = Box::new(RemoteLogits { link: &self.link, vocab_size: self.vocab_size });
        Ok(StageOutput::Candidates { rows, logits })
    }

    fn read_logits(&self, rows: Range<usize>) -> Result<Vec<f32>, EngineError> {
        let logits = RemoteLogits { link: &self.link, vocab_size: self.vocab_size };
        Ok(logits.read(rows)?)
    }

    fn update_windows(&mut self, updates: &[WindowUpdate]) {
        if !updates.is_empty() {
            self.link.get_mut().send_only(&Request::UpdateWindows(from_updates(updates)));
        }
    }

    fn read_kv_block(
        &self,
        block: BlockId,
        part: KvBlockPart,
        bytes: &mut Vec<u8>,
    ) -> Result<(), EngineError> {
        let request = Request::ReadBlock { block: block.0, is_whole: part == KvBlockPart::All };
        self.link.borrow_mut().read(&request, bytes)
    }

    fn write_kv_block(
        &mut self,
        block: BlockId,
        part: KvBlockPart,
        bytes: &[u8],
    ) -> Result<(), EngineError> {
        let request = Request::WriteBlock { block: block.0, is_whole: part == KvBlockPart::All };
        Ok(self.link.get_mut().request(&request, bytes)?)
    }

    fn copy_state(&mut self, from: StateSlot, to: StateSlot) {
        self.link.get_mut().send_only(&Request::CopyState { from: from.0, to: to.0 });
    }

    fn read_state(&self, slot: StateSlot, bytes: &mut Vec<u8>) -> Result<(), EngineError> {
        self.link.borrow_mut().read(&Request::ReadState { slot: slot.0 }, bytes)
    }

    fn write_state(&mut self, slot: StateSlot, bytes: &[u8]) -> Result<(), EngineError> {
        Ok(self.link.get_mut().request(&Request::WriteState { slot: slot.0 }, bytes)?)
    }
}

/// The rows of logits of a stage's last pass.
struct RemoteLogits<'a> {
    link: &'a RefCell<Link>,
    vocab_size: usize,
}

impl RemoteLogits<'_> {
    fn read(&self, rows: Range<usize>) -> Result<Vec<f32>, StageError> {
        let mut link = self.link.borrow_mut();
        link.request(&Request::ReadLogits { start: rows.start, end: rows.end }, &[])?;
        let mut values = Vec::new();
        to_values(&link.payload, &mut values);
        match values.len() == rows.len() * self.vocab_size {
            true => Ok(values),
            false => Err(link.failed("another number of logits than requested".to_owned())),
        }
    }
}

impl LogitSource for RemoteLogits<'_> {
    fn read_logits(&self, rows: Range<usize>) -> Result<Vec<f32>, BackendError> {
        self.read(rows).map_err(|error| BackendError::Device { reason: error.to_string() })
    }
}

/// A connection that is replaced when it is lost.
struct Link {
    addresses: StageAddresses,
    index: usize,
    /// Where the stage was last.
    address: String,
    message: OpenMessage,
    /// The connection, or when it was lost.
    state: Result<Connection, Instant>,
    /// When a stage that is lost may be opened again.
    next_attempt: Instant,
    /// The payload of the last reply.
    payload: Vec<u8>,
}

impl Link {
    /// Connects and allocates the cache of the stage.
    fn open(&mut self) -> Result<Opened, StageError> {
        self.address = self.addresses.get(self.index);
        let connection = Connection::to_stage(&self.address, &self.addresses.key);
        let mut connection = connection.map_err(|source| self.lost(source))?;
        let reply = connection
            .send(&Request::Open(self.message.clone()), &[])
            .and_then(|()| connection.flush())
            .and_then(|()| connection.receive(&mut self.payload))
            .map_err(|source| self.lost(source))?;
        match reply {
            Reply::Opened { layers, devices, has_long_rotary } => {
                self.state = Ok(connection);
                Ok(Opened { layers, devices, has_long_rotary })
            }
            Reply::Failed { message } => Err(self.failed(message)),
            Reply::Done => Err(self.failed("unexpected reply".to_owned())),
        }
    }

    /// Sends a request and waits until it has succeeded.
    fn request(&mut self, request: &Request, payload: &[u8]) -> Result<(), StageError> {
        self.send(request, payload)?;
        self.flush()?;
        self.result()
    }

    /// Appends the result of a request to `bytes`.
    fn read(&mut self, request: &Request, bytes: &mut Vec<u8>) -> Result<(), EngineError> {
        self.request(request, &[])?;
        bytes.extend_from_slice(&self.payload);
        Ok(())
    }

    /// Sends a request that has no reply, at the latest with the next one that has. A failure is that of the next one.
    fn send_only(&mut self, request: &Request) {
        let _ = self.send(request, &[]);
    }

    fn send(&mut self, request: &Request, payload: &[u8]) -> Result<(), StageError> {
        self.exchange(|connection, _| connection.send(request, payload))
    }

    fn flush(&mut self) -> Result<(), StageError> {
        self.exchange(|connection, _| connection.flush())
    }

    /// Waits for the reply to the last request; its result is then the payload.
    fn result(&mut self) -> Result<(), StageError> {
        match self.exchange(|connection, payload| connection.receive(payload))? {
            Reply::Done => Ok(()),
            Reply::Failed { message } => Err(self.failed(message)),
            Reply::Opened { .. } => Err(self.failed("unexpected reply".to_owned())),
        }
    }

    fn exchange<T>(
        &mut self,
        exchange: impl FnOnce(&mut Connection, &mut Vec<u8>) -> io::Result<T>,
    ) -> Result<T, StageError> {
        let exchanged = match &mut self.state {
            Ok(connection) if !self.addresses.is_closed() => {
                exchange(connection, &mut self.payload)
            }
            _ => Err(io::ErrorKind::NotConnected.into()),
        };
        exchanged.map_err(|source| {
            if self.state.is_ok() {
                self.state = Err(Instant::now());
            }
            self.lost(source)
        })
    }

    fn lost(&self, source: io::Error) -> StageError {
        StageError::Lost { address: self.address.clone(), source }
    }

    fn failed(&self, message: String) -> StageError {
        StageError::Failed { address: self.address.clone(), message }
    }
}
