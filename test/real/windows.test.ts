import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openLiveService, type LiveService } from './live.js';
import { createFrame } from '../table-frame.js';

/**
 * Dates of seven sessions that are computed by hand. The index holds a third each of A, B and GONE and never trades.
 * GONE is delisted at its last price on session 4. LATE begins on session 3, and EARLY ends on session 4. NEVER is not
 * selected.
 */
const DATES = ['2024-01-02', '2024-01-03', '2024-01-04', '2024-01-05', '2024-01-08', '2024-01-09', '2024-01-10'];
const CLOSES: Record<string, readonly (number | null)[]> = {
  A: [100, 110, 110, 110, 110, 121, 121],
  B: [50, 50, 45, 45, 45, 45, 45],
  GONE: [10, 10, 10, 8, 8, null, null],
  LATE: [null, null, null, 20, 21, 22, 23],
  EARLY: [7, 7.7, 7, 7.7, 7, null, null],
  NEVER: [1, 1, 1, 1, 1, 1, 1],
};

interface Attribution {
  readonly contributions: readonly { readonly asset_id: string; readonly contribution: number }[];
  readonly total_return: number;
  readonly periods: number;
  readonly reconciles: boolean;
  readonly cap_drag: number | null;
  readonly cost_drag: number | null;
  readonly start: string;
  readonly end: string;
  readonly requested_start: string | null;
}

interface Result {
  readonly benchmark: {
    readonly observations: number;
    readonly benchmark_return: number;
    readonly start: string;
    readonly end: string;
    readonly beta: number;
  } | null;
}

let service: LiveService;
beforeAll(async () => {
  service = await openLiveService(['--workers', '1']);
  const rows = Object.entries(CLOSES).flatMap(([name, closes]) =>
    closes.flatMap((close, t) => (close === null ? [] : [[name, DATES[t], close]])),
  );
  await service.ok('POST', '/data/import', {
    store_id: 'hand',
    name: 'hand',
    adjustment: 'none',
    activate: true,
    tables: {
      market: createFrame(['identifier', 'date', 'CLOSE'], rows),
      corporate_actions: createFrame(
        ['identifier', 'type', 'value', 'ex_date', 'status'],
        [['GONE', 'DELISTING', 0, '2024-01-09', 'paid']],
      ),
      reference: createFrame(
        ['identifier', 'CURRENCY', 'EXCHANGE', 'SECTOR'],
        Object.keys(CLOSES).map((name) => [name, 'USD', 'XNYS', name === 'A' ? 'S1' : 'S2']),
      ),
    },
  });
  await service.ok('PUT', '/indices/HAND', createIndexBody('HAND', ['A', 'B', 'GONE']));
  await service.ok('PUT', '/indices/CAPPED', createIndexBody('CAPPED', ['A', 'B', 'GONE'], { cap: 0.5 }));
});
afterAll(() => service?.close());

function createIndexBody(id: string, names: readonly string[], weighting: object = {}, base = DATES[0]): object {
  return {
    id,
    name: id,
    calendar: 'XNYS',
    base_date: base,
    rebalance: { frequency: 'none' },
    pipeline: {
      selection: [{ id: 'names', type: 'IncludeList', params: { identifiers: names } }],
      treatment: { dividends: 'price', delisting: 'last_price' },
      weighting: { type: 'EqualWeight', ...weighting },
    },
  };
}

async function run(id: string, request: object = {}): Promise<Result> {
  const { error, result } = await service.job<Result>(`/analytics/${id}/backtest`, request);
  expect(error).toBeNull();
  return result;
}

const readAttribution = (query = '', id = 'HAND') =>
  service.ok<Attribution>('GET', `/analytics/${id}/attribution${query}`);
const readContributions = ({ contributions }: Attribution): Record<string, number> =>
  Object.fromEntries(contributions.map(({ asset_id: id, contribution }) => [id, contribution]));

describe('windows of a run', () => {
  test('of two periods are linked as computed by hand', async () => {
    await run('HAND');
    // The value is 3, then 3.1 on the second day and 3.0 on the third. The return is zero, so its linking factor is 1.
    // The contributions are those of each day times ln(1 + r) / r: A 0.1/3 x ln(1 + 1/30) / (1/30), B -0.1/3.1 x
    // ln(30/31) / (-1/31).
    const view = await readAttribution('?start=2024-01-02&end=2024-01-04');
    const parts = readContributions(view);
    expect(parts['A']).toBeCloseTo(Math.log(31 / 30), 14);
    expect(parts['B']).toBeCloseTo(Math.log(30 / 31), 14);
    expect(parts['GONE']).toBeCloseTo(0, 15);
    expect([view.total_return, view.periods, view.reconciles]).toEqual([expect.closeTo(0, 15), 2, true]);
  });

  test('of one period are the products of weight and return', async () => {
    const view = await readAttribution('?start=2024-01-02&end=2024-01-03');
    expect(view.periods).toBe(1);
    expect(readContributions(view)['A']).toBeCloseTo(0.1 / 3, 15);
    expect(readContributions(view)['B']).toBeCloseTo(0, 15);
  });

  test('that exceed the run are cut to its dates and state the requested ones', async () => {
    const view = await readAttribution('?start=2020-01-01&end=2030-01-01');
    expect(view).toMatchObject({ periods: 6, requested_start: '2020-01-01' });
    // The first date belongs to no period. The first period ends a session later.
    expect([view.start.slice(0, 10), view.end.slice(0, 10)]).toEqual([DATES[1], DATES[6]]);
    expect(view.total_return).toBe((await readAttribution()).total_return);
  });

  test.each([
    [
      'outside the run',
      '?start=2025-01-01&end=2025-06-30',
      'RANGE_TOO_SHORT',
      'start 2025-01-01 to end 2025-06-30 contains 0 dates of the run, which covers 2024-01-02 to 2024-01-10; at least 2 are required.',
    ],
    [
      'of one date',
      '?start=2024-01-10',
      'RANGE_TOO_SHORT',
      'start 2024-01-10 to end 2024-01-10 contains 1 dates of the run, which covers 2024-01-02 to 2024-01-10; at least 2 are required.',
    ],
    [
      'that end before they begin',
      '?start=2024-01-05&end=2024-01-03',
      'INVALID_RANGE',
      'start 2024-01-05 is after end 2024-01-03.',
    ],
  ])('%s are refused', async (_what, query, code, message) => {
    for (const view of ['attribution', 'attribution/groups']) {
      const { status, body } = await service.ask<{ error: { code: string; message: string } }>(
        'GET',
        `/analytics/HAND/${view}${query}`,
      );
      expect([status, body.error.code, body.error.message]).toEqual([422, code, message]);
    }
  });

  test('a security that is delisted within the window has contributed its loss, and the proceeds are in the others', async () => {
    // The value on session 2 is 3, and GONE loses 0.2 on the next session. On session 5 A rises from 1.1 to 1.21. At
    // its close A and B receive the 0.8 of GONE in the proportion 1.21 to 0.9.
    const view = await readAttribution('?start=2024-01-04&end=2024-01-10');
    expect(view.reconciles).toBe(true);
    expect(view.total_return).toBeCloseTo(2.91 / 3 - 1, 14);
    const parts = readContributions(view);
    expect([parts['GONE']! < 0, parts['A']! > 0]).toEqual([true, true]);
    expect(parts['B']).toBe(0);
    const { weights } = await service.ok<{ weights: { identifier: string; weight: number }[] }>(
      'GET',
      '/analytics/HAND/weights',
    );
    expect(weights).toMatchObject([
      { identifier: 'A', weight: expect.closeTo(1.21 / 2.11, 14) },
      { identifier: 'B', weight: expect.closeTo(0.9 / 2.11, 14) },
    ]);
    expect(
      (
        await service.ok<{ checks: { name: string; holds: boolean }[] }>('GET', '/analytics/HAND/reconcile')
      ).checks.filter(({ holds }) => !holds),
    ).toEqual([]);
  });

  test('an asset that was never held is reported as such', async () => {
    for (const name of ['NEVER', 'NOBODY']) {
      const { status, body } = await service.ask<{ error: { code: string } }>('GET', `/analytics/HAND/assets/${name}`);
      expect([status, body.error.code]).toEqual([404, 'ASSET_NOT_IN_RUN']);
    }
  });
});

describe('absent figures of a run are null, not zero', () => {
  test('benchmark, cost and cap are null', async () => {
    expect((await run('HAND')).benchmark).toBeNull();
    expect(await readAttribution()).toMatchObject({ cap_drag: null, cost_drag: null });
    const { active_risk: active, weights } = await service.ok<{
      active_risk: unknown;
      weights: { active_weight: unknown }[];
    }>('GET', '/analytics/HAND/weights');
    expect([active, weights[0]!.active_weight]).toEqual([null, null]);
    const groups = await service.ok<{ benchmark: unknown; active_return: unknown; groups: { allocation: unknown }[] }>(
      'GET',
      '/analytics/HAND/attribution/groups?by=SECTOR',
    );
    expect([groups.benchmark, groups.active_return, groups.groups[0]!.allocation]).toEqual([null, null, null]);
  });

  test('with a cap and with costs they are numbers', async () => {
    await run('CAPPED', { transaction_cost_bps: 20 });
    const { cap_drag: cap, cost_drag: cost } = await readAttribution('', 'CAPPED');
    expect(cap).toBe(0); // none of three equal weights exceeds one half
    expect(cost).toBeLessThan(0);
  });
});

describe('a benchmark', () => {
  test('that begins later is compared from its first date on', async () => {
    const { benchmark } = await run('HAND', { benchmark: { kind: 'identifier', id: 'LATE' } });
    expect(benchmark).toMatchObject({ observations: 4 });
    expect([benchmark!.start.slice(0, 10), benchmark!.end.slice(0, 10)]).toEqual([DATES[3], DATES[6]]);
    expect(benchmark!.benchmark_return).toBeCloseTo(23 / 20 - 1, 14);
  });

  test('that ends first is compared up to its last date', async () => {
    const { benchmark } = await run('HAND', { benchmark: { kind: 'identifier', id: 'EARLY' } });
    expect([benchmark!.start.slice(0, 10), benchmark!.end.slice(0, 10)]).toEqual([DATES[0], DATES[4]]);
    expect(benchmark!.benchmark_return).toBe(0);
  });
});

interface Comparison {
  readonly index_ids: readonly string[];
  readonly entries: readonly {
    readonly index_id: string;
    readonly level: { readonly index: readonly string[]; readonly data: readonly number[] };
    readonly total_return: number;
  }[];
  readonly observations: number;
  readonly start: string;
  readonly end: string;
}

describe('a comparison', () => {
  const compare = (...ids: readonly string[]) =>
    service.ask<
      Comparison & {
        error: {
          code: string;
          message: string;
          detail: { findings?: { code: string; path: string; message: string }[] } | null;
        };
      }
    >('GET', `/analytics/compare?ids=${ids.join(',')}`);
  const requestLater = async (request: object = {}) => {
    await service.ok('PUT', '/indices/LATER', createIndexBody('LATER', ['LATE'], {}, DATES[3]));
    await run('LATER', request);
  };

  test('is rebased to 100 on the first common date', async () => {
    await run('HAND');
    await requestLater();
    const { body } = await compare('LATER', 'HAND');
    expect(body).toMatchObject({ index_ids: ['LATER', 'HAND'], observations: 4, start: DATES[3], end: DATES[6] });
    const [second, first] = body.entries as [Comparison['entries'][0], Comparison['entries'][0]];
    expect([second.level.index, first.level.index]).toEqual([DATES.slice(3), DATES.slice(3)]);
    // HAND is worth 2.8 on session 3: A 1.1, B 0.9, GONE 0.8. A rises by a tenth two sessions later.
    expect(first.level.data).toEqual([100, 100, 291 / 2.8, 291 / 2.8].map((level) => expect.closeTo(level, 11)));
    expect(second.level.data).toEqual([100, 105, 110, 115].map((level) => expect.closeTo(level, 11)));
    expect([first.total_return, second.total_return]).toEqual([
      expect.closeTo(2.91 / 2.8 - 1, 13),
      expect.closeTo(0.15, 13),
    ]);
  });

  test('of one shared date has levels and no return', async () => {
    await run('HAND', { end: DATES[3] });
    await requestLater();
    for (const ids of [
      ['HAND', 'LATER'],
      ['LATER', 'HAND'],
    ]) {
      const { body } = await compare(...ids);
      expect(body).toMatchObject({ observations: 1, start: DATES[3], end: DATES[3] });
      expect(body.entries.map(({ level, total_return: total }) => [level.data, total])).toEqual([
        [[100], 0],
        [[100], 0],
      ]);
    }
  });

  test('of runs without a common date is refused with their dates', async () => {
    await run('HAND', { end: DATES[3] });
    await requestLater({ start: DATES[4] });
    const { status, body } = await compare('HAND', 'LATER');
    expect([status, body.error]).toEqual([
      422,
      {
        code: 'NO_COMMON_DATES',
        message:
          'The 2 runs share no date: HAND is from 2024-01-02 to 2024-01-05, LATER is from 2024-01-08 to 2024-01-10.',
        detail: null,
      },
    ]);
  });

  test('is of 2 to 32 runs, each once', async () => {
    const ids = Array.from({ length: 33 }, (_, i) => `N${i}`);
    for (const id of ids) {
      await service.ok('PUT', `/indices/${id}`, createIndexBody(id, ['A']));
      await run(id);
    }
    const widestView = await compare(...ids.slice(0, 32), 'N0');
    expect([widestView.status, widestView.body.entries.length, widestView.body.index_ids]).toEqual([
      200,
      32,
      ids.slice(0, 32),
    ]);
    for (const [given, said] of [
      [ids, '33'],
      [['N0', 'N0'], '1'],
    ] as const) {
      const { status, body } = await compare(...given);
      expect([status, body.error.detail!.findings![0]]).toMatchObject([
        422,
        { code: 'OUT_OF_RANGE', path: 'ids', message: expect.stringContaining(said) as string },
      ]);
      expect(body.error.detail!.findings![0]!.message).toContain('32');
    }
  });

  test('names an unknown run', async () => {
    expect((await compare('HAND', 'NOWHERE')).body.error).toMatchObject({
      code: 'INDEX_NOT_FOUND',
      message: expect.stringContaining('NOWHERE') as string,
    });
    await service.ok('PUT', '/indices/UNRUN', createIndexBody('UNRUN', ['A']));
    expect((await compare('HAND', 'UNRUN')).body.error).toMatchObject({
      code: 'RUN_NOT_FOUND',
      message: expect.stringContaining('UNRUN') as string,
    });
  });
});
