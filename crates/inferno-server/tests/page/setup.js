// What the tests of a file share: a browser, a server, and the pages that they open.
//
// Each function registers the hooks of the file and passes what they create to `assign`, before the first test or before each.

import { after, afterEach, before, beforeEach } from 'node:test';
import { openPage, openRenderer, startBrowser } from './browser.js';
import { startLine } from './line.js';
import { startServer } from './server.js';

/** A browser and a server with these options, for all tests of the file. `close` runs before both are closed. */
export function useServer(assign, options = [], open = async () => ({}), close = () => {}) {
  const opened = {};
  before(async () => {
    opened.server = await startServer(...options);
    opened.browser = await startBrowser();
    Object.assign(opened, await open(opened));
    assign(opened);
  });
  after(async () => {
    await close(opened);
    await opened.browser?.close();
    await opened.server?.stop();
  });
}

/** A page that only renders Markdown, for all tests of the file. */
export function useRenderer(assign) {
  const open = async ({ browser, server }) => ({ page: await openRenderer(browser, server.address) });
  useServer(assign, [], open, ({ page }) => page?.watched.check());
}

/** A page for each test, with a line between it and the server. */
export function usePages(assign, ...options) {
  let shared;
  let opened;
  useServer((created) => (shared = created), options);
  beforeEach(async () => {
    opened = { ...shared, line: await startLine(shared.server.address) };
    opened.page = await openPage(shared.browser, opened.line.address);
    assign(opened);
  });
  afterEach(async () => {
    try {
      opened.page?.watched.check();
    } finally {
      await opened.page?.context().close();
      opened.line.close();
    }
  });
}
