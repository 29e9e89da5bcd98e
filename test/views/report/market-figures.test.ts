import { beforeAll, expect, test } from 'vitest';
import { createRunColumns, openColumns, type RunColumns } from '#domain/backtest/run-file/columns.js';
import { runBacktest } from '#domain/backtest/run-backtest.js';
import { openMarketOn, type SessionMarket } from '#domain/market/session-market.js';
import { formatDay, parseValidDay } from '#domain/base/time.js';
import { createBuiltInTemplate, createTerms } from '#domain/outputs/report-templates.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import { createMethodology } from '#domain/definition/methodology.js';
import {
  computeRebalanceOrders,
  computeRunDividends,
  createRunFigures,
  formatPercentFigure,
  type RunFigures,
} from '#views/report/figures.js';
import { buildMarket, createWeekdayCalendars } from '../../domain/backtest/market-builder.js';
import { createPlainDecider } from '../../domain/backtest/test-deciders.js';
import { readPdf } from './read-pdf.js';
import { parse, render } from './rendering/set-up.js';
import { runOverviewJson } from '../../domain/backtest/run-texts.js';

const CALENDARS = createWeekdayCalendars({ XTST: { from: '2023-01-01', to: '2024-12-31' } });
/**
 * Dates from Tuesday 2024-01-02 to Friday 2024-01-12. A doubles on the 5th and gains a fifth on the 10th. The other
 * prices are constant.
 */
const DATES = Array.from({ length: 9 }, (_, t) => formatDay(parseValidDay('2024-01-02') + t + (t > 3 ? 2 : 0)));
const A = [10, 10, 10, 20, 20, 20, 24, 24, 24];

let columns: RunColumns;
let sm: SessionMarket;
let figures: RunFigures;

beforeAll(() => {
  const market = buildMarket({
    dates: DATES,
    close: { A, B: DATES.map(() => 10), C: DATES.map(() => 10) },
    fields: { VOLUME: { A: DATES.map(() => 1000), B: DATES.map(() => 500) } },
    actions: [{ name: 'B', type: 'DIVIDEND', value: 0.5, ex: '2024-01-04' }],
  });
  const document = IndexDocument.parse({
    id: 'SAMPLE',
    name: 'Three names',
    calendar: 'XTST',
    base_date: DATES[0],
    rebalance: { frequency: 'custom', dates: ['2024-01-10'] },
    pipeline: {
      treatment: { on_breach: 'rebalance', breach_rule: 'UCITS_20_35', withholding_tax: 0.15 },
      weighting: { type: 'EqualWeight' },
    },
  });
  const run = runBacktest({
    market,
    calendars: CALENDARS,
    createDecider: createPlainDecider,
    report: () => {},
    plan: {
      runId: 'SAMPLE',
      name: 'Three names',
      indexId: 'SAMPLE',
      documents: { SAMPLE: document },
      request: { benchmark: null, start: null, end: null, initial_capital: 1, transaction_cost_bps: 0 },
    },
  });
  const bytes = createRunColumns(run, { contentHash: 'hash' });
  columns = openColumns((from, to) => bytes.subarray(from, to));
  sm = openMarketOn({ market, calendars: CALENDARS, code: 'XTST' });
  figures = createRunFigures({
    columns,
    overview: runOverviewJson(run),
    risk: { missing: 'No risk was estimated.' },
    terms: { transactionCostBps: 0, adjustment: 'none', overlay: null },
    market: sm,
  });
});

test('orders of the latest rebalance, by hand', () => {
  const orders = computeRebalanceOrders(columns, sm, 30_000);
  if (orders === null || 'missing' in orders) throw new Error('orders were expected');
  // On the 5th, A is half of the index. This breach is corrected at the close of the day. On the 10th A is 1.2 / 3.2 =
  // 0.375: it has 468 shares at 24 and should have 10,000 / 24 = 417. B and C have 937 shares at 10 and should have
  // 1000. The cash of 28 does not pay for the last shares.
  expect(orders.date).toBe('2024-01-10');
  const shares = new Map(
    orders.account.trades.map(({ identifier, side, shares: count }) => [identifier, [side, count]]),
  );
  expect(shares.get('A')).toEqual(['sell', 51]);
  const boughtShares = ['B', 'C'].map((name) => shares.get(name)!);
  expect(boughtShares.map(([side]) => side)).toEqual(['buy', 'buy']);
  expect(boughtShares.map(([, count]) => count).toSorted()).toEqual([62, 63]);
  // The cost has two parts: half of 5 basis points, and 10 times the square root of the share of a day's volume. C has
  // no volume.
  const cost = (51 * 24 * (2.5 + 10 * Math.sqrt(0.051)) + 2.5 * (shares.get('C')![1] as number) * 10) / 1e4;
  const sharesB = shares.get('B')![1] as number;
  expect(orders.account.cost).toBeCloseTo(cost + (sharesB * 10 * (2.5 + 10 * Math.sqrt(sharesB / 500))) / 1e4, 9);
  expect(orders.capacity.map(({ days }) => days)).toEqual([1, 5, 10]);
});

test('dividends in points: a third of the level at 5 %, of which a net return reinvests 85 %', () => {
  const result = computeRunDividends(columns, sm);
  if ('missing' in result) throw new Error(result.missing);
  const [points, net] = [(100 / 3) * 0.05, (100 / 3) * 0.0425];
  const sums = { points: expect.closeTo(points, 12) as number, net_points: expect.closeTo(net, 12) as number };
  expect(result.years).toEqual([{ year: 2024, ...sums }]);
  expect(result.trailing).toMatchObject(sums);
  expect([result.withholding_tax, result.net_points]).toEqual([0.15, [sums.net_points]]);
});

test('a report prints the breaches, the orders and the dividends', () => {
  const blocks = ['breaches', 'pack', 'dividend_points', 'limits'].map((source) => ({
    kind: 'table',
    title: source,
    source,
    index_id: 'SAMPLE',
    aum: 30_000,
  }));
  const { text } = readPdf(render({ template: parse(blocks), figures }).bytes);
  expect(text).toMatch(/^2024 1\.67$/m);
  const orders = computeRebalanceOrders(columns, sm, 30_000);
  if (orders === null || 'missing' in orders) throw new Error('orders were expected');
  const bpsText = ((orders.account.cost / orders.account.value) * 1e4).toFixed(2);
  const line = text.replaceAll('\n', ' ');
  expect(line).toContain(`Orders of 2024-01-10 for 30,000 USD: turnover 4.12%, expected cost ${bpsText} bps.`);
  expect(line).toContain('Days to trade at 10.00% of the mean daily volume:');
  expect(text).toMatch(/UCITS 20\/35: \d+ breach/);
});

test('a report prints scenarios by hand, and why one has no result', () => {
  const block = {
    kind: 'table',
    source: 'scenarios',
    index_id: 'SAMPLE',
    scenarios: [
      { name: 'Doubling', window: { start: '2024-01-05', end: '2024-01-10' } },
      { name: 'A falls', shocks: { A: -0.3 } },
      { name: 'Nothing', shocks: { NOPE: -0.1 } },
      { name: 'Long ago', window: { start: '2010-01-04', end: '2010-02-01' } },
    ],
  };
  const { text } = readPdf(render({ template: parse([block]), figures }).bytes);
  // A is a third of the portfolio and rises from 10 to 24. B has paid a dividend earlier. Between the two rises nothing
  // changes.
  expect(text).toMatch(/^Doubling 2024-01-04 2024-01-10 46\.67% 0\.00% \(2024-01-08\) 100\.00%$/m);
  expect(text).toMatch(/^A falls -10\.00% 100\.00%$/m);
  const line = text.replaceAll('\n', ' ');
  expect(line).toContain('Nothing: NOPE is not a holding');
  expect(line).toContain('Long ago: The scenario Long ago');
  expect(() => parse([{ ...block, scenarios: null }])).toThrow('required');
});

test('charts print how much is sold within some days, and the headroom of the watched rule', () => {
  const blocks = [
    { kind: 'bar_chart', source: 'liquidation', index_id: 'SAMPLE', aum: 30_000 },
    { kind: 'chart', lines: ['headroom', 'sector_weights'], index_id: 'SAMPLE' },
  ];
  const { text } = readPdf(render({ template: parse(blocks), figures }).bytes);
  // Holdings are 468 A at 24, and 937 each of B and C at 10, which is 29,972 in total. A tenth of the daily volumes of
  // 1,000 and 500 shares can be sold. Of C nothing can be sold.
  const soldValues = [100 * 24 + 50 * 10, 200 * 24 + 100 * 10, 468 * 24 + 250 * 10, 468 * 24 + 937 * 10];
  for (const value of soldValues) expect(text).toContain(formatPercentFigure(value / 29_972));
  const names = columns.header.names.length;
  const last = [...columns.f64('weights').subarray(-names)].toSorted((a, b) => b - a);
  const headroom = Math.min(0.35 - last[0]!, 0.2 - last[1]!);
  expect(text).toContain(`Headroom UCITS 20/35, latest ${formatPercentFigure(headroom)}`);
});

test('the latest rebalances state their causes', () => {
  const block = { kind: 'table', source: 'rebalances', index_id: 'SAMPLE' };
  const { text } = readPdf(render({ template: parse([block]), figures }).bytes);
  for (const date of ['2024-01-02', '2024-01-10']) expect(text).toMatch(new RegExp(`^${date} schedule 3 `, 'm'));
  // A doubles on the 5th and becomes half of the index.
  expect(text).toMatch(/^2024-01-05 breach of UCITS 20\/35 3 0 0/m);
  const unwatchedTerms = {
    ...figures,
    watchedRule: null,
    rebalances: (limit: number) => figures.rebalances(limit).slice(-1),
  };
  expect(readPdf(render({ template: parse([block]), figures: unwatchedTerms }).bytes).text).not.toContain('Cause');
});

test('a report of an overlay states its kind, its underlying index, and every term', () => {
  const index = IndexDocument.parse({
    id: 'TWICE',
    name: 'Twice',
    calendar: 'XTST',
    base_date: '2024-01-02',
    kind: 'overlay',
    currency: 'USD',
    source_index_id: 'SAMPLE',
    overlay: { type: 'leverage', factor: 2, financing: 'SOFR', spread_bps: 50, cost_bps: 20 },
  });
  const terms = createTerms({ request: {} }, index);
  const attribution = { ...figures.attribution(), overlay_parts: [] };
  const overlaidFigures = { ...figures, terms, attribution: () => attribution };
  const blocks = [
    { kind: 'header', index_id: 'SAMPLE' },
    { kind: 'table', source: 'overlay_parts', index_id: 'SAMPLE' },
    { kind: 'stat_grid', stats: ['transaction_cost'], index_id: 'SAMPLE' },
    { kind: 'stat_grid', index_id: 'SAMPLE' },
  ];
  const text = readPdf(render({ template: parse(blocks), figures: overlaidFigures }).bytes).text.replaceAll('\n', ' ');
  for (const words of ['Leveraged or inverse: overlay on SAMPLE', '2 times the return', 'SOFR', '50 basis points'])
    expect(text).toContain(words);
  expect(text).not.toContain('No transaction cost');
  expect(text).toContain('Max drawdown');
  expect(text).not.toMatch(/Tracking (error|difference) to index/);
  // The figure is in the header and among the key figures.
  expect(text.match(/20\.00 bps/g)).toHaveLength(2);
  expect(createMethodology(index)).toEqual(expect.arrayContaining([...terms.overlay!.sentences]));
});

test('the drawn headroom is that of the named rule, otherwise of the index, otherwise of the fallback', () => {
  const drawChart = (of: RunFigures, rules: object) => {
    const block = { kind: 'chart', lines: ['headroom'], index_id: 'SAMPLE', ...rules };
    return /Headroom ([^,\n]+), latest/.exec(
      readPdf(render({ template: parse([block]), figures: of }).bytes).text,
    )?.[1];
  };
  const unwatchedFigures = { ...figures, watchedRule: null };
  const fallback = { fallback_rule: 'UCITS_5_10_40' };
  expect(drawChart(figures, { rule: 'RIC_25_5_50', ...fallback })).toBe('RIC 25/5/50');
  expect(drawChart(figures, fallback)).toBe('UCITS 20/35');
  expect(drawChart(unwatchedFigures, fallback)).toBe('UCITS 5/10/40');
  expect(drawChart(unwatchedFigures, {})).toBeUndefined();
  const { blocks } = createBuiltInTemplate('REBALANCE-A4', 'SAMPLE');
  const chart = blocks.find(({ kind }) => kind === 'chart')!;
  expect(drawChart(figures, chart)).toBe('UCITS 20/35');
});

test('a report without the store states why figures of the market are missing', () => {
  const withoutFigures = createRunFigures({
    columns,
    overview: new TextEncoder().encode(JSON.stringify(figures.overview)),
    risk: { missing: '' },
    terms: figures.terms,
  });
  const { text } = readPdf(
    render({ template: parse([{ kind: 'table', source: 'pack', index_id: 'SAMPLE' }]), figures: withoutFigures }).bytes,
  );
  expect(text).toContain('needs a served data store');
});

test('causes of a difference from an outside level are a table with what remains after each', () => {
  const difference = {
    variant: 'price',
    scale: 1,
    decimals: 2,
    sessions: {
      common: 9,
      equal: 7,
      explained: 8,
      unexplained: [{ date: '2024-01-11', difference_bps: 3.5 }],
      unmatched: 0,
    },
    largest: { date: '2024-01-08', own: 100, outside: 101, difference_bps: 100 },
    mean_absolute_bps: 12.25,
    shapes: ['steps'],
    causes: [
      {
        subject: 'dividend',
        manner: 'ignored',
        identifier: 'B',
        date: '2024-01-04',
        through: null,
        value: null,
        sentence: 'The outside level left out the dividend of B on 2024-01-04.',
        change: { document: [], data: [], rounding: null },
        sessions: 1,
        effect_bps: -41.25,
        ties: [
          { subject: 'dividend', manner: 'late', identifier: 'C', date: null, value: null, sentence: 'Tie of C.' },
        ],
      },
    ],
    steps: [
      {
        causes: [0],
        sentence: 'The outside level left out the dividend of B on 2024-01-04.',
        sessions: 1,
        effect_bps: -41.25,
      },
    ],
    complete: false,
    fewest: null,
    reproduced: false,
    remaining: {
      dates: ['2024-01-08', '2024-01-11'],
      bps: [
        [100, -20],
        [0, -7.75],
      ],
    },
    parts: null,
    isOfRun: false,
  } as const;
  const template = parse([{ kind: 'table', index_id: 'SAMPLE', source: 'differences' }]);
  const { text } = readPdf(render({ template, figures: { ...figures, difference } }).bytes);
  const line = text.replaceAll('\n', ' ');
  for (const part of [
    'left out the dividend of B on 2024-01-04.',
    '-41.25 bps 7.75 bps',
    '9 common sessions: 7 are equal within rounding, 8 with all causes',
    'The mean absolute difference is 12.25 bps, the largest 100.00 bps',
    'explained equally well by: Tie of C.',
    'Sessions without an explanation: 2024-01-11 (3.50 bps).',
    'another run of the index',
  ])
    expect(line).toContain(part);
  // Causes that only together explain a session are one row, with their joint effect and what remains after both.
  const [cause] = difference.causes;
  const replaced = {
    ...difference,
    sessions: {
      ...difference.sessions,
      unexplained: [{ date: '2024-01-11', difference_bps: 3.5, single: true, sentence: 'This session only.' }],
    },
    causes: [
      { ...cause, subject: 'constituent', manner: 'added', identifier: 'A', effect_bps: -300, ties: [] },
      { ...cause, subject: 'constituent', identifier: 'B', effect_bps: 250, ties: [] },
    ],
    steps: [{ causes: [0, 1], sentence: 'The outside level held A instead of B.', sessions: 2, effect_bps: -47.5 }],
    remaining: {
      ...difference.remaining,
      bps: [
        [100, -20],
        [90, -90],
        [0, -7.75],
      ],
    },
  } as const;
  const together = readPdf(render({ template, figures: { ...figures, difference: replaced } }).bytes).text;
  const joined = together.replaceAll('\n', ' ');
  expect(joined).toContain('held A instead of B. 2 -47.50 bps 7.75 bps');
  for (const part of ['-300', '250.00', '90.00']) expect(joined).not.toContain(part);
  expect(joined).toContain('2024-01-11: This session only.');
  // Without a comparison the block prints nothing.
  expect(readPdf(render({ template, figures }).bytes).text).not.toContain('Cause');
});
