// The HTML report in a real browser: what it shows, what reacts, and what it never does.
//
//   node tests/web/browser_test.mjs --binary build/release/qnn-debug [--corpus DIR] [--images DIR] [--only WORDS]
//
// Debian's Chromium, without a network. Where there is none everything is skipped, but not in continuous integration (CI is
// set), where that is a failure. --images writes the screenshots of docs/images.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { Checks, ROOT, Skip, axeSource, expect, open, same, startBrowser, within } from './harness.mjs';
import { HOSTILE, Pages, chain, hostile, prepare, stacked, template, unjudged } from './pages.mjs';

const MEGABYTE = 1e6;

const { values: options } = parseArgs({
  options: {
    binary: { type: 'string', default: join(ROOT, 'build', 'release', 'qnn-debug') },
    corpus: { type: 'string', default: join(tmpdir(), 'qnn-debug-corpus') },
    images: { type: 'string' },
    only: { type: 'string', default: '' },
  },
});

const checks = new Checks();
const check = (name, action) => (name.includes(options.only) ? checks.run(name, action) : undefined);

// --- What the sources promise ---

function sourceFiles() {
  const folder = join(ROOT, 'web', 'src');
  return readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')]);
}

async function sourceChecks() {
  await check('no source of the page makes elements or code from text', () => {
    const forbidden =
      /\b(innerHTML|outerHTML|insertAdjacentHTML|setHTMLUnsafe|createContextualFragment|DOMParser|srcdoc|eval|localStorage|fetch|XMLHttpRequest)\b|document\.write|new Function|\.on[a-z]+\s*=|setAttribute\(\s*['"](on|style)/;
    for (const [name, text] of sourceFiles()) {
      const found = forbidden.exec(text);
      expect(!found, `${name}: ${found?.[0]}`);
    }
  });
  await check('the type checker passes', () => {
    execFileSync(
      process.execPath,
      [join(ROOT, 'web', 'node_modules', 'typescript', 'bin', 'tsc'), '--noEmit', '-p', join(ROOT, 'web')],
      { stdio: ['ignore', 'inherit', 'inherit'] },
    );
  });
  await check('packages are pinned, and the lock file names no server', () => {
    const { dependencies, devDependencies } = JSON.parse(readFileSync(join(ROOT, 'web', 'package.json'), 'utf8'));
    for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies }))
      expect(/^\d+\.\d+\.\d+$/.test(version), `${name} ${version}`);
    const lock = readFileSync(join(ROOT, 'web', 'package-lock.json'), 'utf8');
    expect(!/"resolved"|https?:/.test(lock.replace(/"url": "[^"]*"/g, '')), 'web/package-lock.json has an address');
  });
  await check('the template allows only itself', () => {
    const policy = /Content-Security-Policy" content="([^"]*)"/.exec(template())?.[1] ?? '';
    expect(
      /^default-src 'none'; script-src 'sha256-[^ ]+'; style-src 'sha256-[^ ]+'; img-src data: blob:; base-uri 'none'; form-action 'none'$/.test(
        policy,
      ),
      policy,
    );
  });
}

// --- Helpers on a page ---

const text = (page, selector) => page.locator(selector).first().innerText();
const selected = (page) => page.evaluate(() => location.hash);

/** The middle of the column of the `position`-th of `count` operators: the chart's margins are 62 pixels on both sides. */
async function chartPoint(page, position, count) {
  await page.locator('.chart.tall').scrollIntoViewIfNeeded();
  const box = await page.locator('.chart.tall').boundingBox();
  return [box.x + 62 + ((box.width - 124) * (position + 0.5)) / count, box.y + 120];
}

const shownInChart = (diagnosis) => diagnosis.operators.filter((operator) => operator.status !== 'set_aside');

async function graphReady(page) {
  await page.locator('#graph .graph').scrollIntoViewIfNeeded();
  await page.waitForFunction(() => document.querySelector('#graph .graph')?._cyreg?.cy.nodes().length > 0);
}

/** Where node `index` is on the screen. */
async function nodePoint(page, index) {
  await graphReady(page);
  return page.evaluate((id) => {
    const container = document.querySelector('#graph .graph');
    const box = container.getBoundingClientRect();
    const { x, y } = container._cyreg.cy.$id(String(id)).renderedPosition();
    return [box.x + x, box.y + y];
  }, index);
}

const column = (page, position) => page.locator(`.tensors tbody tr td:nth-child(${position})`).allInnerTexts();

async function inView(page, selector) {
  const box = await page.locator(selector).first().boundingBox();
  const { height, width } = page.viewportSize();
  return box !== null && box.y >= 0 && box.y + box.height <= height && box.x >= 0 && box.x + box.width <= width;
}

async function noSidewaysScroll(page) {
  const [content, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  expect(content <= window, `the page is ${content} wide in a window of ${window}`);
}

// --- The checks ---

async function firstScreen(browser, pages) {
  const { clean, bug, several } = pages;
  await check('bug: the culprit is on the first screen with cause, proof and file', () =>
    within(browser, bug.file, {}, async (page) => {
      expect(await inView(page, '.card.large h2'), 'its heading is in view');
      expect(await inView(page, '.card.large .open'), 'the file to open is in view');
      const card = await text(page, '.card.large');
      for (const part of ['QD0202', 'q__matmul_converted', 'bias_dropped', 'proven', 'QNNConvolution.cpp', '6416'])
        expect(card.includes(part), `${part} in ${card}`);
      same((await text(page, '.verdict .badge')).toLowerCase(), 'bug', 'badge');
    }),
  );
  await check('clean: says so, and what remains', () =>
    within(browser, clean.file, {}, async (page) => {
      same((await text(page, '.verdict .badge')).toLowerCase(), 'clean', 'badge');
      expect((await text(page, '.card.clean')).includes('rounding'), 'what remains');
      same(await page.locator('.card.bug').count(), 0, 'accusations');
    }),
  );
  await check('several culprits: the first is large, more than six wait', () =>
    within(browser, several.file, {}, async (page) => {
      same(await page.locator('.card.large').count(), 1, 'large cards');
      same(await page.locator('.card:visible').filter({ hasText: 'Look into it' }).count(), 6, 'cards at first');
      await page.getByRole('button', { name: /^show all/ }).click();
      same(
        await page.locator('.card').filter({ hasText: 'Look into it' }).count(),
        several.diagnosis.findings.length,
        'cards',
      );
    }),
  );
  await check('the replay command is copied as a shell takes it', () =>
    within(browser, bug.file, { permissions: ['clipboard-read', 'clipboard-write'] }, async (page) => {
      await page.locator('.card.large .copy').click();
      const copied = await page.evaluate(() => navigator.clipboard.readText());
      expect(/^qnn-debug replay --model \S+ --dump \S+ --op '#36'$/.test(copied), copied);
    }),
  );
  await check('without scripts the verdict can be read', () =>
    within(browser, bug.file, { javaScriptEnabled: false }, async (page) =>
      expect((await page.locator('noscript').innerText()).includes('q__matmul_converted'), 'summary'),
    ),
  );
}

async function chartAndGraph(browser, pages) {
  const { bug, unknown, long } = pages;
  const shown = shownInChart(bug.diagnosis);
  await check('chart: pointing shows the row, a click selects everywhere', () =>
    within(browser, bug.file, {}, async (page) => {
      const wanted = shown[10];
      const point = await chartPoint(page, 10, shown.length);
      await page.mouse.move(...point);
      expect((await text(page, '.tooltip')).includes(wanted.name), 'row');
      await page.mouse.click(...point);
      same(await selected(page), `#op-${wanted.index}`, 'address');
      expect((await text(page, '#operator h3')).includes(wanted.name), 'panel');
      expect((await text(page, '.selected-link')).includes(`#${wanted.index}`), 'top');
      await page.waitForSelector(`.tensors tr.selected[data-operator="${wanted.index}"]`);
    }),
  );
  await check('chart: buttons go from operator to operator, and to the broken one', () =>
    within(browser, bug.file, { hash: `#op-${shown[3].index}` }, async (page) => {
      await page.getByRole('button', { name: 'Select the next operator' }).click();
      same(await selected(page), `#op-${shown[4].index}`, 'next');
      await page.getByRole('button', { name: 'next broken' }).click();
      same(await selected(page), '#op-36', 'broken');
    }),
  );
  await check('graph: search by name, Enter selects', () =>
    within(browser, bug.file, {}, async (page) => {
      await graphReady(page);
      await page.getByRole('combobox', { name: /Find an operator/ }).fill('stem_c');
      await page.keyboard.press('Enter');
      const stem = bug.diagnosis.operators.find((operator) => operator.name === 'stem_c');
      same(await selected(page), `#op-${stem.index}`, 'address');
      await page.waitForFunction(
        (id) => document.querySelector('#graph .graph')._cyreg.cy.$id(String(id)).hasClass('selected'),
        stem.index,
      );
    }),
  );
  await check('graph: a click selects, and the neighbourhood follows', () =>
    within(browser, bug.file, {}, async (page) => {
      await page.mouse.click(...(await nodePoint(page, 35)));
      await page.waitForFunction(() => location.hash === '#op-35');
      const around = await page.evaluate(() =>
        document
          .querySelector('#graph .graph')
          ._cyreg.cy.nodes()
          .map((node) => Number(node.id())),
      );
      expect(around.includes(35) && around.includes(36) && around.length < 12, String(around));
    }),
  );
  await check('graph: whole network without constants, and with them', () =>
    within(browser, bug.file, {}, async (page) => {
      await graphReady(page);
      const nodes = () => page.evaluate(() => document.querySelector('#graph .graph')._cyreg.cy.nodes().length);
      await page.locator('#graph').getByRole('button', { name: 'whole network' }).click();
      same(await nodes(), shown.length, 'operators');
      await page.getByLabel('constants and shapes').check();
      same(await nodes(), bug.diagnosis.operators.length, 'with constants');
    }),
  );
  await check('graph: thousands of operators are drawn by neighbourhoods', () =>
    within(browser, long.file, {}, async (page) => {
      await graphReady(page);
      await page.locator('#graph').getByRole('button', { name: 'whole network' }).click();
      const nodes = await page.evaluate(() => document.querySelector('#graph .graph')._cyreg.cy.nodes().length);
      expect(nodes < 20, `${nodes} operators`);
      expect((await text(page, '#graph')).includes('too many'), 'it says so');
    }),
  );
  await check('not judged is a state of its own', () =>
    within(browser, unknown.file, {}, async (page) => {
      expect((await text(page, '.legend')).includes('not judged'), 'legend');
      expect((await text(page, '.side')).includes('not judged does not mean right'), 'coverage');
      const looks = await page.evaluate(async () => {
        document.querySelector('#graph .graph').scrollIntoView();
        while (!document.querySelector('#graph .graph')._cyreg) await new Promise(requestAnimationFrame);
        [...document.querySelectorAll('#graph button')]
          .find((button) => button.textContent === 'whole network')
          .click();
        return document
          .querySelector('#graph .graph')
          ._cyreg.cy.nodes('.not_judged')
          .map((node) => node.style('border-style'));
      });
      expect(looks.length > 5 && looks.every((look) => look === 'dashed'), String(looks));
      await page.getByLabel('Filter by status').selectOption('not_judged');
      same(await page.locator('.tensors tbody tr').count(), unknown.diagnosis.coverage.not_judged.length, 'rows');
    }),
  );
}

async function operatorPanel(browser, pages) {
  const { bug, bare } = pages;
  await check('operator: parameters, histograms, error maps, worst elements, mistakes tried', () =>
    within(browser, bug.file, {}, async (page) => {
      const panel = await text(page, '#operator');
      for (const part of [
        'common.kernelX',
        'Worst elements',
        'Mistakes tried',
        'reproduces it',
        'Largest error along channel',
        'Error map',
        'mean square',
      ])
        expect(panel.includes(part), part);
      const charts = page.locator('#operator .chart');
      expect((await charts.count()) >= 6, `${await charts.count()} charts`);
      for (const chart of await charts.all()) {
        await chart.scrollIntoViewIfNeeded();
        await chart.locator('canvas').first().waitFor();
        expect(((await chart.getAttribute('aria-label')) ?? '').length > 20, 'a sentence for those who do not see it');
      }
    }),
  );
  await check('operator: without details it says what is missing', () =>
    within(browser, bare.file, {}, async (page) => {
      expect((await text(page, '#operator')).includes('--details'), 'how to get them');
      expect((await text(page, '.side')).toLowerCase().includes('not in this report'), 'on the first screen too');
    }),
  );
  await check('a link to an operator opens it', () =>
    within(browser, bug.file, { hash: '#op-2' }, async (page) => {
      expect((await text(page, '#operator h3')).includes('#2 '), 'panel');
      await page.evaluate(() => (location.hash = '#op-4'));
      await page.waitForFunction(() => document.querySelector('#operator h3').textContent.startsWith('#4 '));
    }),
  );
}

async function tensorTable(browser, pages) {
  const { bug, nasty } = pages;
  await check('table: sorts by each column, in both directions', () =>
    within(browser, bug.file, {}, async (page) => {
      const heads = page.locator('.tensors th');
      for (let position = 0; position < (await heads.count()); ++position) {
        await heads.nth(position).getByRole('button').click();
        const first = await heads.nth(position).getAttribute('aria-sort');
        await heads.nth(position).getByRole('button').click();
        const second = await heads.nth(position).getAttribute('aria-sort');
        same([first, second].sort(), ['ascending', 'descending'], `column ${position}`);
      }
      await page.getByRole('button', { name: /^own error/ }).click();
      const errors = (await column(page, 6)).map((cell) => (cell === '–' ? -1 : Number(cell)));
      same(
        errors,
        [...errors].sort((a, b) => b - a),
        'largest first, unknown last',
      );
      same(errors[0], 6416, 'the worst');
    }),
  );
  await check('table: filters by text and by status', () =>
    within(browser, bug.file, {}, async (page) => {
      await page.getByLabel('Filter by operator, type or tensor').fill('relu stem');
      const named = bug.diagnosis.tensors.filter((tensor) => /relu/i.test(tensor.name) && /stem/i.test(tensor.name));
      expect((await page.locator('.tensors tbody tr').count()) >= named.length, 'rows');
      await page.getByLabel('Filter by operator, type or tensor').fill('');
      await page.getByLabel('Filter by status').selectOption('broken');
      same(new Set(await column(page, 1)).size, 1, 'operators');
      same((await column(page, 1))[0], '36', 'the broken one');
    }),
  );
  await check('table: keyboard moves and selects', () =>
    within(browser, bug.file, {}, async (page) => {
      await page.locator('.tensors tbody tr').first().focus();
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('ArrowDown');
      const index = await page.evaluate(() => document.activeElement.dataset.operator);
      await page.keyboard.press('Enter');
      same(await selected(page), `#op-${index}`, 'address');
    }),
  );
  await check('table: the download holds what is shown, and no formulas', () =>
    within(browser, nasty.file, {}, async (page) => {
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'Download CSV' }).click(),
      ]);
      same(download.suggestedFilename(), 'tensors.csv', 'name');
      const rows = parseCsv(readFileSync(await download.path(), 'utf8'));
      same(rows.length, nasty.diagnosis.tensors.length + 1, 'rows');
      for (const row of rows) {
        same(row.length, rows[0].length, 'cells');
        for (const cell of row) expect(!/^\s*[=+\-@]/.test(cell) || Number.isFinite(Number(cell)), `formula: ${cell}`);
      }
      const names = rows.slice(1).map((row) => row[4].replace(/^'/, ''));
      for (const name of ['a,"b"\r\nc', '=HYPERLINK("http://example.invalid","x")', '__proto__'])
        expect(names.includes(name), name);
    }),
  );
}

function parseCsv(content) {
  const rows = [[]];
  for (const [, cell, end] of content.matchAll(/((?:"(?:[^"]|"")*"|[^",\r\n])*)(,|\r\n)/g)) {
    rows[rows.length - 1].push(cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell);
    if (end !== ',') rows.push([]);
  }
  return rows.slice(0, -1);
}

async function surroundings(browser, pages) {
  const { bug, clean, nasty, several, unknown, failed } = pages;
  const all = { bug, clean, several, unknown, failed, nasty };
  for (const [name, { file }] of Object.entries(all)) {
    await check(`${name}: nothing scrolls sideways at 360 pixels`, () =>
      within(browser, file, { width: 360, height: 740 }, async (page) => {
        await noSidewaysScroll(page);
        await graphReady(page).catch(() => undefined);
        await noSidewaysScroll(page);
      }),
    );
    for (const colorScheme of ['light', 'dark']) {
      await check(`${name}: axe finds nothing, ${colorScheme}`, () =>
        within(browser, file, { colorScheme }, accessible),
      );
    }
  }
  await check('light and dark follow the system, until the button is pressed', () =>
    within(browser, bug.file, { colorScheme: 'dark' }, async (page) => {
      const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      const dark = await background();
      await page.getByRole('button', { name: /light and dark/ }).click();
      const light = await background();
      expect(dark !== light && light === 'rgb(255, 255, 255)', `${dark} ${light}`);
      await page.emulateMedia({ colorScheme: 'light' });
      same(await background(), light, 'stays as chosen');
    }),
  );
  await check('paper: light, without controls, with the whole table', () =>
    within(browser, bug.file, { colorScheme: 'dark' }, async (page) => {
      await page.emulateMedia({ media: 'print' });
      same(
        await page.evaluate(() => getComputedStyle(document.body).backgroundColor),
        'rgb(255, 255, 255)',
        'background',
      );
      await page.waitForFunction(() => document.documentElement.dataset.theme === 'light');
      expect(!(await page.locator('.top').isVisible()), 'no navigation');
      same(
        await page.evaluate(() => getComputedStyle(document.querySelector('#tensors .scroll')).overflowY),
        'visible',
        'the table is whole',
      );
      await page.emulateMedia({ media: 'screen' });
      await graphReady(page);
      const pictures = () => page.locator('.graph > img').count();
      await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
      same(
        [await pictures(), await page.evaluate(() => document.documentElement.dataset.theme)],
        [1, 'light'],
        'the graph as a picture',
      );
      await page.evaluate(() => dispatchEvent(new Event('afterprint')));
      same(
        [await pictures(), await page.evaluate(() => document.documentElement.dataset.theme)],
        [0, 'dark'],
        'as before',
      );
      expect((await page.pdf()).length > 50_000, 'prints');
    }),
  );
  await check('keyboard: the skip link comes first, and all controls have names', () =>
    within(browser, bug.file, {}, async (page) => {
      await page.keyboard.press('Tab');
      same(await page.evaluate(() => document.activeElement.className), 'skip', 'first stop');
    }),
  );
}

async function accessible(page) {
  await graphReady(page).catch(() => undefined);
  await page.evaluate(readFileSync(axeSource(), 'utf8'));
  const violations = await page.evaluate(async () => {
    const found = await axe.run(document, { resultTypes: ['violations'] });
    return found.violations.map(
      (each) =>
        `${each.id}: ${each.nodes
          .slice(0, 3)
          .map((node) => `${node.html.slice(0, 120)} ${node.failureSummary}`)
          .join(' | ')}`,
    );
  });
  same(violations, [], 'axe');
}

async function hostileNames(browser, pages) {
  const { nasty } = pages;
  await check('hostile names are text', () =>
    within(browser, nasty.file, {}, async (page) => {
      expect(await inView(page, '.card.large h2'), 'the culprit is still in view');
      await graphReady(page);
      const [images, scripts, frames] = await page.evaluate(() =>
        ['img', 'script', 'iframe'].map((tag) => document.querySelectorAll(tag).length),
      );
      same([images, scripts, frames], [0, 3, 0], 'elements that could load something');
      const body = await page.evaluate(() => document.body.textContent);
      for (const shown of [
        '</script><script>alert(1)</script>',
        '<img src=x onerror=alert(2)>',
        '__proto__',
        'evil\\u202egnp.exe',
        'zero\\u200bwidth\\u0000nul',
        '\\ud800 half a pair',
      ])
        expect(body.includes(shown), shown);
      expect(
        !/[\u202e\u200b]/.test(await page.evaluate(() => document.querySelector('main').textContent)),
        'no invisible characters',
      );
    }),
  );
  await check('the policy keeps out what would get past the escapes', async () => {
    const { page, complaints, close } = await open(browser, nasty.file);
    await page.evaluate(() => {
      const script = document.createElement('script');
      script.textContent = 'globalThis.intruder = true';
      const image = document.createElement('img');
      image.src = 'https://example.invalid/pixel.png';
      document.body.append(script, image);
    });
    await page.waitForTimeout(200);
    same(await page.evaluate(() => globalThis.intruder), undefined, 'the script ran');
    const refused = (directive) => complaints.some((complaint) => complaint.includes(`policy: ${directive}`));
    expect(refused('script-src') && refused('img-src'), complaints.join('; '));
    await close();
  });
  await check('documents that make no sense are said, not a blank page', async () => {
    const file = pages.made.write('senseless', {
      diagnosis: { verdict: 'bug', summary: 'x', model: { file: 'm' } },
      details: null,
    });
    const { page, close } = await open(browser, file, { ready: false });
    expect((await text(page, '.failed')).includes('cannot be shown'), 'a sentence');
    await close();
  });
  await check('hostile: every operator can be selected', () =>
    within(browser, nasty.file, {}, async (page) => {
      for (const operator of nasty.diagnosis.operators) {
        await page.evaluate((index) => (location.hash = `#op-${index}`), operator.index);
        await page.waitForFunction(
          (index) => document.querySelector('#operator h3')?.textContent.startsWith(`#${index} `),
          operator.index,
        );
      }
      const shown = await text(page, '#operator');
      expect(!shown.includes('could not be drawn'), shown);
    }),
  );
  await check('hostile: search finds what it is called', () =>
    within(browser, nasty.file, {}, async (page) => {
      await graphReady(page);
      await page.getByRole('combobox', { name: /Find an operator/ }).fill(HOSTILE[3]);
      await page.keyboard.press('Enter');
      expect((await text(page, '#operator h3')).includes('__proto__'), 'selected');
    }),
  );
}

async function logsOnly(browser, pages) {
  await check('a run that never began: what the log says, and what to do', () =>
    within(browser, pages.failed.file, {}, async (page) => {
      const screen = await text(page, '#verdict');
      for (const part of [pages.failed.diagnosis.log.evidence[0].text, 'log']) expect(screen.includes(part), part);
      expect(screen.includes('No operator was judged'), 'no chart of nothing');
    }),
  );
}

async function recordedNetworks(browser, made) {
  await check('OCR network: below 5 MB, painted within a second, and it works', async () => {
    const report = made.recordedCase('ppocr6_rec', 'f01_beta_dropped');
    const file = made.write('ocr', report);
    expect(statSync(file).size < 5 * MEGABYTE, `${statSync(file).size} bytes`);
    await within(browser, file, {}, async (page) => {
      const painted = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime);
      await page.locator('.chart.tall').scrollIntoViewIfNeeded();
      await page.waitForFunction(() => performance.getEntriesByName('chart').length > 0);
      const [drawn, ready] = await page.evaluate(() =>
        ['chart', 'ready'].map((name) => performance.getEntriesByName(name)[0].startTime),
      );
      console.log(
        `OCR network: ${(statSync(file).size / MEGABYTE).toFixed(2)} MB; painted after ${Math.round(painted)} ms, chart after ${Math.round(drawn)} ms, all sections after ${Math.round(ready)} ms`,
      );
      expect(painted < 1000, `${painted} ms`);
      expect(await inView(page, '.card.large h2'), 'culprit in view');
      await graphReady(page);
      await page.locator('#graph').getByRole('button', { name: 'whole network' }).click();
      same(
        await page.evaluate(() => document.querySelector('#graph .graph')._cyreg.cy.nodes().length),
        shownInChart(report.diagnosis).length,
        'operators',
      );
    });
  });
  await check('recorded run with several faults', async () => {
    const report = made.recordedCase('mini', 's00_stacked');
    await within(browser, made.write('recorded-stacked', report), {}, async (page) => {
      same(
        await page.locator('.card.bug').filter({ hasText: 'Look into it' }).count(),
        report.diagnosis.findings.length,
        'cards',
      );
      expect(await inView(page, '.card.large h2'), 'the first in view');
    });
  });
}

async function hostileModel(browser, made) {
  await check('a model with markup for a name, all the way from the file', async () => {
    const name = `<img src=x>'"&1`;
    const report = made.exampleWithMarkup(name);
    const { index } = report.diagnosis.operators.find((operator) => operator.name === name);
    expect(!readFileSync(report.page, 'utf8').includes('<img'), 'the page has the markup');
    await within(browser, report.page, { hash: `#op-${index}` }, async (page) => {
      expect((await text(page, '#operator')).includes(name), 'the heading has the name as text');
      same(await page.locator('img').count(), 0, 'images');
      expect((await text(page, '.card.large')).includes('bias_dropped'), 'culprit');
    });
  });
}

// --- Screenshots ---

const IMAGES = [
  ['bug-light', 'bug', { colorScheme: 'light' }, null],
  ['bug-dark-operator', 'bug', { colorScheme: 'dark', height: 1000 }, '#operator .tensor'],
  ['clean-dark', 'clean', { colorScheme: 'dark' }, null],
  ['graph-light', 'ocr', { colorScheme: 'light' }, '#graph'],
];

async function writeImages(browser, pages, made, folder) {
  const ocr = { file: made.write('ocr', made.recordedCase('ppocr6_rec', 'f01_beta_dropped')) };
  const wanted = [...IMAGES, ['ocr-light', 'ocr', { colorScheme: 'light' }, '#error']];
  for (const [name, source, settings, place] of wanted) {
    const { page, close } = await open(browser, { ...pages, ocr }[source].file, settings);
    if (place)
      await page
        .locator(place)
        .first()
        .evaluate((element) => element.scrollIntoView());
    await page.waitForTimeout(500);
    await page.screenshot({ path: join(folder, `${name}.png`) });
    await close();
  }
}

// --- Main ---

async function main() {
  prepare();
  await sourceChecks();
  const browser = await startBrowser();
  if (!browser) {
    if (process.env.CI)
      await checks.run('Chromium', () => expect(false, 'there is no Chromium; continuous integration must have one'));
    else
      await checks.run('everything in a browser', () => {
        throw new Skip('there is no Chromium (apt-get install chromium)');
      });
    return;
  }
  const folder = mkdtempSync(join(tmpdir(), 'qnn-debug-pages-'));
  try {
    const made = new Pages(options.binary, options.corpus, folder);
    const [bug, clean] = [made.example('broken'), made.example('clean')];
    const failed = made.fromLog('tests/knowledge/logs/C25_mnn_logcat_14001.log');
    const sources = {
      bug,
      clean,
      failed,
      bare: { diagnosis: bug.diagnosis, details: null },
      several: stacked(bug, [2, 5, 8, 10, 17, 20, 23]),
      unknown: unjudged(clean),
      long: chain(bug, 3000),
      nasty: hostile(bug),
    };
    const pages = Object.fromEntries(
      Object.entries(sources).map(([name, source]) => [name, { ...source, file: made.write(name, source) }]),
    );
    pages.made = made;
    if (options.images) return await writeImages(browser, pages, made, options.images);
    for (const group of [firstScreen, chartAndGraph, operatorPanel, tensorTable, surroundings, hostileNames, logsOnly])
      await group(browser, pages);
    await recordedNetworks(browser, made);
    await hostileModel(browser, made);
  } finally {
    await browser.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

await main();
if (!options.images) checks.finish();
