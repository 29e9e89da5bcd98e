import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findLastDifference } from '#services/runs/differences.js';
import type { DifferencesView } from '#contract/differences.js';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import { runService, type RunningService } from '../running-service.js';

/** Closes of three securities. The index holds one share of each, so that its level is 100 times the ratio of sums. */
const DATES = ['2024-01-02', '2024-01-03', '2024-01-04', '2024-01-05', '2024-01-08', '2024-01-09', '2024-01-10'];
const CLOSES: Readonly<Record<string, readonly number[]>> = {
  AAA: [100, 101.5, 103.2, 99.4, 98.8, 104.1, 105],
  BBB: [50, 49.2, 49.9, 51.3, 52.7, 52.1, 53.4],
  CCC: [25, 25.8, 26.1, 25.2, 24.9, 26.6, 26.2],
};

/** Returns the level of one share of each security, to 4 decimals. */
const computeLevels = (closes: Readonly<Record<string, readonly number[]>>) => {
  const sums = DATES.map((_, t) => Object.values(closes).reduce((sum, prices) => sum + prices[t]!, 0));
  return DATES.map((date, t) => ({ date, value: Math.round((1e6 * sums[t]!) / sums[0]!) / 1e4 }));
};

let service: RunningService;
beforeAll(async () => {
  service = await runService();
  const folder = join(service.root, 'market');
  await mkdir(folder, { recursive: true });
  const rows = Object.entries(CLOSES).flatMap(([name, prices]) =>
    prices.map((price, t) => `${name},${DATES[t]!},${price}`),
  );
  await writeFile(join(folder, 'market.csv'), `identifier,date,CLOSE\n${rows.join('\n')}\n`);
  const store = { store_id: 'market', name: 'Market', kind: 'folder', location: folder, activate: true };
  expect((await service.ask('POST', '/data/stores', store)).status).toBe(201);
  const index = {
    id: 'TRIO',
    name: 'Trio',
    calendar: 'XNYS',
    base_date: '2024-01-02',
    base_value: 100,
    currency: 'USD',
    universe: { kind: 'all' },
    rebalance: { frequency: 'none' },
    pipeline: { selection: [], weighting: { type: 'PriceWeight', params: {} } },
  };
  expect((await service.ask('POST', '/indices', index)).status).toBe(200);
  await finish('/analytics/TRIO/backtest', {});
}, 60_000);
afterAll(() => service.close());

async function finish<T>(path: string, body: object): Promise<T> {
  const { status, body: job } = await service.ask<JobStatus>('POST', path, body);
  expect(status, JSON.stringify(job)).toBe(202);
  const doneJob = await service.waitForJob(job.job_id);
  expect(doneJob, JSON.stringify(doneJob.error)).toMatchObject({ status: 'succeeded' });
  return doneJob.result as T;
}

describe('an outside level', () => {
  test('without an explanation has no tables', async () => {
    expect(await service.refusal('GET', '/analytics/TRIO/differences?format=csv')).toMatchObject({
      status: 404,
      code: 'JOB_NOT_FOUND',
    });
  });

  test('that equals the run has no cause', async () => {
    const view = await finish<DifferencesView>('/analytics/TRIO/differences', { levels: computeLevels(CLOSES) });
    expect(view).toMatchObject({
      index_id: 'TRIO',
      scale: 1,
      decimals: 4,
      shapes: ['none'],
      causes: [],
      complete: true,
    });
    expect(view.sessions).toEqual({ common: 7, equal: 7, explained: 7, unexplained: [], unmatched: 0 });
  });

  test('with a carried price names the security, the sessions and the price', async () => {
    const carried = { ...CLOSES, AAA: CLOSES['AAA']!.with(3, 103.2).with(4, 103.2) };
    const view = await finish<DifferencesView>('/analytics/TRIO/differences', { levels: computeLevels(carried) });
    expect(view).toMatchObject({ complete: true, reproduced: true, fewest: 1 });
    expect(view.sessions).toMatchObject({ common: 7, equal: 5, explained: 7 });
    expect(view.causes).toMatchObject([
      {
        subject: 'price',
        manner: 'carried',
        identifier: 'AAA',
        date: '2024-01-05',
        through: '2024-01-08',
        value: 103.2,
        sessions: 2,
        ties: [],
        change: {
          data: [
            { table: 'market', identifier: 'AAA', date: '2024-01-05', field: 'CLOSE', value: 103.2 },
            { table: 'market', identifier: 'AAA', date: '2024-01-08', field: 'CLOSE', value: 103.2 },
          ],
        },
      },
    ]);
  });

  test('with two levels of one day is refused with the position of the second one', async () => {
    const levels = computeLevels(CLOSES);
    expect(
      await service.refusal('POST', '/analytics/TRIO/differences', { levels: [...levels, levels[2]!] }),
    ).toMatchObject({
      status: 422,
      detail: { findings: [{ path: 'levels[7].date', message: expect.stringContaining('2024-01-04') }] },
    });
  });

  test('with an error of one session that no change explains is unexplained on that session', async () => {
    const levels = computeLevels(CLOSES).with(3, { date: '2024-01-05', value: 91.2345 });
    const view = await finish<DifferencesView>('/analytics/TRIO/differences', { levels });
    expect(view).toMatchObject({ causes: [], complete: false, fewest: null, reproduced: false });
    const own = (100 * (99.4 + 51.3 + 25.2)) / 175;
    expect(view.sessions.unexplained).toHaveLength(1);
    expect(view.sessions.unexplained[0]!.date).toBe('2024-01-05');
    expect(view.sessions.unexplained[0]!.difference_bps).toBeCloseTo(1e4 * (91.2345 / own - 1), 6);
  });

  test('with other constituents has the parts of selection and weights, which sum to the difference', async () => {
    const explain = async (shares: Readonly<Record<string, number>>) => {
      const sums = DATES.map((_, t) =>
        Object.entries(shares).reduce((sum, [name, n]) => sum + n * CLOSES[name]![t]!, 0),
      );
      const levels = DATES.map((date, t) => ({ date, value: (100 * sums[t]!) / sums[0]! }));
      const compositions = [{ date: DATES[0]!, index_shares: shares }];
      const { parts } = await finish<DifferencesView>('/analytics/TRIO/differences', { levels, compositions });
      const total = 1e4 * (sums.at(-1)! / sums[0]! / (184.6 / 175) - 1);
      expect(Object.values(parts!).reduce((sum, part) => sum + part, 0)).toBeCloseTo(total, 6);
      return parts!;
    };
    // Two of three securities, with the weights of the run among them: 158.4 / 150 instead of 184.6 / 175.
    const two = await explain({ AAA: 1, BBB: 1 });
    expect(two.selection).toBeCloseTo(1e4 * (158.4 / 150 / (184.6 / 175) - 1), 6);
    expect(two.weights).toBeCloseTo(0, 6);
    // All three securities, with two shares of one of them.
    const double = await explain({ AAA: 2, BBB: 1, CCC: 1 });
    expect(double.selection).toBeCloseTo(0, 6);
    expect(double.weights).toBeCloseTo(1e4 * ((2 * 105 + 53.4 + 26.2) / 275 / (184.6 / 175) - 1), 6);
  });

  test('has the difference that remains without the first causes, and none without all of them', async () => {
    const carried = { ...CLOSES, AAA: CLOSES['AAA']!.with(3, 103.2) };
    const levels = computeLevels(carried);
    const { remaining } = await finish<DifferencesView>('/analytics/TRIO/differences', { levels });
    expect(remaining.dates).toEqual(DATES);
    expect(remaining.bps).toHaveLength(2);
    const own = (99.4 + 51.3 + 25.2) / 1.75;
    expect(remaining.bps[0]![3]).toBeCloseTo(1e4 * (levels[3]!.value / own - 1), 6);
    for (const size of remaining.bps[1]!) expect(Math.abs(size)).toBeLessThan(0.01);
  });

  test('has tables that the service exports as files', async () => {
    const levels = computeLevels({ ...CLOSES, AAA: CLOSES['AAA']!.with(3, 103.2) });
    const view = await finish<DifferencesView>('/analytics/TRIO/differences', { levels });
    const path = '/analytics/TRIO/differences';
    expect((await service.ask('GET', path)).body).toEqual(view);
    const read = async (query: string) => (await service.download(`${path}?format=csv${query}`)).text();
    const [head, ...causes] = (await read('')).trim().split(/\r?\n/);
    expect(head).toBe('date,through,subject,manner,identifier,value,sentence,sessions,effect_bps,ties,change');
    expect(causes).toHaveLength(1);
    expect(causes[0]).toMatch(/^2024-01-05,2024-01-05,price,carried,AAA,103.2,/);
    const remaining = (await read('&table=remaining')).trim().split(/\r?\n/).slice(1);
    expect(remaining).toHaveLength(2 * DATES.length);
    expect(remaining[3]!.split(',').slice(0, 2)).toEqual(['2024-01-05', '0']);
    expect((await read('&table=unexplained')).trim().split(/\r?\n/)).toEqual(['date,difference_bps,sentence']);
    for (const [format, start] of [
      ['xlsx', 'PK'],
      ['parquet', 'PAR1'],
    ]) {
      const file = Buffer.from(await (await service.download(`${path}?format=${format}`)).arrayBuffer());
      expect(file.subarray(0, start!.length).toString()).toBe(start);
    }
  });

  test.each([
    [
      'a composition with weights and index shares',
      {
        levels: computeLevels(CLOSES),
        compositions: [{ date: '2024-01-02', weights: { AAA: 1 }, index_shares: { AAA: 1 } }],
      },
    ],
    ['both levels and a series', { levels: computeLevels(CLOSES), series: 'AAA' }],
    ['neither', {}],
    ['two values of one date', { levels: [...computeLevels(CLOSES), { date: '2024-01-05', value: 1 }] }],
    ['one level', { levels: computeLevels(CLOSES).slice(0, 1) }],
    [
      'levels outside the run',
      {
        levels: [
          { date: '2019-01-02', value: 1 },
          { date: '2019-01-03', value: 2 },
        ],
      },
    ],
    ['an unknown subject', { levels: computeLevels(CLOSES), known: ['weather'] }],
    [
      'weights that sum to 0.9',
      { levels: computeLevels(CLOSES), compositions: [{ date: '2024-01-03', weights: { AAA: 0.5, BBB: 0.4 } }] },
    ],
    [
      'levels with more decimals than stated',
      {
        levels: [
          { date: '2024-01-02', value: 100.25 },
          { date: '2024-01-03', value: 101 },
        ],
        decimals: 1,
      },
    ],
    ['an end before the start', { levels: computeLevels(CLOSES), start: '2024-01-05', end: '2024-01-03' }],
  ])('is refused at the request: %s', async (_, body) => {
    expect((await service.ask('POST', '/analytics/TRIO/differences', body)).status).toBe(422);
  });

  test('levels with more decimals than stated are refused in a sentence with both', async () => {
    const levels = [100.25, 101].map((value, k) => ({ date: `2024-01-0${k + 2}`, value }));
    const { detail } = await service.refusal('POST', '/analytics/TRIO/differences', { levels, decimals: 1 });
    expect(detail).toMatchObject({
      findings: [{ path: 'decimals', message: 'decimals is 1, but levels[0].value is 100.25.' }],
    });
  });

  const saturdays = ['2024-01-06', '2024-01-07'];
  test.each([
    ['an unknown series', { series: 'NOPE' }, 'series', ['NOPE', 'market']],
    [
      'an unknown security of a composition',
      { levels: computeLevels(CLOSES), compositions: [{ date: '2024-01-03', weights: { AAA: 0.5, NOPE: 0.5 } }] },
      'compositions[0].weights.NOPE',
      ['NOPE', 'market'],
    ],
    [
      'a composition outside the run',
      { levels: computeLevels(CLOSES), compositions: [{ date: '2023-12-29', index_shares: { AAA: 1 } }] },
      'compositions[0].date',
      ['2023-12-29', '2024-01-02 to 2024-01-10'],
    ],
    [
      'a composition on a day without a session',
      { levels: computeLevels(CLOSES), compositions: [{ date: '2024-01-06', weights: { AAA: 1 } }] },
      'compositions[0].date',
      ['2024-01-06', 'no session of XNYS'],
    ],
    [
      'a currency to which nothing is converted',
      { levels: computeLevels(CLOSES), currency: 'EUR' },
      'currency',
      ['EUR', 'USD', 'no rate'],
    ],
    [
      'levels of which one is on a session',
      { levels: ['2024-01-05', ...saturdays].map((date, k) => ({ date, value: 100 + k })) },
      'levels[1].date',
      ['2024-01-06', 'no session of XNYS', '1 of the 3'],
    ],
    [
      'levels of which one is in the run',
      { levels: ['2023-12-28', '2023-12-29', '2024-01-02'].map((date, k) => ({ date, value: 100 + k })) },
      'levels',
      ['2024-01-02 to 2024-01-10', '1 of the 3'],
    ],
  ])('is refused at the request with the field and both values: %s', async (_, body, path, parts) => {
    const { status, detail } = await service.refusal('POST', '/analytics/TRIO/differences', body);
    expect(status).toBe(422);
    const { findings } = detail as {
      readonly findings: readonly { readonly path: string; readonly message: string }[];
    };
    expect(findings).toHaveLength(1);
    expect(findings[0]!.path).toBe(path);
    expect(findings[0]!.message).toMatch(/^(series|currency|compositions|levels|the run) ?/);
    expect(findings[0]!.message).not.toMatch(/^is /);
    for (const part of parts) expect(findings[0]!.message).toContain(part);
  });
});

test('an explanation that release 0.11.0 stored has each cause as a step', async () => {
  const cause = { sentence: 'One.', sessions: 3, effect_bps: 2.5, subject: 'dividend' };
  const find = (result: object | null) =>
    findLastDifference({ find: async () => ({ status: { result } }) as never }, 'X');
  expect(await find({ causes: [cause, { ...cause, sentence: 'Two.' }] })).toMatchObject({
    steps: [
      { causes: [0], sentence: 'One.', sessions: 3, effect_bps: 2.5 },
      { causes: [1], sentence: 'Two.', sessions: 3, effect_bps: 2.5 },
    ],
  });
  const steps = [{ causes: [0, 1], sentence: 'Both.', sessions: 3, effect_bps: 1 }];
  expect(await find({ causes: [cause, cause], steps })).toMatchObject({ steps });
  expect(await find(null)).toBeUndefined();
});
