"""The server as an ASGI application."""

import asyncio
import json
import logging
import time

import httpx
import pytest

import inferno

QUESTION = {"messages": [{"role": "user", "content": "Who are you?"}], "temperature": 0, "max_tokens": 12}


@pytest.fixture(scope="module")
def app(model):
    return inferno.asgi_app(model)


def run(app, request, **client):
    async def main():
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://example", **client) as http:
            return await request(http)

    return asyncio.run(main())


def test_routes_answer_as_over_http(app, model):
    answer = run(app, lambda http: http.post("/v1/chat/completions", json=QUESTION))
    assert answer.status_code == 200
    expected = model.chat(QUESTION["messages"], temperature=0, max_tokens=12)
    assert answer.json()["choices"][0]["message"]["content"] == expected.text
    models = run(app, lambda http: http.get("/v1/models?limit=1")).json()
    assert models["data"][0]["id"] == "ember"
    assert run(app, lambda http: http.get("/nowhere")).status_code == 404
    assert "vllm:num_requests_running" in run(app, lambda http: http.get("/metrics")).text


def test_streams_arrive_event_by_event(app, model):
    async def request(http):
        async with http.stream("POST", "/v1/chat/completions", json={**QUESTION, "stream": True}) as answer:
            return [line async for line in answer.aiter_lines()]

    lines = [line.removeprefix("data: ") for line in run(app, request) if line.startswith("data: ")]
    assert lines.pop() == "[DONE]"
    deltas = [json.loads(line)["choices"][0]["delta"].get("content") or "" for line in lines]
    assert "".join(deltas) == model.chat(QUESTION["messages"], temperature=0, max_tokens=12).text


def test_keys_and_hosts_are_checked(model):
    app = inferno.asgi_app(model, api_keys=["secret"], allowed_hosts=["example"])
    assert run(app, lambda http: http.get("/v1/models")).status_code == 401
    headers = {"authorization": "Bearer secret"}
    assert run(app, lambda http: http.get("/v1/models"), headers=headers).status_code == 200
    headers["host"] = "elsewhere"
    assert run(app, lambda http: http.get("/v1/models"), headers=headers).status_code == 403
    for option in ("api_keys", "allowed_hosts", "allowed_origins"):
        with pytest.raises(TypeError, match=f"{option} must be a list of strings"):
            inferno.asgi_app(model, **{option: "secret"})


@pytest.mark.parametrize("keys", [[""], ["secret", " "]])
def test_empty_keys_are_rejected_before_a_model_is_loaded(keys):
    with pytest.raises(inferno.InvalidRequestError, match="an API key is empty"):
        inferno.asgi_app("missing.gguf", api_keys=keys)


@pytest.mark.parametrize("allow_priority", [False, True])
def test_clients_set_priorities_only_if_that_is_allowed(allow_priority):
    model = inferno.Model(device="cpu", context=512, max_num_seqs=1, prefix_cache=False)
    app = inferno.asgi_app(model, allow_priority=allow_priority)
    finished = []

    async def requests(http):
        # Enough tokens that the answers arrive one after the other.
        async def request(name, priority, max_tokens=32):
            body = {"prompt": "Once", "max_tokens": max_tokens, "ignore_eos": True, "priority": priority}
            assert (await http.post("/v1/completions", json=body)).status_code == 200
            finished.append(name)

        async def until(name, count):
            while model.metrics()[name] < count:
                await asyncio.sleep(0.001)

        # Long enough to run until the others wait.
        tasks = [asyncio.create_task(request("first", 0, max_tokens=500))]
        await until("num_running", 1)
        for waiting, (name, priority) in enumerate([("late", 5), ("early", -5)], 1):
            tasks.append(asyncio.create_task(request(name, priority)))
            await until("num_waiting", waiting)
        await asyncio.gather(*tasks)

    run(app, requests)
    assert finished == ["first", *(["early", "late"] if allow_priority else ["late", "early"])]


def test_a_body_that_is_too_large_is_rejected(app):
    answer = run(app, lambda http: http.post("/v1/completions", content=b"x" * (17 << 20)))
    assert answer.status_code == 413


def test_the_size_of_bodies_can_be_limited(model):
    app = inferno.asgi_app(model, max_body_bytes=100)
    assert run(app, lambda http: http.post("/v1/completions", json={"prompt": "Once", "max_tokens": 1})).status_code == 200
    answer = run(app, lambda http: http.post("/v1/completions", json={"prompt": "Once" * 30}))
    assert answer.status_code == 413 and "100 bytes" in answer.text
    with pytest.raises(inferno.InvalidRequestError, match="max_body_bytes must be at least 1"):
        inferno.asgi_app(model, max_body_bytes=0)


def respond(app, **scope):
    """Returns the status and the body of the response to a scope."""
    sent = []

    async def main():
        incoming = asyncio.Queue()
        incoming.put_nowait({"type": "http.request", "body": b""})

        async def send(message):
            sent.append(message)

        defaults = {"type": "http", "method": "GET", "path": "/v1/models", "headers": [(b"host", b"example")]}
        await app({**defaults, **scope}, incoming.get, send)

    asyncio.run(main())
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent)


@pytest.mark.parametrize(
    "scope",
    [
        {"query_string": b"a" * 70_000},
        {"query_string": b"a\x01"},
        {"headers": [(b"host", b"example"), (b"x-name", b"a\nb")]},
        {"headers": [(b"host", b"example"), (b"x name", b"a")]},
        {"method": "G T"},
    ],
)
def test_requests_that_are_not_http_are_answered_with_400(app, scope):
    status, body = respond(app, **scope)
    assert status == 400
    assert "not valid HTTP" in json.loads(body)["error"]["message"]


@pytest.mark.parametrize(
    ("root_path", "path", "status"),
    [
        ("", "/v1/models", 200),
        ("/api", "/api/v1/models", 200),
        ("/api/", "/api/v1/models", 200),
        ("/v1/models", "/v1/models", 200),
        ("/v", "/v1/models", 200),
        ("/api", "/apiv1/models", 404),
        ("", "/\udcff", 404),
    ],
)
def test_the_prefix_of_a_mounted_application_is_removed(app, root_path, path, status):
    assert respond(app, root_path=root_path, path=path)[0] == status


def test_warnings_are_logged_by_python(model, caplog):
    app = inferno.asgi_app(model)
    with caplog.at_level(logging.DEBUG):
        body = {"prompt": "Once", "max_tokens": 1, "an_unknown_field": "100%s"}
        assert run(app, lambda http: http.post("/v1/completions", json=body)).status_code == 200
        deadline = time.monotonic() + 10
        while not (records := [record for record in caplog.records if record.name == "inferno"]):
            assert time.monotonic() < deadline
            time.sleep(0.01)
    assert [record.levelno for record in records] == [logging.WARNING]
    assert records[0].getMessage().startswith("ignored an unsupported request field")
    assert "an_unknown_field" in records[0].getMessage()


def test_a_client_that_disconnects_cancels_its_request(app, model):
    body = json.dumps({"prompt": "Once", "ignore_eos": True, "stream": True}).encode()
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/api/v1/completions",
        "root_path": "/api",
        "query_string": b"",
        "headers": [(b"host", b"example"), (b"content-type", b"application/json")],
    }

    async def main():
        sent = []
        incoming = asyncio.Queue()
        incoming.put_nowait({"type": "http.request", "body": body})

        async def send(message):
            sent.append(message)
            if len(sent) == 3:
                incoming.put_nowait({"type": "http.disconnect"})

        await asyncio.wait_for(app(scope, incoming.get, send), 20)
        assert sent[0]["status"] == 200
        deadline = asyncio.get_running_loop().time() + 20
        while model.metrics()["num_running"] > 0:
            assert asyncio.get_running_loop().time() < deadline
            await asyncio.sleep(0.01)

    asyncio.run(main())


def test_lifespan_events_are_acknowledged(app):
    async def main():
        incoming, sent = asyncio.Queue(), []
        for event in ["startup", "shutdown"]:
            incoming.put_nowait({"type": f"lifespan.{event}"})

        async def send(message):
            sent.append(message["type"])

        await app({"type": "lifespan"}, incoming.get, send)
        assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]

    asyncio.run(main())
