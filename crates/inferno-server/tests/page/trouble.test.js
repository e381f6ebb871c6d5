// Errors: what the page shows, and how the user continues.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answers, openPage, openSettings, send, setting } from './browser.js';
import { answerChunks, startLine } from './line.js';
import { startServer } from './server.js';
import { useServer } from './setup.js';

let browser;
let server;

useServer((opened) => ({ browser, server } = opened));

async function withLine(then) {
  const line = await startLine(server.address);
  const page = await openPage(browser, line.address);
  try {
    await then(page, line);
    page.watched.check();
  } finally {
    await page.context().close();
    line.close();
  }
}

test('an error response is shown with its message, and can be retried', () =>
  withLine(async (page, line) => {
    line.instead = { status: 429, body: { error: { message: '9 requests are waiting', type: 'rate_limit_error', code: 'queue_full' } } };
    await send(page, 'Hello!');
    await page.getByText('9 requests are waiting').waitFor();
    page.watched.expect(/429/);
    line.instead = null;
    await page.getByRole('button', { name: 'Try again' }).click();
    const [answer] = await answers(page);
    assert.ok(answer.length > 0);
    assert.equal(await page.locator('.failure').count(), 0);
  }));

test('an error in an unknown format is shown with its status', () =>
  withLine(async (page, line) => {
    line.instead = { status: 502, body: 'Bad gateway' };
    await send(page, 'Hello!');
    await page.getByText('The server returned 502').waitFor();
    page.watched.expect(/502/);
  }));

test('a message that is too long is shown with both counts, and can be edited', () =>
  withLine(async (page) => {
    await send(page, 'a '.repeat(3000));
    const note = page.locator('.failure');
    await note.waitFor();
    assert.match(await note.innerText(), /This message is too long .*\d{4} tokens.* 1024 tokens/);
    page.watched.expect(/400/);
    await note.getByRole('button', { name: 'Edit message' }).click();
    await page.getByLabel('Your message').fill('Hello!');
    await page.getByRole('button', { name: 'Send edited' }).click();
    const [answer] = await answers(page);
    assert.ok(answer.length > 0);
  }));

test('a conversation that exceeds the context continues without its oldest messages', () =>
  withLine(async (page, line) => {
    await setting(page, 'Max tokens', '3');
    const long = (word) => `${word} `.repeat(250).trim();
    for (const word of ['one', 'two', 'three', 'four', 'five']) {
      await send(page, long(word));
      await page.locator('#stop').waitFor({ state: 'hidden' });
      if ((await page.locator('.failure').count()) > 0) break;
    }
    assert.equal(await page.locator('.answer').count(), 5);
    assert.equal(await page.locator('.failure').count(), 0);
    assert.ok(await page.getByText('The oldest messages were left out').first().isVisible());
    const sent = line.requests.at(-1).messages.map((message) => message.content);
    const shown = await page.locator('article.user .text').allInnerTexts();
    assert.equal(shown[0], long('one'));
    assert.ok(!sent.includes(long('one')) && sent.includes(shown.at(-1)), 'the oldest are not sent, the last is');
    const isAbove = async () =>
      page.locator('.left-out ~ article.user').first().locator('.text').innerText();
    assert.equal(await isAbove(), sent[0]);
    await page.reload();
    assert.equal(await isAbove(), sent[0]);
    assert.equal((await page.locator('article.user').count()), shown.length);
  }));

test('messages that were left out are replaced with a summary on request', () =>
  withLine(async (page, line) => {
    await setting(page, 'Max tokens', '3');
    const long = (word) => `${word} `.repeat(250).trim();
    const words = ['one', 'two', 'three', 'four', 'five'];
    for (const word of words.slice(0, 4)) {
      await send(page, long(word));
      await answers(page);
    }
    const summarize = page.getByRole('button', { name: 'Summarize them' });
    line.instead = { status: 429, body: { error: { message: '9 requests are waiting' } } };
    await summarize.click();
    await page.getByText('9 requests are waiting').waitFor();
    page.watched.expect(/429/);
    line.instead = { chunks: answerChunks([{ content: 'Somebody wrote ' }, { content: 'numbers.' }]) };
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('The model receives a summary of them.').waitFor();
    assert.equal(await page.locator('.failure').count(), 0);
    assert.equal(await summarize.count(), 0);
    const [first, ...others] = line.requests.at(-1).messages;
    assert.equal(first.content, long('one'));
    assert.match(others.at(-1).content, /^Summarize our conversation/);
    assert.equal(line.requests.at(-1).max_tokens, 128);
    line.instead = null;

    const shown = async () => {
      await page.locator('.left-out summary').click();
      return page.locator('.left-out details p').innerText();
    };
    assert.equal(await shown(), 'Somebody wrote numbers.');
    await page.reload();
    assert.equal(await shown(), 'Somebody wrote numbers.');
    await send(page, 'Hello!');
    await answers(page);
    const [summarized] = line.requests.at(-1).messages;
    assert.match(summarized.content, /^Summary of our conversation so far:\nSomebody wrote numbers\.\n\n(two|three|four) /);
    assert.ok(!JSON.stringify(line.requests.at(-1).messages).includes(long('one')));

    // Further messages are left out; the next summary includes the first one.
    for (const word of words) {
      await send(page, long(word));
      await answers(page);
      if ((await summarize.count()) > 0) break;
    }
    assert.equal(await page.getByText('Summary of the oldest messages').count(), 1);
    await summarize.click();
    await page.getByText('The model receives a summary of them.').waitFor();
    assert.match(line.requests.at(-1).messages[0].content, /^Summary of our conversation so far:\nSomebody wrote numbers\.\n\n/);
    assert.notEqual(await shown(), 'Somebody wrote numbers.');
  }));

test('oldest messages are also left out if the server rejects a request for its length', () =>
  withLine(async (page, line) => {
    await setting(page, 'Max tokens', '3');
    await send(page, 'Hello!');
    await answers(page);
    await send(page, 'word '.repeat(700).trim());
    await answers(page);
    await send(page, 'other '.repeat(600).trim());
    await answers(page);
    await page.locator('.answer').nth(2).waitFor();
    assert.equal(await page.locator('.failure').count(), 0);
    assert.equal(line.requests.at(-1).messages.length, 1);
    assert.ok(line.requests.length > 3, 'the first request was rejected');
    page.watched.expect(/400/);
    // Editing a message that was left out sends it again.
    await page.getByRole('button', { name: 'Edit message' }).first().click();
    await page.getByLabel('Your message').fill('Hello again!');
    await page.getByRole('button', { name: 'Send edited' }).click();
    await answers(page);
    assert.deepEqual(line.requests.at(-1).messages, [{ role: 'user', content: 'Hello again!' }]);
    assert.equal(await page.locator('.left-out').count(), 0);
  }));

test('a partial answer is kept if the connection breaks', () =>
  withLine(async (page, line) => {
    line.delay = 50;
    await send(page, 'Tell me a story about a dragon.');
    await page.locator('.answer .markdown').getByText(/\w/).first().waitFor();
    line.cutAfter = 0;
    await page.getByText('The connection was closed before the answer was complete.').waitFor();
    const [part] = await answers(page);
    assert.ok(part.length > 0);
    await page.reload();
    assert.deepEqual(await answers(page), [part]);
    assert.match(await page.locator('.note').innerText(), /Interrupted/);
    page.watched.expect(/ERR_INCOMPLETE_CHUNKED_ENCODING/);
  }));

test('an error in a stream is shown', () =>
  withLine(async (page, line) => {
    line.instead = { status: 200, body: null };
    await page.route('**/v1/chat/completions', (route) =>
      route.fulfill({
        contentType: 'text/event-stream',
        body: ': keep-alive\n\ndata: {"choices":[{"index":0,"delta":{"content":"Half"}}]}\n\ndata: {"error":{"message":"the engine stopped","code":null}}\n\ndata: [DONE]\n\n',
      }),
    );
    await send(page, 'Hello!');
    await page.getByText('the engine stopped').waitFor();
    assert.deepEqual(await answers(page), ['Half']);
  }));

test('chunks in an unknown format end the answer with an error that says so, and the request', () =>
  withLine(async (page, line) => {
    const first = { choices: [{ index: 0, delta: { content: 'Half' } }] };
    line.instead = { chunks: [first, {}, { choices: [{ index: 0, delta: { tool_calls: null } }] }, ...answerChunks([{ content: ' and half' }])] };
    await send(page, 'Hello!');
    await page.getByText('Half and half').waitFor();
    await answers(page);
    assert.equal(await page.locator('.failure').count(), 0);

    const isCancelled = await page.evaluateHandle(() => {
      const cancel = ReadableStreamDefaultReader.prototype.cancel;
      const seen = { count: 0 };
      ReadableStreamDefaultReader.prototype.cancel = function (...given) {
        seen.count += 1;
        return cancel.apply(this, given);
      };
      return seen;
    });
    for (const bad of ['{"choices"', '7', 'null']) {
      line.instead = { events: [JSON.stringify(first), bad, JSON.stringify(first)] };
      await send(page, bad);
      await page.getByText('The server sent an answer in an unknown format.').waitFor();
      assert.equal((await answers(page)).at(-1), 'Half');
    }
    assert.equal(await isCancelled.evaluate(({ count }) => count), 3);
    line.instead = { status: 403, body: { error: 'not for you' } };
    await send(page, 'Hello!');
    await page.getByText('not for you').waitFor();
    page.watched.expect(/403/);
  }));

test('a server that is down when the page opens is reported once, until it is found', async () => {
  const page = await openPage(browser, server.address);
  await page.getByRole('heading', { name: 'ember' }).waitFor();
  let numAborted = 0;
  await page.route('**/v1/models', (route) => {
    numAborted += 1;
    return route.abort();
  });
  await page.reload();
  const notice = page.getByRole('alert').filter({ hasText: 'Cannot reach the server' });
  await notice.waitFor();
  const changes = await notice.evaluateHandle((it) => {
    const seen = [];
    new MutationObserver((found) => seen.push(...found)).observe(document.body, { subtree: true, childList: true, characterData: true });
    return seen;
  });
  const enough = numAborted + 2;
  for (let waits = 0; numAborted < enough && waits < 300; waits += 1) await page.waitForTimeout(100);
  assert.ok(numAborted >= enough, 'the page asks again');
  assert.equal(await changes.evaluate((seen) => seen.length), 0, 'it is not announced again');
  await page.unroute('**/v1/models');
  await page.getByRole('heading', { name: 'ember' }).waitFor();
  await notice.waitFor({ state: 'hidden' });
  page.watched.expect(/ERR_FAILED/);
  page.watched.check();
  await page.context().close();
});

test('a model without a chat template is reported before a message is sent', async (context) => {
  const plain = await startServer('--model', 'crates/inferno/tests/fixtures/qwen3.gguf');
  context.after(() => plain.stop());
  const page = await openPage(browser, plain.address);
  await page.getByText('This model cannot chat').waitFor();
  page.watched.check();
  await page.context().close();
});

test('an API key may have any characters', async (context) => {
  const guarded = await startServer('--api-key', 'Schlüssel…');
  context.after(() => guarded.stop());
  const page = await openPage(browser, guarded.address);
  for (const [key, then] of [['sk-abc…xyz', page.getByText('invalid API key')], ['Schlüssel…', page.getByRole('heading', { name: 'ember' })]]) {
    await page.getByLabel('API key').fill(key);
    await page.getByRole('button', { name: 'Connect' }).click();
    await then.waitFor();
  }
  page.watched.expect(/401/);
  page.watched.check();
  await page.context().close();
});

test('an unreachable server is reported, and found again', async () => {
  const gone = await startServer();
  const line = await startLine(gone.address);
  const page = await openPage(browser, line.address);
  await page.getByRole('heading', { name: 'ember' }).waitFor();
  await gone.stop();
  await send(page, 'Hello!');
  await page.getByText('Cannot reach the server').waitFor();
  line.server = server.address;
  await page.getByRole('button', { name: 'Try again' }).click();
  const [answer] = await answers(page);
  assert.ok(answer.length > 0);
  // The page may have asked for the state of the server, too, before it was found again.
  page.watched.expect(/ERR_EMPTY_RESPONSE|ERR_CONNECTION|ERR_SOCKET/);
  page.watched.check();
  await page.context().close();
  line.close();
});

test('the page loads without an API key and requests one', async (context) => {
  const guarded = await startServer('--api-key', 'open sesame');
  context.after(() => guarded.stop());
  const page = await openPage(browser, guarded.address);
  await page.getByText('This server requires an API key.').waitFor();
  page.watched.expect(/401/);
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
  await openSettings(page);
  await page.getByRole('button', { name: 'Change API key' }).click();
  await page.getByLabel('API key').fill('wrong');
  await page.getByRole('button', { name: 'Connect' }).click();
  await page.getByText('invalid API key').waitFor();
  page.watched.expect(/401/);
  await page.getByLabel('API key').fill('open sesame');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'ember' }).waitFor();
  await setting(page, 'Max tokens', '3');
  await send(page, 'Hello!');
  await answers(page);
  await page.locator('.figures').waitFor();
  await page.reload();
  await page.getByRole('heading', { name: 'ember' }).waitFor();
  page.watched.check();
  await page.context().close();
});

for (const [width, height] of [[1280, 800], [375, 667], [320, 568]]) {
  test(`the API key dialog is visible at ${width} by ${height}`, async (context) => {
    const guarded = await startServer('--api-key', 'open sesame');
    context.after(() => guarded.stop());
    const page = await openPage(browser, guarded.address, { viewport: { width, height } });
    await page.getByText('This server requires an API key.').waitFor();
    await page.getByLabel('API key').fill('wrong');
    await page.getByRole('button', { name: 'Connect' }).click();
    await page.getByText('invalid API key').waitFor();
    page.watched.expect(/401/);
    const isOnTop = (locator) =>
      locator.evaluate((it) => {
        const { left, right, top, bottom } = it.getBoundingClientRect();
        const isInside = left >= 0 && top >= 0 && right <= innerWidth && bottom <= innerHeight;
        return isInside && it.contains(document.elementFromPoint((left + right) / 2, (top + bottom) / 2));
      });
    assert.ok(await isOnTop(page.getByLabel('API key')));
    assert.ok(await isOnTop(page.locator('#key-note')));
    assert.ok(await isOnTop(page.getByRole('button', { name: 'Connect' })));
    page.watched.check();
    await page.context().close();
  });
}
