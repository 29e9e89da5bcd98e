import type { Browser, BrowserContext } from 'playwright-core';
import { computeMedian } from '#domain/base/numbers.js';
import { openBrowser } from '../../test/console/browser.js';
import { send } from '../http/peers/works.js';
import { startService, waitForIdle, waitForJob, type RunningService } from '../http/service.js';

/**
 * Measures the time from the request of an index page in a browser without a cache until the chart of its level is
 * shown, and the requests and bytes until then: on the loopback interface, on it for the first page after a start of
 * the service, over a slow connection, and over it by a browser that has visited the page before. The slow connection
 * is emulated by the browser. The bench fails if a median exceeds its limit.
 */
const TURNS = 5;
const STARTS = 3;
/** Limit of requests until the chart is shown. */
const REQUESTS_MAX = 20;

interface Connection {
  readonly latencyMs: number;
  readonly bytesPerSecond: number;
}

const SLOW: Connection = { latencyMs: 400, bytesPerSecond: 50_000 };

interface FirstChart {
  readonly seconds: number;
  readonly requests: number;
  readonly bytes: number;
}

let service = await startService();
const browser = await openBrowser();
try {
  await createRun(service);
  const starts: FirstChart[] = [];
  for (let start = 0; start < STARTS; start++) {
    service = await service.restart();
    starts.push(await visit(browser, null));
  }
  const [loopback, slow, again]: [FirstChart[], FirstChart[], FirstChart[]] = [[], [], []];
  for (let turn = 0; turn < TURNS; turn++) {
    loopback.push(await visit(browser, null));
    slow.push(await visit(browser, SLOW));
    again.push(await visit(browser, SLOW, { isVisited: true }));
  }
  print('loopback, first page after a start', starts);
  print('loopback', loopback, 1.5);
  print('400 ms and 50 KB/s', slow, 8);
  print('400 ms and 50 KB/s, visited before', again, 8);
} finally {
  await browser.close();
  await service.stop();
}

/** Creates a market and an index of it with a stored run. */
async function createRun(of: RunningService): Promise<void> {
  await send(of, 'POST', '/data/synthetic', {
    store_id: 'market',
    seed: 7,
    assets: 150,
    start: '2015-01-02',
    activate: true,
  });
  await waitForJob(of, 'generate:market');
  const pipeline = { weighting: { type: 'MarketCapWeight', cap: 0.1 } };
  await send(of, 'POST', '/indices', { id: 'CORE', name: 'Core', calendar: 'XNYS', base_date: '2015-01-02', pipeline });
  await send(of, 'POST', '/analytics/CORE/backtest', {});
  await waitForJob(of, 'backtest:CORE');
  await waitForIdle(of);
}

/** @param connection null for the loopback interface */
async function visit(by: Browser, connection: Connection | null, { isVisited = false } = {}): Promise<FirstChart> {
  const context = await by.newContext({ viewport: { width: 1280, height: 820 } });
  try {
    if (isVisited) await openChart(context, null);
    return await openChart(context, connection);
  } finally {
    await context.close();
  }
}

async function openChart(context: BrowserContext, connection: Connection | null): Promise<FirstChart> {
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  await session.send('Network.enable');
  if (connection !== null)
    await session.send('Network.emulateNetworkConditions', {
      offline: false,
      latency: connection.latencyMs,
      downloadThroughput: connection.bytesPerSecond,
      uploadThroughput: connection.bytesPerSecond,
    });
  let requests = 0;
  let bytes = 0;
  const cached = new Set<string>();
  session.on('Network.requestServedFromCache', ({ requestId }) => cached.add(requestId));
  session.on('Network.responseReceived', ({ requestId, response }) => {
    if (!cached.has(requestId) && !response.fromDiskCache && !response.fromPrefetchCache) requests++;
  });
  session.on('Network.dataReceived', ({ encodedDataLength }) => (bytes += encodedDataLength));
  const begin = performance.now();
  await page.goto(`${service.url}/console/indices/CORE`, { waitUntil: 'commit' });
  await page.getByRole('application', { name: /^Level of CORE/ }).waitFor();
  const chart = { seconds: (performance.now() - begin) / 1000, requests, bytes };
  await page.close();
  return chart;
}

function print(what: string, charts: readonly FirstChart[], limit?: number): void {
  const seconds = computeMedian(charts.map((chart) => chart.seconds));
  const requests = Math.max(...charts.map((chart) => chart.requests));
  const bytes = computeMedian(charts.map((chart) => chart.bytes));
  const ratio = limit === undefined ? '' : `, ${(seconds / limit).toFixed(2)} of the limit of ${limit} s`;
  console.log(
    `${what.padEnd(36)} ${seconds.toFixed(2)} s${ratio}; at most ${requests} requests, ${(bytes / 1000).toFixed(0)} kB`,
  );
  if (limit !== undefined && (seconds > limit || requests >= REQUESTS_MAX)) process.exitCode = 1;
}
