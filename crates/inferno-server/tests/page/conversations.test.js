// Conversations with names, branches, tool calls, and with several models.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answers, openSettings, send, setting } from './browser.js';
import { answerChunks } from './line.js';
import { usePages } from './setup.js';

const WEATHER = [{ type: 'function', function: { name: 'get_weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } } }];

let server;
let line;
let page;

usePages((opened) => ({ server, line, page } = opened), '--served-model-name', 'small', '--served-model-name', 'other');

/** Sends a message that is answered with a text. */
async function exchange(message, answer) {
  line.instead = { chunks: answerChunks([{ content: answer }]) };
  await send(page, message);
  await page.locator('.answer').filter({ hasText: answer.split('\n').at(-1) }).last().waitFor();
  await page.locator('#stop').waitFor({ state: 'hidden' });
}

const contents = () => line.requests.at(-1).messages.map(({ content }) => content);
const shown = () => page.locator('.user .text, .answer .markdown').allInnerTexts();

test('conversations with the same title can be renamed', async () => {
  const names = page.locator('#conversations .open');
  await exchange('Hello!', 'Hi.');
  await page.getByRole('button', { name: 'New conversation' }).click();
  await exchange('Hello!', 'Hi.');
  assert.deepEqual(await names.allInnerTexts(), ['Hello!', 'Hello!']);
  const rename = async (index, name, key = 'Enter') => {
    await page.locator('#conversations li').nth(index).hover();
    await page.getByRole('button', { name: /^Rename/ }).nth(index).click();
    await page.getByLabel('Name of the conversation').fill(name);
    await page.keyboard.press(key);
  };
  await rename(0, 'Second greeting');
  await rename(1, 'First greeting');
  await rename(1, 'not this', 'Escape');
  assert.deepEqual(await names.allInnerTexts(), ['Second greeting', 'First greeting']);
  await exchange('And now?', 'Nothing.');
  await page.reload();
  assert.deepEqual(await names.allInnerTexts(), ['Second greeting', 'First greeting']);
  await rename(0, '');
  assert.deepEqual(await names.allInnerTexts(), ['Hello!', 'First greeting'], 'an empty name restores the title');
});

test('any message can be edited, and both versions remain with what followed them', async () => {
  await exchange('one', 'answer one');
  await exchange('two', 'answer two');
  line.instead = { chunks: answerChunks([{ content: 'answer three' }]) };
  await page.getByRole('button', { name: 'Edit message' }).first().click();
  await page.getByLabel('Your message').fill('three');
  await page.getByRole('button', { name: 'Send edited' }).click();
  await page.getByText('answer three').waitFor();
  assert.deepEqual(contents(), ['three']);
  assert.deepEqual(await shown(), ['three', 'answer three']);
  await page.reload();
  await page.getByRole('button', { name: 'Previous version' }).click();
  assert.deepEqual(await shown(), ['one', 'answer one', 'two', 'answer two']);
  assert.equal(await page.getByRole('status').textContent(), 'Version 1 of 2.');
  assert.equal(await page.evaluate(() => document.activeElement.title), 'Next version');
  await exchange('four', 'answer four');
  assert.deepEqual(contents(), ['one', 'answer one', 'two', 'answer two', 'four']);
  await page.getByRole('button', { name: 'Next version' }).click();
  assert.deepEqual(await shown(), ['three', 'answer three']);
  assert.equal(await page.getByRole('button', { name: 'Next version' }).isEnabled(), false);
  await page.getByRole('button', { name: 'Previous version' }).click();
  assert.deepEqual(await shown(), ['one', 'answer one', 'two', 'answer two', 'four', 'answer four']);
});

test('a regenerated answer is another version, and a failure leaves the first', async () => {
  await exchange('one', 'first');
  line.instead = { chunks: answerChunks([{ content: 'second' }]) };
  await page.getByRole('button', { name: 'Regenerate' }).click();
  await page.getByText('second').waitFor();
  assert.deepEqual(contents(), ['one']);
  await page.getByRole('button', { name: 'Previous version' }).click();
  assert.deepEqual(await shown(), ['one', 'first']);
  line.instead = { status: 500, body: { error: { message: 'out of order' } } };
  await page.getByRole('button', { name: 'Regenerate' }).click();
  await page.getByText('out of order').waitFor();
  page.watched.expect(/500/);
  assert.deepEqual(await shown(), ['one', 'first']);
  assert.ok(await page.getByText('1/2').isVisible());
});

test('sending a message scrolls to the end, and the page follows the answer', async () => {
  const long = Array.from({ length: 60 }, (_, index) => `Line ${index}.`).join('\n\n');
  const toEnd = () => page.locator('#scroller').evaluate((it) => it.scrollHeight - it.scrollTop - it.clientHeight);
  await exchange('one', long);
  assert.ok((await toEnd()) < 40);
  await page.locator('#scroller').evaluate((it) => it.scrollTo(0, 0));
  await page.getByRole('button', { name: 'Scroll to the latest message' }).waitFor();
  await exchange('two', long);
  assert.ok((await toEnd()) < 40);
});

test('an answer of reasoning only shows its reasoning', async () => {
  line.instead = { chunks: answerChunks([{ reasoning_content: 'Let me see. ' }, { reasoning_content: 'I am not sure.' }]) };
  await send(page, 'Well?');
  await page.getByText('The model ended after its reasoning, without an answer.').waitFor();
  assert.ok(await page.getByText('Let me see. I am not sure.').isVisible());
  await page.reload();
  assert.ok(await page.getByText('Let me see. I am not sure.').isVisible());
});

test('the speed is the server’s', async () => {
  await exchange('one', 'first');
  assert.match(await page.locator('.figures').innerText(), /^1 token · 40 tokens\/s · first after/);
});

test('tool calls are shown, and their results are sent', async () => {
  await setting(page, 'Tools', JSON.stringify(WEATHER));
  line.instead = {
    chunks: answerChunks(
      [
        { content: 'Let me check.' },
        { tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '' } }] },
        { tool_calls: [{ index: 0, function: { arguments: '{"city": ' } }] },
        { tool_calls: [{ index: 0, function: { arguments: '"Paris"}' } }] },
        { tool_calls: [{ index: 1, id: 'call_2', type: 'function', function: { name: 'get_weather', arguments: '{}' } }] },
      ],
      'tool_calls',
    ),
  };
  await send(page, 'How is the weather?');
  const fields = page.getByLabel('Result of get_weather');
  await fields.first().waitFor();
  assert.deepEqual(line.requests[0].tools, WEATHER);
  assert.deepEqual(await page.locator('.call pre').allInnerTexts(), ['{\n  "city": "Paris"\n}', '{}']);
  await page.reload();
  await fields.nth(0).fill('{"degrees": 20}');
  await fields.nth(1).fill('unknown');
  line.instead = { chunks: answerChunks([{ content: 'It is 20 degrees.' }]) };
  await page.getByRole('button', { name: 'Send results' }).click();
  await page.getByText('It is 20 degrees.').waitFor();
  const call = (id, text) => ({ id, type: 'function', function: { name: 'get_weather', arguments: text } });
  assert.deepEqual(line.requests.at(-1).messages, [
    { role: 'user', content: 'How is the weather?' },
    { role: 'assistant', content: 'Let me check.', tool_calls: [call('call_1', '{"city": "Paris"}'), call('call_2', '{}')] },
    { role: 'tool', content: '{"degrees": 20}', tool_call_id: 'call_1' },
    { role: 'tool', content: 'unknown', tool_call_id: 'call_2' },
  ]);
  // The server accepts what the page sends, and the file it exports can be imported.
  const { messages } = line.requests.at(-1);
  const response = await fetch(`${server.address}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ messages, max_tokens: 1 }),
  });
  assert.equal(response.status, 200, await response.text());
  const buffer = Buffer.from(JSON.stringify({ messages }));
  await page.getByLabel('Conversation file').setInputFiles({ name: 'a.json', mimeType: 'application/json', buffer });
  await page.getByRole('button', { name: 'Generate answer' }).click();
  await page.locator('.answer').nth(1).waitFor();
  assert.deepEqual(line.requests.at(-1).messages, messages);
});

for (const [finish, end] of [['length', 'Cut off'], ['failed', 'Interrupted']]) {
  test(`a tool call that was cut off does not block the conversation: ${finish}`, async () => {
    const call = (index, text) => ({ index, id: `call_${index}`, type: 'function', function: { name: 'get_weather', arguments: text } });
    const chunks = answerChunks([{ tool_calls: [call(0, '{"city": "Pa')] }], finish);
    // Without its end, the stream has failed.
    line.instead = finish === 'failed' ? { chunks: [chunks[0], { error: { message: 'the engine stopped' } }] } : { chunks };
    await send(page, 'How is the weather?');
    await page.locator('.note', { hasText: end }).waitFor();
    await page.getByRole('button', { name: 'Copy answer' }).click();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), 'get_weather {"city": "Pa');
    await page.reload();
    assert.ok(await page.getByText('This call was cut off. It is not sent to the model.').isVisible());
    assert.equal(await page.getByRole('button', { name: 'Send results' }).count(), 0);
    line.instead = null;
    await setting(page, 'Max tokens', '3');
    await send(page, 'Hello!');
    await page.locator('.answer').nth(1).waitFor();
    await answers(page);
    assert.equal(await page.locator('.failure').count(), 0);
    assert.deepEqual(line.requests.at(-1).messages, [
      { role: 'user', content: 'How is the weather?' },
      { role: 'user', content: 'Hello!' },
    ]);

    // Complete calls and text next to it remain.
    line.instead = { chunks: answerChunks([{ content: 'Let me check.' }, { tool_calls: [call(0, '{}'), call(1, '[')] }], 'length') };
    await send(page, 'And now?');
    await page.getByLabel('Result of get_weather').fill('Fine.');
    line.instead = { chunks: answerChunks([{ content: 'It is fine.' }]) };
    await page.getByRole('button', { name: 'Send results' }).click();
    await page.getByText('It is fine.').waitFor();
    assert.deepEqual(line.requests.at(-1).messages.slice(-2), [
      { role: 'assistant', content: 'Let me check.', tool_calls: [{ id: 'call_0', type: 'function', function: { name: 'get_weather', arguments: '{}' } }] },
      { role: 'tool', content: 'Fine.', tool_call_id: 'call_0' },
    ]);
  });
}

test('tools that are not a JSON list are not sent', async () => {
  await openSettings(page);
  await page.getByLabel('Tools').fill('{"name"');
  assert.ok(await page.getByText('This is not a JSON list of tools. It is not sent.').isVisible());
  await page.getByRole('button', { name: 'Done' }).click();
  await exchange('one', 'first');
  assert.ok(!('tools' in line.requests[0]));
});

test('presets set the sampling fields, and other values are shown as custom', async () => {
  const preset = (name) => page.getByRole('radio', { name });
  await page.getByRole('button', { name: 'Settings' }).click();
  assert.ok(await preset('Standard').isChecked());
  assert.ok(!(await preset('Custom').isVisible()));
  await preset('Creative').check();
  await page.getByRole('button', { name: 'Done' }).click();
  await exchange('one', 'first');
  const { temperature, top_p, min_p, top_k } = line.requests[0];
  assert.deepEqual({ temperature, top_p, min_p, top_k }, { temperature: 1.1, top_p: 0.98, min_p: 0.05, top_k: undefined });
  await setting(page, 'Max tokens', '7');
  await setting(page, 'Temperature', '0.3');
  await page.reload();
  await page.getByRole('button', { name: 'Settings' }).click();
  assert.ok(await preset('Custom').isChecked());
  await preset('Precise').check();
  await page.getByRole('button', { name: 'Done' }).click();
  await exchange('two', 'second');
  const request = line.requests.at(-1);
  assert.deepEqual([request.temperature, request.top_p, request.min_p, request.max_tokens], [0.2, 0.9, undefined, 7]);
});

test('one of several models can be chosen, and stays chosen', async () => {
  const chooser = page.getByLabel('Model', { exact: true });
  // The list is filled when the server has sent its models.
  await chooser.locator('option').nth(1).waitFor({ state: 'attached' });
  assert.deepEqual(await chooser.locator('option').allInnerTexts(), ['small', 'other']);
  await chooser.selectOption('other');
  await page.reload();
  await page.waitForFunction(() => document.getElementById('models').value === 'other');
  await send(page, 'Hello!');
  await answers(page);
  assert.equal(line.requests[0].model, 'other');
});
