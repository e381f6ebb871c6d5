// Several tabs with one conversation, and a storage that is full.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answers, send } from './browser.js';
import { answerChunks } from './line.js';
import { usePages } from './setup.js';

const PHONE = { width: 375, height: 667 };

let line;
let page;

usePages((opened) => ({ line, page } = opened), '--served-model-name', 'Qwen3-30B-A3B-Instruct-2507-UD-Q4_K_XL');

const notice = () => page.locator('#notice');
const shown = (tab) => tab.locator('.user .text').allInnerTexts();
const titles = (tab) => tab.locator('#conversations .open').allInnerTexts();

/** Sends a message that is answered at once. */
async function exchange(tab, message) {
  line.instead = { chunks: answerChunks([{ content: `Answer to ${message}.` }]) };
  await send(tab, message);
  await tab.getByText(`Answer to ${message}.`).waitFor();
  await answers(tab);
}

/** Another tab with the same conversation. */
async function otherTab() {
  const other = await page.context().newPage();
  await other.goto(page.url());
  await other.locator('.user').first().waitFor();
  return other;
}

test('a change is shown in the other tab, which continues it', async () => {
  await exchange(page, 'one');
  const other = await otherTab();
  await exchange(page, 'two');
  await other.getByText('Answer to two.').waitFor();
  await exchange(other, 'three');
  await page.getByText('Answer to three.').waitFor();
  await page.reload();
  assert.deepEqual(await shown(page), ['one', 'two', 'three']);
  assert.deepEqual(await titles(page), ['one']);
});

test('a conversation that is changed in two tabs at once becomes two', async () => {
  await exchange(page, 'one');
  const other = await otherTab();
  // A message that is being edited stays, and so does what surrounds it.
  await page.getByRole('button', { name: 'Edit message' }).click();
  await page.getByLabel('Your message').fill('two');
  await exchange(other, 'three');
  await notice().filter({ hasText: 'This conversation was changed in another tab.' }).waitFor();
  assert.equal(await page.getByLabel('Your message').inputValue(), 'two');
  const address = page.url();
  line.instead = { chunks: answerChunks([{ content: 'Answer to two.' }]) };
  await page.getByRole('button', { name: 'Send edited' }).click();
  await page.getByText('Answer to two.').waitFor();
  await answers(page);
  assert.match(await notice().innerText(), /is stored as a copy/);
  assert.notEqual(page.url(), address);
  await page.reload();
  assert.deepEqual(await shown(page), ['two']);
  assert.deepEqual(await shown(other), ['one', 'three']);
  assert.deepEqual((await titles(page)).sort(), ['one', 'two']);
  assert.ok(!(await notice().isVisible()));
});

test('a conversation that another tab deletes is closed, and stays deleted', async () => {
  await exchange(page, 'one');
  const other = await otherTab();
  line.instead = null;
  line.delay = 20;
  await send(page, 'Tell me a story about a dragon.');
  await page.waitForFunction(() => [...document.querySelectorAll('.markdown')].at(-1).textContent.length > 20);
  other.once('dialog', (dialog) => dialog.accept());
  await other.locator('#conversations li').hover();
  await other.getByRole('button', { name: /^Delete/ }).click();
  await page.getByText('How can I help?').waitFor();
  await page.reload();
  assert.deepEqual(await titles(page), []);
});

test('a name that another tab gives is kept', async () => {
  await exchange(page, 'one');
  const other = await otherTab();
  await other.locator('#conversations li').hover();
  await other.getByRole('button', { name: /^Rename/ }).click();
  await other.getByLabel('Name of the conversation').fill('First');
  await other.keyboard.press('Enter');
  await page.locator('#conversations .open', { hasText: 'First' }).waitFor();
  await exchange(page, 'two');
  assert.deepEqual(await titles(page), ['First']);
  await other.getByText('Answer to two.').waitFor();
  assert.deepEqual(await titles(other), ['First']);
});

test('a page that returns from the back/forward cache shows what it has missed', async () => {
  await exchange(page, 'one');
  // A page receives no events of its own changes.
  await page.evaluate(() => {
    const key = Object.keys(localStorage).find((name) => name.startsWith('inferno.conversation.'));
    const conversation = JSON.parse(localStorage.getItem(key));
    localStorage.setItem(key, JSON.stringify({ ...conversation, name: 'First' }));
    dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }));
  });
  await page.locator('#conversations .open', { hasText: 'First' }).waitFor();
});

/** Fills the storage of the browser. */
function fillStorage() {
  return page.evaluate(() => {
    for (let text = 'x'.repeat(1 << 20), number = 0; text.length > 1; number += 1) {
      try {
        localStorage.setItem(`fill${number}`, text);
      } catch {
        text = text.slice(text.length / 2);
      }
    }
  });
}

/** Makes room in the storage again. */
function emptyStorage() {
  return page.evaluate(() => {
    for (const key of Object.keys(localStorage)) if (key.startsWith('fill')) localStorage.removeItem(key);
  });
}

test('a conversation that is not saved is reported until it is saved or left', async () => {
  await exchange(page, 'one');
  await page.getByRole('button', { name: 'New conversation' }).click();
  await exchange(page, 'two');
  await page.evaluate(() => localStorage.setItem('spare', 'x'.repeat(200)));
  await fillStorage();
  // A name fits, the message does not.
  await page.evaluate(() => localStorage.removeItem('spare'));
  const long = 'three '.repeat(200).trim();
  await exchange(page, long);
  const unsaved = notice().filter({ hasText: 'this conversation is not saved' });
  await unsaved.waitFor();
  const other = page.locator('#conversations li', { hasText: 'one' });
  await other.hover();
  await other.getByRole('button', { name: /^Rename/ }).click();
  await page.getByLabel('Name of the conversation').fill('First');
  await page.keyboard.press('Enter');
  assert.ok(await unsaved.isVisible());
  await page.locator('#conversations .open', { hasText: 'First' }).click();
  await page.getByText('Answer to one.').waitFor();
  assert.ok(!(await notice().isVisible()), 'this one is saved');

  await exchange(page, long);
  await unsaved.waitFor();
  page.once('dialog', (dialog) => dialog.accept());
  const second = page.locator('#conversations li', { hasText: 'two' });
  await second.hover();
  await emptyStorage();
  await second.getByRole('button', { name: /^Delete/ }).click();
  await notice().waitFor({ state: 'hidden' });
  await page.reload();
  assert.deepEqual(await shown(page), ['one', long]);
});

test('a conversation that is not saved stays when the page returns from the back/forward cache', async () => {
  await fillStorage();
  await exchange(page, 'one');
  await notice().filter({ hasText: 'this conversation is not saved' }).waitFor();
  await page.evaluate(() => dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true })));
  await exchange(page, 'two');
  assert.deepEqual(await shown(page), ['one', 'two']);
});

test('a name that is not saved is reported, and saved when another conversation is deleted', async () => {
  await exchange(page, 'one');
  await page.getByRole('button', { name: 'New conversation' }).click();
  await exchange(page, 'two');
  await fillStorage();
  const first = page.locator('#conversations li', { hasText: 'one' });
  await first.hover();
  await first.getByRole('button', { name: /^Rename/ }).click();
  await page.getByLabel('Name of the conversation').fill('First of all');
  await page.keyboard.press('Enter');
  const unsaved = notice().filter({ hasText: 'the name is not saved' });
  await unsaved.waitFor();
  await emptyStorage();
  page.once('dialog', (dialog) => dialog.accept());
  const second = page.locator('#conversations li', { hasText: 'two' });
  await second.hover();
  await second.getByRole('button', { name: /^Delete/ }).click();
  await unsaved.waitFor({ state: 'hidden' });
  await page.reload();
  await page.locator('#conversations .open', { hasText: 'First of all' }).waitFor();
});

test('a full storage is reported on phones, until the conversation is saved', async () => {
  await page.setViewportSize(PHONE);
  await exchange(page, 'one');
  await fillStorage();
  const long = 'two '.repeat(200).trim();
  await exchange(page, long);
  assert.match(await notice().innerText(), /^Browser storage is full: this conversation is not saved\./);
  assert.equal(await notice().getAttribute('role'), 'alert');
  const { width, height } = await notice().boundingBox();
  assert.ok(width > 250 && height > 30, `${width} by ${height}`);
  assert.equal(await notice().evaluate((it) => it.scrollWidth - it.clientWidth), 0, 'the text wraps');
  assert.match(await page.locator('#context').textContent(), /tokens of context/);

  await emptyStorage();
  await exchange(page, 'three');
  assert.ok(!(await notice().isVisible()));
  await page.reload();
  assert.deepEqual(await shown(page), ['one', long, 'three']);
});

test('many stored conversations do not slow the page down', async () => {
  await page.evaluate(() => {
    for (let number = 0; number < 1000; number += 1) {
      const messages = [{ role: 'user', content: `question ${number} ${'q'.repeat(1000)}` }, { role: 'assistant', content: 'a'.repeat(1000) }];
      localStorage.setItem(`inferno.conversation.c${number}`, JSON.stringify({ id: `c${number}`, system: '', updated: number, messages }));
    }
  });
  await page.reload();
  await page.locator('#conversations .open').nth(999).waitFor();
  const numParsed = () => page.evaluate(() => window.numParsed);
  await page.evaluate(() => {
    const parse = JSON.parse;
    window.numParsed = 0;
    JSON.parse = (text, ...rest) => {
      if (text?.includes('"messages"')) window.numParsed += 1;
      return parse(text, ...rest);
    };
  });
  const items = await page.locator('#conversations').evaluateHandle((list) => [...list.children]);
  await exchange(page, 'one');
  assert.ok((await numParsed()) < 5, `${await numParsed()} conversations were read`);
  assert.equal((await titles(page))[0], 'one');
  assert.ok(await items.evaluate((known) => known.every((it) => it.isConnected)), 'the other entries are not recreated');
});
