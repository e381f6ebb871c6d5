// Streamed chunks, collected in a message.

/**
 * Appends the chunks to a message, and records how it finished and its statistics. `onChange` is called after each change.
 *
 * Returns the error that ended the stream, or null.
 */
export async function receive(message, chunks, onChange) {
  const begun = performance.now();
  const elapsed = () => (performance.now() - begun) / 1000;
  let firstSeconds;
  let numPieces = 0;
  let failure = null;
  try {
    for await (const { choices, usage, timings } of chunks) {
      const { delta, finish_reason: finish } = choices?.[0] ?? {};
      if (delta && append(message, delta)) {
        firstSeconds ??= elapsed();
        numPieces += 1;
        if (message.content && message.reasoning) message.thinkingSeconds ??= elapsed() - firstSeconds;
        onChange();
      }
      if (finish) message.finish = finish;
      if (usage && firstSeconds !== undefined) message.figures = counted(usage, timings, firstSeconds);
    }
  } catch (error) {
    const isStopped = error.name === 'AbortError';
    message.finish = isStopped ? 'stopped' : 'failed';
    if (!isStopped) failure = error;
  }
  if (firstSeconds !== undefined) message.figures ??= { tokens: numPieces, isCounted: false, firstSeconds };
  return failure;
}

/** How answers finish that may end in the middle of a call. */
const CUT_OFF = ['length', 'stopped', 'failed'];

/** The tool calls of a message, without one whose arguments were cut off. */
export function completeCalls({ calls = [], finish }) {
  return CUT_OFF.includes(finish) ? calls.filter(({ arguments: text }) => isObject(text)) : calls;
}

/** Whether a text is a JSON object. */
function isObject(text) {
  try {
    const found = JSON.parse(text);
    return typeof found === 'object' && found !== null && !Array.isArray(found);
  } catch {
    return false;
  }
}

/** Whether a message has no content of any kind. */
export function isEmpty({ content, reasoning, calls }) {
  return content === '' && !reasoning && !calls;
}

/** Appends new content, and returns whether there was any. */
function append(message, { content, reasoning_content: reasoning, tool_calls: given }) {
  const calls = given ?? [];
  if (reasoning) message.reasoning = (message.reasoning ?? '') + reasoning;
  if (content) message.content += content;
  for (const { index, id, function: called = {} } of calls) {
    message.calls ??= [];
    message.calls[index] ??= { id: id ?? '', name: called.name ?? '', arguments: '' };
    message.calls[index].arguments += called.arguments ?? '';
  }
  return Boolean(reasoning || content || calls.length > 0);
}

/** Statistics as the server counted and measured them; only the time to the first content is the page's own. */
function counted(usage, timings, firstSeconds) {
  return {
    tokens: usage.completion_tokens,
    isCounted: true,
    rate: timings?.predicted_per_second || null,
    firstSeconds,
    promptTokens: usage.prompt_tokens,
    cachedTokens: usage.prompt_tokens_details?.cached_tokens ?? 0,
  };
}
