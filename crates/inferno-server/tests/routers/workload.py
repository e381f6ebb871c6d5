"""Requests whose prompts share prefixes, sent by several clients at once."""

import http.client
import json
import random
import threading
import time
from dataclasses import dataclass

NUM_GROUPS = 12
REQUESTS_PER_GROUP = 24
NUM_CLIENTS = 6
WORDS = "the small boy saw a big red dog and his friend took it home to play with old toys near some green trees".split()


@dataclass
class Outcome:
    """What became of a request. Times are in seconds of the monotonic clock."""

    started: float
    ended: float
    is_stream: bool
    error: str | None


def prompts(seed):
    """Conversations in random order: all of a group begin with the same long system message."""
    random_words = random.Random(seed)
    groups = [" ".join(random_words.choices(WORDS, k=300)) for _ in range(NUM_GROUPS)]
    conversations = [
        [
            {"role": "system", "content": f"Story {seed}-{group}: {text}"},
            {"role": "user", "content": f"Question {number}: " + " ".join(random_words.choices(WORDS, k=6))},
        ]
        for group, text in enumerate(groups)
        for number in range(REQUESTS_PER_GROUP)
    ]
    random_words.shuffle(conversations)
    return conversations


def request(port, messages, max_tokens, is_stream):
    """Sends a conversation; returns why it failed, or None."""
    body = {"model": "ember", "messages": messages, "max_tokens": max_tokens, "temperature": 0, "stream": is_stream}
    if is_stream:
        body["ignore_eos"] = True
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    try:
        connection.request("POST", "/v1/chat/completions", json.dumps(body), {"content-type": "application/json"})
        response = connection.getresponse()
        text = response.read().decode()
    except (OSError, http.client.HTTPException) as error:
        return f"{type(error).__name__}: {error}"
    finally:
        connection.close()
    if response.status != 200:
        return f"status {response.status}: {text[:200]}"
    if is_stream:
        return None if "data: [DONE]" in text else f"the stream ended early: {text[-200:]!r}"
    return None if json.loads(text)["choices"][0]["message"]["content"] else "no content"


def run(port, conversations, max_tokens=4, streams=False, on_progress=lambda done: None):
    """Sends all conversations; returns the outcomes. With streams, every other response is a stream."""
    pending = list(enumerate(conversations))
    pending.reverse()
    outcomes, lock = [], threading.Lock()

    def client():
        while True:
            with lock:
                if not pending:
                    return
                number, messages = pending.pop()
            is_stream = streams and number % 2 == 0
            started = time.monotonic()
            error = request(port, messages, max_tokens, is_stream)
            with lock:
                outcomes.append(Outcome(started, time.monotonic(), is_stream, error))
                done = len(outcomes)
            on_progress(done)

    threads = [threading.Thread(target=client) for _ in range(NUM_CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes
