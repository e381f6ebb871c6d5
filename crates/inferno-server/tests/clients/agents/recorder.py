"""A proxy that records the shape of the requests that pass through it: fields and types, with long strings replaced.

Usage: recorder.py URL FILE -- COMMAND... Runs COMMAND with its own URL in INFERNO_SCRIPTED_URL, forwards the requests to
URL, and writes them to FILE.
"""

import json
import os
import re
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

# Fields whose strings are parsed, so that they must stay as they are.
PARSED = {"$ref", "$schema", "arguments", "call_id", "definition", "id", "name", "pattern", "tool_call_id", "tool_use_id"}
LONGEST = 48
HEADERS = ("user-agent", "anthropic-version", "anthropic-beta", "openai-beta")


def shape(value, key=None):
    """Replaces long strings, which are prompts and descriptions."""
    if isinstance(value, dict):
        return {name: shape(it, name) for name, it in value.items()}
    if isinstance(value, list):
        return [shape(it, key) for it in value]
    if isinstance(value, str) and key not in PARSED and len(value) > LONGEST:
        return f"A text of {len(value)} characters."
    return value


class Recorder:
    """Forwards requests to the server at `url` and collects those that have a body."""

    def __init__(self, url, replacements=()):
        self.requests = []
        recorder = self

        class Handler(BaseHTTPRequestHandler):
            # HTTP/1.0: each answer ends with its connection, so that streams need no framing.
            def forward(self):
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                headers = {name: value for name, value in self.headers.items()
                           if name.lower() not in ("host", "connection", "accept-encoding", "content-length")}
                request = urllib.request.Request(url + self.path, body or None, headers, method=self.command)
                try:
                    answer = urllib.request.urlopen(request)
                except urllib.error.HTTPError as error:
                    answer = error
                if body:
                    recorder.record(self.path, self.headers, body, answer, replacements)
                with answer:
                    self.send_response(answer.status)
                    for name, value in answer.headers.items():
                        if name.lower() not in ("transfer-encoding", "connection", "server", "date"):
                            self.send_header(name, value)
                    self.end_headers()
                    while chunk := answer.read1(65536):
                        self.wfile.write(chunk)
                        self.wfile.flush()

            do_GET = do_POST = do_DELETE = do_HEAD = forward

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def record(self, path, headers, body, answer, replacements):
        text = body.decode()
        for old, new in replacements:
            text = text.replace(old, new)
        self.requests.append({
            "path": path,
            "headers": {name: headers[name] for name in HEADERS if headers[name]},
            "status": answer.status,
            "ignored": answer.headers["x-inferno-ignored-fields"] or "",
            "body": shape(json.loads(text)),
        })

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def write(self, file):
        """Writes the first and the last request of each kind: path, whether it streams, and whether there are tools."""
        kinds = {}
        for request in self.requests:
            body = request["body"]
            kind = (request["path"], body.get("stream"), bool(body.get("tools")), request["headers"].get("user-agent"))
            kinds.setdefault(kind, []).append(request)
        requests = [it for kind in kinds.values() for it in ([kind[0], kind[-1]] if len(kind) > 1 else kind)]
        text = json.dumps({"requests": requests}, indent=1, ensure_ascii=False)
        # Short objects and lists on one line.
        text = re.sub(r"[\[{]\n[^\[\]{}]{1,110}?\n *[\]}]", lambda it: re.sub(r"\n *", " ", it[0]), text)
        file.write_text(text + "\n")


def main():
    url, file, _, *command = sys.argv[1:]
    recorder = Recorder(url)
    done = subprocess.run(command, env=os.environ | {"INFERNO_SCRIPTED_URL": recorder.url})
    recorder.stop()
    recorder.write(Path(file))
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
