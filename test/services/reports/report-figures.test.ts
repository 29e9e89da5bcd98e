import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  createDivisorClient,
  type BookPayload,
  type DivisorClient,
  type OverviewView,
  type SeriesPayload,
} from '#clients/typescript/divisor.js';
import { formatPercentFigure, formatRatio } from '#views/report/figures.js';
import { openLiveService, type LiveService } from '../../real/live.js';
import { readPdf } from '../../views/report/read-pdf.js';
import { readLinesRightOf, computeTurnoverOn } from './printed-figures.js';

/** Returns true if an external program is installed. Such a program also reads the documents. */
const isInstalled = (command: string) => spawnSync(command, ['-v']).error === undefined;
const TOOLS = { pdftotext: isInstalled('pdftotext'), pdffonts: isInstalled('pdffonts'), qpdf: isInstalled('qpdf') };
for (const [tool, isHere] of Object.entries(TOOLS))
  if (!isHere) console.log(`Reports are not read by ${tool}: this machine has none.`);

let service: LiveService;
let client: DivisorClient;
const folder = mkdtempSync(join(tmpdir(), 'divisor-figures-'));

const COST_BPS = 8;
const pickTop = (count: number) => [{ id: 'largest', type: 'TopN' as const, params: { field: 'MARKET_CAP', count } }];
const commonFields = {
  calendar: 'XNYS',
  base_date: '2020-01-02',
  rebalance: { frequency: 'quarterly' as const, anchor: 'third_friday' as const },
};

beforeAll(async () => {
  service = await openLiveService();
  client = createDivisorClient({ url: service.url });
  await client.run('generateSynthetic', {
    body: { store_id: 'market', seed: 5, assets: 36, start: '2019-01-02', end: '2022-12-30' },
  });
  await client.call('putIndex', {
    params: { index_id: 'PLAIN' },
    body: {
      ...commonFields,
      id: 'PLAIN',
      name: 'Plain',
      pipeline: { selection: pickTop(24), treatment: { dividends: 'total' }, weighting: { type: 'MarketCapWeight' } },
    },
  });
  await client.call('putIndex', {
    params: { index_id: 'CAPPED' },
    body: {
      ...commonFields,
      id: 'CAPPED',
      name: 'Capped',
      pipeline: { selection: pickTop(22), weighting: { type: 'MarketCapWeight', cap: 0.06 } },
    },
  });
  await client.call('optimiseIndex', {
    params: { index_id: 'CAPPED' },
    body: { id: 'DERIVED', name: 'Derived', constraints: [{ type: 'PositionBounds', params: { upper: 0.05 } }] },
  });
  const run = (index_id: string) =>
    client.run('startBacktest', { params: { index_id }, body: { transaction_cost_bps: COST_BPS } });
  for (const index_id of ['PLAIN', 'CAPPED', 'DERIVED']) await run(index_id);
  const { weights } = await client.call('getWeights', { params: { index_id: 'CAPPED' } });
  const bounds = { lower: -0.1, upper: -0.05, identifiers: weights.slice(0, 3).map(({ identifier }) => identifier) };
  const constraints = [
    { type: 'PositionBounds' as const, params: bounds },
    { type: 'WeightSum' as const, params: { lower: 0.5, upper: 0.9 } },
  ];
  await client.call('optimiseIndex', {
    params: { index_id: 'CAPPED' },
    body: { id: 'HEDGED', name: 'Hedged', constraints },
  });
  await run('HEDGED');
});
afterAll(async () => {
  await service.close();
  rmSync(folder, { recursive: true, force: true });
});

const factsheets = new Map<string, ReturnType<typeof drawFactsheet>>();

/** Returns the factsheet of the run of an index. It is drawn only once. */
function createFactsheet(id: string): ReturnType<typeof drawFactsheet> {
  const factsheet = factsheets.get(id) ?? drawFactsheet(id);
  factsheets.set(id, factsheet);
  return factsheet;
}

async function drawFactsheet(index_id: string) {
  const { render_id } = await client.run('renderReport', { body: { template_id: 'FACTSHEET-A4', index_id } });
  const bytes = await client.call('getRender', { params: { render_id } });
  const path = join(folder, `${index_id}.pdf`);
  writeFileSync(path, bytes);
  return { bytes, path };
}

/** Returns every figure that a factsheet may print, read from the service's routes and formatted. */
async function listFigures(index_id: string): Promise<Set<string>> {
  const params = { index_id };
  const overview = await client.call('getOverview', { params });
  const { index } = await client.call('getRecord', { params });
  const { weights, concentration } = await client.call('getWeights', { params });
  const rollingAnswer = await client.call('getRollingRisk', { params, query: { window: 252 } });
  const { contributions } = await client.call('getAttribution', { params });
  const names = weights.map(({ identifier }) => identifier);
  const { entries } = await client.call('getAssetReferences', { query: { identifiers: names, fields: ['SECTOR'] } });
  const sectors = new Map<unknown, number>();
  weights.forEach(({ weight }, i) =>
    sectors.set(entries[i]!.fields['SECTOR'], (sectors.get(entries[i]!.fields['SECTOR']) ?? 0) + weight),
  );
  const { sharpe_ratio: sharpe, ...fractions } = overview.metrics;
  const volatility = rollingAnswer.risk.columns.indexOf('volatility');
  return new Set([
    ...Object.values(fractions).map(formatPercentFigure),
    formatRatio(sharpe),
    formatRatio(COST_BPS),
    ...(overview.parent ? [formatPercentFigure(overview.parent.tracking_error)] : []),
    ...(overview.parent?.forecast ? [formatPercentFigure(overview.parent.forecast.tracking_error)] : []),
    ...contributions.map(({ contribution }) => formatPercentFigure(contribution)),
    formatRatio(overview.level.data.at(-1)!),
    formatRatio(concentration.effective_assets),
    formatPercentFigure(concentration.largest),
    ...Object.values(overview.exposure ?? {}).map(formatPercentFigure),
    ...computeYearlyReturns(overview).map(formatPercentFigure),
    ...computeMonthlyReturns(overview).map(formatPercentFigure),
    ...[...sectors.values()].map(formatPercentFigure),
    ...weights.flatMap(({ weight, raw_weight }) => [formatPercentFigure(weight), formatPercentFigure(raw_weight)]),
    formatPercentFigure(rollingAnswer.risk.data.at(-1)![volatility] as number),
    ...rebalanceFigures((index.optimised ?? index.target)!),
  ]);
}

const computeMonthlyReturns = (overview: OverviewView) => computeReturnsBy('2020-01'.length, overview);
const computeYearlyReturns = (overview: OverviewView) => computeReturnsBy('2020'.length, overview);

/**
 * Returns the last level of each month or year divided by the previous one; `length` is the length of the date prefix.
 */
function computeReturnsBy(length: number, { level: { index, data } }: OverviewView): number[] {
  const ends = index.flatMap((date, i) => (index[i + 1]?.slice(0, length) === date.slice(0, length) ? [] : [data[i]!]));
  return ends.map((level, i) => level / (i === 0 ? data[0]! : ends[i - 1]!) - 1);
}

/** Formats the largest weight, the cap, and the weight redistributed by the cap at the latest rebalances. */
function rebalanceFigures({ rebalances }: BookPayload): string[] {
  return rebalances
    .slice(-4)
    .flatMap(({ weights, cap, redistributed }) =>
      [Math.max(...Object.values(weights).map(Math.abs)), cap, redistributed].map(formatPercentFigure),
    );
}

/** Matches figures with two decimals. Counts, dates and labels of axes have another form and are not checked. */
const FIGURE = /(?<![\d.,-])-?\d{1,3}(?:,?\d{3})*\.\d{2}%?(?![\d.])/g;

/** Returns the printed turnovers of the latest rebalances, by date. They are the first percentages of their lines. */
const listTurnovers = (text: string): Map<string, string> =>
  new Map(
    [...text.matchAll(/^\s*(\d{4}-\d{2}-\d{2})\s+\d+\s+\d+\s+\d+\s+(-?[\d.,]+%)/gm)].map((match) => [
      match[1]!,
      match[2]!,
    ]),
  );

describe.each(['PLAIN', 'CAPPED', 'DERIVED', 'HEDGED'])('the factsheet of %s', (id) => {
  let texts: readonly string[];
  beforeAll(async () => {
    const { bytes, path } = await createFactsheet(id);
    texts = [
      readPdf(bytes).text,
      ...(TOOLS.pdftotext ? [spawnSync('pdftotext', ['-layout', path, '-'], { encoding: 'utf8' }).stdout] : []),
    ];
  });

  test('prints no figure that the routes of the service do not return', async () => {
    const figures = await listFigures(id);
    const { portfolio } = await client.call('getRecord', { params: { index_id: id } });
    for (const text of texts) {
      const turnovers = listTurnovers(text);
      expect(turnovers.size).toBe(4);
      for (const [date, printed] of turnovers)
        expect(
          Math.abs(computeTurnoverOn(portfolio, date) - Number(printed.replace('%', '')) / 100),
          `turnover of ${date}`,
        ).toBeLessThan(0.0002);
      const numbers = text.match(FIGURE) ?? [];
      expect(numbers.length).toBeGreaterThan(80);
      expect(numbers.filter((figure) => !figures.has(figure) && ![...turnovers.values()].includes(figure))).toEqual([]);
    }
  });

  test('prints every figure of the overview, the years and the largest names', async () => {
    const { metrics, exposure } = await client.call('getOverview', { params: { index_id: id } });
    const { weights, concentration } = await client.call('getWeights', { params: { index_id: id } });
    const { sharpe_ratio: sharpe, ...fractions } = metrics;
    for (const text of texts) {
      const figures = new Set(text.match(FIGURE));
      for (const value of [...Object.values(fractions), ...Object.values(exposure ?? {})])
        expect(figures).toContain(formatPercentFigure(value));
      for (const value of [sharpe, concentration.effective_assets]) expect(figures).toContain(formatRatio(value));
      for (const { weight } of weights.toSorted((a, b) => b.weight - a.weight).slice(0, 10))
        expect(figures).toContain(formatPercentFigure(weight));
    }
  });

  test('names currency, return, price basis and transaction cost under the date, and the parent of a derived index', async () => {
    const { end } = await client.call('getOverview', { params: { index_id: id } });
    const pdfText = readPdf((await createFactsheet(id)).bytes).text.replaceAll('\n', ' ');
    expect(pdfText).toContain(`As of ${end}`);
    expect(pdfText).toContain(id === 'PLAIN' ? 'USD, total return' : 'USD, price return');
    expect(pdfText).toContain('Prices as traded');
    expect(pdfText).toContain('Transaction cost 8.00 bps');
    expect(pdfText.includes('Derived from CAPPED')).toBe(['DERIVED', 'HEDGED'].includes(id));
  });

  test('lists the five largest contributors and the five largest detractors', async () => {
    const { contributions } = await client.call('getAttribution', { params: { index_id: id } });
    const rankedContributions = contributions.toSorted((a, b) => b.contribution - a.contribution);
    const { entries } = await client.call('getAssetReferences', {
      query: { identifiers: rankedContributions.map(({ asset_id }) => asset_id), fields: ['NAME'] },
    });
    const names = new Map(entries.map(({ identifier, fields }) => [identifier, fields['NAME']]));
    const formatLine = ({ asset_id, contribution }: (typeof rankedContributions)[number]) =>
      `${names.get(asset_id)} ${formatPercentFigure(contribution)}`;
    const printedLines = readLinesRightOf(readPdf((await createFactsheet(id)).bytes), 'Contributors and detractors');
    const lines = [...rankedContributions.slice(0, 5), ...rankedContributions.slice(-5)].map(formatLine);
    expect(rankedContributions[4]!.contribution).toBeGreaterThan(0);
    expect(rankedContributions.at(-5)!.contribution).toBeLessThan(0);
    expect(printedLines.slice(0, 10)).toEqual(lines);
    expect(printedLines.slice(10).join(' ')).toContain(
      `5 largest contributors and 5 largest detractors of ${rankedContributions.length} names`,
    );
  });

  test.skipIf(!TOOLS.pdffonts)('has every font embedded', async () => {
    const { path } = await createFactsheet(id);
    const rows = spawnSync('pdffonts', [path], { encoding: 'utf8' }).stdout.trim().split('\n').slice(2);
    expect(rows.length).toBeGreaterThan(0);
    // columns: name, type, encoding, embedded, subset, unicode, object
    for (const row of rows) expect(row).toMatch(/ yes yes yes +\d+ +\d+$/);
  });

  test.skipIf(!TOOLS.qpdf)('is a valid document', async () => {
    const { path } = await createFactsheet(id);
    const { status, stdout } = spawnSync('qpdf', ['--check', path], { encoding: 'utf8' });
    expect(status, stdout).toBe(0);
    expect(stdout).toContain('No syntax or stream encoding errors found');
  });
});

describe('a derived index', () => {
  /** Computes the annualised deviation of the differences of daily returns. It uses the levels in the record. */
  const computeRealisedRisk = (series: SeriesPayload, parent: SeriesPayload): number => {
    const levels = new Map(parent.index.map((date, i) => [date, parent.data[i]!]));
    const common = series.index.flatMap((date, i) => {
      const level = levels.get(date);
      return level === undefined ? [] : [{ own: series.data[i]!, parent: level }];
    });
    const gaps = common.slice(1).map((after, i) => after.own / common[i]!.own - after.parent / common[i]!.parent);
    const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
    return Math.sqrt((252 * gaps.reduce((sum, gap) => sum + (gap - mean) ** 2, 0)) / (gaps.length - 1));
  };

  test.each(['DERIVED', 'HEDGED'])('%s shows the realised tracking error to its parent', async (index_id) => {
    const params = { index_id };
    const { portfolio, index } = await client.call('getRecord', { params });
    // The first portfolio value is the capital. Its date is the day before the first date of the index.
    const nav = { ...portfolio.nav, index: portfolio.nav.index.slice(1), data: portfolio.nav.data.slice(1) };
    const expected = computeRealisedRisk(nav, index.target!.levels);
    expect(expected).toBeGreaterThan(0.001);
    const { parent } = await client.call('getOverview', { params });
    expect(parent).toMatchObject({ index_id: 'CAPPED', observations: nav.data.length });
    expect(parent!.tracking_error).toBeCloseTo(expected, 12);
    expect(readPdf((await createFactsheet(index_id)).bytes).text).toMatch(
      new RegExp(`Tracking error to parent[^]*${formatPercentFigure(expected).replace('.', '\\.')}`),
    );
  });

  test('is shown the forecast tracking error of its first weights by a model of its window', async () => {
    const params = { index_id: 'DERIVED' };
    const { index } = await client.call('getRecord', { params });
    const [weights, parents] = [index.optimised!.rebalances[0]!.weights, index.target!.rebalances[0]!.weights];
    const { date } = index.optimised!.rebalances[0]!;
    const { covariance } = await client.run('estimateRiskModel', {
      params: { model_id: 'FIRST' },
      body: { identifiers: Object.keys(parents), end: date },
    });
    const activeWeights = covariance.columns.map((name) => (weights[name] ?? 0) - parents[name]!);
    const product = covariance.data.map((row) =>
      row.reduce((sum: number, cell, j) => sum + Number(cell) * activeWeights[j]!, 0),
    );
    const expected = Math.sqrt(activeWeights.reduce((sum, value, i) => sum + value * product[i]!, 0));
    const { forecast } = (await client.call('getOverview', { params })).parent!;
    expect(forecast!.rebalances[0]).toMatchObject({ date, tracking_error: expect.closeTo(expected, 12) });
    expect(forecast!.rebalances.map((rebalance) => rebalance.date)).toEqual(
      index.optimised!.rebalances.map((rebalance) => rebalance.date),
    );
    expect(readPdf((await createFactsheet('DERIVED')).bytes).text).toMatch(
      new RegExp(`Forecast tracking error[^]*${formatPercentFigure(forecast!.tracking_error).replace('.', '\\.')}`),
    );
  });

  test('has the tracking error of a run with its parent as the benchmark', async () => {
    const params = { index_id: 'DERIVED' };
    const body = { transaction_cost_bps: COST_BPS, benchmark: { id: 'CAPPED', kind: 'index' as const } };
    const { benchmark } = await client.run('startBacktest', { params, body });
    const { parent } = await client.call('getOverview', { params });
    expect(parent).toMatchObject({
      tracking_error: benchmark!.tracking_error,
      tracking_difference: benchmark!.excess_return,
      total_return: benchmark!.benchmark_return,
      observations: benchmark!.observations,
    });
  });

  test('has a parent, and no other index has one', async () => {
    const { parent } = await client.call('getOverview', { params: { index_id: 'PLAIN' } });
    expect(parent).toBeUndefined();
    expect(readPdf((await createFactsheet('PLAIN')).bytes).text).not.toContain('Tracking error to parent 0');
  });
});

test('an index with short positions and cash reconciles', async () => {
  const params = { index_id: 'HEDGED' };
  const { exposure } = await client.call('getOverview', { params });
  expect(exposure!.short).toBeLessThanOrEqual(-0.05);
  expect(exposure!.net).toBeLessThan(0.9 + 1e-9);
  const { checks } = await client.call('reconcileRun', { params });
  expect(checks.filter(({ holds }) => !holds)).toEqual([]);
  const attribution = await client.call('getAttribution', { params });
  expect(attribution.reconciles).toBe(true);
  expect(attribution.contributions.some(({ average_weight: weight }) => weight < 0)).toBe(true);
});

describe('the terms of a factsheet', () => {
  test('are those of its run: no cost, and prices that include dividends', async () => {
    const patchedAnswer = await service.ask('PATCH', '/data/stores/market', { adjustment: 'total' });
    expect(patchedAnswer.status).toBe(200);
    await client.run('startBacktest', { params: { index_id: 'CAPPED' }, body: { transaction_cost_bps: 0 } });
    const { text } = readPdf((await drawFactsheet('CAPPED')).bytes);
    expect(text).toContain('No transaction cost');
    expect(text).toContain('Prices adjusted for splits and dividends');
    expect(text).toContain('USD, total return');
    expect(text).not.toContain('price return');
  });
});
