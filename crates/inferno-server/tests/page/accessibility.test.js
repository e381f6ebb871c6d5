// What axe-core finds on the page in each of its states. The rules are WCAG 2.2's, levels A and AA, and axe's best practices.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { openPage, openSettings, send } from './browser.js';
import { answerChunks, startLine } from './line.js';
import { useServer } from './setup.js';

const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** An answer with everything that Markdown may become. */
const EVERYTHING = [
  '# One\n\n## Two\n\nText with *emphasis*, `code`, a [link](https://example.org) and $x^2$.\n',
  '```rust\nfn main() { /* a */ let b = "c"; println!("{}", 1); } // a comment\n```\n',
  '| a | b |\n|---|--:|\n| 1 | 2 |\n',
  '> quoted\n\n- one\n- two\n\n1. three\n\n---\n\n$$\\frac{a}{b}$$\n',
].join('\n');

let browser;
let line;

const openLine = async ({ server }) => ({ line: await startLine(server.address) });
useServer((opened) => ({ browser, line } = opened), [], openLine, ({ line }) => line?.close());

/** Asserts that axe finds nothing, and that its rules were applied. */
async function checkAccessible(page, state) {
  // Colors in the middle of a transition are those of no state.
  await page.evaluate(() => Promise.all(document.getAnimations().filter((it) => it.effect.getTiming().iterations === 1).map((it) => it.finished)));
  const { violations, passes } = await page.evaluate(() =>
    axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }),
  );
  const found = violations.flatMap(({ id, help, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${help}: ${html}: ${failureSummary}`));
  assert.deepEqual(found, [], state);
  assert.ok(passes.some(({ id }) => id === 'color-contrast'), state);
}

const SCREENS = {
  'wide, light': { colorScheme: 'light' },
  'wide, dark': { colorScheme: 'dark' },
  'narrow, light': { colorScheme: 'light', viewport: { width: 375, height: 667 }, hasTouch: true, isMobile: true },
};

for (const [name, options] of Object.entries(SCREENS)) {
  test(`axe finds nothing, ${name}`, async () => {
    const page = await openPage(browser, line.address, options);
    await page.getByRole('heading', { name: 'ember' }).waitFor();
    await page.evaluate(axe);
    await checkAccessible(page, 'welcome');

    const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{"city": "Paris"}' } };
    line.instead = { chunks: answerChunks([{ reasoning_content: 'Hm.' }, { content: EVERYTHING }, { tool_calls: [call] }], 'tool_calls') };
    await send(page, 'Show me everything.');
    await page.getByRole('button', { name: 'Send results' }).waitFor();
    await page.locator('.reasoning summary').click();
    await checkAccessible(page, 'answer with a tool call');

    line.instead = { status: 500, body: { error: { message: 'out of order' } } };
    await page.getByLabel('Result of get_weather').fill('{"degrees": 20}');
    await page.getByRole('button', { name: 'Send results' }).click();
    await page.getByText('out of order').waitFor();
    page.watched.expect(/500/);
    await page.getByRole('button', { name: 'Edit message' }).click();
    await checkAccessible(page, 'failure, and editing');
    line.instead = { chunks: answerChunks([{ content: 'Fine.' }]) };
    await page.getByLabel('Your message').fill('Again.');
    await page.getByRole('button', { name: 'Send edited' }).click();
    await page.getByText('Fine.').waitFor();
    await checkAccessible(page, 'versions');
    await page.evaluate(async () => {
      const { leftOutNote } = await import('./page/message.js');
      document.getElementById('messages').prepend(leftOutNote({ text: 'A summary.' }, true, () => {}));
    });
    await page.locator('.left-out summary').click();
    await checkAccessible(page, 'messages that were left out');

    await openSettings(page);
    await checkAccessible(page, 'settings');
    await page.getByRole('button', { name: 'Change API key' }).click();
    await checkAccessible(page, 'API key');
    await page.getByRole('button', { name: 'Cancel' }).click();
    if (options.isMobile) await page.getByRole('button', { name: 'Conversations' }).click();
    await page.locator('#conversations li').first().hover();
    await page.getByRole('button', { name: /^Rename/ }).click();
    await checkAccessible(page, 'renaming');
    page.watched.check();
    await page.context().close();
  });
}
