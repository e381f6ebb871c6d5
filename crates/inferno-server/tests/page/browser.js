// A headless Chromium, and pages that must not log errors or send requests to anything but the server.

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

export async function startBrowser() {
  const executablePath = process.env.CHROMIUM ?? PLACES.find((place) => existsSync(place));
  // Chromium's own sandbox does not work for root, nor in most containers.
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
}

/** Opens the page in its own browser profile. `page.watched.check()` fails if it logged an error or sent a request elsewhere. */
export async function openPage(browser, address, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 800 }, ...options });
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  context.setDefaultTimeout(15_000);
  const page = await context.newPage();
  const complaints = [];
  page.on('pageerror', (error) => complaints.push(`error: ${error.stack}`));
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(`${message.type()}: ${message.text()}`);
  });
  page.on('request', (request) => {
    const { origin, protocol } = new URL(request.url());
    if (origin !== address && protocol !== 'blob:') complaints.push(`requested ${request.url()}`);
  });
  page.watched = {
    /** Removes the matching complaints; there must be some. The console reports every failed request as an error. */
    expect: (pattern) => {
      const rest = complaints.filter((complaint) => !pattern.test(complaint));
      assert.ok(rest.length < complaints.length, `nothing matches ${pattern}: ${complaints}`);
      complaints.splice(0, Infinity, ...rest);
    },
    check: () => assert.deepEqual(complaints, []),
  };
  await page.goto(address);
  return page;
}

/** Opens the page with the function `render` in it, which returns the element of a Markdown text. */
export async function openRenderer(browser, address) {
  const page = await openPage(browser, address);
  await page.evaluate(async () => {
    const { MarkdownView } = await import('./page/markdown.js');
    window.MarkdownView = MarkdownView;
    window.render = (text) => {
      const view = new MarkdownView();
      view.show(text);
      return view.element;
    };
  });
  return page;
}

/** Enters a message and sends it. */
export async function send(page, text) {
  await page.getByLabel('Message', { exact: true }).fill(text);
  await page.keyboard.press('Enter');
}

/** Waits until no answer is running, and returns the text of each answer. */
export async function answers(page) {
  await page.locator('#stop').waitFor({ state: 'hidden' });
  return page.locator('.answer .markdown').allInnerTexts();
}

/** Sets a field of the settings. */
export async function setting(page, label, value) {
  await openSettings(page);
  await page.getByLabel(label).fill(value);
  await page.getByRole('button', { name: 'Done' }).click();
}

/** Opens the settings with the advanced ones. */
export async function openSettings(page) {
  await page.getByRole('button', { name: 'Settings' }).click();
  await page.locator('#advanced').evaluate((it) => {
    it.open = true;
  });
}
