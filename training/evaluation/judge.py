#!/usr/bin/env python3
"""Run the evaluation prompts through `inferno serve`, apply the rules, and write all outputs with a table per category.

    judge.py --inferno PATH [--model FILE] [--name NAME] [--openings-only | --chats-only] [--recommended-sampling SEED]

Requires the Python standard library and a word list (Debian's wamerican: /usr/share/dict/words) for the share of unknown
words. Generation is greedy, or sampled as the model file recommends. See README.md for the format of the prompts and the rules.
"""
import argparse
import collections
import json
import pathlib
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

FOLDER = pathlib.Path(__file__).resolve().parent
WORD_LIST = pathlib.Path("/usr/share/dict/words")
OPENING_TOKENS = 160
ANSWER_TOKENS = 300
LOOP_WORDS = 12


def words_of(text):
    return re.findall(r"[A-Za-z]+(?:['’][A-Za-z]+)*", text)


def has_loop(text):
    """Whether a run of twelve words appears twice, or a sentence of at least four words three times."""
    words = [word.lower() for word in words_of(text)]
    runs = [tuple(words[start:start + LOOP_WORDS]) for start in range(len(words) - LOOP_WORDS + 1)]
    sentences = [s.strip().lower() for s in re.split(r"[.!?\n]+", text)]
    counts = collections.Counter(s for s in sentences if len(s.split()) >= 4)
    return len(set(runs)) < len(runs) or any(count >= 3 for count in counts.values())


def unknown_words(text, dictionary):
    """Words in no dictionary; capitalized words are taken for names."""
    unknown = []
    for word in words_of(text):
        base = re.sub(r"['’](s|d|ll|re|ve|m|t)$", "", word)
        stems = [base, re.sub(r"(s|es|ed|d|ing|ly|er|est)$", "", base), re.sub(r"(ies|ied)$", "y", base)]
        stems += [re.sub(r"ing$", "e", base), re.sub(r"(.)\1(ing|ed)$", r"\1", base)]
        if not base[:1].isupper() and not any(stem.lower() in dictionary for stem in stems):
            unknown.append(word)
    return unknown


def list_items(text):
    """The number of items in a list with bullets, numbers, or commas."""
    lines = [line for line in text.splitlines() if re.match(r"\s*([-*•]|\d+[.)])\s*\S", line)]
    if len(lines) > 1:
        return len(lines)
    sentence = re.split(r"(?<=[.!?])\s", text.split(":", 1)[-1].strip())[0]
    parts = re.split(r",\s*(?:and\s+)?|\s+and\s+", sentence)
    return len([part for part in parts if part.strip()])


def json_in(text):
    """The first JSON value in the text, alone or in a code block."""
    match = re.search(r"[\[{]", text)
    if not match:
        raise ValueError("no JSON")
    return json.JSONDecoder().raw_decode(text[match.start():])[0]


def normalized(value):
    """JSON with lower-case keys and strings without surrounding blanks, numbers as floats."""
    if isinstance(value, dict):
        return {key.lower().strip(): normalized(item) for key, item in value.items()}
    if isinstance(value, list):
        return [normalized(item) for item in value]
    if isinstance(value, str):
        return value.strip().lower()
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def calls_match(expected, found):
    if len(expected) != len(found):
        return False
    for want, call in zip(expected, found):
        try:
            arguments = normalized(json.loads(call["function"]["arguments"] or "{}"))
        except ValueError:  # cut off at the maximum length
            return False
        wanted = normalized(want["arguments"])
        same = all(arguments.get(key) == value or (isinstance(value, str) and value.rstrip("s") == str(arguments.get(key)).rstrip("s"))
                   for key, value in wanted.items())
        if call["function"]["name"] != want["name"] or not same:
            return False
    return True


def broken_rules(rules, text, calls, earlier):
    """The names of the rules that an answer breaks. `earlier` holds the answers of the turns before."""
    words = words_of(text)
    lines = [line for line in text.splitlines() if line.strip()]
    checks = {
        "any_of": lambda value: any(re.search(pattern, text) for pattern in value),
        "all_of": lambda value: all(re.search(pattern, text) for pattern in value),
        "none_of": lambda value: not any(re.search(pattern, text) for pattern in value),
        "min_words": lambda value: len(words) >= value,
        "max_words": lambda value: len(words) <= value,
        "lines": lambda value: len(lines) == value,
        "min_lines": lambda value: len(lines) >= value,
        "items": lambda value: list_items(text) == value,
        "count": lambda value: len(re.findall(value[0], text)) == value[1],
        "differs_from": lambda value: text.strip() != earlier[value].strip(),
        "shorter_than": lambda value: len(words) < len(words_of(earlier[value])),
        "calls": lambda value: calls_match(value, calls),
    }
    broken = []
    for name, value in rules.items():
        if name == "json_equals":
            try:
                holds = normalized(json_in(text)) == normalized(value)
            except ValueError:
                holds = False
        else:
            holds = checks[name](value)
        if not holds:
            broken.append(name)
    if not text.strip() and not calls:
        broken.append("empty")
    if has_loop(text):
        broken.append("loop")
    return broken


class Rejected(Exception):
    """A request that the server rejects, such as a conversation that exceeds the context because of long answers."""


class Server:
    """`inferno serve` on a free port of this machine."""

    def __init__(self, program, model, sampling):
        self.sampling = sampling
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        command = [program, "serve", "--port", str(port)] + (["-m", model] if model else [])
        self.url = f"http://127.0.0.1:{port}"
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(300):
            try:
                urllib.request.urlopen(self.url + "/health", timeout=5).read()
                return
            except OSError:
                time.sleep(0.1)
        sys.exit("the server did not start")

    def post(self, path, body):
        body = json.dumps(body | self.sampling).encode()
        request = urllib.request.Request(self.url + path, body, {"content-type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=120) as response:
                return json.load(response)["choices"][0]
        except urllib.error.HTTPError as error:
            raise Rejected(json.load(error)["error"]["message"]) from error

    def stop(self):
        self.process.terminate()
        self.process.wait()


def run_chat(server, case):
    messages, answers, broken = [], [], []
    for turn, rules in zip(case["turns"], case["rules"], strict=True):
        messages.append({"role": "user", "content": turn})
        body = {"messages": messages, "max_tokens": ANSWER_TOKENS,
                "chat_template_kwargs": {"enable_thinking": False}}
        if "tools" in case:
            body["tools"] = case["tools"]
        try:
            message = server.post("/v1/chat/completions", body)["message"]
        except Rejected as error:
            answers.append(f"(rejected: {error})")
            broken.append("rejected")
            break
        text, calls = message.get("content") or "", message.get("tool_calls") or []
        broken += broken_rules(rules, text, calls, answers)
        answers.append(text)
        messages.append({"role": "assistant", "content": text})
        if calls:
            answers[-1] += json.dumps([call["function"] for call in calls])
    return {"id": case["id"], "category": case["category"], "turns": case["turns"], "answers": answers,
            "note": case["note"], "broken": broken}


def run_opening(server, number, opening, dictionary):
    body = {"prompt": opening, "max_tokens": OPENING_TOKENS}
    text = server.post("/v1/completions", body)["text"]
    return {"id": f"openings-{number:03}", "category": "openings", "turns": [opening], "answers": [text],
            "unknown": unknown_words(text, dictionary), "num_words": len(words_of(text)),
            "broken": ["loop"] if has_loop(text) else []}


def table(results):
    lines = ["| Category | Prompts | Pass the rules | |", "|---|---:|---:|---:|"]
    by_category = collections.defaultdict(list)
    for result in results:
        by_category[result["category"]].append(not result["broken"])
    for category, passed in sorted(by_category.items()):
        lines.append(f"| {category} | {len(passed)} | {sum(passed)} | {100 * sum(passed) / len(passed):.0f}% |")
    words = sum(result.get("num_words", 0) for result in results)
    if words:
        unknown = sum(len(result.get("unknown", [])) for result in results)
        lines.append(f"\nWords of the openings' continuations in no dictionary: {unknown} of {words} "
                     f"({1000 * unknown / words:.1f} per 1,000).")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inferno", required=True, help="path of the inferno binary")
    parser.add_argument("--model", help="GGUF file (default: the built-in model)")
    parser.add_argument("--name", default="latest", help="name of the results")
    parser.add_argument("--openings-only", action="store_true")
    parser.add_argument("--chats-only", action="store_true")
    parser.add_argument("--recommended-sampling", type=int, metavar="SEED", help="sample as the model file recommends")
    args = parser.parse_args()
    sampling = {"temperature": 0} if args.recommended_sampling is None else {"seed": args.recommended_sampling}
    dictionary = {line.strip().lower() for line in WORD_LIST.open(encoding="utf-8")} if WORD_LIST.exists() else set()
    server, results = Server(args.inferno, args.model, sampling), []
    try:
        if not args.openings_only:
            for path in sorted((FOLDER / "prompts").glob("*.jsonl")):
                for line in path.read_text(encoding="utf-8").splitlines():
                    results.append(run_chat(server, json.loads(line)))
        if not args.chats_only:
            openings = (FOLDER / "prompts/openings.txt").read_text(encoding="utf-8").splitlines()
            results += [run_opening(server, number, opening, dictionary) for number, opening in enumerate(openings, 1)]
    finally:
        server.stop()
    folder = FOLDER / "results"
    folder.mkdir(exist_ok=True)
    with (folder / f"{args.name}.jsonl").open("w", encoding="utf-8") as file:
        for result in results:
            file.write(json.dumps(result, ensure_ascii=False) + "\n")
    summary = table(results)
    (folder / f"{args.name}.md").write_text(summary + "\n", encoding="utf-8")
    print(summary)


if __name__ == "__main__":
    main()
