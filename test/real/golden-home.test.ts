import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { API } from '#contract/api.js';
import { BacktestJobStatus, BacktestResultSummary } from '#contract/analytics/record.js';
import type { ReconciliationView } from '#contract/analytics/analytics.js';
import type { Route } from '#contract/route.js';
import { openLiveService, type LiveService } from './live.js';
import { runHere } from '../cli/process.js';
import { waitUntil } from '../waiting.js';

/** Ids of the home's documents, by kind. */
const IDS = JSON.parse(readFileSync('test/golden/home-0.1.0/ids.json', 'utf8')) as Readonly<
  Record<string, readonly string[]>
>;

/** Values of path parameters that exist in this home. Other parameters get a name that does not exist. */
const PARAMETERS: Readonly<Record<string, readonly string[]>> = {
  index_id: IDS['index']!,
  job_id: IDS['job']!,
  render_id: IDS['render']!,
  model_id: IDS['risk-model']!,
  store_id: IDS['store']!,
  template_id: IDS['template']!,
  watchlist_id: IDS['watchlist']!,
  identifier: ['A', 'NOBODY'],
};

/** Queries that an operation requires. Without them it would refuse the request. */
const QUERIES: Readonly<Record<string, string>> = {
  compareRuns: 'ids=EVEN',
  followJobs: 'seconds=0',
  getFactorRisk: 'benchmark=EVEN',
  getGroupAttribution: 'by=SECTOR',
  getWeights: 'risk=true&benchmark=EVEN',
  getAssetReferences: 'identifiers=A,B',
  getRoll: 'front_expiry=2024-03-15&back_expiry=2024-06-21',
  getTermStructure: 'expiries=2024-03-15,2024-06-21',
};

function listPaths({ path }: Route): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].reduce<string[]>(
    (paths, [place, name]) =>
      paths.flatMap((one) =>
        (PARAMETERS[name!] ?? ['nothing']).map((value) => one.replace(place, encodeURIComponent(value))),
      ),
    [path],
  );
}

let home: string;
let service: LiveService;

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'divisor-golden-'));
  cpSync('test/golden/home-0.1.0', home, { recursive: true });
  await runHere(['migrate', '--home', home]);
  service = await openLiveService(['--home', home, '--workers', '1']);
  await waitUntil(async () => (await service.ask('GET', '/health/ready')).status === 200);
});

afterAll(async () => {
  await service?.close();
  rmSync(home, { recursive: true, force: true });
});

describe('a home of version 0.1.0', () => {
  const routes = Object.entries(API as Readonly<Record<string, Route>>);
  const listPathsBy = (isOne: (method: string) => boolean) => routes.filter(([, { method }]) => isOne(method));

  // `ask` checks every response against the document of the service.
  test.each(listPathsBy((method) => method === 'GET'))(
    'is answered by %s as the service documents it',
    async (operation, route) => {
      for (const path of listPaths(route)) {
        const { status } = await service.ask(
          'GET',
          QUERIES[operation] === undefined ? path : `${path}?${QUERIES[operation]}`,
        );
        expect(status, path).toBeLessThan(500);
      }
    },
  );

  test('has the record of a run with the members of today', async () => {
    const { body } = await service.ask<BacktestResultSummary>('GET', '/analytics/EVEN/record');
    expect(BacktestResultSummary.safeParse(body).error).toBeUndefined();
    expect(body.portfolio.transactions_total).toBe(body.portfolio.transactions.data.length);
    expect([body.extended_from, body.full_run_reason]).toEqual([null, null]);
  });

  test('reconciles the stored parts, and reports those that cannot be compared', async () => {
    const { body } = await service.ask<ReconciliationView>('GET', '/analytics/EVEN/reconcile');
    expect(body.checks.filter(({ holds }) => !holds)).toEqual([]);
    expect(body).toMatchObject({
      reconciles: true,
      not_compared: [expect.stringContaining('no record'), expect.stringContaining('drift')],
    });
  });

  test('has the result of a backtest with the members of today', async () => {
    const { body } = await service.ask('GET', '/jobs/backtest:EVEN');
    expect(BacktestJobStatus.safeParse(body).error).toBeUndefined();
  });

  test.each([
    ...listPathsBy((method) => method === 'POST' || method === 'PUT' || method === 'PATCH'),
    ...listPathsBy((method) => method === 'DELETE'),
  ])('takes %s as the service documents it', async (_operation, route) => {
    for (const path of listPaths(route)) {
      const { status } = await service.ask(route.method, path, route.body?.example);
      expect(status, path).toBeLessThan(500);
    }
  });
});
