import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { fc } from '../fast-check.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { IS_SOAK } from '../soak.js';
import { type LiveService, openLiveService } from './live.js';
import { UNPRICEABLE } from './unpriceable.js';

const hasPython = spawnSync('python3', ['--version']).status === 0;
if (!hasPython) console.log('skipped: prices against Python, as there is no python3 on this machine');

const fixture = JSON.parse(readFileSync('test/golden/backtest/four-names.json', 'utf8'));
const REQUESTS = IS_SOAK ? 1000 : 60;

let service: LiveService;
beforeAll(async () => {
  service = await openLiveService(['--workers', '1']);
  await service.ok('POST', '/data/import', fixture.import);
  await service.ok('POST', '/indices', { ...fixture.index, id: 'FOUR' });
  expect((await service.job('/analytics/FOUR/backtest')).error).toBeNull();
});
afterAll(() => service?.close());

const rate = fc.integer({ min: -300, max: 1500 }).map((points) => points / 10_000);
const spot = fc.integer({ min: 100, max: 1_000_000 }).map((cents) => cents / 100);
const createDayArbitrary = (from: number, to: number) =>
  fc.integer({ min: from, max: to }).map((days) => new Date(Date.UTC(2024, 0, 1 + days)).toISOString().slice(0, 10));

const futures = fc
  .record({
    spot,
    as_of: createDayArbitrary(0, 300),
    expiry: createDayArbitrary(310, 2000),
    risk_free_rate: rate,
    dividend_yield: rate,
    borrow_rate: rate,
    multiplier: fc.constantFrom(1, 10, 50),
    contracts: fc.integer({ min: -20, max: 20 }),
    premium: fc.integer({ min: -50, max: 50 }),
    dividends: fc.array(fc.record({ ex_date: createDayArbitrary(301, 309), part: fc.integer({ min: 0, max: 20 }) }), {
      maxLength: 3,
    }),
  })
  .map(({ premium, dividends, ...request }) => ({
    ...request,
    market_price: request.spot * (1 + premium / 1000),
    ...(dividends.length > 0
      ? {
          dividend_yield: 0,
          dividends: dividends.map(({ ex_date, part }) => ({ ex_date, amount: (request.spot * part) / 10_000 })),
        }
      : {}),
  }));

const swap = fc
  .record({
    spot,
    moved: fc.integer({ min: -300, max: 300 }),
    notional: fc.constantFrom(1_000_000, 12_345.67),
    start: createDayArbitrary(0, 200),
    as_of: createDayArbitrary(200, 900),
    maturity: createDayArbitrary(901, 2500),
    direction: fc.constantFrom('receive', 'pay'),
    return_type: fc.constantFrom('total', 'price'),
    reset_frequency: fc.constantFrom('none', 'monthly', 'quarterly', 'semi_annual', 'annual'),
    risk_free_rate: rate,
    spread: rate,
    dividend_yield: rate,
    borrow_rate: rate,
  })
  .map(({ moved: movedSpot, ...request }) => ({ ...request, initial_level: request.spot * (1 + movedSpot / 1000) }));

type DerivativePrices = Record<string, number | null | [string, string, number, number][]>;

async function listPricedByPython(requests: readonly unknown[]): Promise<DerivativePrices[]> {
  const python = spawn('python3', ['test/real/derivatives.py'], { stdio: ['pipe', 'pipe', 'inherit'] });
  python.stdin.end(JSON.stringify(requests));
  return JSON.parse(await text(python.stdout)) as DerivativePrices[];
}

describe.skipIf(!hasPython)('prices over HTTP', () => {
  test.each([
    ['futures', '/derivatives/futures/price', futures],
    ['trs', '/derivatives/trs/price', swap],
  ] as const)('of %s are those of another implementation, in fifty digits', async (kind, path, arbitrary) => {
    const requests = fc.sample<unknown>(arbitrary, { numRuns: REQUESTS, seed: 20 });
    const expected = await listPricedByPython(requests.map((request) => [kind, request]));
    for (const [i, request] of requests.entries()) {
      const answer = await service.ok<
        Record<string, unknown> & {
          spot: number;
          notional: number;
          periods?: { start: string; end: string; equity: number; financing: number }[];
        }
      >('POST', path, request);
      const scale = kind === 'trs' ? answer.notional : answer.spot;
      const { periods, ...figures } = expected[i]!;
      for (const [name, value] of Object.entries(figures)) {
        const result = answer[name];
        if (value === null) expect(result, name).toBeNull();
        else
          expect(Math.abs(Number(result) - Number(value)), `${name} of ${JSON.stringify(request)}`).toBeLessThan(
            1e-10 *
              Math.max(1, Math.abs(Number(value)), name === 'par_spread' || name.startsWith('implied') ? 1 : scale),
          );
      }
      if (!Array.isArray(periods)) continue;
      expect(answer.periods!.map(({ start, end }) => [start, end])).toEqual(
        periods.map(([start, end]) => [start, end]),
      );
      answer.periods!.forEach(({ equity, financing }, k) => {
        expect(Math.abs(equity - periods[k]![2])).toBeLessThan(1e-10 * scale);
        expect(Math.abs(financing - periods[k]![3])).toBeLessThan(1e-10 * scale);
      });
    }
  });
});

describe('what cannot be priced', () => {
  test.each(UNPRICEABLE)('%s is refused', async (_what, method, path, body, code, said?: string) => {
    const { status, body: answer } = await service.ask<{ error: { code: string } }>(method, path, body);
    expect([status, answer.error.code]).toEqual([code === 'INDEX_NOT_FOUND' ? 404 : 422, code]);
    expect(JSON.stringify(answer)).toContain(said ?? code);
  });
});

test('an index is priced at its latest level, by a term structure whose points are its futures', async () => {
  const {
    levels: { index, data },
  } = await service.ok<{ levels: { index: string[]; data: number[] } }>('GET', '/analytics/FOUR/levels');
  const expiries = ['2024-06-21', '2024-03-15', '2024-09-20'];
  const terms = 'risk_free_rate=0.05&dividend_yield=0.015&borrow_rate=0.002';
  const structure = await service.ok<{
    as_of: string;
    spot: number;
    shape: string;
    points: { expiry: string; fair_value: number; roll_from_previous: number | null }[];
  }>('GET', `/derivatives/FOUR/term-structure?expiries=${expiries.join(',')}&${terms}`);
  expect([structure.as_of, structure.spot, structure.shape]).toEqual([
    index.at(-1)!.slice(0, 10),
    data.at(-1),
    'contango',
  ]);
  expect(structure).toMatchObject({ risk_free_rate: 0.05, dividend_yield: 0.015, borrow_rate: 0.002 });
  expect(structure.points.map(({ expiry }) => expiry)).toEqual(['2024-03-15', '2024-06-21', '2024-09-20']);
  for (const { expiry, fair_value: fair } of structure.points) {
    const future = await service.ok<{ fair_value: number; spot: number }>('POST', '/derivatives/futures/price', {
      index_id: 'FOUR',
      expiry,
      risk_free_rate: 0.05,
      dividend_yield: 0.015,
      borrow_rate: 0.002,
    });
    expect([future.fair_value, future.spot]).toEqual([fair, structure.spot]);
  }
  const roll = await service.ok<{ roll_cost: number; annualised_roll: number }>(
    'GET',
    `/derivatives/FOUR/roll?front_expiry=2024-03-15&back_expiry=2024-06-21&${terms}`,
  );
  expect(roll.annualised_roll).toBeCloseTo(0.015 + 0.002 - 0.05, 12);
  expect(structure.points[1]!.roll_from_previous).toBe(roll.annualised_roll);
  expect(roll.roll_cost).toBe(structure.points[1]!.fair_value - structure.points[0]!.fair_value);
});

describe('on an index', () => {
  interface Levels {
    readonly levels: { readonly index: readonly string[]; readonly data: readonly number[] };
  }
  let getLevel: (day: string) => number;

  beforeAll(async () => {
    expect(
      (await service.job('/data/synthetic', { store_id: 'long', assets: 8, start: '2023-01-03', end: '2023-12-29' }))
        .error,
    ).toBeNull();
    await service.ok('PUT', '/indices/LONG', {
      id: 'LONG',
      name: 'Long',
      calendar: 'XNYS',
      base_date: '2023-01-03',
      pipeline: { weighting: { type: 'EqualWeight' } },
    });
    expect((await service.job('/analytics/LONG/backtest')).error).toBeNull();
    const { levels } = await service.ok<Levels>('GET', '/analytics/LONG/levels');
    getLevel = (day) => levels.data[levels.index.indexOf(day)]!;
  });

  test('spot and time are those of the latest session on or before the requested date', async () => {
    const terms = { expiry: '2023-12-15', risk_free_rate: 0.05 };
    const future = await service.ok('POST', '/derivatives/futures/price', {
      index_id: 'LONG',
      as_of: '2023-09-04',
      ...terms,
    }); // Labor Day is a holiday
    expect(future).toMatchObject({
      requested_as_of: '2023-09-04',
      as_of: '2023-09-01',
      spot: getLevel('2023-09-01'),
      days: 105,
    });
    expect(
      await service.ok(
        'GET',
        '/derivatives/LONG/term-structure?as_of=2023-09-04&expiries=2023-12-15&risk_free_rate=0.05',
      ),
    ).toMatchObject({ requested_as_of: '2023-09-04', as_of: '2023-09-01', points: [{ days: 105 }] });
    expect(
      await service.ok('GET', '/derivatives/LONG/roll?as_of=2023-09-04&front_expiry=2023-09-15&back_expiry=2023-12-15'),
    ).toMatchObject({ as_of: '2023-09-01', spot: getLevel('2023-09-01') });
  });

  test('a swap past a reset is measured from its level there', async () => {
    const swap = { index_id: 'LONG', notional: 1000, start: '2023-01-10', maturity: '2024-01-10', as_of: '2023-08-15' };
    const answer = await service.ok<{
      initial_level: number;
      accrued_equity: number;
      periods: { start: string; end: string }[];
    }>('POST', '/derivatives/trs/price', swap);
    expect(answer.periods.map(({ start, end }) => [start, end])).toEqual([
      ['2023-07-10', '2023-10-10'],
      ['2023-10-10', '2024-01-10'],
    ]);
    expect(answer.initial_level).toBe(getLevel('2023-07-10'));
    expect(answer.accrued_equity).toBeCloseTo(1000 * (getLevel('2023-08-15') / getLevel('2023-07-10') - 1), 10);
    expect(await service.ok('POST', '/derivatives/trs/price', { ...swap, reset_frequency: 'none' })).toMatchObject({
      initial_level: getLevel('2023-01-10'),
    });
  });

  test('resets fall on sessions of its calendar, with a spot on weekdays', async () => {
    const swap = { notional: 1000, start: '2023-04-04', maturity: '2023-12-15', as_of: '2023-05-01' };
    const listPeriodEnds = async (source: object) =>
      (
        await service.ok<{ periods: { end: string }[] }>('POST', '/derivatives/trs/price', { ...swap, ...source })
      ).periods.map(({ end }) => end);
    expect(await listPeriodEnds({ index_id: 'LONG' })).toEqual(['2023-07-05', '2023-10-04', '2023-12-15']);
    expect(await listPeriodEnds({ spot: 100 })).toEqual(['2023-07-04', '2023-10-04', '2023-12-15']);
    // A run keeps its calendar even if the index changes or is deleted.
    await service.ok('PUT', '/strategies/FOLLOW', { id: 'FOLLOW', name: 'Follow', index_id: 'LONG' });
    expect((await service.job('/analytics/FOLLOW/backtest')).error).toBeNull();
    await service.ok('DELETE', '/indices/LONG');
    expect(await listPeriodEnds({ index_id: 'FOLLOW' })).toEqual(['2023-07-05', '2023-10-04', '2023-12-15']);
  });
});
