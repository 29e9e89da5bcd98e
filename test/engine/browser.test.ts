import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tableFromArrays, tableToIPC } from 'apache-arrow';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { formatDay } from '#domain/base/time.js';
import { PLUGIN_EXAMPLES } from '#contract/plugins.js';
import { openEngine } from '#engine/main.js';
import { decodeSlice } from '#views/bundle/inputs.js';
import { readTar } from '#views/bundle/tar.js';
import { tryBrowser } from '../console/browser.js';
import { IS_SOAK } from '../soak.js';
import { openLiveService, type LiveService } from '../real/live.js';
import { createExampleMarket } from './example-market.js';
import { addPrice } from './rewritten-bundle.js';

const browserFailure = await tryBrowser();
if ('why' in browserFailure) process.stderr.write(`The engine is not run in a browser: ${browserFailure.why}\n`);

/** Size of the market. The soak has 500 securities over five years and also checks the duration. */
const SIZE = IS_SOAK
  ? { assets: 500, start: '2018-01-01', end: '2022-12-31' }
  : { assets: 40, start: '2021-01-01', end: '2022-06-30' };
const SECONDS_MAX = 10;
if (!IS_SOAK) process.stderr.write('The time of /verify with 500 securities over 5 years is measured with SOAK=1.\n');

const document = {
  id: 'EQ',
  name: 'Equal weight',
  calendar: 'XNYS',
  base_date: '2021-03-01',
  rebalance: { frequency: 'monthly' },
  pipeline: { treatment: { dividends: 'total' }, weighting: { type: 'EqualWeight' } },
} as const;

const pluginDocument = {
  ...document,
  id: 'PLUGGED',
  base_date: '2022-02-01', // the filter reads 252 sessions
  plugins: { HIGH: { plugin: 'near-high', parameters: { minimum: 0.7 } } },
  pipeline: {
    selection: [{ id: 'high', type: 'PluginFilter', params: { plugin: 'HIGH' } }],
    weighting: { type: 'EqualWeight' },
  },
};

const derivedDocument = {
  id: 'LOW',
  name: 'Minimum variance',
  calendar: 'XNYS',
  base_date: '2022-02-01',
  derivation: { source_index_id: 'EQ', objective: { type: 'min_variance' }, lookback_sessions: 120 },
} as const;

/** Estimates a risk model and runs indices, in Node or in the page. Returns the hashes of the market and the runs. */
async function computeHashes(
  open: typeof openEngine,
  market: ReturnType<typeof createExampleMarket>,
  { documents, plugins }: { readonly documents: readonly object[]; readonly plugins: typeof PLUGIN_EXAMPLES },
): Promise<string[]> {
  const { CLOSE, VOLUME } = market.arrays.fields;
  const prices = { ...market.arrays, fields: { CLOSE: Float64Array.from(CLOSE), VOLUME: Float64Array.from(VOLUME) } };
  const input = { prices, reference: market.reference, corporate_actions: market.actions };
  const engine = await open({ market: input, plugins } as Parameters<typeof open>[0]);
  const { covariance } = engine.riskModel('own', { identifiers: ['N01', 'N02', 'N03'] });
  const hashes = [engine.content_hash, [...covariance].join()];
  for (const indexDocument of documents) {
    const { index } = engine.define(indexDocument as Parameters<typeof engine.define>[0]);
    hashes.push(engine.backtest(index.id).hash);
  }
  return hashes;
}

describe.skipIf('why' in browserFailure)('in Chromium', () => {
  let page: Page;
  let server: Server;
  beforeAll(async () => {
    if ('browser' in browserFailure) page = await browserFailure.browser.newPage();
    server = createServer(({ url }, answer) => {
      if (url === '/isolated')
        answer
          .setHeader('cross-origin-opener-policy', 'same-origin')
          .setHeader('cross-origin-embedder-policy', 'require-corp');
      if (url === '/' || url === '/isolated')
        return answer.setHeader('content-type', 'text/html').end('<!doctype html><title>Engine</title>');
      answer.setHeader('content-type', 'text/javascript').end(readFileSync(`dist/engine${url!}`));
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
  });
  afterAll(async () => {
    if ('browser' in browserFailure) await browserFailure.browser.close();
    server.close();
  });

  test.each([
    ['/', false],
    ['/isolated', true],
  ])('the complete results on the page %s have the hashes that they have in Node', async (path, isIsolated) => {
    const market = createExampleMarket({ names: 25, days: 420, seed: 3 });
    const request = { documents: [document, derivedDocument, pluginDocument], plugins: PLUGIN_EXAMPLES };
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`);
    expect(await page.evaluate("typeof SharedArrayBuffer !== 'undefined'")).toBe(isIsolated);
    const { CLOSE, VOLUME } = market.arrays.fields;
    const asLists = { ...market.arrays, fields: { CLOSE: [...CLOSE], VOLUME: [...VOLUME] } };
    const sentText = JSON.stringify({ ...market, arrays: asLists }).replaceAll('null', '"NaN"');
    const program = `(async () => {
      const { openEngine } = await import('/engine.js');
      const market = JSON.parse(${JSON.stringify(sentText)});
      return (${computeHashes.toString()})(openEngine, market, ${JSON.stringify(request)});
    })()`;
    expect(await page.evaluate(program)).toEqual(await computeHashes(openEngine, market, request));
  });

  test('prices as Arrow bytes in shared memory are read in a cross-origin-isolated page', async () => {
    const table = tableFromArrays({
      date: ['2024-01-02', '2024-01-02', '2024-01-03', '2024-01-03'],
      identifier: ['Å1', 'B2', 'Å1', 'B2'],
      CLOSE: Float64Array.of(10, 20, 11, 21),
    });
    const bytes = [...tableToIPC(table, 'stream')];
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/isolated`);
    const program = `(async () => {
      const { openEngine } = await import('/engine.js');
      const prices = new Uint8Array(new SharedArrayBuffer(${bytes.length}));
      prices.set(${JSON.stringify(bytes)});
      return (await openEngine({ market: { prices } })).content_hash;
    })()`;
    const inNode = await openEngine({ market: { prices: Uint8Array.from(bytes) } });
    expect(await page.evaluate(program)).toBe(inNode.content_hash);
  });

  describe('/verify', () => {
    let service: LiveService;
    let folder: string;
    let bundle: Uint8Array;
    const requests: string[] = [];
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'divisor-verify-'));
      service = await openLiveService();
      await service.job('/data/synthetic', { store_id: 'm', seed: 4, ...SIZE });
      const base_date = `${SIZE.start.slice(0, 4)}-02-01`;
      await service.ok('PUT', '/indices/EQ', { ...document, base_date });
      await service.job('/analytics/EQ/backtest', {});
      await service.ok('POST', '/analytics/EQ/publish', {});
      bundle = new Uint8Array(await (await fetch(`${service.url}/analytics/EQ/published/bundle`)).arrayBuffer());
      await writeFile(join(folder, 'eq.tar'), bundle);
      if ('browser' in browserFailure) page = await browserFailure.browser.newPage();
      page.context().on('request', (request) => requests.push(request.url()));
    });
    afterAll(async () => {
      await service.close();
      await rm(folder, { recursive: true, force: true });
    });

    const awaitTitle = async (state: string): Promise<string> => {
      await page.waitForSelector(`#result[data-state="${state}"]`, { timeout: 120_000 });
      return (await page.textContent('#result h2'))!;
    };

    test('a bundle from a file is recomputed without any request except that of the worker', async () => {
      await page.goto(`${service.url}/verify`);
      requests.splice(0);
      await page.setInputFiles('#file', join(folder, 'eq.tar'));
      const { entries } = await service.ok<{ readonly entries: readonly unknown[] }>('GET', '/analytics/EQ/published');
      expect(await awaitTitle('sound')).toBe(`EQ: ${entries.length} closes recomputed bit for bit`);
      expect(await page.textContent('#result dl')).toContain('Signaturesverified');
      expect(requests.filter((url) => !url.endsWith('/verify/worker.js'))).toEqual([]);
      const seconds = Number(/Time([\d.]+) s/.exec((await page.textContent('#result dl'))!)![1]);
      if (IS_SOAK) expect(seconds).toBeLessThanOrEqual(SECONDS_MAX);
    });

    test('the closes of a plug-in are recomputed in the sandbox of the tab', async () => {
      await service.ok('PUT', '/plugins/near-high', PLUGIN_EXAMPLES['near-high']);
      await service.ok('PUT', '/indices/PLUGGED', pluginDocument);
      await service.job('/analytics/PLUGGED/backtest', {});
      await service.ok('POST', '/analytics/PLUGGED/publish', {});
      const answer = await fetch(`${service.url}/analytics/PLUGGED/published/bundle`);
      await writeFile(join(folder, 'plugged.tar'), new Uint8Array(await answer.arrayBuffer()));
      await page.goto(`${service.url}/verify`);
      await page.setInputFiles('#file', join(folder, 'plugged.tar'));
      expect(await awaitTitle('sound')).toContain('closes recomputed bit for bit');
    });

    test('the page and its worker cannot connect to any other server', async () => {
      const [pageHashes, workerHashes] = await Promise.all(
        ['/verify', '/verify/worker.js'].map(async (path) =>
          (await fetch(service.url + path)).headers.get('content-security-policy')!,
        ),
      );
      expect([pageHashes, workerHashes].map((policy) => /connect-src [^;]*/.exec(policy!)![0])).toEqual([
        "connect-src 'self'",
        "connect-src 'none'",
      ]);
      const stoppedRun = await page.evaluate(
        `fetch('http://127.0.0.1:${(server.address() as AddressInfo).port}/').then(() => 'sent', () => 'stopped')`,
      );
      expect(stoppedRun).toBe('stopped');
    });

    test('a changed price is reported by date and security', async () => {
      const files = readTar(bundle);
      const market = decodeSlice({
        'market.arrow': files.get('market.arrow')!.slice(),
        'tables.json': files.get('tables.json')!,
      });
      const [identifier, day] = [market.identifiers[3]!, market.dates[70]!];
      await writeFile(join(folder, 'changed.tar'), addPrice(bundle, { identifier, day, by: 1 + 1e-9 }));
      await page.setInputFiles('#file', join(folder, 'changed.tar'));
      expect(await awaitTitle('faulty')).toContain('fault');
      expect(await page.textContent('#result li')).toBe(
        `An input of ${identifier} on ${formatDay(day)} is not the one that was signed.`,
      );
    });

    test('a bundle of the service is loaded by the id of its index, and a missing one is reported', async () => {
      await page.fill('#index', 'EQ');
      await page.click('#from-service button');
      expect(await awaitTitle('sound')).toContain('recomputed bit for bit');
      await page.fill('#index', 'ABSENT');
      await page.click('#from-service button');
      expect(await awaitTitle('faulty')).toBe('The service has no such bundle');
    });
  });
});

test('the engine transfers at most 1.5 MB', () => {
  const { bytes } = JSON.parse(readFileSync('dist/engine/built.json', 'utf8')) as { readonly bytes: number };
  expect(bytes).toBeLessThan(1.5e6);
});
