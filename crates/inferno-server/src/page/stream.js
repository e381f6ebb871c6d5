// Server-sent events, read from the body of a response.

/** The data of each event, until the body ends. */
export async function* serverEvents(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  let data = [];
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const lines = (rest + value).split(/\r?\n/);
      rest = lines.pop();
      for (const line of lines) {
        if (line === '') {
          if (data.length > 0) yield data.join('\n');
          data = [];
        } else if (line.startsWith('data:')) {
          data.push(line.slice(line[5] === ' ' ? 6 : 5));
        } // Comments keep the connection alive; other fields are not used.
      }
    }
  } finally {
    // Aborting the request also stops the generation.
    reader.cancel().catch(() => {});
  }
}
