//! A local server with the paths of the Hugging Face hub: repository listings, redirects to another address
//! for the content, entity tags, and ranges. It can close the connection in the middle of a file.

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use sha2::{Digest, Sha256};

pub const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// A hub with one repository.
pub struct HubServer {
    endpoint: String,
    state: Arc<Mutex<State>>,
}

struct State {
    repo: String,
    files: BTreeMap<String, Vec<u8>>,
    /// Sends wrong bytes with the right checksum.
    corrupt: bool,
    /// Sends whole files and ignores ranges.
    ignore_ranges: bool,
    /// The number of downloads still to be interrupted halfway.
    breaks_left: usize,
    token: Option<String>,
    /// Entity tags of the next responses, instead of the correct ones.
    etags: VecDeque<String>,
    requests: Vec<String>,
}

impl HubServer {
    /// Serves `files` as the repository `repo`.
    pub fn start(repo: &str, files: &[(&str, &[u8])]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let endpoint = format!("http://{}", listener.local_addr().expect("a bound address"));
        let state = Arc::new(Mutex::new(State {
            repo: repo.to_owned(),
            files: files.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.to_vec())).collect(),
            corrupt: false,
            ignore_ranges: false,
            breaks_left: 0,
            token: None,
            etags: VecDeque::new(),
            requests: Vec::new(),
        }));
        let (shared, address) = (Arc::clone(&state), endpoint.clone());
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (state, address) = (Arc::clone(&shared), address.clone());
                // A disconnecting client only affects its own connection.
                thread::spawn(move || serve(stream, &address, &state));
            }
        });
        Self { endpoint, state }
    }

    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Interrupts the next `count` downloads halfway.
    pub fn break_off(&self, count: usize) {
        self.state.lock().unwrap().breaks_left = count;
    }

    pub fn corrupt(&self, corrupt: bool) {
        self.state.lock().unwrap().corrupt = corrupt;
    }

    /// Sends whole files and ignores ranges from now on.
    pub fn ignore_ranges(&self) {
        self.state.lock().unwrap().ignore_ranges = true;
    }

    /// Rejects requests without this bearer token.
    pub fn require_token(&self, token: &str) {
        self.state.lock().unwrap().token = Some(token.to_owned());
    }

    /// Uses these entity tags in the next responses that carry one.
    pub fn give_etags(&self, etags: &[&str]) {
        let etags = etags.iter().map(|&etag| etag.to_owned());
        self.state.lock().unwrap().etags.extend(etags);
    }

    /// The requests since the last call: path and range, if any.
    pub fn requests(&self) -> Vec<String> {
        std::mem::take(&mut self.state.lock().unwrap().requests)
    }

    /// The requests for file contents, except those for one byte to learn the size.
    pub fn downloads(&self) -> Vec<String> {
        let is_download =
            |request: &String| request.starts_with("/cdn/") && !request.ends_with("bytes=0-0");
        self.requests().into_iter().filter(is_download).collect()
    }
}

struct Request {
    path: String,
    range: Option<String>,
    authorization: Option<String>,
}

fn serve(stream: TcpStream, endpoint: &str, state: &Mutex<State>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut writer = stream;
    loop {
        let request = read_request(&mut reader)?;
        let mut state = state.lock().ok()?;
        let range = request.range.as_deref().map(|range| format!(" {range}")).unwrap_or_default();
        state.requests.push(format!("{}{range}", request.path));
        let (response, is_last) = respond(&request, endpoint, &mut state);
        drop(state);
        writer.write_all(&response).ok()?;
        if is_last {
            return None;
        }
    }
}

fn read_request(reader: &mut impl BufRead) -> Option<Request> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut request = Request { path, range: None, authorization: None };
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim_end().split_once(": ") else {
            return Some(request);
        };
        match name.to_ascii_lowercase().as_str() {
            "range" => request.range = Some(value.to_owned()),
            "authorization" => request.authorization = Some(value.to_owned()),
            _ => {}
        }
    }
}

/// The response, and whether the connection is closed in the middle of it.
fn respond(request: &Request, endpoint: &str, state: &mut State) -> (Vec<u8>, bool) {
    let path = &request.path.replace("%20", " ");
    let is_allowed = match &state.token {
        Some(token) => request.authorization.as_deref() == Some(&format!("Bearer {token}")),
        None => true,
    };
    if !is_allowed {
        return (status("401 Unauthorized"), false);
    }
    if *path == format!("/api/models/{}/revision/main", state.repo) {
        let siblings: Vec<_> =
            state.files.keys().map(|name| serde_json::json!({"rfilename": name})).collect();
        let body = serde_json::json!({"sha": COMMIT, "siblings": siblings}).to_string();
        return (with_body("200 OK", "Content-Type: application/json\r\n", body.as_bytes()), false);
    }
    let resolved = ["main", COMMIT]
        .iter()
        .find_map(|revision| path.strip_prefix(&format!("/{}/resolve/{revision}/", state.repo)));
    if let Some(name) = resolved {
        let etag = state.etags.pop_front();
        let Some(bytes) = state.files.get(name) else {
            return (status("404 Not Found"), false);
        };
        let headers = format!(
            "Location: {endpoint}/cdn/{}\r\nX-Repo-Commit: {COMMIT}\r\nX-Linked-Size: {}\r\nX-Linked-ETag: \"{}\"\r\n",
            name.replace(' ', "%20"),
            bytes.len(),
            etag.unwrap_or_else(|| sha256(bytes))
        );
        return (with_body("302 Found", &headers, b""), false);
    }
    let Some(bytes) = path.strip_prefix("/cdn/").and_then(|name| state.files.get(name)) else {
        return (status("404 Not Found"), false);
    };
    let mut bytes = bytes.clone();
    if state.corrupt {
        bytes.iter_mut().for_each(|byte| *byte ^= 1);
    }
    let asks_for_size = request.range.as_deref() == Some("bytes=0-0");
    if state.ignore_ranges && !asks_for_size {
        return (with_body("200 OK", "", &bytes), false);
    }
    let range = request.range.as_deref().and_then(|range| range.strip_prefix("bytes="));
    let (start, end) = range.and_then(|range| range.split_once('-')).unwrap_or(("0", ""));
    let start: usize = start.parse().expect("a range starts with a number");
    let end = end.parse().map_or(bytes.len(), |last: usize| (last + 1).min(bytes.len()));
    if start >= bytes.len() {
        return (status("416 Range Not Satisfiable"), false);
    }
    let headers = format!("Content-Range: bytes {start}-{}/{}\r\n", end - 1, bytes.len());
    let mut response = with_body("206 Partial Content", &headers, &bytes[start..end]);
    let is_broken = state.breaks_left > 0 && end - start > 1;
    if is_broken {
        state.breaks_left -= 1;
        response.truncate(response.len() - (end - start) / 2);
    }
    (response, is_broken)
}

fn status(status: &str) -> Vec<u8> {
    with_body(status, "", b"")
}

fn with_body(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

/// The checksum in the hub's format.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
