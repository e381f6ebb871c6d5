// Conversations as a user has them.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { answers, openPage, openSettings, send, setting } from './browser.js';
import { startServer } from './server.js';
import { usePages } from './setup.js';

const CAPITAL = 'What is the capital of France?';
const STORY = 'Tell me a story about a dragon.';

let browser;
let server;
let line;
let page;

usePages((opened) => ({ browser, server, line, page } = opened));

/** Makes answers deterministic. */
async function greedy() {
  await setting(page, 'Temperature', '0');
}

test('a message is answered, with statistics', async () => {
  await greedy();
  await send(page, CAPITAL);
  // What transformers answers is in the server's own tests.
  assert.deepEqual(await answers(page), ['The capital of France is Paris.']);
  assert.match(await page.locator('.figures').innerText(), /^\d+ tokens · [\d.]+ tokens\/s · first after \d+ ms$/);
  assert.equal(await page.getByRole('heading', { level: 1 }).innerText(), 'ember');
  assert.match(await page.locator('#context').innerText(), /^1,024 tokens of context · cpu \(/);
  const [request] = line.requests;
  assert.deepEqual(request.messages, [{ role: 'user', content: CAPITAL }]);
  assert.deepEqual(request.chat_template_kwargs, { enable_thinking: false });
  assert.equal(request.temperature, 0);
  assert.ok(!('top_p' in request), 'fields that are not set are not sent');
});

test('reasoning is collapsed and can be opened', async () => {
  // Ember reasons only on request.
  await page.getByRole('button', { name: 'Reasoning' }).click();
  await setting(page, 'Temperature', '0');
  line.delay = 40;
  await send(page, CAPITAL);
  const thoughts = page.locator('.thoughts');
  await page.getByText('Thinking').waitFor();
  assert.ok(!(await thoughts.isVisible()));
  await answers(page);
  await page.getByText(/^Thought for \d+ ms$|^Thought for \d\.\d s$/).click();
  assert.ok(await thoughts.isVisible());
  assert.ok((await thoughts.innerText()).length > 10);
  assert.deepEqual(line.requests[0].chat_template_kwargs, { enable_thinking: true });
  await send(page, 'And of Spain?');
  await answers(page);
  const roles = line.requests[1].messages.map(({ role }) => role);
  assert.deepEqual(roles, ['user', 'assistant', 'user']);
});

test('an answer is shown while it streams, and Escape stops it', async () => {
  line.delay = 20;
  await send(page, STORY);
  const text = page.locator('.answer .markdown');
  await page.waitForFunction(() => document.querySelector('.markdown')?.textContent.length > 20);
  const early = (await text.innerText()).length;
  await page.waitForFunction((length) => document.querySelector('.markdown').textContent.length > length, early);
  assert.ok(await page.getByRole('button', { name: 'Stop generating' }).isVisible());
  await page.keyboard.press('Escape');
  const [stopped] = await answers(page);
  assert.match(await page.locator('.note').innerText(), /Stopped/);
  assert.match(await page.locator('.figures').innerText(), /^about \d+ tokens/);
  await page.waitForTimeout(200);
  assert.equal(await text.innerText(), stopped, 'no text arrives after the stop');

  line.delay = 0;
  await page.getByRole('button', { name: 'Regenerate' }).click();
  const [whole] = await answers(page);
  assert.ok(whole.length > stopped.length);
  assert.equal(await page.locator('.answer').count(), 1, 'it replaces the first');
});

test('stopping an answer and leaving the page abort the request', async (context) => {
  const slow = await startServer('--isa', 'scalar');
  context.after(() => slow.stop());
  const numAborted = async () => {
    const metrics = await (await fetch(`${slow.address}/metrics`)).text();
    return Number(/request_success_total\{[^}]*"abort"[^}]*\} (\d+)/.exec(metrics)[1]);
  };
  const isAborted = async (leave) => {
    const before = await numAborted();
    const own = await openPage(browser, slow.address);
    // At this temperature, most answers do not end and would take seconds.
    await setting(own, 'Temperature', '5');
    await send(own, STORY);
    await leave(own, own.getByRole('button', { name: 'Stop generating' }));
    const begun = Date.now();
    while ((await numAborted()) === before && Date.now() - begun < 2000) await own.waitForTimeout(10);
    own.watched.check();
    await own.context().close();
    return (await numAborted()) > before;
  };
  const stop = (own, button) => button.click({ timeout: 1000 }).catch(() => {});
  const goElsewhere = (own) => own.goto('about:blank');
  for (const leave of [stop, goElsewhere]) {
    // An answer may end before it is aborted.
    let attempts = 0;
    while (!(await isAborted(leave))) assert.ok(++attempts < 5, `${attempts} answers were not aborted`);
  }
});

test('settings are sent with requests, and stored', async () => {
  for (const [label, value] of [['Temperature', '1.5'], ['Top p', '0.8'], ['Top k', '30'], ['Min p', '0.05'], ['Seed', '7']]) {
    await setting(page, label, value);
  }
  await setting(page, 'Max tokens', '12');
  await setting(page, 'System prompt', 'You are terse.');
  await send(page, STORY);
  const [first] = await answers(page);
  assert.match(await page.locator('.note').innerText(), /limit/);
  await page.reload();
  await page.getByRole('button', { name: 'Regenerate' }).click();
  assert.deepEqual(await answers(page), [first], 'the same seed gives the same answer');
  for (const request of line.requests) {
    const { temperature, top_p, top_k, min_p, max_tokens, seed, messages } = request;
    assert.deepEqual({ temperature, top_p, top_k, min_p, max_tokens, seed }, {
      temperature: 1.5, top_p: 0.8, top_k: 30, min_p: 0.05, max_tokens: 12, seed: 7,
    });
    assert.deepEqual(messages[0], { role: 'system', content: 'You are terse.' });
  }
  await openSettings(page);
  await page.getByRole('button', { name: 'Reset sampling' }).click();
  const [card] = (await (await fetch(`${server.address}/v1/models`)).json()).data;
  const shown = await page.getByLabel('Temperature').getAttribute('placeholder');
  assert.equal(Number(shown), card.default_sampling_params.temperature);
  await page.keyboard.press('Escape');
});

test('conversations are stored, listed, exported, imported and deleted', async () => {
  await greedy();
  await send(page, CAPITAL);
  await answers(page);
  await page.reload();
  assert.deepEqual(await answers(page), ['The capital of France is Paris.']);
  await page.getByRole('button', { name: 'New conversation' }).click();
  assert.ok(await page.getByText('How can I help?').isVisible());
  await page.getByRole('button', { name: 'What is 7 plus 5?' }).click();
  const [sum] = await answers(page);
  const list = page.getByRole('navigation');
  assert.deepEqual(await list.locator('.open').allInnerTexts(), ['What is 7 plus 5?', CAPITAL]);
  await list.getByRole('button', { name: CAPITAL, exact: true }).click();
  await page.getByText('The capital of France is Paris.').waitFor();
  await page.goBack();
  await page.getByText(sum).waitFor();

  const download = page.waitForEvent('download');
  await list.locator('li', { hasText: CAPITAL }).hover();
  await list.getByRole('button', { name: `Export “${CAPITAL}” as JSON` }).click();
  const file = await download;
  assert.equal(file.suggestedFilename(), 'what-is-the-capital-of-france.json');
  assert.deepEqual(JSON.parse(await readFile(await file.path(), 'utf8')), {
    model: 'ember',
    messages: [
      { role: 'user', content: CAPITAL },
      { role: 'assistant', content: 'The capital of France is Paris.' },
    ],
  });

  await page.getByLabel('Conversation file').setInputFiles(await file.path());
  await page.locator('#conversations .open').nth(2).waitFor();
  assert.deepEqual(await answers(page), ['The capital of France is Paris.']);
  await page.reload();
  assert.deepEqual(await list.locator('.open').allInnerTexts(), [CAPITAL, 'What is 7 plus 5?', CAPITAL]);
  assert.deepEqual(await answers(page), ['The capital of France is Paris.']);
  await list.locator('.open').nth(1).click();
  await page.getByText(sum).waitFor();

  page.once('dialog', (dialog) => dialog.accept());
  await list.getByRole('button', { name: 'Delete “What is 7 plus 5?”' }).click();
  await page.getByText('How can I help?').waitFor();
  await page.reload();
  assert.deepEqual(await list.locator('.open').allInnerTexts(), [CAPITAL, CAPITAL]);
});

test('a file without a conversation is rejected with the reason', async () => {
  const cases = [
    ['no json', 'it is not valid JSON'],
    ['{}', 'it has no list of messages'],
    ['{"messages": []}', 'it has no messages'],
    ['{"messages": [{"role": "system", "content": "Be brief."}]}', 'it has no messages'],
    ['{"messages": [{"role": "user", "content": "Hi"}, {"role": "tool", "content": "4"}]}', 'message 2 is not a text message'],
    ['{"messages": [{"role": "user", "content": [{"type": "image"}]}]}', 'message 1 is not a text message'],
  ];
  for (const [text, why] of cases) {
    const told = page.waitForEvent('dialog');
    const file = { name: 'a.json', mimeType: 'application/json', buffer: Buffer.from(text) };
    const choosing = page.getByLabel('Conversation file').setInputFiles(file);
    const dialog = await told;
    assert.ok(dialog.message().startsWith('“a.json” cannot be imported: ') && dialog.message().includes(why), dialog.message());
    await dialog.dismiss();
    await choosing;
  }
  assert.ok(await page.getByText('How can I help?').isVisible());
});

test('a conversation saved by inferno chat is imported with its reasoning and system message', async () => {
  const saved = {
    saved_by: 'inferno chat',
    model: 'ember',
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: CAPITAL },
      { role: 'assistant', content: 'Paris.', reasoning_content: 'France, Paris.' },
      { role: 'user', content: 'Are you sure?' },
    ],
  };
  const buffer = Buffer.from(JSON.stringify(saved));
  const chooser = page.getByLabel('Conversation file');
  await chooser.setInputFiles({ name: 'a.json', mimeType: 'application/json', buffer });
  await setting(page, 'Max tokens', '3');
  await page.getByRole('button', { name: 'Generate answer' }).click();
  await page.locator('.answer').nth(1).waitFor();
  assert.deepEqual(line.requests.at(-1).messages, saved.messages);
});

test('a partial answer is stored when the page is reloaded', async () => {
  line.delay = 20;
  await send(page, STORY);
  await page.waitForFunction(() => document.querySelector('.markdown')?.textContent.length > 20);
  const early = await page.locator('.markdown').innerText();
  await page.reload();
  const [kept] = await answers(page);
  assert.ok(kept.startsWith(early), `${kept} begins with ${early}`);
});

test('the last message can be edited and sent again', async () => {
  await greedy();
  await send(page, 'Hello!');
  await answers(page);
  await send(page, 'What is the capital of Spain?');
  await answers(page);
  assert.equal(await page.getByRole('button', { name: 'Edit message' }).count(), 2);
  await page.getByLabel('Message', { exact: true }).press('ArrowUp');
  const field = page.getByLabel('Your message');
  assert.equal(await field.inputValue(), 'What is the capital of Spain?');
  await field.press('Escape');
  await page.getByRole('button', { name: 'Edit message' }).last().click();
  await field.fill(CAPITAL);
  await field.press('Enter');
  await page.locator('.user', { hasText: CAPITAL }).waitFor();
  const said = await answers(page);
  assert.equal(said.length, 2);
  assert.equal(said[1], 'The capital of France is Paris.');
  assert.deepEqual(line.requests.at(-1).messages.map(({ role }) => role), ['user', 'assistant', 'user']);
  await page.getByRole('button', { name: 'Copy answer' }).last().click();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), 'The capital of France is Paris.');
});

test('during an answer, conversations can be switched, edited and deleted', async () => {
  const field = page.getByLabel('Message', { exact: true });
  const list = page.getByRole('navigation');
  const hasBegun = () => page.waitForFunction(() => document.querySelector('.markdown')?.textContent.length > 20);
  line.delay = 20;
  await send(page, STORY);
  await hasBegun();
  await page.getByRole('button', { name: 'New conversation' }).click();
  await page.getByText('How can I help?').waitFor();
  assert.ok(!(await page.getByRole('button', { name: 'Stop generating' }).isVisible()));
  await list.getByRole('button', { name: STORY, exact: true }).click();
  await page.locator('.note', { hasText: 'Stopped.' }).waitFor();
  const [kept] = await answers(page);
  assert.ok(kept.length > 20);

  await page.getByRole('button', { name: 'Regenerate' }).click();
  await hasBegun();
  await field.press('ArrowUp');
  await page.getByLabel('Your message').fill('Tell me a story about a fox.');
  await page.getByLabel('Your message').press('Enter');
  await page.locator('.user', { hasText: 'fox' }).waitFor();
  await hasBegun();
  assert.equal(await page.locator('article').count(), 2, 'one message and one answer');
  assert.deepEqual(line.requests.at(-1).messages, [{ role: 'user', content: 'Tell me a story about a fox.' }]);

  page.once('dialog', (dialog) => dialog.accept());
  await list.getByRole('button', { name: /^Delete/ }).click();
  await page.getByText('How can I help?').waitFor();
  await page.reload();
  await page.getByRole('heading', { name: 'ember' }).waitFor();
  assert.equal(await list.locator('.open').count(), 0);
});

test('messages can be entered by keyboard only', async () => {
  const field = page.getByLabel('Message', { exact: true });
  await page.getByRole('heading', { level: 1 }).focus();
  await page.keyboard.press('/');
  assert.ok(await field.evaluate((it) => it === document.activeElement));
  assert.equal(await field.inputValue(), '');
  await page.keyboard.type('one');
  await page.keyboard.press('Shift+Enter');
  await page.keyboard.type('two / three');
  assert.equal(await field.inputValue(), 'one\ntwo / three');
  assert.equal(line.requests.length, 0);
  await page.keyboard.press('Enter');
  await answers(page);
  assert.equal(line.requests[0].messages[0].content, 'one\ntwo / three');
  assert.equal(await page.locator('.user .text').innerText(), 'one\ntwo / three');
});
