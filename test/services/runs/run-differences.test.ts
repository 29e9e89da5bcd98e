import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunsDifference, StoredRuns } from '#contract/runs.js';
import { findLevelsDifference, roundToCommonGrid } from '#domain/backtest/run-file/compare.js';
import { seeded } from '../../seeded.js';
import { runService, type RunningService } from '../running-service.js';
import { createFrame } from '../../table-frame.js';

/** Service with an index whose runs differ by one cause after another. Each test depends on the previous test. */
let service: RunningService;

const NAMES = ['A', 'B', 'C', 'D'];
const DAYS = Array.from({ length: 120 }, (_, i) => new Date(Date.UTC(2023, 0, 3) + i * 86_400_000))
  .filter((day) => day.getUTCDay() % 6 !== 0)
  .map((day) => day.toISOString().slice(0, 10));

function createMarket(corrections: Readonly<Record<string, number>> = {}): object {
  const random = seeded(4);
  const data = DAYS.flatMap((day) =>
    NAMES.map((name, n) => {
      const close = 50 + 20 * n + 10 * random();
      return [name, day, corrections[`${day} ${name}`] ?? close];
    }),
  );
  return { market: createFrame(['identifier', 'date', 'CLOSE'], data) };
}

const importStore = (tables: object) =>
  service.ask('POST', '/data/import', { store_id: 'm', name: 'M', tables, on_exists: 'replace', activate: true });

const put = (type: string, more: object = {}) =>
  service.ask('PUT', '/indices/WHY', {
    ...more,
    id: 'WHY',
    name: 'Why',
    calendar: 'XNYS',
    base_date: '2023-01-05',
    rebalance: { frequency: 'monthly' },
    pipeline: { weighting: { type } },
  });

async function runToResult<T>(path: string, body: object): Promise<T> {
  const { body: started } = await service.ask<{ readonly job_id: string }>('POST', path, body);
  const job = await service.waitForJob(started.job_id);
  expect(job).toMatchObject({ status: 'succeeded', error: null });
  return job.result as T;
}

interface RunTotal {
  readonly id: string;
  readonly total: number;
}

/** Runs a backtest and waits for its end. */
async function runToEnd(request: object = {}): Promise<RunTotal> {
  await runToResult('/analytics/WHY/backtest', request);
  const { body } = await service.ask<StoredRuns>('GET', '/analytics/WHY/runs?limit=1');
  return { id: body.runs[0]!.run_id, total: body.runs[0]!.metrics!.total_return };
}

const createDifference = (from: Pick<RunTotal, 'id'>, to: Pick<RunTotal, 'id'>): Promise<RunsDifference> =>
  runToResult<RunsDifference>('/analytics/WHY/runs/diff', { from: from.id, to: to.id });

const selectEffects = ({ effects }: RunsDifference): Record<string, number> =>
  Object.fromEntries(effects!.map(({ cause, total_return: value }) => [cause, value]));

const CORRECTED_DATE = DAYS[60]!;
const COSTS = { transaction_cost_bps: 50 };

beforeAll(async () => {
  service = await runService();
  await importStore(createMarket());
  await put('EqualWeight');
});
afterAll(() => service.close());

test('each cause has the effect of exchanging it, as backtests with exchanged causes show; the effects sum exactly', async () => {
  const first = await runToEnd();
  await put('PriceWeight');
  const definitionRun = await runToEnd();
  const response = await runToEnd(COSTS);
  await importStore(createMarket({ [`${CORRECTED_DATE} C`]: 500, [`${DAYS[80]!} A`]: 40 }));
  const last = await runToEnd(COSTS);
  const result = await createDifference(first, last);
  const effects = selectEffects(result);
  expect(effects['definition']).toBeCloseTo(definitionRun.total - first.total, 12);
  expect(effects['request']).toBeCloseTo(response.total - definitionRun.total, 12);
  expect(effects['data']).toBeCloseTo(last.total - response.total, 12);
  expect(effects['engine']).toBe(0);
  expect(result.effects!.reduce((sum, { total_return: value }) => sum + value, 0)).toBe(result.total_return);
  expect(result.total_return).toBeCloseTo(last.total - first.total, 12);
  expect(result.definition).toEqual([
    { path: '/pipeline/weighting/type', op: 'replace', before: 'EqualWeight', after: 'PriceWeight' },
  ]);
  expect(result.request).toEqual([{ path: '/transaction_cost_bps', op: 'replace', before: 0, after: 50 }]);
  expect(result.data.cells).toBe(2);
  expect(result.data.first.map(({ identifier, date, after }) => [identifier, date, after])).toEqual([
    ['C', CORRECTED_DATE, 500],
    ['A', DAYS[80], 40],
  ]);
});

test('a corrected price changes levels from its day on, and nothing before', async () => {
  const before = await runToEnd({ as_known_on: 1 });
  const after = await runToEnd();
  const result = await createDifference(before, after);
  expect(result).toMatchObject({ same_levels: false, first_difference: CORRECTED_DATE, definition: [], request: [] });
  expect(result.data.rows).toEqual({ rows_added: 0, rows_changed: result.data.first.length, rows_removed: 0 });
  expect(selectEffects(result)).toEqual({ definition: 0, request: 0, data: result.total_return, engine: 0 });
  expect(result.largest!.date >= CORRECTED_DATE).toBe(true);
});

test('equal runs differ in nothing', async () => {
  const [one, other] = [await runToEnd(), await runToEnd()];
  expect(await createDifference(one, other)).toMatchObject({
    same_levels: true,
    first_difference: null,
    largest: null,
    data: { cells: 0, first: [], rows: { rows_added: 0, rows_changed: 0, rows_removed: 0 } },
    total_return: 0,
  });
});

describe('runs of two data stores', () => {
  /** Returns a market of three securities that the first store does not have. */
  const createOtherMarket = (): object => {
    const random = seeded(5);
    const data = DAYS.flatMap((day) => ['X', 'Y', 'Z'].map((name, n) => [name, day, 30 + 40 * n + 10 * random()]));
    return { market: createFrame(['identifier', 'date', 'CLOSE'], data) };
  };
  const serve = (store_id: string, tables: object) =>
    service.ask('POST', '/data/import', { store_id, name: store_id, tables, on_exists: 'replace', activate: true });
  const putList = (identifiers: readonly string[], type: string) =>
    put(type, { universe: { kind: 'list', identifiers } });
  let onM: RunTotal, onNPrice: RunTotal, onNEqual: RunTotal;

  beforeAll(async () => {
    await put('EqualWeight');
    onM = await runToEnd();
    await serve('n', createOtherMarket());
    onNEqual = await runToEnd();
    await put('PriceWeight');
    onNPrice = await runToEnd();
  });

  test('are compared: the stores are named, values are not compared, and the whole difference is attributed to the data', async () => {
    const result = await createDifference(onM, onNEqual); // both levels are 100 on the base date, the third day
    const reason = 'The runs were made on two data stores.';
    const data = { cells: null, first: [], rows: null, appended: null, stores: { from: 'm', to: 'n' }, reason };
    expect(result).toMatchObject({ same_levels: false, first_difference: DAYS[3], definition: [], data });
    expect(result.total_return).toBeCloseTo(onNEqual.total - onM.total, 12);
    expect(selectEffects(result)).toEqual({ definition: 0, request: 0, data: result.total_return, engine: 0 });
    expect(result.effects_reason).toBeNull();
  });

  test('have effects if the data of the earlier run is served, otherwise none, with the reason', async () => {
    const servedDifference = await createDifference(onNPrice, onM);
    expect(selectEffects(servedDifference)['definition']).toBeCloseTo(onNEqual.total - onNPrice.total, 12);
    expect(selectEffects(servedDifference)['data']).toBeCloseTo(onM.total - onNEqual.total, 12);
    const unservedDifference = await createDifference(onM, onNPrice);
    expect(unservedDifference).toMatchObject({ effects: null, definition: [{ path: '/pipeline/weighting/type' }] });
    expect(unservedDifference.effects_reason).toBe(
      `A replay needs the data of the run ${onM.id}, made on the store m; n is served.`,
    );
    expect(unservedDifference.total_return).toBeCloseTo(onNPrice.total - onM.total, 12);
  });

  test('have none if the definition of one names securities that the data of the other lacks', async () => {
    await importStore(createMarket());
    await putList(['A', 'B'], 'EqualWeight');
    const namesRun = await runToEnd();
    await serve('n', createOtherMarket());
    const result = await createDifference(onNEqual, namesRun);
    expect(result.effects).toBeNull();
    expect(result.effects_reason).toMatch(/^A replay was refused: /);
    expect(result.data.stores).toEqual({ from: 'n', to: 'm' });
  });

  test('of one store are compared on it, although another is served', async () => {
    expect(await createDifference(onM, onM)).toMatchObject({
      same_levels: true,
      data: { stores: { from: 'm', to: 'm' }, cells: 0 },
    });
  });
});

test('an unknown run is refused before anything runs', async () => {
  const ids = { from: '0'.repeat(16), to: '1'.repeat(16) };
  expect((await service.refusal('POST', '/analytics/WHY/runs/diff', ids)).code).toBe('RUN_NOT_FOUND');
  expect((await service.refusal('POST', '/analytics/NONE/runs/diff', {})).code).toBe('INDEX_NOT_FOUND');
});

test('differences on the common grid sum exactly in any order, and lose at most a part in 10^14', () => {
  const random = seeded(9);
  for (let i = 0; i < 300; i++) {
    const values = Array.from({ length: 6 }, () => (random() - 0.5) * 10 ** Math.floor(6 * random() - 3));
    const placedValues = roundToCommonGrid(values);
    const steps = placedValues.slice(1).map((value, k) => value - placedValues[k]!);
    for (const order of [steps, steps.toReversed()])
      expect(order.reduce((sum, step) => sum + step, 0)).toBe(placedValues.at(-1)! - placedValues[0]!);
    const largest = Math.max(...values.map(Math.abs));
    placedValues.forEach((value, k) => expect(Math.abs(value - values[k]!)).toBeLessThanOrEqual(1e-14 * largest));
  }
});

test('levels differ from the first date that only one run has', () => {
  const createLevels = (days: number[], level: number[]) => ({
    days: Int32Array.from(days),
    level: Float64Array.from(level),
  });
  const wholeLevels = createLevels([0, 1, 2], [100, 101, 102]);
  expect(findLevelsDifference(wholeLevels, wholeLevels)).toEqual({ firstDifference: null, largest: null });
  expect(findLevelsDifference(wholeLevels, createLevels([0, 2], [100, 104]))).toEqual({
    firstDifference: '1970-01-02',
    largest: { date: '1970-01-03', from: 102, to: 104 },
  });
});
