// A proxy between the page and the server that can delay and break streams: the built-in model answers faster than a test can
// press a button.

import { createServer, request } from 'node:http';
import { once } from 'node:events';

/** Listens in front of the server at `address`. */
export async function startLine(address) {
  const line = {
    /** Where requests go. */
    server: address,
    /** Milliseconds before each event of a stream. */
    delay: 0,
    /** Events of a stream after which the connection breaks. */
    cutAfter: Infinity,
    /** A response to chat completions instead of the server's: `{ status, body }`, or `{ chunks }` or `{ events }` for a stream. */
    instead: null,
    /** The bodies of the requests for chat completions. */
    requests: [],
  };
  const server = createServer(async (incoming, outgoing) => {
    const chunks = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const isChat = incoming.url === '/v1/chat/completions';
    if (isChat) line.requests.push(JSON.parse(body));
    if (isChat && line.instead) {
      respondInstead(outgoing, line.instead);
      return;
    }
    const onward = request(line.server + incoming.url, { method: incoming.method, headers: incoming.headers });
    outgoing.on('close', () => onward.destroy());
    onward.on('error', () => outgoing.destroy());
    onward.end(body);
    const [answer] = await once(onward, 'response').catch(() => [null]);
    if (answer === null) return;
    answer.on('error', () => outgoing.destroy());
    outgoing.writeHead(answer.statusCode, answer.headers);
    if (isChat) await passEvents(answer, outgoing, line).catch(() => outgoing.destroy());
    else answer.pipe(outgoing);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return Object.assign(line, { address: `http://127.0.0.1:${server.address().port}`, close });
}

function respondInstead(outgoing, { status = 200, body, chunks, events = chunks?.map((chunk) => JSON.stringify(chunk)) }) {
  outgoing.writeHead(status, { 'content-type': events ? 'text/event-stream' : 'application/json' });
  if (events) for (const event of events) outgoing.write(`data: ${event}\n\n`);
  outgoing.end(events ? 'data: [DONE]\n\n' : JSON.stringify(body));
}

/** The chunks of a streamed answer: these deltas, why it finished, and its usage. */
export function answerChunks(deltas, finish = 'stop', usage = { prompt_tokens: 20, completion_tokens: deltas.length }) {
  return [
    ...deltas.map((delta) => ({ choices: [{ index: 0, delta, finish_reason: null }] })),
    { choices: [{ index: 0, delta: {}, finish_reason: finish }] },
    { choices: [], usage, timings: { predicted_per_second: 40 } },
  ];
}

async function passEvents(answer, outgoing, line) {
  let rest = '';
  let numEvents = 0;
  answer.setEncoding('utf8');
  for await (const text of answer) {
    const events = (rest + text).split(/(?<=\n\n)/);
    rest = events.at(-1).endsWith('\n\n') ? '' : events.pop();
    for (const event of events) {
      if (line.delay > 0) await new Promise((resolve) => setTimeout(resolve, line.delay));
      if (outgoing.destroyed) return;
      numEvents += 1;
      if (numEvents > line.cutAfter) throw new Error('cut');
      outgoing.write(event);
    }
  }
  outgoing.end(rest);
}
