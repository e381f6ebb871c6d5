// Takes the pictures of the page for the documentation: `node screenshots.js FOLDER`. The answers are the model's own at
// temperature 0; the speeds depend on the machine and the build.

import { join } from 'node:path';
import { answers, openPage, send, setting, startBrowser } from './browser.js';
import { startServer } from './server.js';

const folder = process.argv[2];
const [browser, server] = await Promise.all([startBrowser(), startServer()]);

const screens = {
  desktop: { viewport: { width: 1080, height: 720 }, deviceScaleFactor: 1.5 },
  phone: { viewport: { width: 375, height: 720 }, deviceScaleFactor: 1.5, hasTouch: true, isMobile: true },
};

for (const [screen, options] of Object.entries(screens)) {
  const page = await openPage(browser, server.address, { ...options, colorScheme: 'light' });
  const shoot = async (name) => {
    for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme });
      await page.waitForTimeout(300); // What moves has come to rest.
      await page.screenshot({ path: join(folder, `chat-${name}-${colorScheme}.png`) });
    }
  };
  await page.getByRole('heading', { name: 'ember' }).waitFor();
  await setting(page, 'Temperature', '0');
  const ask = async (question) => {
    await send(page, question);
    await answers(page);
  };
  for (const question of ['What is the capital of France?', 'Name three colors.', 'Who are you?']) {
    await ask(question);
    await page.evaluate(() => document.getElementById('new-conversation').click());
  }
  if (screen === 'phone') await shoot('phone-welcome');
  await ask('What can you do?');
  if (screen === 'phone') await ask('What is 7 plus 5?');
  await ask('Answer with JSON with the keys name and age: Tom is 7 years old.');
  if (screen === 'desktop') await page.locator('.reasoning summary').last().click();
  await page.mouse.move(0, 0);
  await shoot(screen);
  page.watched.check();
  await page.context().close();
}
await browser.close();
await server.stop();
