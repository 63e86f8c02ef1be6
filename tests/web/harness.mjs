// Checks with names, counted; a page that reports everything it should not do.

import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const TIMEOUT = 20_000; // milliseconds; everything here takes less than two seconds on a free machine
const FLAGS = ['--headless', '--no-sandbox', '--disable-background-networking'];

const needed = createRequire(join(ROOT, 'web', 'package.json'));

/** Thrown by a check that cannot run here; the reason is shown. */
export class Skip extends Error {}

export class Checks {
  passed = 0;
  failed = 0;
  skipped = 0;

  async run(name, action) {
    try {
      await action();
      this.passed += 1;
    } catch (error) {
      if (error instanceof Skip) {
        this.skipped += 1;
        console.log(`SKIPPED ${name}: ${error.message}`);
      } else {
        this.failed += 1;
        console.log(`FAILED ${name}: ${error.stack ?? error}`);
      }
    }
  }

  finish() {
    console.log(`${this.passed} passed, ${this.failed} failed, ${this.skipped} skipped`);
    process.exitCode = this.failed ? 1 : 0;
  }
}

export function expect(condition, what) {
  if (!condition) throw new Error(what);
}

export function same(actual, wanted, what) {
  expect(
    JSON.stringify(actual) === JSON.stringify(wanted),
    `${what}: ${JSON.stringify(actual)} instead of ${JSON.stringify(wanted)}`,
  );
}

/** Debian's Chromium, or the one that the environment variable CHROMIUM names; null when there is none. */
export async function startBrowser() {
  const executable = process.env.CHROMIUM ?? '/usr/bin/chromium';
  if (!existsSync(executable)) return null;
  const { chromium } = await import(pathToFileURL(needed.resolve('playwright-core')).href).then(
    (module) => module.default ?? module,
  );
  return chromium.launch({ executablePath: executable, args: FLAGS });
}

export function axeSource() {
  return needed.resolve('axe-core/axe.min.js');
}

/** A page at `file` that has drawn everything. `complaints` collects what it must not do: it stays empty. */
export async function open(browser, file, { width = 1280, height = 800, hash = '', ready = true, ...context } = {}) {
  const surroundings = await browser.newContext({ viewport: { width, height }, acceptDownloads: true, ...context });
  const page = await surroundings.newPage();
  page.setDefaultTimeout(TIMEOUT);
  const complaints = [];
  page.on(
    'console',
    (message) => ['error', 'warning'].includes(message.type()) && complaints.push(`console: ${message.text()}`),
  );
  page.on('pageerror', (error) => complaints.push(`exception: ${error.stack}`));
  page.on('dialog', (dialog) => complaints.push(`dialog: ${dialog.message()}`) && dialog.dismiss());
  page.on(
    'request',
    (request) =>
      request.url().startsWith('file:') ||
      /^(data|blob):/.test(request.url()) ||
      complaints.push(`request: ${request.url()}`),
  );
  await page.addInitScript(() => {
    addEventListener('securitypolicyviolation', (event) =>
      console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`),
    );
  });
  await page.goto(pathToFileURL(file).href + hash);
  if (ready && context.javaScriptEnabled !== false)
    await page.waitForSelector('html[data-ready]', { state: 'attached' });
  return { page, complaints, close: () => surroundings.close() };
}

/** Opens, does, and insists that the page did nothing that it should not. */
export async function within(browser, file, options, action) {
  const opened = await open(browser, file, options);
  try {
    await action(opened.page);
    same(opened.complaints, [], 'what the page must not do');
  } finally {
    await opened.close();
  }
}
