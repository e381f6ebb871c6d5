// Keys of input methods, keys that are pressed twice, and where the focus is after an action.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answers, send } from './browser.js';
import { answerChunks } from './line.js';
import { usePages } from './setup.js';

const STORY = 'Tell me a story about a dragon.';
const CALL = { index: 0, id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{}' } };

let line;
let page;

usePages((opened) => ({ line, page } = opened));

/** Sends a message that is answered with a text. */
async function exchange(message, answer) {
  line.instead = { chunks: answerChunks([{ content: answer }]) };
  await send(page, message);
  await page.getByText(answer, { exact: true }).waitFor();
  await answers(page);
}

/** Dispatches key presses to an element, some in forms that only input methods produce. */
function press(selector, ...keys) {
  return page.locator(selector).evaluate((it, given) => {
    for (const key of given) it.dispatchEvent(new KeyboardEvent('keydown', { bubbles: true, cancelable: true, ...key }));
  }, keys);
}

const ENTER = { key: 'Enter', keyCode: 13 };
/** How Chromium and Safari send the key that accepts a word. */
const ACCEPTING = [{ key: 'Enter', keyCode: 229, isComposing: true }, { key: 'Enter', keyCode: 229 }];

test('keys of an input method neither send, save nor cancel', async () => {
  await page.getByLabel('Message', { exact: true }).fill('にほん');
  await press('#prompt', ...ACCEPTING);
  assert.equal(line.requests.length, 0);
  await press('#prompt', ENTER);
  await answers(page);
  assert.equal(line.requests.length, 1);

  await page.getByRole('button', { name: 'Edit message' }).click();
  await page.getByLabel('Your message').fill('にっぽん');
  await press('.editor textarea', ...ACCEPTING, { key: 'Escape', isComposing: true });
  assert.equal(await page.getByLabel('Your message').inputValue(), 'にっぽん');
  assert.equal(line.requests.length, 1);
  await page.keyboard.press('Escape');

  await page.locator('#conversations li').hover();
  await page.getByRole('button', { name: /^Rename/ }).click();
  await page.getByLabel('Name of the conversation').fill('日本');
  await press('#conversations input', ...ACCEPTING, { key: 'Escape', isComposing: true });
  assert.equal(await page.getByLabel('Name of the conversation').inputValue(), '日本');
  await press('#conversations input', ENTER);
  assert.deepEqual(await page.locator('#conversations .open').allInnerTexts(), ['日本']);
});

test('Escape that cancels a word does not stop the answer', async () => {
  line.delay = 20;
  await send(page, STORY);
  await page.waitForFunction(() => document.querySelector('.markdown')?.textContent.length > 20);
  await press('#prompt', { key: 'Escape', isComposing: true });
  const early = (await page.locator('.markdown').innerText()).length;
  await page.waitForFunction((length) => document.querySelector('.markdown').textContent.length > length, early);
  await page.keyboard.press('Escape');
  await page.locator('.note', { hasText: 'Stopped.' }).waitFor();
});

test('a message that is saved twice is sent once', async () => {
  line.delay = 20;
  await send(page, STORY);
  await page.waitForFunction(() => document.querySelector('.markdown')?.textContent.length > 20);
  await page.getByRole('button', { name: 'Edit message' }).click();
  await page.getByLabel('Your message').fill('Tell me a story about a fox.');
  await press('.editor textarea', ENTER, ENTER);
  await page.locator('.user', { hasText: 'fox' }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Stop generating' }).waitFor({ state: 'hidden' });
  assert.equal(line.requests.length, 2);
  assert.equal(await page.locator('.user').count(), 1);
});

test('the focus moves to the stop button and then to the input, not to the start of the page', async () => {
  const focused = () => page.evaluate(() => document.activeElement.id || document.activeElement.outerHTML);
  const act = async (button, answer) => {
    line.instead = { chunks: answerChunks([{ content: answer }]) };
    await button.focus();
    await page.keyboard.press('Enter');
    await page.getByText(answer, { exact: true }).waitFor();
    await answers(page);
    assert.equal(await focused(), 'prompt', answer);
  };
  const fail = async () => {
    line.instead = { status: 500, body: { error: { message: 'out of order' } } };
    await send(page, 'two');
    await page.getByText('out of order').waitFor();
    page.watched.expect(/500/);
  };
  await exchange('one', 'first');
  await act(page.getByRole('button', { name: 'Regenerate' }), 'regenerated');
  await fail();
  await act(page.getByRole('button', { name: 'Try again' }), 'tried again');
  await fail();
  await page.reload();
  await act(page.getByRole('button', { name: 'Generate answer' }), 'generated');
  await page.getByRole('button', { name: 'Edit message' }).last().click();
  await page.getByLabel('Your message').fill('three');
  await act(page.getByRole('button', { name: 'Send edited' }), 'edited');
  line.instead = { chunks: answerChunks([{ tool_calls: [CALL] }], 'tool_calls') };
  await send(page, 'How is the weather?');
  await page.getByLabel('Result of get_weather').fill('Fine.');
  await act(page.getByRole('button', { name: 'Send results' }), 'It is fine.');

  line.instead = null;
  line.delay = 20;
  await page.getByRole('button', { name: 'Regenerate' }).focus();
  await page.keyboard.press('Enter');
  assert.equal(await focused(), 'stop');
  await page.keyboard.press('Enter');
  await answers(page);
  assert.equal(await focused(), 'prompt');

  const name = page.getByLabel('Name of the conversation');
  for (const [key, expected] of [['Escape', 'one'], ['Enter', 'First']]) {
    await page.locator('#conversations li').hover();
    await page.getByRole('button', { name: /^Rename/ }).click();
    await name.fill('First');
    await page.keyboard.press(key);
    assert.equal(await page.evaluate(() => document.activeElement.textContent), expected);
  }
});

test('copying is announced', async () => {
  await exchange('one', 'first');
  const announced = await page.getByRole('status').evaluateHandle((status) => {
    const texts = [];
    new MutationObserver(() => texts.push(status.textContent)).observe(status, { childList: true });
    return texts;
  });
  await page.getByRole('button', { name: 'Copy answer' }).click();
  await page.waitForFunction((texts) => texts.length === 2, announced);
  assert.deepEqual(await announced.jsonValue(), ['Copied.', '']);
});

test('the list that overlays a narrow page is the only thing that has the focus', async () => {
  await page.setViewportSize({ width: 375, height: 667 });
  const menu = page.getByRole('button', { name: 'Conversations', exact: true });
  await menu.click();
  assert.equal(await page.evaluate(() => document.activeElement.id), 'new-conversation');
  for (let presses = 0; presses < 6; presses += 1) {
    await page.keyboard.press('Tab');
    assert.ok(!(await page.evaluate(() => document.getElementById('page').contains(document.activeElement))));
  }
  const close = page.getByRole('button', { name: 'Close conversations' });
  for (const act of [() => page.keyboard.press('Escape'), () => close.click()]) {
    await act();
    assert.equal(await page.evaluate(() => document.activeElement.id), 'menu');
    assert.ok(!(await page.locator('#page').evaluate((it) => it.inert)));
    await menu.click();
  }
  await page.setViewportSize({ width: 1200, height: 800 });
  assert.ok(!(await close.isVisible()), 'the list is next to the page');
});

test('a name and a message that are being entered stay when an answer is complete', async () => {
  await exchange('one', 'first');
  await page.getByRole('button', { name: 'Edit message' }).click();
  await page.getByLabel('Your message').fill('half of a mess');
  line.instead = null;
  line.delay = 20;
  await send(page, STORY);
  await page.locator('#conversations li').hover();
  await page.getByRole('button', { name: /^Rename/ }).click();
  await page.getByLabel('Name of the conversation').fill('half of a na');
  line.delay = 0;
  await answers(page);
  assert.equal(await page.getByLabel('Name of the conversation').inputValue(), 'half of a na');
  assert.ok(await page.evaluate(() => document.activeElement.matches('#conversations input')));
  assert.equal(await page.getByLabel('Your message').inputValue(), 'half of a mess');
  // Opening it again does not start anew.
  await page.keyboard.press('Enter');
  await exchange('two', 'second');
  assert.equal(await page.getByLabel('Your message').inputValue(), 'half of a mess');
  assert.deepEqual(await page.locator('#conversations .open').allInnerTexts(), ['half of a na']);
});
