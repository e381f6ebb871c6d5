// OpenAI's client for Node.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import OpenAI from 'openai';
import { zodResponseFormat, zodTextFormat } from 'openai/helpers/zod';
import { z } from 'zod';
import {
  MODEL, callIn, chat, conversation, gather, openai, prompts, stories, stranger,
  thoughtsAndWords,
} from './fixtures.mjs';

const Creature = z.object({ legs: z.enum(['two', 'four']), isFriendly: z.boolean() });

test('answers are those of transformers', async () => {
  for (const kind of ['plain', 'system', 'memory']) {
    const expected = conversation(kind);
    const answer = await openai.chat.completions.create(chat(expected));
    assert.equal(answer.choices[0].message.content, expected.text);
    assert.equal(answer.choices[0].finish_reason, 'stop');
    assert.equal(answer.usage.prompt_tokens, expected.prompt_tokens.length);
  }
});

test('a stream makes the same answer', async () => {
  const expected = conversation('system');
  const options = { stream: true, stream_options: { include_usage: true } };
  const chunks = await gather(await openai.chat.completions.create(chat(expected, options)));
  const usage = chunks.pop();
  assert.equal(chunks.map((it) => it.choices[0].delta.content ?? '').join(''), expected.text);
  assert.deepEqual(usage.choices, []);
  assert.equal(usage.usage.completion_tokens, expected.tokens.length + 1);
});

test('a stream that is left ends', async () => {
  const stream = await openai.chat.completions.create(chat(conversation('plain'), { stream: true }));
  for await (const _ of stream) break;
  assert.ok(stream.controller.signal.aborted);
});

test('the stream helper gathers the answer', async () => {
  const expected = conversation('plain');
  const stream = openai.chat.completions.stream(chat(expected));
  assert.equal(await stream.finalContent(), expected.text);
});

test('thoughts are reasoning_content', async () => {
  const expected = conversation('thinking');
  const [thoughts, words] = thoughtsAndWords(expected.text);
  const { message } = (await openai.chat.completions.create(chat(expected))).choices[0];
  assert.deepEqual([message.reasoning_content, message.content], [thoughts, words]);
});

test('a call comes whole and in deltas', async () => {
  const expected = conversation('tool_call');
  const call = callIn(expected.text);
  const { message } = (await openai.chat.completions.create(chat(expected))).choices[0];
  assert.equal(message.tool_calls[0].function.name, call.name);
  assert.deepEqual(JSON.parse(message.tool_calls[0].function.arguments), call.arguments);
  const streamed = await openai.chat.completions.stream(chat(expected)).finalMessage();
  assert.deepEqual(JSON.parse(streamed.tool_calls[0].function.arguments), call.arguments);
});

test('tools run until there is an answer', async () => {
  const asked = [];
  const tools = [{
    type: 'function',
    function: {
      name: 'get_weather',
      parse: JSON.parse,
      parameters: conversation('tool_call').request.tools[0].function.parameters,
      function: ({ city }) => {
        asked.push(city);
        return 'sunny';
      },
    },
  }];
  const runner = openai.chat.completions.runTools(
    { ...chat(conversation('tool_call')), tools, max_completion_tokens: 30 },
    { maxChatCompletions: 2 },
  );
  await runner.done();
  assert.deepEqual(asked.slice(0, 1), [callIn(conversation('tool_call').text).arguments.city]);
});

test('parse gives what the schema says', async () => {
  const further = { max_completion_tokens: 60, response_format: zodResponseFormat(Creature, 'creature') };
  const answer = await openai.chat.completions.parse(chat(conversation('plain'), further));
  assert.deepEqual(Creature.parse(answer.choices[0].message.parsed), answer.choices[0].message.parsed);
});

test('logprobs, bias, seeds and stop texts', async () => {
  const expected = conversation('system');
  const told = await openai.chat.completions.create(chat(expected, { logprobs: true, top_logprobs: 2 }));
  assert.equal(told.choices[0].logprobs.content.map((it) => it.token).join(''), expected.text);
  const word = expected.text.split(' ')[1];
  const stopped = await openai.chat.completions.create(chat(expected, { stop: [` ${word}`] }));
  assert.equal(stopped.choices[0].message.content, expected.text.split(' ')[0]);
  const bias = { [expected.tokens[0]]: -100 };
  const biased = await openai.chat.completions.create(chat(expected, { logit_bias: bias }));
  assert.notEqual(biased.choices[0].message.content, expected.text);
  const wild = chat(expected, { temperature: 1.5, seed: 5, n: 2 });
  const [first, second] = [
    await openai.chat.completions.create(wild), await openai.chat.completions.create(wild),
  ];
  assert.deepEqual(first.choices, second.choices);
});

test('responses, whole, streamed and parsed', async () => {
  const expected = conversation('plain');
  const ask = {
    model: MODEL, input: expected.request.messages, temperature: 0, max_output_tokens: expected.max_tokens,
    reasoning: { effort: 'none' }, store: false,
  };
  assert.equal((await openai.responses.create(ask)).output_text, expected.text);
  const events = await gather(await openai.responses.create({ ...ask, stream: true }));
  assert.equal(events.at(-1).response.output[0].content[0].text, expected.text);
  assert.equal((await openai.responses.stream(ask).finalResponse()).output_text, expected.text);
  const text = { format: zodTextFormat(Creature, 'creature') };
  const parsed = await openai.responses.parse({ ...ask, text, max_output_tokens: 60 });
  assert.deepEqual(Creature.parse(parsed.output_parsed), parsed.output_parsed);
});

test('texts go on', async () => {
  const { prompt, text, max_tokens } = stories[0];
  const ask = { model: MODEL, prompt, temperature: 0, max_tokens };
  assert.equal((await openai.completions.create(ask)).choices[0].text, text);
  const parts = await gather(await openai.completions.create({ ...ask, stream: true }));
  assert.equal(parts.map((it) => it.choices[0].text).join(''), text);
});

test('models are listed', async () => {
  assert.deepEqual((await gather(await openai.models.list())).map((it) => it.id), [MODEL]);
  assert.equal((await openai.models.retrieve(MODEL)).id, MODEL);
});

test('errors are of their kinds', async () => {
  const expected = conversation('plain');
  const ask = (further) => openai.chat.completions.create(chat(expected, further));
  await assert.rejects(ask({ temperature: -1 }), (error) =>
    error instanceof OpenAI.BadRequestError && error.param === 'temperature' && Boolean(error.requestID));
  await assert.rejects(openai.models.retrieve('gpt-4o'), OpenAI.NotFoundError);
  await assert.rejects(stranger.models.list(), OpenAI.AuthenticationError);
});

test('an echo tells what the prompt is worth', async () => {
  const { prompt, logprobs } = prompts[0];
  const ask = { model: MODEL, prompt, temperature: 0, max_tokens: 0, echo: true, logprobs: 1 };
  const [choice] = (await openai.completions.create(ask)).choices;
  assert.equal(choice.text, prompt);
  const [first, ...others] = choice.logprobs.token_logprobs;
  assert.equal(first, null);
  assert.equal(others.length, logprobs.length);
  // Products are of 8 bits here, and of 32 there.
  others.forEach((it, place) => assert.ok(Math.abs(it - logprobs[place]) < 0.3 + 0.02 * Math.abs(logprobs[place])));
});

test('vectors are those of transformers, in either format', async () => {
  const ask = { model: MODEL, input: prompts.map((it) => it.prompt) };
  // Without a word about it, the client asks for base64 and decodes that.
  const { data } = await openai.embeddings.create(ask);
  const numbers = (await openai.embeddings.create({ ...ask, encoding_format: 'float' })).data;
  assert.equal(data.length, prompts.length);
  data.forEach(({ embedding }, place) => {
    assert.deepEqual(embedding.map(Math.fround), numbers[place].embedding.map(Math.fround));
    const { last } = prompts[place];
    const cosine = embedding.reduce((sum, it, at) => sum + it * last[at], 0) / Math.hypot(...last);
    assert.ok(cosine > 0.995, `${place}: ${cosine}`);
  });
});

test('a conversation goes on from a response', async () => {
  const expected = conversation('plain');
  const ask = {
    model: MODEL, input: expected.request.messages, temperature: 0, max_output_tokens: expected.max_tokens,
    reasoning: { effort: 'none' },
  };
  const first = await openai.responses.create(ask);
  const further = { role: 'user', content: 'Are you sure?' };
  const second = await openai.responses.create({ ...ask, input: [further], previous_response_id: first.id });
  const whole = await openai.responses.create({ ...ask, input: [...ask.input, ...first.output, further] });
  assert.equal(second.output_text, whole.output_text);
  assert.equal((await openai.responses.retrieve(first.id)).output_text, expected.text);
  await openai.responses.delete(first.id);
  await assert.rejects(openai.responses.retrieve(first.id), OpenAI.NotFoundError);
});
