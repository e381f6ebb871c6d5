// Conversations that exceed the context: which messages are left out, and their summary.
//
// A conversation has `leftOut`, the number of its oldest messages that are not sent, and possibly `summary`: a text, and the
// number of messages (`end`) that it stands for.

import { chatChunks } from './api.js';
import { apiKey } from './key.js';
import { servedModel } from './models.js';
import { receive } from './receive.js';
import { requestMessages } from './request.js';
import { requestFields } from './settings.js';

/** The code of errors for requests that exceed the context. */
export const TOO_LONG = 'context_length_exceeded';

/** Share of the context that is kept free for an answer, if there are older messages to drop. */
const FREE_SHARE = 0.25;

/** Share of the context that a summary may use. */
const SUMMARY_SHARE = 0.125;

const REQUEST = {
  role: 'user',
  content:
    'Summarize our conversation so far, so that you can continue it without the messages themselves. Keep names, facts, numbers, ' +
    'decisions, code that is still needed, and open questions. Write only the summary.',
};

/** The place of the first user message in the later half of the messages from `start` to `end`, or -1. */
function laterHalf(messages, start, end) {
  const middle = Math.max(start + 1, Math.floor((start + end) / 2));
  return messages.findIndex(({ role }, index) => index >= middle && index < end && role === 'user');
}

/** Leaves out the older half of the sent messages. Returns false if there is only one to send. */
export function dropOldest(conversation) {
  const { messages, leftOut = 0 } = conversation;
  const place = laterHalf(messages, leftOut, messages.length);
  if (place === -1) return false;
  conversation.leftOut = place;
  return true;
}

/** Whether the latest answer left too little of the context free for another one. */
export function isNearlyFull({ messages, leftOut = 0 }) {
  const { figures } = messages.findLast((message) => message.figures?.promptTokens !== undefined) ?? {};
  // Counts from before messages were left out do not apply any more.
  if (!figures || (figures.leftOut ?? 0) !== leftOut) return false;
  const used = figures.promptTokens + figures.tokens;
  return used > (1 - FREE_SHARE) * (servedModel()?.max_model_len ?? Infinity);
}

/** Whether messages are left out that no summary stands for. */
export function canSummarize({ leftOut = 0, summary }) {
  return leftOut > (summary?.end ?? 0);
}

/**
 * Asks the model for a summary of the messages that are left out, which includes the earlier summary.
 *
 * Returns `{ text, failure }`: the text is empty if the model wrote none, and the failure null unless there was an error.
 */
export async function requestSummary(conversation, signal) {
  const { messages, leftOut, summary } = conversation;
  const { id: model, max_model_len: contextLength } = servedModel() ?? {};
  const fields = { ...requestFields(false), tools: undefined, max_tokens: Math.ceil(SUMMARY_SHARE * contextLength) || undefined };
  for (let start = summary?.end ?? 0; ; ) {
    const answer = { content: '' };
    const request = { model, messages: [...requestMessages(conversation, start, leftOut), REQUEST], ...fields };
    const failure = await receive(answer, chatChunks(request, apiKey(), signal), () => {});
    const place = laterHalf(messages, start, leftOut);
    if (failure?.code !== TOO_LONG || place === -1) return { text: answer.finish === 'stopped' ? '' : answer.content.trim(), failure };
    start = place;
  }
}
