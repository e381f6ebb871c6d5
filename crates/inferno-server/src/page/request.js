// Conversations in the format of requests.

import { completeCalls } from './receive.js';

/** All messages, the system message first. */
export function allMessages(conversation) {
  return withSystem(conversation, conversation.messages);
}

/** The messages to send: without the `leftOut` oldest, which exceed the context, but with their summary. */
export function requestMessages(conversation, start = conversation.leftOut ?? 0, end = Infinity) {
  const [first, ...rest] = conversation.messages.slice(start, end);
  const { summary } = conversation;
  // A part of the message, since not every template accepts other messages before the first one of the user.
  const content = summary ? `Summary of our conversation so far:\n${summary.text}\n\n${first.content}` : first.content;
  return withSystem(conversation, [{ ...first, content }, ...rest]);
}

function withSystem({ system }, messages) {
  const sent = messages.flatMap(requestMessage);
  return system ? [{ role: 'system', content: system }, ...sent] : sent;
}

/** A message in a list, which is empty if all that the message had was a call that was cut off. */
function requestMessage(message) {
  const { role, content, reasoning, callId } = message;
  const calls = completeCalls(message);
  if (message.calls && calls.length === 0 && content === '') return [];
  return [
    {
      role,
      content,
      ...(reasoning ? { reasoning_content: reasoning } : {}),
      ...(calls.length > 0 ? { tool_calls: calls.map(({ id, ...called }) => ({ id, type: 'function', function: called })) } : {}),
      ...(callId ? { tool_call_id: callId } : {}),
    },
  ];
}
