// Themes, narrow screens, and announcements for screen readers.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answers, openPage, openSettings, send } from './browser.js';
import { useServer } from './setup.js';

let browser;
let server;

useServer((opened) => ({ browser, server } = opened));

async function withPage(options, then) {
  const page = await openPage(browser, server.address, options);
  await then(page);
  page.watched.check();
  await page.context().close();
}

/** The red, green and blue of a computed color, from 0 to 1. */
const COLOUR = `(text) => {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  canvas.fillStyle = text;
  canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3).map((part) => part / 255);
}`;

/** WCAG 2's relative luminance. */
function luminance(colour) {
  const [red, green, blue] = colour.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one, other) {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

/** A color of the page. */
function colour(page, selector, property) {
  return page.evaluate(`(${COLOUR})(getComputedStyle(document.querySelector('${selector}')).getPropertyValue('${property}'))`);
}

test('the theme follows the system until one is chosen, which is stored', async () => {
  await withPage({ colorScheme: 'dark' }, async (page) => {
    const paper = () => colour(page, 'html', 'background-color').then(luminance);
    assert.ok((await paper()) < 0.1);
    await page.emulateMedia({ colorScheme: 'light' });
    assert.ok((await paper()) > 0.8);
    await page.getByRole('button', { name: 'Theme: system' }).click();
    await page.getByRole('button', { name: 'Theme: light' }).click();
    assert.ok((await paper()) < 0.1);
    await page.reload();
    assert.ok((await paper()) < 0.1);
    await page.getByRole('button', { name: 'Theme: dark' }).click();
    assert.ok((await paper()) > 0.8);
  });
});

for (const colorScheme of ['light', 'dark']) {
  test(`text has sufficient contrast, ${colorScheme}`, async () => {
    await withPage({ colorScheme }, async (page) => {
      await send(page, 'What is the capital of France?');
      await answers(page);
      await page.getByRole('button', { name: 'Reasoning' }).click();
      const paper = await colour(page, 'html', 'background-color');
      const over = {
        '.answer': paper,
        '.figures': paper,
        '#context': paper,
        '#conversations .open': await colour(page, '#sidebar', 'background-color'),
        '.kept': await colour(page, '#sidebar', 'background-color'),
        '.user .text': await colour(page, '.user .text', 'background-color'),
        '#thinking': await colour(page, '#thinking', 'background-color'),
        '#keys': await colour(page, '#composer', 'background-color'),
      };
      for (const [selector, below] of Object.entries(over)) {
        const found = contrast(await colour(page, selector, 'color'), below);
        assert.ok(found >= 4.5, `${selector}: ${found.toFixed(2)}`); // WCAG 2.1, 1.4.3
      }
    });
  });
}

for (const colorScheme of ['light', 'dark']) {
  test(`the borders of fields have sufficient contrast, ${colorScheme}`, async () => {
    await withPage({ colorScheme }, async (page) => {
      await send(page, 'What is the capital of France?');
      await answers(page);
      await page.getByRole('button', { name: 'Edit message' }).click();
      await page.locator('#conversations li').hover();
      await page.getByRole('button', { name: /^Rename/ }).click();
      const around = {
        '#temperature': await colour(page, '#settings', 'background-color'),
        '#system': await colour(page, '#system', 'background-color'),
        '.editor textarea': await colour(page, 'html', 'background-color'),
        '#conversations input': await colour(page, '#conversations li', 'background-color'),
      };
      for (const [selector, beyond] of Object.entries(around)) {
        const found = contrast(await colour(page, selector, 'border-top-color'), beyond);
        assert.ok(found >= 3, `${selector}: ${found.toFixed(2)}`); // WCAG 2.1, 1.4.11
      }
    });
  });
}

test('narrow screens show everything without horizontal scrolling', async () => {
  await withPage({ viewport: { width: 320, height: 568 }, hasTouch: true, isMobile: true }, async (page) => {
    await send(page, `A word that is long: ${'extraordinarily'.repeat(12)}`);
    await answers(page);
    await page.getByRole('button', { name: 'Regenerate' }).tap();
    await answers(page);
    assert.equal(await page.evaluate(() => document.activeElement.id), 'messages', 'no keyboard covers the answer');
    const sticksOut = () => page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
    assert.ok(!(await sticksOut()));
    const list = page.getByRole('complementary', { name: 'Conversations' });
    assert.ok(!(await list.isVisible()));
    await page.getByRole('button', { name: 'Conversations' }).click();
    await list.waitFor();
    await page.keyboard.press('Escape');
    await list.waitFor({ state: 'hidden' });
    await openSettings(page);
    assert.ok(await page.getByLabel('Seed').isVisible());
    assert.ok(!(await sticksOut()));
    await page.getByRole('button', { name: 'Close' }).click();
    const small = await page.evaluate(() =>
      [...document.querySelectorAll('button')]
        .map((button) => [button.id || button.title || button.textContent, button.getBoundingClientRect()])
        .filter(([, { width, height }]) => width > 0 && (width < 24 || height < 24))
        .map(([name]) => name),
    );
    assert.deepEqual(small, []); // WCAG 2.2, 2.5.8
  });
});

test('changes are announced, controls have names, and focus is visible', async () => {
  await withPage({}, async (page) => {
    await send(page, 'What is the capital of France?');
    await answers(page);
    assert.equal(await page.getByRole('status').textContent(), 'Answer complete.');
    assert.equal(await page.locator('.answer').getAttribute('aria-busy'), 'false');
    const nameless = await page.evaluate(() =>
      [...document.querySelectorAll('button, input, textarea')]
        .filter((it) => !(it.textContent.trim() || it.getAttribute('aria-label') || it.labels?.length))
        .map((it) => it.outerHTML),
    );
    assert.deepEqual(nameless, []);
    await page.getByLabel('Message', { exact: true }).focus();
    await page.keyboard.press('Tab');
    const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
    assert.equal(outline, 'solid', 'the focused element is marked');
  });
});

test('the content security policy forbids elements from text', async () => {
  await withPage({}, async (page) => {
    const refused = await page.evaluate(() => {
      try {
        document.body.innerHTML = '<img src=x>';
        return false;
      } catch (error) {
        return error instanceof TypeError;
      }
    });
    assert.ok(refused);
    page.watched.expect(/TrustedHTML/);
  });
});
