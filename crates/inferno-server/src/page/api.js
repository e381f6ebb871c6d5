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

/** The served models: `id`, `max_model_len`, `default_sampling_params`, `takes_enable_thinking`, `enable_thinking_default`. */
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
  for (;;) {
    let event;
    try {
      event = await events.next();
    } catch (error) {
      throw error.name === 'AbortError' ? error : new RequestFailed(CUT);
    }
    if (event.done) throw new RequestFailed(CUT);
    if (event.value === '[DONE]') return;
    const chunk = JSON.parse(event.value);
    if (chunk.error) throw new RequestFailed(chunk.error.message, response.status, chunk.error.code);
    yield chunk;
  }
}

function headers(key) {
  return key ? { authorization: `Bearer ${key}` } : {};
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
  const error = body?.error ?? {};
  return new RequestFailed(error.message ?? fallback, response.status, error.code);
}
