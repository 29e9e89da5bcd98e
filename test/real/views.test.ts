import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { liveService, type LiveService } from './live.js';

/** Views over HTTP against test/real/views.py, which starts from prices, actions and reference data and shares no code with this project. */
const hasNumpy = spawnSync('python3', ['-c', 'import numpy']).status === 0;
if (!hasNumpy) console.log('skipped: python3 with numpy is not on this machine');

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
type Views = Readonly<Record<string, Json>>;

/** Rounding of sums over hundreds of sessions, relative to the larger of the number and 1. */
const TOLERANCE = 1e-11;
const SHARED = { calendar: 'XNYS', base_date: '2022-01-03', rebalance: { frequency: 'quarterly', anchor: 'third_friday' } };

/** Members of `expected` that are not in `found`, by path. */
function differences(expected: Json, found: Json | undefined, path = ''): string[] {
  if (Array.isArray(expected)) {
    const items = Array.isArray(found) ? (found as readonly Json[]) : [];
    return items.length === expected.length ? (expected as readonly Json[]).flatMap((item, i) => differences(item, items[i], `${path}[${i}]`)) : [`${path} has ${items.length} items, not ${expected.length}`];
  }
  if (typeof expected === 'object' && expected !== null) {
    const members = (typeof found === 'object' && found !== null ? found : {}) as Record<string, Json>; // no array where an object is wanted
    return Object.entries(expected).flatMap(([key, member]) => differences(member, members[key], path === '' ? key : `${path}.${key}`));
  }
  const isSame = typeof expected === 'number' && typeof found === 'number' ? Math.abs(found - expected) <= TOLERANCE * Math.max(1, Math.abs(expected)) : found === expected;
  return isSame ? [] : [`${path} is ${JSON.stringify(found)}, not ${JSON.stringify(expected)}`];
}

describe.skipIf(!hasNumpy).each(['total', 'price'] as const)('views of a run of a %s return index are those of another implementation', (variant) => {
  let service: LiveService;
  let expected: Views;

  beforeAll(async () => {
    service = await liveService(['--workers', '1']);
    const market = { store_id: 'lively', seed: 11, assets: 60, start: '2022-01-03', end: '2024-06-28', missing_rate: 0.002, delistings_per_year: 0.08, listings_per_year: 0.08, splits_per_year: 0.2 };
    expect((await service.job('/data/synthetic', market)).error).toBeNull();
    const index = (count: number, weighting: object) => ({
      ...SHARED, pipeline: { selection: [{ id: 'largest', type: 'TopN', params: { count } }], treatment: { dividends: variant }, weighting },
    });
    const documents = { OTHER: index(35, { type: 'EqualWeight' }), RUN: index(25, { type: 'MarketCapWeight', cap: 0.06 }), 'RUN-UNCAPPED': index(25, { type: 'MarketCapWeight' }) };
    for (const [id, document] of Object.entries(documents)) {
      await service.ok('PUT', `/indices/${id}`, { id, name: id, ...document });
      expect((await service.job(`/analytics/${id}/backtest`, id === 'RUN' ? { transaction_cost_bps: 15, benchmark: { id: 'OTHER', kind: 'index' } } : {})).error).toBeNull();
    }
    const { stdout } = await promisify(execFile)('python3', ['test/real/views.py', service.url, 'RUN', 'OTHER', variant], { maxBuffer: 2 ** 26 });
    expected = JSON.parse(stdout) as Views;
  }, 120_000);
  afterAll(() => service?.close());

  test.each([
    ['results', /\/jobs\//, 1],
    ['overviews', /overview/, 1],
    ['attributions', /attribution\?/, 3],
    ['attributions by group', /attribution\/groups/, 12],
    ['names', /assets\//, 30],
    ['weights with their risks', /weights/, 3],
    ['factor risks', /factor-risk/, 12],
  ])('%s', async (_what, pattern, least) => {
    const views = Object.entries(expected).filter(([path]) => pattern.test(path));
    expect(views.length).toBeGreaterThanOrEqual(least);
    for (const [path, view] of views) expect(differences(view, await service.ok<Json>('GET', path)), path).toEqual([]);
  });
});
