import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { tryBrowser } from '../console/browser.js';
import { openLiveService, type LiveService } from '../real/live.js';
import { addPrice } from './rewritten-bundle.js';
import { decodeSlice } from '#views/bundle/inputs.js';
import { readTar } from '#views/bundle/tar.js';
import { createEqualIndex } from '../equal-index.js';

const browserFailure = await tryBrowser();
if ('why' in browserFailure) process.stderr.write(`The page is not opened in a browser: ${browserFailure.why}\n`);

const FIRST_LOAD_MAX = 2e6;
/** Time for a result: tests may share the machine with others. */
const SOON = { timeout: 60_000 };
const TYPES: Readonly<Record<string, string>> = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' };

interface Examples {
  readonly market: { readonly start: string };
  readonly indices: readonly { readonly id: string }[];
  readonly built: { readonly hashes: Readonly<Record<string, string>> };
}
const examples = JSON.parse(readFileSync('dist/page/examples.json', 'utf8')) as Examples;

/** Serves the folder of the page, below /isolated with the headers of a cross-origin-isolated page. */
function serveFolder(): Server {
  return createServer(({ url = '/' }, answer) => {
    const isIsolated = url.startsWith('/isolated/');
    const name = url.slice(isIsolated ? '/isolated/'.length : 1) || 'index.html';
    const file = join('dist/page', name);
    if (isIsolated)
      answer
        .setHeader('cross-origin-opener-policy', 'same-origin')
        .setHeader('cross-origin-embedder-policy', 'require-corp');
    if (!existsSync(file)) return answer.writeHead(404).end();
    return answer.setHeader('content-type', TYPES[extname(name)] ?? 'application/json').end(readFileSync(file));
  }).listen(0, '127.0.0.1');
}

describe.skipIf('why' in browserFailure)('the page that needs no installation', () => {
  let page: Page;
  let server: Server;
  let origin: string;
  let requests: string[] = [];
  const faults: string[] = [];

  beforeAll(async () => {
    server = serveFolder();
    await new Promise((resolve) => server.once('listening', resolve));
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    if ('browser' in browserFailure) page = await browserFailure.browser.newPage();
    page.context().on('request', (request) => requests.push(request.url()));
    page.on('pageerror', (failure) => faults.push(failure.message));
  });
  afterAll(async () => {
    if ('browser' in browserFailure) await browserFailure.browser.close();
    server.close();
    expect(faults).toEqual([]);
  });

  const text = async (selector: string): Promise<string> => (await page.textContent(selector)) ?? '';
  const openPage = async (path: string): Promise<void> => {
    requests = [];
    await page.goto(origin + path);
    await page.waitForSelector('#reasons dl', { timeout: 120_000 });
  };
  const changeDocument = async (change: (document: string) => string): Promise<void> =>
    page.fill('#document', change(await page.inputValue('#document')));

  describe.each([
    ['/', false],
    ['/isolated/', true],
  ])('%s', (path, isIsolated) => {
    test('the first result has the bits that it has in Node', async () => {
      await openPage(path);
      expect(await page.evaluate("typeof SharedArrayBuffer !== 'undefined'")).toBe(isIsolated);
      expect(await text('#hash')).toContain(examples.built.hashes['CAPPED-25']);
      expect(await text('#hash')).toContain('Bit for bit equal to the result of Node');
    });

    test('a bundle of a service is computed again, and a changed price in it is a fault', async () => {
      const folder = await mkdtemp(join(tmpdir(), 'divisor-page-'));
      let service: LiveService | undefined;
      try {
        service = await openLiveService();
        await service.job('/data/synthetic', {
          store_id: 'm',
          seed: 4,
          assets: 10,
          start: '2021-01-01',
          end: '2021-06-30',
        });
        await service.ok(
          'PUT',
          '/indices/EQ',
          createEqualIndex('EQ', { name: 'Equal weight', base_date: '2021-03-01' }),
        );
        await service.job('/analytics/EQ/backtest', {});
        await service.ok('POST', '/analytics/EQ/publish', {});
        const answer = await fetch(`${service.url}/analytics/EQ/published/bundle`);
        const bundle = new Uint8Array(await answer.arrayBuffer());
        await writeFile(join(folder, 'eq.tar'), bundle);
        await page.setInputFiles('#bundle', join(folder, 'eq.tar'));
        await page.waitForSelector('#verdict .right', { timeout: 60_000 });
        expect(await text('#verdict')).toMatch(/^EQ: \d+ closes are equal bit for bit/);
        const files = readTar(bundle);
        const market = decodeSlice({
          'market.arrow': files.get('market.arrow')!.slice(),
          'tables.json': files.get('tables.json')!,
        });
        const cell = { identifier: market.identifiers[3]!, day: market.dates[20]!, by: 1 + 1e-9 };
        await writeFile(join(folder, 'changed.tar'), addPrice(bundle, cell));
        await page.setInputFiles('#bundle', join(folder, 'changed.tar'));
        await page.waitForSelector('#verdict .wrong', { timeout: 60_000 });
        expect(await text('#verdict')).toContain(`An input of ${cell.identifier}`);
      } finally {
        await service?.close();
        await rm(folder, { recursive: true, force: true });
      }
    });
  });

  test('the first load is at most 2 MB compressed, and requests only files of the folder', async () => {
    await openPage('/');
    const names = requests.map((url) => url.slice(origin.length + 1) || 'index.html');
    expect(names).toContain('worker.js');
    const sizes = names.map((name) => brotliCompressSync(readFileSync(join('dist/page', name))).length);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(FIRST_LOAD_MAX);
  });

  test('chart, composition and explanation show the index', async () => {
    const points = await page.getAttribute('#chart polyline', 'points');
    expect(points!.split(' ')).toHaveLength(1258); // sessions of the exchange from 2019-01-02 to 2023-12-29
    expect(await page.locator('#weights td:first-child').count()).toBe(25);
    expect(await text('#steps')).toMatch(/universe \d+ → largest 25$/);
    const name = await text('#weights tr:nth-child(2) button');
    await page.click('#weights tr:nth-child(2) button');
    await expect.poll(() => text('#reasons p'), SOON).toBe(`${name} is in the index.`);
    expect(await text('#reasons dl')).toContain('MARKET_CAP, largest first, rank at most 25');
    const excluded = await page.locator('#security option').last().getAttribute('value');
    await page.selectOption('#security', excluded);
    await expect.poll(() => text('#reasons p'), SOON).toMatch(new RegExp(`^${excluded} is not in the index`));
    expect(await text('#reasons p')).toContain('the rule largest excluded it');
  });

  test('a finding states its field and selects it in the document, and a document with errors is not computed', async () => {
    await changeDocument((document) => document.replace('"count": 25', '"count": -1'));
    await page.waitForSelector('#findings [data-severity="error"]');
    expect(await text('#findings')).toContain('pipeline.selection[0].params.count');
    expect(await page.isDisabled('#run')).toBe(true);
    await page.click('#findings button');
    const selected =
      'document.activeElement.value.slice(document.activeElement.selectionStart, document.activeElement.selectionEnd)';
    expect(await page.evaluate(selected)).toBe('"count"');
    await changeDocument((document) => `${document.slice(0, 40)}}`);
    await expect.poll(() => text('#findings'), SOON).toMatch(/^Line /);
  });

  test('a changed definition has another level and another hash, and is not compared with the example', async () => {
    await page.selectOption('#example', 'EQUAL');
    await expect.poll(() => text('#state'), SOON).toMatch(/^EQUAL/);
    const before = await text('#hash code');
    expect(before).toBe(examples.built.hashes['EQUAL']);
    await changeDocument((document) => document.replace('0.15', '0.3'));
    await page.waitForSelector('#run:not([disabled])');
    await page.click('#run');
    await expect.poll(() => text('#hash code'), SOON).not.toBe(before);
    expect(await text('#hash')).not.toContain('Node');
  });
});

test('the page has the market of the same request to a service', async () => {
  const { openPage } = await import('#engine/page.js');
  const service = await openLiveService();
  try {
    const market = { seed: 3, assets: 12, start: '2020-01-01', end: '2021-12-31', missing_rate: 0.01 };
    await service.job('/data/synthetic', { store_id: 'm', ...market });
    const store = await service.ok<{ readonly content_hash: string }>('GET', '/data/stores/m');
    expect((await openPage({ market, indices: [] })).market.content_hash).toBe(store.content_hash);
  } finally {
    await service.close();
  }
});
