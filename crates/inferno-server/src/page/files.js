// Conversations as files, in the format that `inferno chat` saves and loads and `inferno generate --chat --input` answers.

import { element } from './element.js';
import { allMessages } from './request.js';
import { newConversation, title } from './store.js';

/** Downloads a conversation as a file. */
export function downloadConversation(conversation, model) {
  const file = { model, messages: allMessages(conversation) };
  const blob = new Blob([`${JSON.stringify(file, null, 2)}\n`], { type: 'application/json' });
  const link = element('a', {
    href: URL.createObjectURL(blob),
    download: `${fileName(title(conversation))}.json`,
  });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function fileName(text) {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  return words.join('-').slice(0, 40) || 'conversation';
}

/** The conversation in a file. Throws an error with a message for the user. */
export async function readFile(file) {
  const refuse = (why) => {
    throw new Error(`“${file.name}” cannot be imported: ${why}.`);
  };
  let found;
  try {
    found = JSON.parse(await file.text());
  } catch {
    refuse('it is not valid JSON');
  }
  if (!Array.isArray(found?.messages)) refuse('it has no list of messages');
  const [first] = found.messages;
  const hasSystem = first?.role === 'system' && typeof first.content === 'string';
  const messages = found.messages.slice(hasSystem ? 1 : 0).map((message, index) => {
    const read = readMessage(message ?? {});
    if (!read) refuse(`message ${index + (hasSystem ? 2 : 1)} is not a text message, a tool call or the result of one`);
    return read;
  });
  if (messages.length === 0) refuse('it has no messages');
  return { ...newConversation(hasSystem ? first.content : ''), messages };
}

/** A message in the format of requests; null if the page cannot show it. */
function readMessage({ role, content, reasoning_content: reasoning, tool_calls: calls, tool_call_id: callId }) {
  const isText = (value) => typeof value === 'string';
  if (role === 'tool') return isText(content) && isText(callId) ? { role, content, callId } : null;
  const found = role === 'assistant' && Array.isArray(calls) ? calls.map(readCall) : [];
  const text = content ?? (found.length > 0 ? '' : null);
  if (!['user', 'assistant'].includes(role) || !isText(text) || found.includes(null)) return null;
  return {
    role,
    content: text,
    ...(isText(reasoning) && reasoning !== '' ? { reasoning } : {}),
    ...(found.length > 0 ? { calls: found } : {}),
  };
}

function readCall(call) {
  const { id, function: { name, arguments: given } = {} } = call ?? {};
  if (typeof id !== 'string' || typeof name !== 'string') return null;
  return { id, name, arguments: typeof given === 'string' ? given : JSON.stringify(given ?? {}) };
}
