"""Runs coding agents through a whole tool loop: read a file, edit it, run a command, answer.

Usage: run.py INFERNO MODEL BIN WORK [TEMPLATE...]

INFERNO is the program, MODEL a small GGUF file, BIN the folder of the agents' programs, WORK a folder to write to. The
server generates scripted answers in the format of the chat template: that of the model, and of each TEMPLATE file.
"""

import json
import os
import shutil
import struct
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

CONTEXT = 65536
FINAL = "The work is finished."
TIMEOUT = 180
COMMAND = "wc -c notes.txt > size.txt"


def hermes(name, arguments):
    call = json.dumps({"name": name, "arguments": arguments})
    return f"<tool_call>\n{call}\n</tool_call>"


def llama(name, arguments):
    return json.dumps({"name": name, "parameters": arguments})


def mistral(name, arguments):
    return "[TOOL_CALLS]" + json.dumps([{"name": name, "arguments": arguments}])


def mistral_with_arguments(name, arguments):
    return f"[TOOL_CALLS]{name}[ARGS]{json.dumps(arguments)}"


def harmony(name, arguments):
    header = f"<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>"
    return f"{header}{json.dumps(arguments)}<|call|>"


def call_format(template):
    """The format of calls in a template, and of text."""
    plain = str
    if "<|channel|>" in template:
        return harmony, lambda text: f"<|channel|>final<|message|>{text}"
    if "[ARGS]" in template:
        return mistral_with_arguments, plain
    if "[TOOL_CALLS]" in template:
        return mistral, plain
    if "<tool_call>" in template:
        return hermes, plain
    return llama, plain


def with_long_context(model, target):
    """Copies a GGUF file, and raises its context length: scripted answers need no quality."""
    data = bytearray(model.read_bytes())
    place = data.index(b".context_length") + len(b".context_length")
    kind, _ = struct.unpack_from("<II", data, place)
    assert kind == 4, "the context length is an unsigned 32-bit integer"
    struct.pack_into("<I", data, place + 4, CONTEXT)
    target.write_bytes(data)


class Agent:
    """How an agent is started, and the calls of its own tools that do the work in a folder."""

    def __init__(self, name, command, calls, environment):
        self.name, self.command, self.calls, self.environment = name, command, calls, environment


def agents(bin_folder, url, folder):
    notes = str(folder / "notes.txt")
    edit = {"old_string": "Seven", "new_string": "Eight"}
    prompt = "Replace Seven by Eight in notes.txt, and write its size to size.txt."
    provider = f'{{name="x",base_url="{url}/v1",wire_api="responses",env_key="API_KEY"}}'
    (folder / "opencode.json").write_text(json.dumps({
        "autoupdate": False, "share": "disabled", "model": "x/any", "small_model": "x/any", "permission": "allow",
        "provider": {"x": {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": f"{url}/v1", "apiKey": "any"},
                           "models": {"any": {"limit": {"context": CONTEXT, "output": 2000}}}}},
    }))
    # Without it, 15 tools make the prompt long.
    (folder / ".qwen").mkdir(exist_ok=True)
    (folder / ".qwen/settings.json").write_text(json.dumps({
        "tools": {"core": ["read_file", "edit", "run_shell_command"]},
    }))
    return [
        Agent(
            "claude",
            [bin_folder / "claude", "-p", prompt, "--model", "any", "--tools", "Read,Edit,Bash",
             "--allowedTools", "Read,Edit,Bash"],
            [("Read", {"file_path": notes}), ("Edit", {"file_path": notes} | edit), ("Bash", {"command": COMMAND})],
            {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "any", "DISABLE_AUTOUPDATER": "1",
             "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "CLAUDE_CODE_MAX_OUTPUT_TOKENS": "2000"},
        ),
        Agent(
            "codex",
            [bin_folder / "codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox",
             "-c", "model_provider=x", "-c", f"model_providers.x={provider}", "-m", "any", prompt],
            [("exec_command", {"cmd": "cat notes.txt"}),
             ("exec_command", {"cmd": "sed --in-place s/Seven/Eight/ notes.txt"}), ("exec_command", {"cmd": COMMAND})],
            {"API_KEY": "any"},
        ),
        Agent(
            "opencode",
            [bin_folder / "opencode", "run", prompt],
            [("read", {"filePath": notes}),
             ("edit", {"filePath": notes, "oldString": "Seven", "newString": "Eight"}),
             ("bash", {"command": COMMAND, "description": "Measures the file"})],
            {},
        ),
        Agent(
            "qwen",
            [bin_folder / "qwen", "--auth-type", "openai", "-y", "-p", prompt],
            [("read_file", {"file_path": notes}), ("edit", {"file_path": notes} | edit),
             ("run_shell_command", {"command": COMMAND, "is_background": False})],
            {"OPENAI_API_KEY": "any", "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_MODEL": "any"},
        ),
    ]


class Server:
    """A server with scripted answers."""

    def __init__(self, inferno, model, port, script, template, log):
        options = ["--port", str(port), "--context", str(CONTEXT), "--kv-cache-tokens", str(CONTEXT)]
        if template:
            options += ["--chat-template", str(template)]
        command = [inferno, "serve", "-m", model, "--scripted-answers", script, *options]
        self.process = subprocess.Popen([str(part) for part in command], stderr=log)
        for _ in range(600):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health")
                return
            except OSError:
                assert self.process.poll() is None, "the server stopped"
                time.sleep(0.1)
        raise AssertionError("the server is not ready")

    def stop(self):
        self.process.terminate()
        assert self.process.wait(60) == 0, "the server failed"


def run(inferno, model, bin_folder, work, name, template):
    folder = work / (template.stem if template else "own") / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "notes.txt").write_text("Seven lines.\n")
    port = 18000 + os.getpid() % 10000
    agent = next(it for it in agents(bin_folder, f"http://127.0.0.1:{port}", folder) if it.name == name)
    call, text = call_format(template.read_text() if template else "<tool_call>")
    answers = [call(*it) for it in agent.calls] + [text(FINAL)]
    script = folder.parent / f"{name}.json"
    script.write_text(json.dumps({"answers": answers, "otherwise": text(FINAL)}))
    home = work / "home" / name
    home.mkdir(parents=True, exist_ok=True)
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "TERM": "dumb"} | agent.environment
    with open(folder.parent / f"{name}.log", "w") as log:
        server = Server(inferno, model, port, script, template, log)
        started = time.monotonic()
        try:
            done = subprocess.run(
                agent.command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, text=True, timeout=TIMEOUT,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )
        finally:
            server.stop()
    size = folder / "size.txt"
    passed = (
        done.returncode == 0
        and FINAL in done.stdout
        and (folder / "notes.txt").read_text() == "Eight lines.\n"
        and size.exists()
    )
    seconds = time.monotonic() - started
    print(f"{'ok' if passed else 'FAILED'} {name} ({template.stem if template else 'own template'}, {seconds:.0f} s)", flush=True)
    if not passed:
        print(done.stdout[-4000:])
    return passed


def main():
    inferno, model, bin_folder, work = (Path(argument).absolute() for argument in sys.argv[1:5])
    templates = [None, *(Path(argument).absolute() for argument in sys.argv[5:])]
    names = os.environ.get("AGENTS", "claude codex opencode qwen").split()
    work.mkdir(parents=True, exist_ok=True)
    long_model = work / "model.gguf"
    with_long_context(model, long_model)
    results = [
        run(inferno, long_model, bin_folder, work, name, template) for template in templates for name in names
    ]
    sys.exit(not all(results))


if __name__ == "__main__":
    main()
