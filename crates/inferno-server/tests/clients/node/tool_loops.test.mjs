// Tool loops that SDKs run by themselves, against a server with scripted answers: a call of read_file, then "Done."

import assert from 'node:assert/strict';
import { test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';

const url = process.env.INFERNO_SCRIPTED_URL;
const inputSchema = z.object({ path: z.string().describe('Path of the file') });
const description = 'Reads a file.';
const prompt = 'What does notes.txt contain?';

const openai = createOpenAI({ baseURL: `${url}/v1`, apiKey: 'any' });
const models = {
  'OpenAI Responses': openai.responses('any'),
  'OpenAI chat completions': openai.chat('any'),
  'OpenAI-compatible': createOpenAICompatible({ name: 'x', baseURL: `${url}/v1`, apiKey: 'any' })('any'),
  Anthropic: createAnthropic({ baseURL: `${url}/v1`, apiKey: 'any' })('any'),
};

for (const [name, model] of Object.entries(models)) {
  for (const run of [generateText, streamText]) {
    test(`AI SDK, ${name}: ${run.name} completes a tool loop`, async () => {
      const paths = [];
      const execute = async ({ path }) => {
        paths.push(path);
        return 'Seven lines.';
      };
      const tools = { read_file: tool({ description, inputSchema, execute }) };
      const answer = await run({ model, prompt, tools, stopWhen: stepCountIs(4), maxOutputTokens: 200, maxRetries: 0 });
      assert.equal(await answer.text, 'Done.');
      assert.deepEqual(paths, ['notes.txt']);
      assert.equal((await answer.steps).length, 2);
    });
  }
}

for (const stream of [false, true]) {
  test(`Anthropic's tool runner completes a tool loop, stream: ${stream}`, async () => {
    const paths = [];
    const run = async ({ path }) => {
      paths.push(path);
      return 'Seven lines.';
    };
    const claude = new Anthropic({ baseURL: url, apiKey: 'any', maxRetries: 0 });
    const runner = claude.beta.messages.toolRunner({
      model: 'any',
      max_tokens: 200,
      messages: [{ role: 'user', content: prompt }],
      tools: [betaZodTool({ name: 'read_file', description, inputSchema, run })],
      stream,
    });
    const message = await runner.runUntilDone();
    assert.equal(message.content[0].text, 'Done.');
    assert.deepEqual(paths, ['notes.txt']);
  });
}
