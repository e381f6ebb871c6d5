// Anthropic's client for Node.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import { callIn, claude, conversation, gather, message, thoughtsAndWords } from './fixtures.mjs';

test('answers are those of transformers', async () => {
  for (const kind of ['plain', 'memory']) {
    const expected = conversation(kind);
    const answer = await claude.messages.create(message(expected));
    assert.deepEqual(answer.content.map((it) => it.text), [expected.text]);
    assert.equal(answer.stop_reason, 'end_turn');
  }
});

test('a stream makes the same message', async () => {
  const expected = conversation('plain');
  const stream = claude.messages.stream(message(expected));
  const texts = [];
  stream.on('text', (text) => texts.push(text));
  const final = await stream.finalMessage();
  assert.equal(texts.join(''), expected.text);
  assert.equal(final.content[0].text, expected.text);
  assert.equal(final.usage.output_tokens, expected.tokens.length + 1);
});

test('events come in their order', async () => {
  const events = await gather(await claude.messages.create(message(conversation('plain'), { stream: true })));
  assert.equal(events[0].type, 'message_start');
  assert.equal(events.at(-1).type, 'message_stop');
});

test('thoughts are a block', async () => {
  const expected = conversation('thinking');
  const answer = await claude.messages.stream(message(expected)).finalMessage();
  assert.deepEqual([answer.content[0].thinking, answer.content[1].text], thoughtsAndWords(expected.text));
});

test('a tool is called, and its result read', async () => {
  const expected = conversation('tool_call');
  const answer = await claude.messages.create(message(expected));
  const [call] = answer.content;
  assert.equal(answer.stop_reason, 'tool_use');
  assert.deepEqual(call.input, callIn(expected.text).arguments);
  const streamed = await claude.messages.stream(message(expected)).finalMessage();
  assert.deepEqual(streamed.content[0].input, call.input);
  const result = { type: 'tool_result', tool_use_id: call.id, content: 'sunny, 20 degrees' };
  const messages = [
    ...expected.request.messages,
    { role: 'assistant', content: answer.content },
    { role: 'user', content: [result] },
  ];
  const goesOn = await claude.messages.create(message(expected, { messages, max_tokens: 20 }));
  assert.equal(goesOn.content[0].type, 'text');
});

test('tokens are counted', async () => {
  const expected = conversation('plain');
  const { max_tokens, temperature, ...asked } = message(expected);
  const { input_tokens } = await claude.messages.countTokens(asked);
  assert.equal(input_tokens, expected.prompt_tokens.length);
});

test('errors are of their kinds', async () => {
  const ask = (further) => claude.messages.create(message(conversation('plain'), further));
  await assert.rejects(ask({ temperature: -1 }), Anthropic.BadRequestError);
  await assert.rejects(claude.models.retrieve('claude'), Anthropic.NotFoundError);
});
