import { execFile, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openLiveService, type LiveService } from './live.js';
import { serveRagged, listSessions } from './ragged-market.js';
import { IS_SOAK } from '../soak.js';
import { hasSp500, writeSp500Folder } from './sp500-folder.js';

/**
 * True if Python has numpy. Responses of views over HTTP are compared with test/real/views.py. This script starts from
 * prices, actions and reference data and shares no code with this project.
 */
const hasNumpy = spawnSync('python3', ['-c', 'import numpy']).status === 0;
if (!hasNumpy) console.log('skipped: python3 with numpy is not on this machine');
const hasRealNames = hasSp500 && IS_SOAK;
if (!hasRealNames)
  console.log('skipped: an index of 469 real names, where their set is on this machine in npm run soak');

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
type Views = Readonly<Record<string, Json>>;

/** Relative tolerance. Sums over hundreds of sessions have rounding errors. */
const RELATIVE = 1e-11;
/** Absolute tolerance for values that may be 0. */
const ABSOLUTE = 1e-13;
/**
 * Absolute tolerance of rolling deviations. If the index is tracked exactly, they are square roots of the rounding
 * errors of earlier returns.
 */
const ABSOLUTE_ROLLING = 1e-10;

interface Market {
  readonly variant: 'total' | 'price';
  readonly baseDate: string;
  readonly rebalance: object;
  /** Number of securities, counted from the largest capitalisation, or null for all securities. */
  readonly own: number | null;
  readonly other: number;
  /** Minimum number of attributions by group. */
  readonly groups: number;
  /** Minimum number of views of a single security. */
  readonly names: number;
  serve(service: LiveService): Promise<void>;
}

const QUARTERLY = { frequency: 'quarterly', anchor: 'third_friday' };

const livelyMarket: Omit<Market, 'variant'> = {
  baseDate: '2022-01-03',
  rebalance: QUARTERLY,
  own: 20,
  other: 24,
  groups: 12,
  names: 22,
  async serve(service) {
    const market = {
      store_id: 'lively',
      seed: 11,
      assets: 40,
      start: '2022-01-03',
      end: '2023-12-29',
      missing_rate: 0.002,
      delistings_per_year: 0.08,
      listings_per_year: 0.08,
      splits_per_year: 0.2,
    };
    expect((await service.job('/data/synthetic', market)).error).toBeNull();
  },
};

const raggedMarket: Omit<Market, 'variant'> = {
  baseDate: '2021-01-04',
  rebalance: { frequency: 'monthly' },
  own: null,
  other: 14,
  groups: 6,
  names: 35,
  async serve(service) {
    await serveRagged(service, await listSessions(service, '2021-01-04', '2023-03-31'), { seed: 5 });
  },
};

const sp500: Omit<Market, 'variant'> = {
  baseDate: '2011-10-03',
  rebalance: QUARTERLY,
  own: 30,
  other: 14,
  groups: 3,
  names: 27,
  async serve(service) {
    const location = join(service.folder, 'sp500');
    await writeSp500Folder(location);
    await service.ok('POST', '/data/stores', {
      name: 'Real names',
      store_id: 'sp500',
      kind: 'folder',
      location,
      adjustment: 'splits',
    });
    expect((await service.job('/data/stores/sp500/activate')).error).toBeNull();
  },
};

const markets: Readonly<Record<string, Market>> = {
  'a total return index': { ...livelyMarket, variant: 'total' },
  'a price return index': { ...livelyMarket, variant: 'price' },
  'an index of names with holes, without sectors, late, still or alike': { ...raggedMarket, variant: 'total' },
  ...(hasRealNames ? { 'an index of real names': { ...sp500, variant: 'price' } } : {}),
};

let service: LiveService;
/** Function that created the market that is served. Two kinds of index share one market. */
let servedMarket: Market['serve'] | undefined;
beforeAll(async () => {
  if (hasNumpy) service = await openLiveService(['--workers', '1']);
});
afterAll(() => service?.close());

/** Returns by path the members of `expected` that are missing or different in `actual`. */
function listDifferences(expected: Json, actual: Json | undefined, absolute = ABSOLUTE, path = ''): string[] {
  if (Array.isArray(expected)) {
    const items = Array.isArray(actual) ? (actual as readonly Json[]) : [];
    return items.length === expected.length
      ? (expected as readonly Json[]).flatMap((item, i) => listDifferences(item, items[i], absolute, `${path}[${i}]`))
      : [`${path} has ${items.length} items, not ${expected.length}`];
  }
  if (typeof expected === 'object' && expected !== null) {
    // an object is expected, not an array
    const members = (typeof actual === 'object' && actual !== null ? actual : {}) as Record<string, Json>;
    return Object.entries(expected).flatMap(([key, member]) =>
      listDifferences(member, members[key], absolute, path === '' ? key : `${path}.${key}`),
    );
  }
  const isSame =
    typeof expected === 'number' && typeof actual === 'number'
      ? Math.abs(actual - expected) <= RELATIVE * Math.abs(expected) + absolute
      : actual === expected;
  return isSame ? [] : [`${path} is ${JSON.stringify(actual)}, not ${JSON.stringify(expected)}`];
}

/** Sorts contributions by identifier. Contributions that differ only by rounding have no fixed order. */
function sortSecurities(view: Json): Json {
  if (typeof view !== 'object' || view === null || !('contributions' in view) || !Array.isArray(view.contributions))
    return view;
  // Rows of contributions have identifiers.
  const rows = view.contributions as readonly { readonly asset_id: string }[];
  return { ...view, contributions: rows.toSorted((a, b) => (a.asset_id < b.asset_id ? -1 : 1)) as unknown as Json };
}

describe.skipIf(!hasNumpy).each(Object.entries(markets))(
  'views of a run of %s are those of another implementation',
  (_what, { variant, baseDate, rebalance, own, other, groups, names, serve }) => {
    let expected: Views;

    beforeAll(async () => {
      if (servedMarket !== serve) await serve(service);
      servedMarket = serve;
      const createIndexBody = (count: number | null, weighting: object) => ({
        calendar: 'XNYS',
        base_date: baseDate,
        rebalance,
        pipeline: {
          selection: count === null ? [] : [{ id: 'largest', type: 'TopN', params: { count } }],
          treatment: { dividends: variant },
          weighting,
        },
      });
      const documents = {
        OTHER: createIndexBody(other, { type: 'EqualWeight' }),
        RUN: createIndexBody(own, { type: 'MarketCapWeight', cap: 0.06 }),
        'RUN-UNCAPPED': createIndexBody(own, { type: 'MarketCapWeight' }),
      };
      for (const [id, document] of Object.entries(documents)) {
        await service.ok('PUT', `/indices/${id}`, { id, name: id, ...document });
        expect(
          (
            await service.job(
              `/analytics/${id}/backtest`,
              id === 'RUN' ? { transaction_cost_bps: 15, benchmark: { id: 'OTHER', kind: 'index' } } : {},
            )
          ).error,
        ).toBeNull();
      }
      const { stdout } = await promisify(execFile)(
        'python3',
        ['test/real/views.py', service.url, 'RUN', 'OTHER', variant],
        { maxBuffer: 2 ** 26 },
      );
      expected = JSON.parse(stdout) as Views;
    });
    afterAll(async () => {
      for (const id of ['RUN-UNCAPPED', 'RUN', 'OTHER']) await service.ok('DELETE', `/indices/${id}`);
    });

    test.each([
      ['results', /\/jobs\//, 1],
      ['overviews', /overview/, 1],
      ['attributions', /attribution\?/, 3],
      ['attributions by group', /attribution\/groups/, groups],
      ['names', /assets\//, names],
      ['weights with their risks', /weights/, 3],
      ['factor risks', /factor-risk/, 12],
      ['total risks by factor', /total-risk/, 12],
      ['rolling risks', /rolling/, 8],
      ['comparisons', /compare/, 1],
    ])('%s', async (_kind, pattern, countMin) => {
      const views = Object.entries(expected).filter(([path]) => pattern.test(path));
      expect(views.length).toBeGreaterThanOrEqual(countMin);
      for (const [path, view] of views)
        expect(
          listDifferences(
            sortSecurities(view),
            sortSecurities(await service.ok<Json>('GET', path)),
            /rolling/.test(path) ? ABSOLUTE_ROLLING : ABSOLUTE,
          ),
          path,
        ).toEqual([]);
    });
  },
);
