import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { z } from 'zod';
import type { BacktestRunResult } from '#contract/analytics/run.js';
import type { PreviewResponse } from '#contract/indices/preview.js';
import type { ConstraintSetCollection, ConstraintTypes, OptimisationRunResult } from '#contract/optimise.js';
import type { JobStatus } from '#jobs/status.js';
import { counterRandom } from '#kernels/random/counter-random.js';
import { runService, type RunningService } from '../running-service.js';

/** Weekdays of 2023 and 2024, XNYS or not: the service keeps the sessions. */
const DAYS = Array.from({ length: 700 }, (_, i) => new Date(Date.UTC(2023, 0, 2 + i)))
  .filter((date) => date.getUTCDay() % 6 !== 0)
  .map((date) => date.toISOString().slice(0, 10));
const NAMES = Array.from({ length: 12 }, (_, i) => `N${String(i).padStart(2, '0')}`);
const SECTORS = ['Energy', 'Health', 'Tech'];

const frame = (columns: string[], data: unknown[][]) => ({ index: data.map((_, i) => i), columns, data });

function marketRows(): unknown[][] {
  const random = counterRandom({ seed: 11, stream: 3 });
  const levels = NAMES.map((_, i) => 20 + 10 * i);
  return DAYS.flatMap((day) => {
    const common = 0.008 * random.normal();
    const sectors = SECTORS.map(() => 0.005 * random.normal());
    return NAMES.map((name, i) => {
      levels[i] =
        Math.round(levels[i]! * (1 + common * (0.6 + 0.07 * i) + sectors[i % 3]! + 0.01 * random.normal()) * 1e4) / 1e4;
      return [name, day, levels[i]!, 1000 * (i + 1), 50_000 + 1000 * i];
    });
  });
}

const parent = {
  id: 'BROAD',
  name: 'Broad',
  calendar: 'XNYS',
  base_date: '2023-03-01',
  rebalance: { frequency: 'quarterly' },
  pipeline: {
    selection: [{ id: 'size', type: 'TopN', params: { field: 'MARKET_CAP', count: 11 } }],
    treatment: { dividends: 'price' },
    weighting: { type: 'MarketCapWeight', params: { free_float: false } },
  },
};

let service: RunningService;
beforeAll(async () => {
  service = await runService();
  const tables = {
    market: frame(['identifier', 'date', 'CLOSE', 'SHARES_OUTSTANDING', 'VOLUME'], marketRows()),
    reference: frame(
      ['identifier', 'SECTOR', 'SCORE'],
      NAMES.map((name, i) => [name, SECTORS[i % 3], i * i]),
    ),
  };
  const imported = await service.ask('POST', '/data/import', {
    store_id: 'small',
    name: 'Small',
    adjustment: 'none',
    activate: true,
    tables,
  });
  expect(imported.status, JSON.stringify(imported.body).slice(0, 800)).toBe(201);
  expect((await service.ask('POST', '/indices', parent)).status).toBe(200);
});
afterAll(() => service.close());

const put = async (id: string, constraints: unknown[]) => {
  const { status, body } = await service.ask('PUT', `/optimise/constraint-sets/${id}`, { id, name: id, constraints });
  expect(status, JSON.stringify(body)).toBe(200);
};

async function optimised(constraints: unknown[], rest: object = {}): Promise<JobStatus> {
  await put('probe', constraints);
  const { status, body } = await service.ask<JobStatus>('POST', '/optimise/runs', {
    index_id: 'BROAD',
    constraint_set_id: 'probe',
    ...rest,
  });
  expect(status, JSON.stringify(body)).toBe(202);
  return service.finished(body.job_id);
}

async function solved(constraints: unknown[], rest: object = {}): Promise<OptimisationRunResult> {
  const job = await optimised(constraints, rest);
  expect(job.error, JSON.stringify(job.error)).toBeNull();
  return job.result as OptimisationRunResult;
}

describe('constraint sets', () => {
  const core = {
    id: 'core',
    name: 'Core',
    constraints: [{ id: 'pos', type: 'PositionBounds', params: { upper: 0.2 } }],
  };

  test('are created once, replaced, read as they were put and forgotten', async () => {
    expect((await service.ask('POST', '/optimise/constraint-sets', core)).status).toBe(200);
    const taken = await service.refusal('POST', '/optimise/constraint-sets', core);
    expect([taken.status, taken.code]).toEqual([422, 'VALIDATION_FAILED']);
    expect(taken.detail).toMatchObject({ findings: [{ code: 'DUPLICATE_ID', path: 'id' }] });
    const read = await service.ask('GET', '/optimise/constraint-sets/core');
    expect((await service.ask('PUT', '/optimise/constraint-sets/core', read.body)).body).toMatchObject({
      constraint_set: read.body as object,
      findings: [],
    });
    expect(
      (await service.ask<ConstraintSetCollection>('GET', '/optimise/constraint-sets')).body.constraint_sets.map(
        ({ id }) => id,
      ),
    ).toContain('core');
    expect((await service.refusal('PUT', '/optimise/constraint-sets/other', core)).code).toBe('ID_MISMATCH');
    expect((await service.ask('DELETE', '/optimise/constraint-sets/core')).status).toBe(204);
    expect((await service.refusal('GET', '/optimise/constraint-sets/core')).code).toBe('CONSTRAINT_SET_NOT_FOUND');
  });

  test('are refused with every row error named, and validated without a save', async () => {
    const bad = {
      id: 'bad',
      name: 'Bad',
      constraints: [
        { type: 'Nope' },
        { id: 'x', type: 'PositionBounds', params: { lower: 0.3, upper: 0.2 } },
        { id: 'x', type: 'LongOnly' },
      ],
    };
    const { body } = await service.ask<{
      valid: boolean;
      findings: { code: string; path: string; row_id: string | null }[];
    }>('POST', '/optimise/constraint-sets/validate', bad);
    expect(body.valid).toBe(false);
    expect(body.findings.map(({ code, path }) => `${code} ${path}`)).toEqual([
      'UNKNOWN_TYPE constraints[0].type',
      'EMPTY_RANGE constraints[1].params.upper',
      'DUPLICATE_ROW_ID constraints[2].id',
    ]);
    expect((await service.refusal('POST', '/optimise/constraint-sets', bad)).detail).toMatchObject({
      findings: body.findings,
    });
  });

  test('the catalogue names the parameters of each class in both forms', async () => {
    const { types, specs } = (await service.ask<ConstraintTypes>('GET', '/optimise/constraint-types')).body;
    expect(Object.keys(types)).toHaveLength(26);
    for (const { type, parameters } of specs) expect(types[type]).toEqual(parameters.map(({ name }) => name));
  });
});

describe('a run', () => {
  test('without rows is the index itself', async () => {
    const result = await solved([]);
    expect(result).toMatchObject({
      converged: true,
      heuristic: false,
      holdings: 11,
      tracking_error: 0,
      turnover: 0,
      gap: 0,
    });
    expect(result.weights.every(({ weight, index_weight }) => weight === index_weight)).toBe(true);
  });

  test('satisfies its rows, adds up and can be read again', async () => {
    const result = await solved([
      { id: 'pos', type: 'PositionBounds', params: { upper: 0.14 } },
      { id: 'sec', type: 'ActiveGroupBounds', params: { field: 'SECTOR', lower: -0.03, upper: 0.03 } },
      { id: 'out', type: 'Exclude', params: { identifiers: ['N11'] } },
      { id: 'turn', type: 'Turnover', params: { limit: 0.3 } },
    ]);
    expect(result.converged).toBe(true);
    expect(Math.max(...result.weights.map(({ weight }) => weight))).toBeLessThanOrEqual(0.14 + 1e-12);
    expect(result.weights.find(({ identifier }) => identifier === 'N11')).toMatchObject({
      weight: 0,
      at_bound: 'lower',
    });
    expect(result.weights.reduce((sum, { risk_contribution }) => sum + risk_contribution, 0)).toBeCloseTo(
      result.tracking_error,
      12,
    );
    expect(result.tracking_error ** 2).toBeCloseTo(result.objective, 14);
    expect(result.turnover).toBeCloseTo(
      result.weights.reduce((sum, { active_weight }) => sum + Math.abs(active_weight), 0) / 2,
      12,
    );
    expect(Math.abs(result.active_sum)).toBeLessThan(1e-12);
    expect(result.binding.map((entry) => entry!['label'])).toEqual(
      expect.arrayContaining(['FullInvestment[default]:eq', 'Exclude[out]:eq:N11']),
    );
    expect(result.frontier!.points).toHaveLength(21);
    const { points, tangency } = result.frontier!;
    points
      .slice(1)
      .forEach((point, i) => expect(point.volatility).toBeGreaterThanOrEqual(points[i]!.volatility - 1e-12));
    if (tangency !== null)
      for (const point of points)
        expect(tangency.sharpe).toBeGreaterThanOrEqual(point.expected_return / point.volatility - 1e-9);
    expect((await service.ask('GET', `/optimise/runs/${result.run_id}`)).body).toEqual(result);
  });

  test('that keeps few names says that it searched, or that it proved its choice', async () => {
    const result = await solved([{ id: 'n', type: 'Cardinality', params: { maximum: 5 } }]);
    expect(result).toMatchObject({ holdings: 5, heuristic: false, gap: 0 });
  });

  test('that cannot hold fails with a conflict whose every relaxation succeeds', async () => {
    const rows = [
      { id: 'pos', type: 'PositionBounds', params: { lower: 0, upper: 0.05 } },
      { id: 'sec', type: 'ActiveGroupBounds', params: { field: 'SECTOR', lower: -0.5, upper: 0.5 } },
    ];
    const job = await optimised(rows);
    expect(job).toMatchObject({ status: 'failed', error: { code: 'INFEASIBLE' } });
    const detail = job.error!.detail as {
      proven: boolean;
      conflict: { id: string; multiplier: number }[];
      relaxations: { index: number; parameter: string; from: number; to: number }[];
    };
    expect(detail.proven).toBe(true);
    expect(detail.conflict).toMatchObject([
      { id: 'pos', label: 'PositionBounds[pos]:upper', multiplier: 0.5 },
      { id: '', index: null, type: 'FullInvestment', label: 'FullInvestment[default]:eq', multiplier: 0.5 },
    ]);
    expect(detail.relaxations).toMatchObject([{ id: 'pos', parameter: 'upper', from: 0.05, to: 0.090909091 }]);
    for (const { index, parameter, to } of detail.relaxations) {
      const relaxed = rows.map((row, i) =>
        i === index ? { ...row, params: { ...row.params, [parameter]: to } } : row,
      );
      expect((await optimised(relaxed)).status).toBe('succeeded');
    }
  });

  /** Sets that cannot hold, each by another class: the conflict stands without any other row, falls with each of its own, and every remedy works. */
  test.each([
    [
      'groups that ask for more than there is',
      [
        { id: 'least', type: 'GroupBounds', params: { field: 'SECTOR', lower: 0.4 } },
        { id: 'turn', type: 'Turnover', params: { limit: 0.5 } },
      ],
    ],
    [
      'a sale that the active share forbids',
      [
        { id: 'share', type: 'ActiveShare', params: { limit: 0.02 } },
        { id: 'out', type: 'Exclude', params: { identifiers: ['N11'] } },
      ],
    ],
    [
      'less volatility than there can be',
      [
        { id: 'vol', type: 'Volatility', params: { limit: 0.01 } },
        { id: 'pos', type: 'PositionBounds', params: { upper: 0.5 } },
      ],
    ],
    [
      'two conflicts at once',
      [
        { id: 'cap', type: 'PositionBounds', params: { upper: 0.05 } },
        { id: 'te', type: 'TrackingError', params: { limit: 0.5 } },
        { id: 'x', type: 'LinearConstraint', params: { coefficients: { N10: 1 }, lower: 0.2, priority: 3 } },
      ],
    ],
    [
      'fewer names than the caps need',
      [
        { id: 'n', type: 'Cardinality', params: { maximum: 3 } },
        { id: 'cap', type: 'PositionBounds', params: { upper: 0.25 } },
      ],
    ],
  ])(
    '%s: every remedy works',
    async (_, rows) => {
      type Remedy = { index: number; parameter: string; to: number };
      const job = await optimised(rows);
      expect(job).toMatchObject({ status: 'failed', error: { code: 'INFEASIBLE' } });
      const detail = job.error!.detail as {
        conflict: { index: number | null; multiplier: number }[];
        relaxations: Remedy[];
        all_rows_relaxation?: Remedy[];
      };
      expect(detail.conflict.reduce((sum, { multiplier }) => sum + multiplier, 0)).toBeCloseTo(1, 12);
      const own = detail.conflict.flatMap(({ index }) => (index === null ? [] : [index]));
      expect(new Set(own).size).toBe(own.length);
      expect((await optimised(own.map((index) => rows[index]))).status).toBe('failed');
      for (const dropped of own)
        expect((await optimised(own.filter((index) => index !== dropped).map((index) => rows[index]))).status).toBe(
          'succeeded',
        );
      const mended = (remedies: Remedy[]) =>
        rows.map((row, i) => ({
          ...row,
          params: {
            ...row.params,
            ...Object.fromEntries(
              remedies.filter(({ index }) => index === i).map(({ parameter, to }) => [parameter, to]),
            ),
          },
        }));
      for (const remedy of detail.relaxations)
        expect((await optimised(mended([remedy]))).status, JSON.stringify(remedy)).toBe('succeeded');
      expect(detail.all_rows_relaxation).toBeDefined();
      expect((await optimised(mended(detail.all_rows_relaxation!))).status).toBe('succeeded');
    },
    60_000,
  );

  test('is refused before it begins where something named is missing', async () => {
    await put('probe', []);
    const start = (body: object) =>
      service.refusal('POST', '/optimise/runs', { index_id: 'BROAD', constraint_set_id: 'probe', ...body });
    expect((await start({ index_id: 'NONE' })).code).toBe('INDEX_NOT_FOUND');
    expect((await start({ constraint_set_id: 'none' })).code).toBe('CONSTRAINT_SET_NOT_FOUND');
    expect((await start({ as_of: '2023-02-27' })).code).toBe('NO_DATA_AT_DATE');
    expect((await start({ start: '2024-02-01', end: '2024-01-01' })).code).toBe('INVALID_RANGE');
    await put('probe', [{ type: 'GroupBounds', params: { field: 'COUNTRY' } }]);
    expect((await start({})).detail).toMatchObject({
      findings: [{ code: 'UNKNOWN_FIELD_NAME', path: 'constraints[0].params.field' }],
    });
  });
});

describe('a derived index', () => {
  const constraints = [
    { id: 'pos', type: 'PositionBounds', params: { upper: 0.15 } },
    { id: 'turn', type: 'Turnover', params: { limit: 0.1, reference: 'previous' } },
  ];
  const loose = [{ id: 'pos', type: 'PositionBounds', params: { upper: 0.2 } }];
  const derive = (id: string, body: object = {}) =>
    service.ask('POST', '/indices/BROAD/optimise', { id, name: id, constraints, ...body });

  test('inherits from its parent, and an id is taken once', async () => {
    const { status, body } = await derive('CORE');
    expect(status, JSON.stringify(body)).toBe(200);
    expect(body['index']).toMatchObject({
      id: 'CORE',
      base_date: '2023-03-01',
      base_value: 100,
      calendar: 'XNYS',
      currency: 'USD',
      rebalance: { frequency: 'quarterly' },
      pipeline: null,
      derivation: { source_index_id: 'BROAD', objective: 'min_tracking_error' },
    });
    const taken = await service.refusal('POST', '/indices/BROAD/optimise', { id: 'CORE', name: 'again' });
    expect([taken.status, taken.code]).toEqual([409, 'INDEX_EXISTS']);
    const own = await service.refusal('POST', '/indices/BROAD/optimise', { id: 'BROAD', name: 'of itself' });
    expect([own.status, own.code, own.detail]).toEqual([409, 'INDEX_EXISTS', { index_id: 'BROAD' }]);
    const bad = await service.refusal('POST', '/indices/BROAD/optimise', {
      id: 'X1',
      name: 'x',
      objective: 'max_sharpe',
      constraints: [{ id: 'b', type: 'Turnover', params: {} }],
    });
    expect(bad.detail).toMatchObject({
      findings: [
        { code: 'MISSING_PARAMETER', path: 'constraints[0].params.limit', row_id: 'b' },
        { code: 'UNKNOWN_OBJECTIVE', path: 'objective', accepted: ['min_tracking_error'] },
      ],
    });
    expect((await service.refusal('POST', '/indices/NONE/optimise', { id: 'X2', name: 'x' })).code).toBe(
      'INDEX_NOT_FOUND',
    );
  });

  test('previews with every row, and a run holds at each rebalance what the preview shows', async () => {
    expect([200, 409]).toContain((await derive('CORE')).status);
    const { body: job } = await service.ask<JobStatus>('POST', '/analytics/CORE/backtest', {});
    const finished = await service.finished(job.job_id);
    expect(finished.error, JSON.stringify(finished.error)).toBeNull();
    const run = finished.result as z.infer<typeof BacktestRunResult>;
    const snapshots =
      (run as unknown as { books: { optimised: { rebalances: { date: string; weights: Record<string, number> }[] } } })
        .books?.optimised?.rebalances ??
      (run as unknown as { rebalances: { date: string; weights: Record<string, number> }[] }).rebalances;
    expect(snapshots.length).toBeGreaterThan(4);
    for (const { date, weights } of snapshots) {
      const day = date.slice(0, 10);
      const { status, body: preview } = await service.ask<PreviewResponse>('POST', '/indices/CORE/preview', {
        as_of: day,
      });
      expect(status, JSON.stringify(preview)).toBe(200);
      expect(preview.steps).toBeNull();
      expect(preview.solve).toMatchObject({
        source_index_id: 'BROAD',
        objective: 'min_tracking_error',
        rebalance_date: day,
      });
      expect(preview.solve!.constraints.map(({ label }) => label.split(':')[0])).toEqual([
        'PositionBounds[pos]',
        'PositionBounds[pos]',
        'Turnover[turn]',
        'FullInvestment[default]',
        'LongOnly[default]',
      ]);
      for (const [name, weight] of Object.entries(weights))
        expect(Math.abs((preview.weights[name] ?? 0) - weight)).toBeLessThan(1e-12);
      expect(preview.total_weight).toBeCloseTo(1, 12);
    }
  });

  test('keeps its weights with a warning where its rows cannot hold, and has no run where they never did', async () => {
    const still = [
      { id: 'still', type: 'Turnover', params: { limit: 0, reference: 'previous' } },
      { id: 'near', type: 'RelativePositionBounds', params: { lower: 0.999, upper: 1.001 } },
    ];
    expect((await derive('STILL', { constraints: still })).status).toBe(200);
    expect(
      (await derive('NEVER', { constraints: [{ id: 'pos', type: 'PositionBounds', params: { upper: 0.05 } }] })).status,
    ).toBe(200);
    const run = async (id: string) =>
      service.finished((await service.ask<JobStatus>('POST', `/analytics/${id}/backtest`, {})).body.job_id);
    const held = ((await run('STILL')).result as { findings: { code: string; severity: string }[] }).findings.filter(
      ({ code }) => code === 'REBALANCE_HELD',
    );
    expect(held.length).toBeGreaterThan(2);
    expect(held.every(({ severity }) => severity === 'warning')).toBe(true);
    const { error } = await run('NEVER');
    expect(error).toMatchObject({
      code: 'INFEASIBLE',
      message:
        'The index NEVER has no composition on its first date 2023-03-01: Row pos and the full-investment budget cannot hold together.',
      detail: {
        proven: true,
        conflict: [
          { id: 'pos', index: 0 },
          { id: '', type: 'FullInvestment' },
        ],
        relaxations: [{ id: 'pos', parameter: 'upper', from: 0.05, to: 0.090909091 }],
      },
    });
  });

  test('whose turnover row has a priority trades as much as the names that left ask for, and says so; without one it is held', async () => {
    // The four that fell most in the quarter: others at nearly every rebalance.
    const moving = {
      ...parent,
      id: 'MOVING',
      pipeline: {
        selection: [{ id: 'fallen', type: 'TopN', params: { field: 'RETURN', count: 4, ascending: true } }],
        treatment: { dividends: 'price' },
        weighting: { type: 'EqualWeight' },
      },
    };
    expect((await service.ask('POST', '/indices', moving)).status).toBe(200);
    const derived = async (id: string, priority: object) => {
      const body = {
        id,
        name: id,
        constraints: [{ id: 'turn', type: 'Turnover', params: { limit: 0.1, reference: 'previous', ...priority } }],
      };
      expect((await service.ask('POST', '/indices/MOVING/optimise', body)).status).toBe(200);
      const { result, error } = await service.finished(
        (await service.ask<JobStatus>('POST', `/analytics/${id}/backtest`, {})).body.job_id,
      );
      expect(error, JSON.stringify(error)).toBeNull();
      type Told = { code: string; severity: string; message: string; path: string; row_id?: string; value?: number };
      return result as unknown as { findings: Told[]; rebalances: { date: string; weights: Record<string, number> }[] };
    };
    const [giving, never, silent] = [
      await derived('GIVING', { priority: 1 }),
      await derived('NEVER-0', { priority: 0 }),
      await derived('NEVER-1', {}),
    ];
    for (const { findings } of [never, silent]) {
      expect(findings.filter(({ code }) => code === 'REBALANCE_HELD').length).toBeGreaterThan(2);
      expect(findings.filter(({ code }) => code === 'CONSTRAINT_RELAXED')).toEqual([]);
    }
    expect(giving.findings.filter(({ code }) => code === 'REBALANCE_HELD')).toEqual([]);
    expect(giving.rebalances.length).toBeGreaterThan(never.rebalances.length);
    let relaxed = 0;
    for (const [i, { date, weights }] of giving.rebalances.entries()) {
      const { body: preview } = await service.ask<PreviewResponse>('POST', '/indices/GIVING/preview', { as_of: date });
      for (const [name, weight] of Object.entries(weights))
        expect(Math.abs((preview.weights[name] ?? 0) - weight)).toBeLessThan(1e-12);
      const turnover = preview.solve!.constraints.find(({ label }) => label === 'Turnover[turn]:upper')!;
      const told = giving.findings.filter(
        ({ code, message }) => code === 'CONSTRAINT_RELAXED' && message.startsWith(`On ${date} `),
      );
      if (i === 0) continue;
      // By hand: those of the last rebalance that the source does not have any more are sold; as much is bought.
      const before = giving.rebalances[i - 1]!.weights;
      const members = new Set(preview.assets.map(({ identifier }) => identifier));
      const gone = Object.entries(before).filter(([name]) => !members.has(name));
      const sold = gone.reduce((sum, [, weight]) => sum + weight, 0);
      const traded =
        [...new Set([...Object.keys(before), ...Object.keys(weights)])].reduce(
          (sum, name) => sum + Math.abs((weights[name] ?? 0) - (before[name] ?? 0)),
          0,
        ) / 2;
      if (sold <= 0.1) {
        expect(told).toEqual([]);
        expect(turnover.relaxed_by).toBeNull();
        expect(traded).toBeLessThanOrEqual(0.1 + 1e-9);
        continue;
      }
      relaxed++;
      expect(told).toHaveLength(1);
      expect(told[0]).toMatchObject({
        severity: 'warning',
        path: 'derivation.constraints[0].params.limit',
        row_id: 'turn',
      });
      expect(told[0]!.value).toBeGreaterThanOrEqual(sold - 1e-10);
      expect(told[0]!.value).toBeLessThan(sold + 5e-9);
      expect(traded).toBeCloseTo(sold, 8);
      expect(turnover).toMatchObject({ binding: true });
      expect(turnover.relaxed_by).toBeCloseTo(sold - 0.1, 8);
      for (const [name] of gone) expect(told[0]!.message).toContain(name);
      expect(preview.findings.map(({ code }) => code)).toContain('CONSTRAINT_RELAXED');
    }
    expect(relaxed).toBeGreaterThan(2);
  }, 60_000);

  test('without a date is previewed at its first rebalance, also where the base date is a holiday', async () => {
    // 2023-05-27 to 29 is the weekend before Memorial Day and the day itself: the first session is the 30th.
    expect((await service.ask('POST', '/indices', { ...parent, id: 'HOLIDAY', base_date: '2023-05-28' })).status).toBe(
      200,
    );
    expect(
      (await service.ask('POST', '/indices/HOLIDAY/optimise', { id: 'HOLIDAY-CORE', name: 'x', constraints: loose }))
        .status,
    ).toBe(200);
    const first = await service.ask<PreviewResponse>('POST', '/indices/HOLIDAY-CORE/preview', {});
    expect(first.status, JSON.stringify(first.body)).toBe(200);
    expect(first.body).toMatchObject({
      as_of: '2023-05-28',
      resolved_date: '2023-05-30',
      solve: { rebalance_date: '2023-05-30' },
    });
    const onIt = await service.ask<PreviewResponse>('POST', '/indices/HOLIDAY-CORE/preview', { as_of: '2023-05-30' });
    expect(first.body.weights).toEqual(onIt.body.weights);
    expect(first.body.total_weight).toBeCloseTo(1, 12);
  });

  test('has no preview before its first rebalance, and says from when there is one', async () => {
    const at = async (asOf: string) => {
      const { status, code, message, detail } = await service.refusal('POST', '/indices/HOLIDAY-CORE/preview', {
        as_of: asOf,
      });
      return { status, code, message, detail };
    };
    expect(await at('2023-05-29')).toEqual({
      status: 422,
      code: 'NO_DATA_AT_DATE',
      detail: { as_of: '2023-05-29' },
      message:
        'The parent HOLIDAY has no rebalance on or before 2023-05-29: from its base date 2023-05-28 to that day the store holds no price of its universe.',
    });
    expect(await at('2023-04-03')).toMatchObject({
      code: 'NO_DATA_AT_DATE',
      message: 'The parent HOLIDAY has no rebalance on or before 2023-04-03: its base date is 2023-05-28.',
    });
    // Prices that begin later than the base date: the first rebalance is theirs.
    expect((await service.ask('POST', '/indices', { ...parent, id: 'EARLY', base_date: '2020-01-01' })).status).toBe(
      200,
    );
    expect(
      (await service.ask('POST', '/indices/EARLY/optimise', { id: 'EARLY-CORE', name: 'x', constraints: loose }))
        .status,
    ).toBe(200);
    const early = await service.ask<PreviewResponse>('POST', '/indices/EARLY-CORE/preview', {});
    expect(early.body).toMatchObject({ as_of: '2020-01-01', solve: { rebalance_date: '2023-01-03' } });
  });

  test('whose rows cannot hold is refused as a preview with its conflict', async () => {
    expect(
      (await derive('TIGHT', { constraints: [{ id: 'pos', type: 'PositionBounds', params: { upper: 0.05 } }] })).status,
    ).toBe(200);
    const refusal = await service.refusal('POST', '/indices/TIGHT/preview', { as_of: '2024-06-03' });
    expect([refusal.status, refusal.code]).toEqual([422, 'INFEASIBLE']);
    expect(refusal.detail).toMatchObject({ proven: true, relaxations: [{ id: 'pos', parameter: 'upper' }] });
    expect((await service.refusal('POST', '/indices/CORE/preview', { as_of: '2022-06-03' })).code).toBe(
      'NO_DATA_AT_DATE',
    );
  });
});
