"""Replicas behind one address: routes, streams, cancellation, failures, scaling and routing by prefixes."""

import asyncio
import json
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
import ray
from ray import serve
from ray.util import list_named_actors

import inferno
from inferno.ray import app, serve_app
from inferno.ray.application import ServeArguments

EMBER = Path(__file__).parents[3] / "models" / "ember.gguf"
CHAT = "/v1/chat/completions"
QUESTION = {"messages": [{"role": "user", "content": "Who are you?"}], "temperature": 0, "max_tokens": 12}
LOAD = {"context": 512, "kv_cache_tokens": 4096, "device": "cpu"}
SECONDS = 120


def eventually(condition, what):
    """Waits until a condition is true, and returns its value."""
    deadline = time.monotonic() + SECONDS
    while not (value := condition()):
        assert time.monotonic() < deadline, what
        time.sleep(0.2)
    return value


def replicas() -> list[str]:
    names = [actor["name"] for actor in list_named_actors(all_namespaces=True)]
    return sorted(name for name in names if "#InfernoReplica#" in name)


@contextmanager
def deployed(address, **options):
    """Deploys replicas of Ember, and returns a client."""
    serve.run(serve_app(**{**LOAD, "health_check_period": 1, **options}))
    try:
        with httpx.Client(base_url=address, timeout=SECONDS) as http:
            yield http
    finally:
        serve.delete("default")


@pytest.fixture(scope="module")
def two(address):
    with deployed(address, num_replicas=2) as http:
        yield http


@pytest.fixture(scope="module")
def model():
    return inferno.Model(**LOAD)


def content(response):
    assert response.status_code == 200, response.text
    return response.json()["choices"][0]["message"]["content"]


def test_all_routes_answer_as_the_model_does(two, model):
    expected = model.chat(QUESTION["messages"], temperature=0, max_tokens=12).text
    assert [content(two.post(CHAT, json=QUESTION)) for _ in range(4)] == [expected] * 4
    message = two.post("/v1/messages", json=QUESTION).json()
    assert message["content"][0]["text"] == expected
    assert two.get("/v1/models").json()["data"][0]["id"] == "ember"
    assert two.get("/nowhere").status_code == 404
    assert "temperature" in two.post(CHAT, json={**QUESTION, "temperature": -1}).json()["error"]["message"]
    assert two.post(CHAT, content=b"x" * (17 << 20)).status_code == 413


def test_answers_are_streamed(two, model):
    with two.stream("POST", CHAT, json={**QUESTION, "stream": True}) as answer:
        lines = [line.removeprefix("data: ") for line in answer.iter_lines() if line]
    assert lines.pop() == "[DONE]"
    deltas = [json.loads(line)["choices"][0]["delta"].get("content") or "" for line in lines]
    assert len(deltas) > 3
    assert "".join(deltas) == model.chat(QUESTION["messages"], temperature=0, max_tokens=12).text


def test_stored_responses_are_found_on_the_replica_that_has_them(two):
    first = two.post("/v1/responses", json={"input": "Hello!", "max_output_tokens": 4}).json()
    for _ in range(6):
        following = {"input": "And?", "previous_response_id": first["id"], "max_output_tokens": 4}
        for path in ("/v1/responses", "/v1/responses/input_tokens", "/responses/render"):
            assert two.post(path, json=following).status_code == 200
        assert two.get(f"/v1/responses/{first['id']}").json()["id"] == first["id"]
    assert two.get("/v1/responses/resp_unknown").status_code == 404


def test_values_that_are_nested_too_deeply_are_rejected(two):
    assert two.post("/v1/responses", content=b"[" * 200_000).status_code == 400


def accepts_updates(replica: str) -> bool:
    """Returns whether the ingress accepts that the prefix cache of a replica is empty."""
    ingress = serve.get_deployment_handle("InfernoIngress", "default")
    replies = ingress.broadcast("update_cache", replica.rpartition("#")[2], 0, []).results(timeout_s=SECONDS)
    return replies == [True]


def test_the_ingress_knows_the_caches_of_the_replicas_that_its_router_knows(two):
    assert [accepts_updates(replica) for replica in replicas()] == [True, True]
    assert not accepts_updates("unknown")


def pages(path) -> list[str]:
    """Returns the body that each replica sends. A request to the address reaches the least busy one only."""
    handle = serve.get_deployment_handle("InfernoReplica", "default")
    answers = handle.broadcast("_answer", "GET", path, [("host", b"localhost")], b"").results(timeout_s=SECONDS)
    assert [status for status, _ in answers] == [200] * len(answers)
    return [body.decode() for _, body in answers]


def num_running() -> int:
    loads = (json.loads(page)["loads"][0] for page in pages("/v1/loads"))
    return sum(load["num_running_reqs"] + load["num_waiting_reqs"] for load in loads)


def num_generated() -> float:
    name = "vllm:generation_tokens_total{"
    lines = (line for page in pages("/metrics") for line in page.splitlines())
    return sum(float(line.split()[-1]) for line in lines if line.startswith(name))


def test_a_client_that_leaves_cancels_its_request(two):
    before = num_generated()
    long = {"prompt": ["Once"] * 64, "ignore_eos": True, "stream": True, "max_tokens": 480}
    with two.stream("POST", "/v1/completions", json=long) as answer:
        next(answer.iter_lines())
        # The engine reports its state after each step.
        eventually(lambda: num_running() > 0, "no request is running")
    eventually(lambda: num_running() == 0, "the request was not cancelled")
    assert num_generated() - before < 64 * 400


def test_requests_survive_a_replica(two):
    before = replicas()
    assert len(before) == 2
    long = {"prompt": "Once", "ignore_eos": True, "max_tokens": 200, "temperature": 0}

    async def run():
        async with httpx.AsyncClient(base_url=str(two.base_url), timeout=SECONDS) as http:
            answers = [asyncio.create_task(http.post("/v1/completions", json=long)) for _ in range(8)]
            await asyncio.sleep(0.5)
            ray.kill(ray.get_actor(before[0], namespace="serve"))
            return await asyncio.gather(*answers)

    answers = asyncio.run(run())
    texts = {answer.json()["choices"][0]["text"] for answer in answers if answer.status_code == 200}
    assert [answer.status_code for answer in answers] == [200] * 8
    assert len(texts) == 1

    def is_replaced():
        now = replicas()
        return len(now) == 2 and before[0] not in now and before[1] in now

    eventually(is_replaced, "the replica was not replaced")
    assert content(two.post(CHAT, json=QUESTION))


def test_metrics_are_exported_by_ray(two, metrics_port):
    def page():
        text = httpx.get(f"http://127.0.0.1:{metrics_port}/metrics").text
        samples = [line for line in text.splitlines() if line.startswith("ray_inferno_generation_tokens")]
        return samples if any('model="ember"' in line for line in samples) else None

    eventually(page, "no metrics")


def test_a_lost_engine_is_replaced(address, tmp_path):
    copy = tmp_path / "ember.gguf"
    shutil.copy(EMBER, copy)
    with deployed(address, model=str(copy)) as http:
        assert content(http.post(CHAT, json=QUESTION))
        (before,) = replicas()
        # An engine whose mapped file is overwritten accepts no more requests.
        copy.write_bytes(EMBER.read_bytes())
        eventually(lambda: before not in replicas() and replicas(), "the replica was not replaced")
        answer = eventually(lambda: (it := http.post(CHAT, json=QUESTION)).status_code == 200 and it, "no answer")
        assert content(answer)


def num_stopping() -> int:
    deployments = serve.status().applications["default"].deployments
    return deployments["InfernoReplica"].replica_states.get("STOPPING", 0)


def test_a_replica_that_is_removed_completes_its_requests(address):
    # Two replicas at first, of which one is removed while both are busy.
    scaling = {
        "min_replicas": 1,
        "initial_replicas": 2,
        "max_replicas": 2,
        "target_ongoing_requests": 100,
        "downscale_delay_s": 5,
        "metrics_interval_s": 0.5,
        "look_back_period_s": 2,
    }
    long = {"prompt": ["Once"] * 8, "ignore_eos": True, "max_tokens": 450, "stream": True}

    async def read(client):
        async with client.stream("POST", "/v1/completions", json=long) as answer:
            return [line async for line in answer.aiter_lines() if line.startswith("data: ")]

    async def run():
        async with httpx.AsyncClient(base_url=address, timeout=SECONDS) as client:
            reading = asyncio.gather(*(read(client) for _ in range(16)))
            is_removed = False
            while not reading.done():
                is_removed = is_removed or await asyncio.to_thread(num_stopping) > 0
                await asyncio.sleep(0.2)
            return is_removed, await reading

    with deployed(address, autoscaling=scaling, max_load_difference=0) as http:
        before = set(replicas())
        is_removed, streams = asyncio.run(run())
        assert is_removed, "the streams ended before a replica was removed"
        for *lines, end in streams:
            events = [json.loads(line.removeprefix("data: ")) for line in lines]
            reasons = [choice["finish_reason"] for event in events for choice in event["choices"]]
            assert end == "data: [DONE]" and reasons.count("length") == 8
        eventually(lambda: len(replicas()) == 1, "no replica was removed")
        removed = before - set(replicas())
        assert removed and not any(accepts_updates(replica) for replica in removed)
        assert content(http.post(CHAT, json=QUESTION))


NUM_GROUPS, NUM_QUESTIONS = 10, 4


def hit_rate(ask) -> float:
    """Returns the share of prompt tokens found in caches, for groups of questions with a long shared beginning."""
    found, total = 0, 0
    for question in range(NUM_QUESTIONS):
        for group in range(NUM_GROUPS):
            system = f"Group {group}. " + f"Rule {group}: be kind to animal {group}. " * 12
            usage = ask([{"role": "system", "content": system}, {"role": "user", "content": f"Why {question}?"}])
            found += usage["prompt_tokens_details"]["cached_tokens"]
            total += usage["prompt_tokens"]
    return found / total


def test_requests_go_to_the_replica_with_their_prefix(address, model):
    def asker(http):
        def ask(messages):
            answer = http.post(CHAT, json={"messages": messages, "max_tokens": 1})
            assert answer.status_code == 200, answer.text
            return answer.json()["usage"]

        return ask

    def alone(messages):
        return inferno.Engine(model).model.chat(messages, max_tokens=1).response["usage"]

    best = hit_rate(alone)
    with deployed(address, num_replicas=2) as http:
        time.sleep(3)
        routed = hit_rate(asker(http))
    with deployed(address, num_replicas=2, prefix_routing=False) as http:
        by_load = hit_rate(asker(http))
    print(f"hit rates: one engine {best:.3f}, two by prefix {routed:.3f}, two by load {by_load:.3f}")
    assert routed >= 0.9 * best
    assert by_load < routed - 0.05


def test_one_command_deploys_the_application(address, cluster):
    command = [Path(sys.executable).parent / "serve", "run", "--non-blocking", "--address"]
    command += [cluster.address_info["gcs_address"], "inferno.ray:app", "context=512", "num_cpus=0.5", "api_keys=secret"]
    subprocess.run(command, check=True, timeout=SECONDS)
    try:
        assert httpx.post(address + CHAT, json=QUESTION, timeout=SECONDS).status_code == 401
        headers = {"authorization": "Bearer secret"}
        assert content(httpx.post(address + CHAT, json=QUESTION, headers=headers, timeout=SECONDS))
    finally:
        serve.delete("default")


def test_arguments_are_checked():
    arguments = ServeArguments.model_validate({"num_replicas": "2", "autoscaling": '{"max_replicas": 3}'})
    assert arguments.num_replicas == 2 and arguments.autoscaling == {"max_replicas": 3}
    assert isinstance(app(arguments), serve.Application)
    with pytest.raises(ValueError, match="contxt"):
        ServeArguments.model_validate({"contxt": "512"})


def test_an_empty_key_is_rejected_before_a_replica_is_started() -> None:
    for call in (lambda: serve_app(api_keys=["secret", ""]), lambda: app(ServeArguments.model_validate({"api_keys": ""}))):
        with pytest.raises(inferno.InvalidRequestError, match="an API key is empty"):
            call()


@pytest.mark.parametrize("option", ["api_keys", "allowed_hosts", "allowed_origins"])
def test_a_string_is_no_list_of_strings(option) -> None:
    with pytest.raises(TypeError, match=f"{option} must be a list of strings"):
        serve_app(**{option: "secret"})
