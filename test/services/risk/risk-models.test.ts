import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tableFromIPC } from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RiskModelCollection, RiskModelView } from '#contract/risk-models.js';
import type { z } from 'zod';
import type { JobStatus } from '#jobs/status.js';
import { counterRandom } from '#kernels/random/counter-random.js';
import { runService, type RunningService } from '../running-service.js';

type View = z.infer<typeof RiskModelView>;

/** Weekdays from 2023-01-02. */
const DAYS = Array.from({ length: 420 }, (_, i) => new Date(Date.UTC(2023, 0, 2 + i)))
  .filter((date) => date.getUTCDay() % 6 !== 0)
  .map((date) => date.toISOString().slice(0, 10));

/**
 * Closes of four names with a common factor; `700` and `1398` have ids that objects would put out of order, LATE lists late, FLAT never moves,
 * TWIN is AAA again, and GAPS is BBB
 * without a print every fiftieth day.
 */
const NAMES = ['1398', '700', 'AAA', 'BBB', 'FLAT', 'LATE'];
const SHADOWS = ['GAPS', 'TWIN'];
const isGap = (t: number): boolean => t % 50 === 7;
const prices = closes();

function closes(): Record<string, (number | null)[]> {
  const random = counterRandom({ seed: 5, stream: 1 });
  const levels = new Map(NAMES.map((name) => [name, 100]));
  const series: Record<string, (number | null)[]> = Object.fromEntries(NAMES.map((name) => [name, []]));
  DAYS.forEach((_, t) => {
    const market = 0.01 * random.normal();
    NAMES.forEach((name, i) => {
      const moved =
        name === 'FLAT'
          ? 100
          : Math.round(levels.get(name)! * (1 + market * (0.5 + i / 4) + 0.01 * random.normal()) * 1e6) / 1e6;
      levels.set(name, moved);
      series[name]!.push(name === 'LATE' && t < 200 ? null : moved);
    });
  });
  return { ...series, TWIN: [...series['AAA']!], GAPS: series['BBB']!.map((close, t) => (isGap(t) ? null : close)) };
}

/** The contract's estimate of names without gaps, matrix by matrix. */
function byDefinition(names: readonly string[], delta?: number): number[][] {
  const returns = DAYS.slice(1).map((_, t) => names.map((name) => prices[name]![t + 1]! / prices[name]![t]! - 1));
  const means = names.map((_, i) => returns.reduce((total, row) => total + row[i]!, 0) / returns.length);
  const s = means.map((mi, i) =>
    means.map(
      (mj, j) => returns.reduce((total, row) => total + (row[i]! - mi) * (row[j]! - mj), 0) / (returns.length - 1),
    ),
  );
  let correlations = 0;
  names.forEach((_, i) =>
    names.forEach((__, j) => (correlations += i === j ? 0 : s[i]![j]! / Math.sqrt(s[i]![i]! * s[j]![j]!))),
  );
  const rbar = correlations / (names.length * (names.length - 1));
  const d = delta ?? names.length / (names.length + returns.length);
  return s.map((row, i) =>
    row.map((value, j) => 252 * (i === j ? value : d * rbar * Math.sqrt(s[i]![i]! * s[j]![j]!) + (1 - d) * value)),
  );
}

/** Annualised variance under weights that halve every so many sessions: sum w (x - mean)^2 / (1 - sum w^2). */
function weightedVariance(name: string, [from, to]: readonly [number, number], halfLife: number): number {
  const returns = DAYS.slice(from + 1, to + 1).map(
    (_, t) => prices[name]![from + t + 1]! / prices[name]![from + t]! - 1,
  );
  const raw = returns.map((_, t) => 0.5 ** ((returns.length - 1 - t) / halfLife));
  const total = raw.reduce((sum, weight) => sum + weight, 0);
  const weights = raw.map((weight) => weight / total);
  const mean = returns.reduce((sum, value, t) => sum + weights[t]! * value, 0);
  const squares = weights.reduce((sum, weight) => sum + weight * weight, 0);
  return (252 * returns.reduce((sum, value, t) => sum + weights[t]! * (value - mean) ** 2, 0)) / (1 - squares);
}

let service: RunningService;
beforeAll(async () => {
  service = await runService();
  const folder = join(service.root, 'market');
  await mkdir(folder, { recursive: true });
  const rows = [...NAMES, ...SHADOWS].flatMap((name) =>
    DAYS.flatMap((day, t) => (prices[name]![t] === null ? [] : [`${name},${day},${prices[name]![t]}`])),
  );
  await writeFile(join(folder, 'market.csv'), `identifier,date,CLOSE\n${rows.join('\n')}\n`);
  const { status, body } = await service.ask('POST', '/data/stores', {
    store_id: 'market',
    name: 'Market',
    kind: 'folder',
    location: folder,
    activate: true,
  });
  expect(status, JSON.stringify(body)).toBe(201);
});
afterAll(() => service.close());

async function estimated(modelId: string, body?: unknown): Promise<JobStatus> {
  const { status, body: job } = await service.ask<JobStatus>('POST', `/risk-models/${modelId}/estimate`, body);
  expect(status, JSON.stringify(job)).toBe(202);
  return service.finished(job.job_id);
}

async function view(modelId: string): Promise<View> {
  return (await service.ask<View>('GET', `/risk-models/${modelId}`)).body;
}

const codes = (error: { readonly detail: Readonly<Record<string, unknown>> | null }) =>
  ((error.detail ?? {})['findings'] as { code: string; path: string }[]).map(({ code, path }) => `${code} ${path}`);

describe('an estimate', () => {
  const names = ['1398', '700', 'AAA', 'BBB'];

  test('is the matrix of the definitions, names ascending by code point', async () => {
    const job = await estimated('core', { identifiers: ['BBB', '700', 'AAA', '1398', 'BBB'] });
    expect(job).toMatchObject({ job_id: 'risk:core', status: 'succeeded', progress: 1, error: null });
    const model = await view('core');
    expect(model.asset_ids).toEqual(names);
    const expected = byDefinition(names);
    model.covariance.data.forEach((row, i) =>
      row.forEach((value, j) =>
        expect(Math.abs((value as number) - expected[i]![j]!)).toBeLessThanOrEqual(
          1e-12 * Math.sqrt(expected[i]![i]! * expected[j]![j]!),
        ),
      ),
    );
    expect(model.diagnostics).toMatchObject({
      assets: 4,
      observations: DAYS.length - 1,
      intensity: 4 / (4 + DAYS.length - 1),
      positive_semi_definite: true,
      repaired: false,
      target: 'constant_correlation',
    });
    expect(model).toMatchObject({
      model_id: 'core',
      start: null,
      end: null,
      observed_start: DAYS[1],
      observed_end: DAYS.at(-1),
      excluded: {},
      precision: 'float64',
    });
  });

  test('comes with its job as it comes from its route', async () => {
    const job = await service.ask<JobStatus>('GET', '/jobs/risk:core');
    expect(job.body.result).toEqual(await view('core'));
  });

  test('has volatilities that are roots of the diagonal and an exactly symmetric correlation with unit diagonal', async () => {
    const { covariance, correlation, volatilities } = await view('core');
    const cell = (frame: View['covariance'], i: number, j: number) => frame.data[i]![j] as number;
    names.forEach((name, i) => {
      expect(volatilities[name]).toBe(Math.sqrt(cell(covariance, i, i)));
      expect(cell(correlation, i, i)).toBe(1);
      names.forEach((other, j) => {
        expect(cell(correlation, i, j)).toBe(cell(correlation, j, i));
        expect(cell(correlation, i, j)).toBeCloseTo(
          cell(covariance, i, j) / (volatilities[name]! * volatilities[other]!),
          12,
        );
      });
    });
  });

  test('writes maps in code-point order, digits too', async () => {
    const response = await service.ask('GET', '/risk-models/core');
    const text = JSON.stringify(response.body); // parsed objects put digits first in numeric order
    expect(text).toContain('"700"');
    const raw = await rawText('/risk-models/core');
    expect(raw.indexOf('"1398":', raw.indexOf('"volatilities"'))).toBeLessThan(
      raw.indexOf('"700":', raw.indexOf('"volatilities"')),
    );
  });

  test('leaves a late listing out and says so', async () => {
    const job = await estimated('late', { identifiers: ['AAA', 'LATE', 'BBB'] });
    expect(job.message).toContain('LATE (prices on');
    const model = await view('late');
    expect(model.asset_ids).toEqual(['AAA', 'BBB']);
    expect(model.excluded['LATE']).toMatch(/^prices on \d+ of 300 sessions; 240 are needed$/);
  });

  test('keeps a name that never moves, with correlation 0', async () => {
    await estimated('flat', { identifiers: ['AAA', 'FLAT'], intensity: 0 });
    const model = await view('flat');
    expect(model.volatilities['FLAT']).toBe(0);
    expect(model.correlation.data).toEqual([
      [1, 0],
      [0, 1],
    ]);
    expect(model.diagnostics).toMatchObject({
      average_correlation: 0,
      condition_number: 1e300,
      smallest_eigenvalue: 0,
    });
  });

  test('of one name is its variance, whatever the intensity', async () => {
    await estimated('one', { identifiers: ['AAA'] });
    const model = await view('one');
    const expected = byDefinition(['AAA', 'BBB'])[0]![0]!;
    expect(Math.abs((model.covariance.data[0]![0] as number) / expected - 1)).toBeLessThanOrEqual(1e-12);
    expect(model.correlation.data).toEqual([[1]]);
    expect(model.diagnostics).toMatchObject({
      assets: 1,
      average_correlation: 0,
      condition_number: 1,
      positive_semi_definite: true,
    });
  });

  test('of two names that are one is singular, and says so', async () => {
    await estimated('twins', { identifiers: ['AAA', 'TWIN'], intensity: 0 });
    const model = await view('twins');
    const [[own, common], [, other]] = model.covariance.data as number[][] as [[number, number], [number, number]];
    expect([common, other]).toEqual([own, own]);
    expect(model.correlation.data).toEqual([
      [1, 1],
      [1, 1],
    ]);
    expect(model.diagnostics).toMatchObject({ condition_number: 1e300, positive_semi_definite: true, repaired: false });
  });

  test('loses two returns of every name for each hole of one', async () => {
    await estimated('gaps', { identifiers: ['AAA', 'GAPS'] });
    const holes = DAYS.filter((_, t) => isGap(t)).length;
    expect((await view('gaps')).diagnostics.observations).toBe(DAYS.length - 1 - 2 * holes);
  });

  test('takes twenty returns and not nineteen', async () => {
    const job = await estimated('short', { identifiers: ['AAA', 'BBB'], start: DAYS[0], end: DAYS[19] });
    expect(job).toMatchObject({ status: 'failed', error: { code: 'RISK_INSUFFICIENT_DATA' } });
    await estimated('short', { identifiers: ['AAA', 'BBB'], start: DAYS[0], end: DAYS[20] });
    expect((await view('short')).diagnostics.observations).toBe(20);
  });

  test('takes its window, its half-life and its method', async () => {
    const window = { identifiers: names, start: DAYS[50], end: DAYS[149] };
    await estimated('window', { ...window, intensity: 0 });
    const plain = await view('window');
    expect(plain).toMatchObject({ start: DAYS[50], end: DAYS[149], observed_start: DAYS[51], observed_end: DAYS[149] });
    expect(plain.diagnostics.observations).toBe(99);
    await estimated('window', { ...window, intensity: 0, half_life: 10 });
    const weighted = (await view('window')).covariance.data;
    const expected = weightedVariance('AAA', [50, 149], 10);
    expect(Math.abs((weighted[names.indexOf('AAA')]![names.indexOf('AAA')] as number) / expected - 1)).toBeLessThan(
      1e-12,
    );
    await estimated('window', { ...window, intensity_method: 'ledoit_wolf' });
    const { intensity } = (await view('window')).diagnostics;
    expect(intensity > 0 && intensity < 1 && intensity !== 4 / 103).toBe(true);
  });

  test.each(['shape', 'ledoit_wolf'])(
    'by a half-life that leaves all weight to one session is refused with both numbers, by %s',
    async (method) => {
      const job = await estimated('brief', { identifiers: names, half_life: 0.05, intensity_method: method });
      expect(job).toMatchObject({
        status: 'failed',
        error: { code: 'RISK_INSUFFICIENT_DATA', detail: { half_life: 0.05, weight_needed: 1e-4 } },
      });
      expect(job.error?.message).toMatch(
        /^A half_life of 0.05 sessions leaves 9.54e-7 of the weight .* at least 0.0001 is needed\.$/,
      ); // 2^-20
    },
  );

  test('prefers names to an index and says so', async () => {
    const job = await estimated('both', { identifiers: ['AAA'], index_id: 'no-such-index' });
    expect(job).toMatchObject({
      status: 'succeeded',
      message: `1 name, ${DAYS.length - 1} observations. Both identifiers and index_id were given: identifiers win.`,
    });
  });

  test('fails without enough returns and leaves the stored model as it was', async () => {
    const before = await view('core');
    const job = await estimated('core', { identifiers: ['AAA'], start: DAYS[0], end: DAYS[19] });
    expect(job).toMatchObject({ status: 'failed', error: { code: 'RISK_INSUFFICIENT_DATA' } });
    expect(job.error?.message).toContain('Left out: AAA (19 returns in the window; 20 are needed).');
    expect(await view('core')).toEqual(before);
  });

  test('without a body asks again for what was asked before', async () => {
    const before = await view('core');
    expect((await estimated('core')).status).toBe('succeeded');
    expect(await view('core')).toEqual(before);
    expect(await service.refusal('POST', '/risk-models/unheard-of/estimate')).toMatchObject({
      status: 422,
      code: 'UNIVERSE_REQUIRED',
    });
    expect(await service.refusal('POST', '/risk-models/core/estimate', { intensity: 0.5 })).toMatchObject({
      status: 422,
      code: 'UNIVERSE_REQUIRED',
    });
  });

  test('names every identifier that the store does not hold', async () => {
    const error = await service.refusal('POST', '/risk-models/x/estimate', { identifiers: ['AAA', 'NO1', 'NO2'] });
    expect(error.status).toBe(422);
    expect(codes(error)).toEqual(['UNKNOWN_IDENTIFIER identifiers[1]', 'UNKNOWN_IDENTIFIER identifiers[2]']);
  });

  test('refuses intensities outside 0 to 1, unknown targets and dates in the wrong order', async () => {
    expect(
      codes(
        await service.refusal('POST', '/risk-models/x/estimate', {
          identifiers: ['AAA'],
          intensity: 1.5,
          target: 'mean',
        }),
      ),
    ).toEqual(['OUT_OF_RANGE intensity', 'NOT_IN_CHOICES target']);
    expect(
      await service.refusal('POST', '/risk-models/x/estimate', {
        identifiers: ['AAA'],
        start: '2024-01-02',
        end: '2023-01-02',
      }),
    ).toMatchObject({ status: 422, code: 'INVALID_RANGE' });
    expect(codes(await service.refusal('POST', '/risk-models/x/estimate', { index_id: 'nothing' }))).toEqual([
      'RUN_NOT_FOUND index_id',
    ]);
  });
});

describe('a model of the names of an index', () => {
  test('covers what its latest run held, on the sessions of its calendar', async () => {
    const index = {
      id: 'PAIR',
      name: 'Pair',
      calendar: 'XNYS',
      base_date: '2023-06-01',
      base_value: 100,
      currency: 'USD',
      universe: { kind: 'list', identifiers: ['AAA', 'BBB'] },
      rebalance: { frequency: 'quarterly' },
      pipeline: { selection: [], weighting: { type: 'EqualWeight', params: {} } },
    };
    expect((await service.ask('POST', '/indices', index)).status).toBe(200);
    const run = await service.ask<JobStatus>('POST', '/analytics/PAIR/backtest');
    expect(await service.finished(run.body.job_id)).toMatchObject({ status: 'succeeded' });
    const job = await estimated('pair', { index_id: 'PAIR', identifiers: [] });
    expect(job, JSON.stringify(job.error)).toMatchObject({ status: 'succeeded' });
    const model = await view('pair');
    expect(model.asset_ids).toEqual(['AAA', 'BBB']);
    // Weekdays on which New York was closed are no sessions: there are fewer returns than weekdays.
    expect(model.diagnostics.observations).toBeLessThan(DAYS.length - 1);
    await estimated('pair', { index_id: 'PAIR', start: '2023-07-03', end: '2023-12-29' });
    const half = await view('pair');
    expect(half).toMatchObject({
      start: '2023-07-03',
      end: '2023-12-29',
      observed_start: '2023-07-05',
      observed_end: '2023-12-29',
    }); // closed on the fourth of July
    expect(half.diagnostics.observations).toBe(125); // of 126 sessions
    expect((await estimated('pair', { index_id: 'PAIR', identifiers: ['AAA'] })).message).toContain('identifiers win');
    expect((await view('pair')).asset_ids).toEqual(['AAA']);
  });
});

describe('stored models', () => {
  test('are listed by id with their summaries', async () => {
    const { body } = await service.ask<RiskModelCollection>('GET', '/risk-models');
    const ids = body.risk_models.map(({ model_id: id }) => id);
    expect(ids).toEqual(ids.toSorted());
    expect(body).toMatchObject({ skipped: 0, skipped_causes: { unreadable: 0, invalid: 0, unsupported: 0 } });
    expect(body.risk_models.find(({ model_id: id }) => id === 'core')).toMatchObject({
      assets: 4,
      observations: DAYS.length - 1,
      positive_semi_definite: true,
    });
    expect(
      (await service.ask<RiskModelCollection>('GET', `/risk-models?limit=1&after=${ids[0]}`)).body.risk_models.map(
        ({ model_id: id }) => id,
      ),
    ).toEqual([ids[1]]);
  });

  test('survive a restart', async () => {
    const before = await view('core');
    await service.restart();
    expect(await view('core')).toEqual(before);
    expect((await service.ask<JobStatus>('GET', '/jobs/risk:core')).body.result).toEqual(before);
  });

  test('travel as Arrow with all but the covariance in the metadata', async () => {
    const json = await view('core');
    const table = tableFromIPC(await rawBytes('/risk-models/core', 'application/vnd.apache.arrow.stream'));
    expect(table.schema.fields.map(({ name }) => name)).toEqual(['asset_id', ...json.asset_ids]);
    json.asset_ids.forEach((name, j) =>
      expect([...(table.getChild(name) ?? [])]).toEqual(json.covariance.data.map((row) => row[j])),
    );
    const { covariance: _, ...rest } = json;
    expect(JSON.parse(table.schema.metadata.get('body') ?? 'null')).toEqual(rest);
  });

  test('are forgotten on demand, the document of an If-Match only', async () => {
    const { etag } = await service.ask('GET', '/risk-models/flat');
    expect((await service.ask('DELETE', '/risk-models/flat', undefined, { 'if-match': '"other"' })).status).toBe(412);
    expect((await service.ask('DELETE', '/risk-models/flat', undefined, { 'if-match': etag ?? '' })).status).toBe(204);
    expect(await service.refusal('GET', '/risk-models/flat')).toMatchObject({
      status: 404,
      code: 'RISK_MODEL_NOT_FOUND',
    });
    expect(await service.refusal('DELETE', '/risk-models/flat')).toMatchObject({
      status: 404,
      code: 'RISK_MODEL_NOT_FOUND',
    });
  });
});

async function rawBytes(path: string, accept: string): Promise<Uint8Array> {
  return new Uint8Array(await (await fetch(service.url() + path, { headers: { accept } })).arrayBuffer());
}

async function rawText(path: string): Promise<string> {
  return (await fetch(service.url() + path)).text();
}
