// The server's API, as the page uses it. URLs are relative, so that the page also works under a path prefix.

import { serverEvents } from './stream.js';

/** A failed request, with a message for the user. */
export class RequestFailed extends Error {
  /** `status` is 0 if there was no response. */
  constructor(message, status = 0, code = null) {
    super(message);
    this.name = 'RequestFailed';
    this.status = status;
    this.code = code;
  }
}

const UNREACHABLE = 'Cannot reach the server. Is it running?';
const CUT = 'The connection was closed before the answer was complete.';
const UNKNOWN = 'The server sent an answer in an unknown format.';

/**
 * The served models: `id`, `max_model_len`, `default_sampling_params`, `takes_messages`, `takes_enable_thinking`,
 * `enable_thinking_default`.
 */
export async function listModels(key) {
  const response = await ask('v1/models', { headers: headers(key) });
  const { data } = await response.json();
  return data;
}

/** Descriptions of the devices that the model runs on; none if a router answers instead of the server. */
export async function listDevices(key) {
  try {
    const response = await ask('server_info', { headers: headers(key) });
    return (await response.json()).devices ?? [];
  } catch {
    return [];
  }
}

/**
 * The chunks of a streamed chat completion.
 *
 * Throws `RequestFailed`, or an `AbortError` when `signal` is aborted.
 */
export async function* chatChunks(request, key, signal) {
  const response = await ask('v1/chat/completions', {
    method: 'POST',
    headers: { ...headers(key), 'content-type': 'application/json' },
    body: JSON.stringify({ ...request, stream: true, stream_options: { include_usage: true } }),
    signal,
  });
  const events = serverEvents(response.body);
  try {
    for (;;) {
      let event;
      try {
        event = await events.next();
      } catch (error) {
        throw error.name === 'AbortError' ? error : new RequestFailed(CUT);
      }
      if (event.done) throw new RequestFailed(CUT);
      if (event.value === '[DONE]') return;
      yield chunkOf(event.value, response.status);
    }
  } finally {
    // Cancels the request, if it is still running.
    events.return();
  }
}

/** The chunk in an event. Throws `RequestFailed` if it is an error, or none of the API's. */
function chunkOf(text, status) {
  let chunk;
  try {
    chunk = JSON.parse(text);
  } catch {
    throw new RequestFailed(UNKNOWN);
  }
  if (chunk?.error) throw new RequestFailed(messageOf(chunk.error) ?? UNKNOWN, status, chunk.error.code);
  if (typeof chunk !== 'object' || chunk === null) throw new RequestFailed(UNKNOWN);
  return chunk;
}

function headers(key) {
  // Headers are bytes, and the server's keys are UTF-8.
  const bytes = Array.from(new TextEncoder().encode(key), (byte) => String.fromCharCode(byte));
  return key ? { authorization: `Bearer ${bytes.join('')}` } : {};
}

async function ask(path, options) {
  let response;
  try {
    response = await fetch(path, { cache: 'no-store', ...options });
  } catch (error) {
    throw error.name === 'AbortError' ? error : new RequestFailed(UNREACHABLE);
  }
  if (!response.ok) throw await failure(response);
  return response;
}

/** The message of an error response; proxies may use other formats than the server. */
async function failure(response) {
  const fallback = `The server returned ${response.status} ${response.statusText}`.trim();
  const body = await response.json().catch(() => null);
  return new RequestFailed(messageOf(body?.error) ?? fallback, response.status, body?.error?.code);
}

/** The message of an error, which is the error itself in some formats. */
function messageOf(error) {
  return [error?.message, error].find((message) => typeof message === 'string');
}
