"""Runs coding agents through a whole tool loop: read a file, edit it, run a command, answer.

The server generates scripted answers in the format of the chat template.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from call_formats import call_format
from recorder import Recorder
from short_model import short_model

CONTEXT = 65536
FINAL = "The work is finished."
# Seconds; on an idle machine, each agent takes about 10.
TIMEOUT = 600
PROMPT = "Replace Seven by Eight in notes.txt, and write its size to size.txt."
COMMAND = "wc -c notes.txt > size.txt"


# An edit in the format that aider requests from models without tools.
AIDER_EDIT = """\
notes.txt
```
<<<<<<< SEARCH
Seven lines.
=======
Eight lines.
>>>>>>> REPLACE
```

"""


def script(name, folder, call, text):
    """Returns what the model generates: the calls in its format, and the final answer."""
    if name == "aider":
        # Its prompt has earlier turns as examples, so that the number of the answer varies.
        return {"answers": [], "otherwise": text(AIDER_EDIT + FINAL)}
    return {"answers": [call(*it) for it in tool_calls(name, folder)], "otherwise": text(FINAL)}


def tool_calls(name, folder):
    """Returns the calls of an agent's own tools that do the work in a folder."""
    notes = str(folder / "notes.txt")
    edit = {"file_path": notes, "old_string": "Seven", "new_string": "Eight"}
    return {
        "claude": [("Read", {"file_path": notes}), ("Edit", edit), ("Bash", {"command": COMMAND})],
        "codex": [
            ("exec_command", {"cmd": "cat notes.txt"}),
            ("exec_command", {"cmd": "sed --in-place s/Seven/Eight/ notes.txt"}),
            ("exec_command", {"cmd": COMMAND}),
        ],
        "opencode": [
            ("read", {"filePath": notes}),
            ("edit", {"filePath": notes, "oldString": "Seven", "newString": "Eight"}),
            ("bash", {"command": COMMAND, "description": "Measures the file"}),
        ],
        "qwen": [
            ("read_file", {"file_path": notes}), ("edit", edit),
            ("run_shell_command", {"command": COMMAND, "is_background": False}),
        ],
    }[name]


class Agent:
    """The command and the environment of an agent, and its configuration, which is written to its folder."""

    def __init__(self, name, bin_folder, url, folder):
        self.program, self.url, self.folder = bin_folder / name, url, folder
        arguments, self.environment = getattr(self, name)()
        self.command = [self.program, *arguments]

    def claude(self):
        return ["-p", PROMPT, "--model", "any", "--tools", "Read,Edit,Bash", "--allowedTools", "Read,Edit,Bash"], {
            "ANTHROPIC_BASE_URL": self.url, "ANTHROPIC_API_KEY": "any", "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "CLAUDE_CODE_MAX_OUTPUT_TOKENS": "2000",
        }

    def codex(self):
        provider = f'{{name="x",base_url="{self.url}/v1",wire_api="responses",env_key="API_KEY"}}'
        return ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "-c", "model_provider=x",
                "-c", f"model_providers.x={provider}", "-m", "any", PROMPT], {"API_KEY": "any"}

    def aider(self):
        # It does not run commands itself, other than the tests. Histories would be written to the root of the repository.
        return ["--model", "openai/any", "--edit-format", "diff", "--no-git", "--yes-always", "--no-check-update",
                "--no-show-model-warnings", "--analytics-disable", "--no-pretty", "--map-tokens", "0",
                "--chat-history-file", self.folder / "chat", "--input-history-file", self.folder / "input",
                "--auto-test", "--test-cmd", COMMAND, "--message", PROMPT, "notes.txt"], {
            "OPENAI_API_KEY": "any", "OPENAI_API_BASE": f"{self.url}/v1", "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        }

    def opencode(self):
        (self.folder / "opencode.json").write_text(json.dumps({
            "autoupdate": False, "share": "disabled", "model": "x/any", "small_model": "x/any", "permission": "allow",
            "provider": {"x": {
                "npm": "@ai-sdk/openai-compatible", "options": {"baseURL": f"{self.url}/v1", "apiKey": "any"},
                "models": {"any": {"limit": {"context": CONTEXT, "output": 2000}}},
            }},
        }))
        return ["run", PROMPT], {}

    def qwen(self):
        # Without this setting, 15 tools make the prompt long.
        (self.folder / ".qwen").mkdir()
        (self.folder / ".qwen/settings.json").write_text(json.dumps({
            "tools": {"core": ["read_file", "edit", "run_shell_command"]},
        }))
        return ["--auth-type", "openai", "-y", "-p", PROMPT], {
            "OPENAI_API_KEY": "any", "OPENAI_BASE_URL": f"{self.url}/v1", "OPENAI_MODEL": "any",
        }


class Server:
    """A server with scripted answers."""

    def __init__(self, inferno, model, script, template, log):
        options = ["--port", "0", "--context", str(CONTEXT), "--kv-cache-tokens", str(CONTEXT)]
        if template:
            options += ["--chat-template", str(template)]
        command = [inferno, "serve", "-m", model, "--scripted-answers", script, *options]
        with open(log, "w") as output:
            self.process = subprocess.Popen([str(part) for part in command], stderr=output)
        while not (ready := re.search(r" ready address=(\S+)", log.read_text())):
            assert self.process.poll() is None, f"the server stopped; see {log}"
            time.sleep(0.05)
        self.url = f"http://{ready[1]}"

    def stop(self):
        self.process.terminate()
        assert self.process.wait(60) == 0, "the server failed"


class Trial:
    """One agent with one template."""

    def __init__(self, inferno, model, bin_folder, work, recordings):
        self.inferno, self.model, self.bin_folder, self.work = inferno, model, bin_folder, work
        self.recordings = recordings

    def run(self, name, template):
        title = f"{name} ({template.stem if template else 'own template'})"
        started = time.monotonic()
        try:
            output = self.failure(name, template)
        except Exception as error:  # The other trials are still of interest.
            output = repr(error)
        seconds = time.monotonic() - started
        print(f"{'FAILED' if output else 'ok'} {title}, {seconds:.0f} s\n{output or ''}", end="", flush=True)
        return not output

    def failure(self, name, template):
        """Runs the agent, and returns its output if the work was not done."""
        folder = self.work / (template.stem if template else "own") / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "notes.txt").write_text("Seven lines.\n")
        home = self.work / "home" / folder.parent.name / name
        home.mkdir(parents=True, exist_ok=True)
        call, text = call_format(template.read_text() if template else "<tool_call>")
        answers = folder.parent / f"{name}.json"
        answers.write_text(json.dumps(script(name, folder, call, text)))
        server = Server(self.inferno, self.model, answers, template, folder.parent / f"{name}.log")
        recorder = Recorder(server.url, [(str(folder), "/project"), (str(home), "/home")]) if self.recordings else None
        try:
            agent = Agent(name, self.bin_folder, (recorder or server).url, folder)
            environment = {"PATH": os.environ["PATH"], "HOME": str(home), "TERM": "dumb"} | agent.environment
            done = subprocess.run(
                agent.command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, text=True, timeout=TIMEOUT,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )
        finally:
            server.stop()
        passed = (
            done.returncode == 0
            and FINAL in done.stdout
            and (folder / "notes.txt").read_text() == "Eight lines.\n"
            and (folder / "size.txt").exists()
        )
        if recorder:
            recorder.stop()
            recorder.write(self.recordings / f"{name}.json")
        return None if passed else f"exit status {done.returncode}\n{done.stdout[-4000:]}\n"


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("inferno", type=Path, help="the program")
    arguments.add_argument("model", type=Path, help="a small GGUF file")
    arguments.add_argument("bin", type=Path, help="the folder of the agents' programs")
    arguments.add_argument("work", type=Path, help="a folder to write to")
    arguments.add_argument("--agents", nargs="+", default=["claude", "codex", "opencode", "qwen"])
    arguments.add_argument("--templates", nargs="+", type=Path, default=[], help="instead of the model's own")
    arguments.add_argument("--record", type=Path, help="a folder to write the shape of the requests to")
    arguments = arguments.parse_args()
    work = arguments.work.absolute()
    work.mkdir(parents=True, exist_ok=True)
    model = work / "model.gguf"
    model.write_bytes(short_model(arguments.model.read_bytes(), CONTEXT))
    trial = Trial(arguments.inferno.absolute(), model, arguments.bin.absolute(), work, arguments.record)
    templates = [it.absolute() for it in arguments.templates] or [None]
    trials = [(name, template) for template in templates for name in arguments.agents]
    # Agents wait for files and timers often, so two share the machine well.
    with ThreadPoolExecutor(2) as pool:
        sys.exit(not all(pool.map(lambda it: trial.run(*it), trials)))


if __name__ == "__main__":
    main()
