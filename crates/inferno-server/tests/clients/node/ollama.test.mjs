// Ollama's client for Node.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MODEL, conversation, gather, ollama, stories, thoughtsAndWords } from './fixtures.mjs';

/** The arguments of `chat`. */
function chat({ request, max_tokens }, further = {}) {
  const { messages, tools, enable_thinking: think } = request;
  const options = { temperature: 0, num_predict: max_tokens };
  return { model: MODEL, messages, tools, think, options, ...further };
}

test('chats are answered as by transformers', async () => {
  for (const kind of ['plain', 'system', 'memory', 'tool_answer']) {
    const expected = conversation(kind);
    const answer = await ollama.chat(chat(expected));
    assert.equal(answer.message.content, expected.text);
    assert.equal(answer.done_reason, 'stop');
    const parts = await gather(await ollama.chat(chat(expected, { stream: true })));
    assert.equal(parts.map((it) => it.message.content).join(''), expected.text);
  }
});

test('reasoning is separate', async () => {
  const expected = conversation('thinking');
  const { message } = await ollama.chat(chat(expected));
  assert.deepEqual([message.thinking, message.content], thoughtsAndWords(expected.text));
});

test('a tool is called', async () => {
  const { message } = await ollama.chat(chat(conversation('tool_call')));
  const expected = { name: 'get_weather', arguments: { city: 'Paris' } };
  assert.deepEqual(message.tool_calls.map((it) => it.function), [expected]);
});

test('a prompt is completed as by transformers', async () => {
  const { prompt, text, max_tokens } = stories[0];
  const options = { temperature: 0, num_predict: max_tokens };
  const parts = await gather(await ollama.generate({ model: MODEL, prompt, raw: true, options, stream: true }));
  assert.equal(parts.map((it) => it.response).join(''), text);
  assert.equal(parts.at(-1).eval_count, max_tokens);
});

test('inputs are embedded', async () => {
  const { embeddings } = await ollama.embed({ model: MODEL, input: ['Hello', 'Hello'] });
  assert.deepEqual(embeddings[0], embeddings[1]);
});

test('the model is listed and shown', async () => {
  const { models } = await ollama.list();
  assert.deepEqual(models.map((it) => it.name), [MODEL]);
  const { details } = await ollama.show({ model: MODEL });
  assert.deepEqual(details, models[0].details);
  assert.match((await ollama.version()).version, /^\d+\.\d+\.\d+$/);
});

test('mistakes have a message', async () => {
  await assert.rejects(ollama.pull({ model: 'llama3.2' }), { message: /llama3\.2/ });
});
