// The server that `.ci/clients` started, the official clients for it, and what transformers says of the model.

import { readFileSync } from 'node:fs';
import Anthropic from '@anthropic-ai/sdk';
import { Ollama } from 'ollama';
import OpenAI from 'openai';

export const MODEL = 'ember';
const url = process.env.INFERNO_URL;
const apiKey = process.env.INFERNO_KEY;

export const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });
export const claude = new Anthropic({ baseURL: url, apiKey, maxRetries: 0 });
export const ollama = new Ollama({ host: url, headers: { Authorization: `Bearer ${apiKey}` } });
export const stranger = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'wrong', maxRetries: 0 });

const read = (file) => JSON.parse(readFileSync(`${process.env.INFERNO_FIXTURES}/${file}`, 'utf8'));

/** Texts and how they go on, greedily. */
export const stories = read('greedy.json').stories;

/** Texts, what their tokens are worth, and the hidden states after them. */
export const { prompts } = read('prompts.json');

/** The conversation of one kind, and how it is answered, greedily. */
export function conversation(kind) {
  return read('chat.json').conversations.find((it) => it.kind === kind);
}

/** The arguments of `chat.completions.create`. */
export function chat({ request, max_tokens }, further = {}) {
  const { messages, tools, enable_thinking } = request;
  return {
    model: MODEL,
    messages,
    temperature: 0,
    max_completion_tokens: max_tokens,
    chat_template_kwargs: { enable_thinking },
    ...(tools && { tools }),
    ...further,
  };
}

/** The arguments of Anthropic's `messages.create`, of a conversation without a system message. */
export function message({ request, max_tokens }, further = {}) {
  const tools = request.tools?.map(({ function: { name, description, parameters } }) => ({
    name,
    description,
    input_schema: parameters,
  }));
  return {
    model: MODEL,
    messages: request.messages,
    temperature: 0,
    max_tokens,
    thinking: { type: request.enable_thinking ? 'adaptive' : 'disabled' },
    ...(tools && { tools }),
    ...further,
  };
}

/** The call in a text of the model. */
export function callIn(text) {
  return JSON.parse(text.split('<tool_call>\n')[1].split('\n</tool_call>')[0]);
}

/** The thoughts and the words of a text of the model. */
export function thoughtsAndWords(text) {
  return text.replace('<think>', '').split('</think>').map((it) => it.trim());
}

export async function gather(stream) {
  const all = [];
  for await (const it of stream) all.push(it);
  return all;
}
