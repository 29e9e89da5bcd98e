import { describe, expect, test } from 'vitest';
import { parseValidDay } from '#domain/base/time.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import { checkOnMarket, validateIndex } from '#domain/definition/index-validation.js';
import { findLateRates } from '#domain/definition/required-rates.js';
import type { MarketData, PriceSeries } from '#domain/market/market-data.js';
import { createMethodology } from '#domain/definition/methodology.js';
import { riskControl } from '#domain/definition/overlays.js';
import { Refusal } from '#domain/base/refusals.js';
import { buildMarket } from '../backtest/market-builder.js';
import { CALENDARS, run } from '../backtest/random-run.js';
import { createOverlayIndex, addRates } from './overlay-case.js';

const dates = ['2023-12-27', '2023-12-28', '2023-12-29', '2024-01-02', '2024-01-03', '2024-01-04', '2024-01-08'];
const close = { A: [10, 11, 12, 11, 13, 12, 14], B: [20, 19, 21, 22, 20, 23, 21] };
const reference = { A: { CURRENCY: 'USD' }, B: { CURRENCY: 'EUR' } };
const pricedMarket = addRates(buildMarket({ dates, close, reference }));
const euros = { ...pricedMarket.series!.get('GBPUSD')!, identifier: 'EURUSD' };
const market: MarketData = { ...pricedMarket, series: new Map([...pricedMarket.series!, ['EURUSD', euros]]) };
const createIndexOn = (id: string, rest: object = {}): IndexDocument =>
  IndexDocument.parse({
    id,
    name: id,
    calendar: 'MAIN',
    base_date: '2023-12-27',
    universe: { kind: 'all' },
    pipeline: { weighting: { type: 'EqualWeight' } },
    ...rest,
  });
const documents: Readonly<Record<string, IndexDocument>> = {
  X: createIndexOn('X'),
  Y: createIndexOn('Y', { universe: { kind: 'list', identifiers: ['A'] } }),
  E: createIndexOn('E', { currency: 'EUR' }),
};

type Spec = Readonly<Record<string, unknown>>;
const listFindings = (overlay: Spec, rest: object = {}, on?: MarketData) =>
  validateIndex(
    { ...createOverlayIndex(overlay, rest), ...rest },
    { calendars: CALENDARS.list(), indexOf: (id) => documents[id], market: on },
  ).findings;
const listRemarks = (overlay: Spec, rest: object = {}, on?: MarketData) =>
  listFindings(overlay, rest, on).map(({ severity, code, path }) => [severity, code, path]);

const inPounds = { currency: 'GBP' };
const rates = { domestic: 'DOMESTIC', foreign: 'FOREIGN' };
const hedge = { type: 'currency_hedged', to: 'GBP', rates };
const createCurrencyHedge = (...currencies: Spec[]): Spec => ({
  ...hedge,
  rates: { domestic: 'DOMESTIC' },
  currencies,
});
const dollars = { currency: 'USD', rate: 'FOREIGN', ratio: 0.5 };
const risk = { type: 'risk_control', target: 0.1, half_lives: [3, 8] };
const listParts = (...ids: string[]) => ids.map((index_id) => ({ index_id, weight: 1 / ids.length }));
const pair = { type: 'blend', parts: listParts('X', 'Y'), rebalance: { frequency: 'quarterly' } };

/** Overlays with members that have no effect, the paths of these members, and the overlay without them. */
const IDLE_TERMS: readonly (readonly [Spec, readonly string[], Spec, object])[] = [
  [
    { ...hedge, ratio: 0, adjust: 'daily', basis: 365 },
    ['overlay.adjust', 'overlay.basis', 'overlay.rates'],
    { type: 'currency', to: 'GBP' },
    inPounds,
  ],
  [{ ...createCurrencyHedge(dollars), ratio: 0.25 }, ['overlay.ratio'], createCurrencyHedge(dollars), inPounds],
  [
    createCurrencyHedge(dollars, { currency: 'EUR', rate: 'DOMESTIC', ratio: 0 }),
    ['overlay.currencies[1]'],
    createCurrencyHedge(dollars),
    inPounds,
  ],
  [{ ...risk, half_lives: [3, 8, 3] }, ['overlay.half_lives[2]'], risk, {}],
  [{ ...risk, deviation: 'sample' }, ['overlay.deviation'], risk, {}],
  [
    { type: 'risk_control', target: 0.1, windows: [3, 8, 8], deviation: 'sample' },
    ['overlay.windows[2]'],
    { type: 'risk_control', target: 0.1, windows: [8, 3], deviation: 'sample' },
    {},
  ],
  [
    { type: 'collateral', rate: 'DOMESTIC', quotation: 'yield', term_days: 28 },
    ['overlay.term_days'],
    { type: 'collateral', rate: 'DOMESTIC', quotation: 'yield' },
    {},
  ],
  [
    { type: 'held_income', basis: 365, rebalance: { frequency: 'weekly', effective_lag: 2 } },
    ['overlay.basis', 'overlay.rebalance.effective_lag'],
    { type: 'held_income', rebalance: { frequency: 'weekly' } },
    {},
  ],
  [
    { ...risk, max_leverage: 1, spread_bps: 40, basis: 365 },
    ['overlay.basis', 'overlay.spread_bps'],
    { ...risk, max_leverage: 1 },
    {},
  ],
  [{ ...risk, target: 0.4, max_leverage: 0.2 }, ['overlay.target'], { ...risk, target: 2, max_leverage: 0.2 }, {}],
  [{ ...risk, max_change: 1.5 }, ['overlay.max_change'], risk, {}],
  [
    { ...risk, max_leverage: 0.4, tolerance: 0.4, max_change: 0.1, review: 'monthly' },
    ['overlay.max_change', 'overlay.review', 'overlay.tolerance'],
    { ...risk, max_leverage: 0.4, tolerance: 0.4 },
    {},
  ],
  [{ type: 'quanto', to: 'USD' }, ['overlay.to'], { type: 'fee', percent: 0 }, {}],
  [
    { type: 'leverage', factor: 1, financing: 'DOMESTIC', spread_bps: 30, cost_bps: 5, basis: 365 },
    ['overlay.basis', 'overlay.cost_bps', 'overlay.factor', 'overlay.financing', 'overlay.spread_bps'],
    { type: 'fee', percent: 0 },
    {},
  ],
  [{ type: 'leverage', factor: 2, basis: 365 }, ['overlay.basis'], { type: 'leverage', factor: 2 }, {}],
  [{ type: 'decrement', points: 4, method: 'arithmetic' }, ['overlay.method'], { type: 'decrement', points: 4 }, {}],
  [
    { type: 'decrement', percent: 0, method: 'arithmetic', basis: 360 },
    ['overlay.basis', 'overlay.method', 'overlay.percent'],
    { type: 'fee', percent: 0 },
    {},
  ],
  [{ type: 'fee', percent: 0 }, ['overlay.percent'], { type: 'leverage', factor: 1 }, {}],
  [
    { type: 'blend', parts: listParts('X'), rebalance: { frequency: 'daily' }, cost_bps: 10 },
    ['overlay.cost_bps', 'overlay.rebalance'],
    { type: 'blend', parts: listParts('X') },
    {},
  ],
  [
    { ...pair, rebalance: { frequency: 'none' }, cost_bps: 10 },
    ['overlay.cost_bps'],
    { ...pair, rebalance: { frequency: 'none' } },
    {},
  ],
  [
    { ...pair, rebalance: { frequency: 'weekly', effective_lag: 2 } },
    ['overlay.rebalance.effective_lag'],
    { ...pair, rebalance: { frequency: 'weekly' } },
    {},
  ],
];

const getLevels = (overlay: Spec, rest = {}, on = market): Float64Array =>
  run(on, createOverlayIndex(overlay, rest), { documents }).index.book.value;

describe('a member without effect among the others', () => {
  test.each(IDLE_TERMS)('%o: it is reported, and the levels are those without it', (overlay, paths, without, rest) => {
    expect(listRemarks(overlay, rest)).toEqual(paths.map((path) => ['warning', 'NO_EFFECT', path]));
    expect([...getLevels(overlay, rest)]).toEqual([...getLevels(without, rest)]);
  });

  test('is reported with its value and reason, and not with its default', () => {
    const [spread] = listFindings({ ...risk, max_leverage: 1, spread_bps: 40 });
    expect(spread).toMatchObject({
      message: 'overlay.spread_bps is 40 and has no effect: max_leverage is 1, so nothing is borrowed.',
      value: 40,
    });
    const [target] = listFindings({ ...risk, max_leverage: 0.05 });
    expect(target?.message).toContain('max_leverage is 0.05, which is the exposure for every volatility below 200%');
    const storedDocuments = [
      { type: 'decrement', points: 4, percent: null, basis: 365, method: 'geometric' },
      { type: 'leverage', factor: 1.5, financing: null, spread_bps: 0, basis: 360 },
      { ...risk, sessions: null, max_leverage: 1, cash: null, basis: 360 },
    ];
    for (const overlay of storedDocuments) expect(listRemarks(overlay)).toEqual([]);
    expect(listRemarks(pair, { rebalance: { frequency: 'quarterly' } })).toEqual([]);
  });

  test('is the conversion into the currency of the underlying index, and the cadence of an overlay without a schedule', () => {
    expect(listRemarks({ type: 'currency', to: 'USD' })).toEqual([['warning', 'NO_EFFECT', 'overlay.to']]);
    for (const overlay of [{ type: 'fee', percent: 1 }, pair])
      expect(listRemarks(overlay, { rebalance: { frequency: 'daily' } })).toEqual([
        ['warning', 'NO_EFFECT', 'rebalance'],
      ]);
  });

  test('is the hedge of a currency in which no security is quoted', () => {
    const inYen = { ...market, series: new Map([...market.series!, ['JPYUSD', { ...euros, identifier: 'JPYUSD' }]]) };
    const overlay = createCurrencyHedge(dollars, { currency: 'JPY', rate: 'FOREIGN' });
    expect(listRemarks(overlay, inPounds, inYen)).toEqual([
      ['warning', 'FX_CROSSED', 'currency'],
      ['warning', 'NO_EFFECT', 'overlay.currencies[1]'],
    ]);
    expect([...getLevels(overlay, inPounds, inYen)]).toEqual([...getLevels(createCurrencyHedge(dollars), inPounds)]);
  });
});

test('a currency is hedged once, and never into itself: each one that is too much is named', () => {
  const pence = { currency: 'GBX', rate: 'FOREIGN' };
  const listOverlayErrors = (overlay: Spec, rest: object = inPounds) =>
    listFindings(overlay, rest).map(({ path, message }) => [path, message]);
  expect(listOverlayErrors(createCurrencyHedge(dollars, pence, dollars))).toEqual([
    [
      'overlay.currencies[1].currency',
      'overlay.currencies[1].currency is GBX, which counts as GBP: the currency of the overlay is not hedged.',
    ],
    ['overlay.currencies[2].currency', 'overlay.currencies[2].currency is USD, which currencies[0] already lists.'],
  ]);
  expect(listOverlayErrors({ ...hedge, to: 'USD' }, {})).toEqual([
    [
      'overlay.to',
      'overlay.to is USD, and the underlying index is already in USD; use currencies to hedge the currencies of its securities.',
    ],
  ]);
});

test('a blend without a schedule is reported with its default, one part needs none', () => {
  const createBlendOf = (...ids: string[]): Spec => ({ type: 'blend', parts: listParts(...ids) });
  const [finding] = listFindings(pair, { overlay: createBlendOf('X', 'Y') });
  expect(finding).toMatchObject({ severity: 'info', code: 'DEFAULT_TAKEN', path: 'overlay.rebalance' });
  expect(finding?.value).toEqual({ frequency: 'quarterly', anchor: 'last_session' });
  expect(listRemarks(pair, { overlay: createBlendOf('X') })).toEqual([]);
});

test('the parts of a blend are of one currency: one in another is named with both', () => {
  const mixedBlend = { ...pair, parts: listParts('X', 'Y', 'E') };
  for (const fields of [{}, { currency: 'EUR' }]) {
    const errors = listFindings(mixedBlend, fields).map(({ code, path, value }) => [code, path, value]);
    expect(errors).toEqual([['CURRENCIES_DIFFER', 'overlay.parts[2].index_id', 'E']]);
  }
  const [differs] = listFindings(mixedBlend);
  expect(differs?.message).toMatch(/^The parts of a blend must have the same currency: E is in EUR, and X is in USD\./);
  expect(listRemarks({ ...pair, parts: listParts('X', 'Y') }, { currency: 'EUR' })).toEqual([
    ['error', 'NOT_IN_CHOICES', 'currency'],
    ['error', 'NOT_IN_CHOICES', 'currency'],
  ]);
});

test('the sum of the weights of a blend is reported without rounding noise', () => {
  const createWeightedBlend = (...weights: number[]) => ({
    type: 'blend',
    parts: weights.map((weight, k) => ({ index_id: ['X', 'Y'][k], weight })),
  });
  expect(0.3 + 0.6).not.toBe(0.9);
  expect(listFindings(createWeightedBlend(0.3, 0.6))[0]).toMatchObject({
    message: 'The weights sum to 0.9, but must sum to 1.',
    value: 0.9,
  });
});

test('more points a year than the base value cause a warning', () => {
  expect(listRemarks({ type: 'decrement', points: 100 })).toEqual([['warning', 'OUT_OF_RANGE', 'overlay.points']]);
  expect(listRemarks({ type: 'decrement', points: 100 }, { base_value: 101 })).toEqual([]);
});

test('an exchange rate in place of a rate of interest causes a warning because of its name', () => {
  const listFinancingFindings = (financing: string) =>
    listRemarks({ type: 'leverage', factor: 2, financing }, {}, market).filter(
      ([, code]) => code === 'VALUE_TYPE_MISMATCH',
    );
  expect(listFinancingFindings('GBPUSD')).toEqual([['warning', 'VALUE_TYPE_MISMATCH', 'overlay.financing']]);
  expect(listFinancingFindings('DOMESTIC')).toEqual([]);
});

describe('a rate that begins too late', () => {
  const startSeriesAt = (id: string, first: number): MarketData => {
    const series = market.series!.get(id)!;
    const from = series.days.findIndex((day) => day >= market.dates[first]!);
    const late: PriceSeries = { ...series, days: series.days.subarray(from), closes: series.closes.subarray(from) };
    return { ...market, series: new Map([...market.series!, [id, late]]) };
  };
  const lateB = buildMarket({ dates, close: { ...close, B: [null, null, null, null, 20, 23, 21] } });

  test.each([
    ['DOMESTIC', { type: 'excess_return', cash: 'DOMESTIC' }, {}, 'overlay.cash'],
    ['FOREIGN', hedge, inPounds, 'overlay.rates.foreign'],
    ['GBPUSD', { type: 'currency', to: 'GBP' }, inPounds, 'overlay.to'],
  ])('%s of %o is refused where the run is, at its field', (id, overlay, rest, path) => {
    const document = createOverlayIndex(overlay, rest);
    for (const first of [0, 1, 4]) {
      const lateMarket = startSeriesAt(id, first);
      const findings = findLateRates('O', {
        documents: { ...documents, O: document },
        market: lateMarket,
        calendars: CALENDARS,
      });
      const createRuns = () => getLevels(overlay, rest, lateMarket);
      if (lateMarket.series!.get(id)!.days[0]! <= market.dates[0]!) expect(createRuns()).toHaveLength(dates.length);
      else expect(createRuns).toThrow(Refusal);
      const isRefused = lateMarket.series!.get(id)!.days[0]! > market.dates[0]!;
      expect(findings.map((finding) => finding.path)).toEqual(isRefused ? [path] : []);
      expect(listRemarks(overlay, rest, lateMarket)).toEqual(isRefused ? [['warning', 'OUT_OF_RANGE', path]] : []);
    }
  });

  test('it is accepted if the underlying index begins no earlier', () => {
    const lateMarket = { ...startSeriesAt('DOMESTIC', 4), ...lateB, series: startSeriesAt('DOMESTIC', 3).series! };
    const listing = { ...documents, X: createIndexOn('X', { universe: { kind: 'list', identifiers: ['B'] } }) };
    const overlay = { type: 'excess_return', cash: 'DOMESTIC' };
    const O = createOverlayIndex(overlay);
    expect(findLateRates('O', { documents: { ...listing, O }, market: lateMarket, calendars: CALENDARS })).toEqual([]);
    expect(run(lateMarket, O, { documents: listing }).days[0]).toBe(parseValidDay(dates[4]!));
  });
});

describe('a rule that is watched', () => {
  const validateTreatment = (treatment: object) =>
    validateIndex(
      { ...documents['X'], pipeline: { weighting: { type: 'EqualWeight' }, treatment } },
      { calendars: CALENDARS.list(), indexOf: () => undefined },
    ).findings.map(({ severity, code, path, value = null }) => [severity, code, path, value]);

  test('by default is reported, one without an observed input is refused, or a warning on request', () => {
    const field = 'pipeline.treatment.breach_rule';
    const breach_rule = 'RIC_25_5_50';
    expect(validateTreatment({ on_breach: 'rebalance' })).toEqual([['info', 'DEFAULT_TAKEN', field, 'UCITS_5_10_40']]);
    expect(validateTreatment({ breach_rule })).toEqual([['error', 'REQUIRED', 'pipeline.treatment.on_breach', null]]);
    const breach_limits = { single: { above: 0.2 } };
    const limitsPath = 'pipeline.treatment.breach_limits';
    expect(validateTreatment({ on_breach: 'rebalance', breach_limits })).toEqual([]);
    expect(validateTreatment({ on_breach: 'rebalance', breach_limits, breach_rule })).toEqual([
      ['error', 'UNKNOWN_FIELD', field, breach_rule],
    ]);
    expect(validateTreatment({ on_breach: 'none', breach_limits })).toEqual([
      ['warning', 'NO_EFFECT', limitsPath, breach_limits],
    ]);
    expect(validateTreatment({ on_breach: 'rebalance', breach_limits: { single: { over: 0.2 } } })).toContainEqual([
      'error',
      'UNKNOWN_FIELD',
      `${limitsPath}.single.over`,
      null,
    ]);
    expect(validateTreatment({ on_breach: 'rebalance', breach_limits, breach_review: 'capping' })).toEqual([
      ['error', 'NOT_IN_CHOICES', 'pipeline.treatment.breach_review', 'capping'],
    ]);
    expect(validateTreatment({ on_breach: 'none', breach_rule })).toEqual([
      ['warning', 'NO_EFFECT', field, breach_rule],
    ]);
    for (const wholeTreatment of [{ on_breach: 'rebalance', breach_rule }, { on_breach: 'none' }, {}])
      expect(validateTreatment(wholeTreatment)).toEqual([]);
  });
});

test('an overlay that starts before its underlying index is reported when it begins', () => {
  const [finding] = listFindings({ type: 'fee', percent: 1 }, { base_date: '2000-01-03' });
  expect(finding).toMatchObject({ severity: 'warning', code: 'OUT_OF_RANGE', path: 'base_date', value: '2000-01-03' });
  expect(finding!.message).toContain(`underlying index X begins on ${documents['X']!.base_date}`);
});

test.each([
  [0, 'returns up to that close,'],
  [1, 'returns up to 1 session before,'],
  [2, 'returns up to 2 sessions before,'],
])('risk control with a lag of %i states its divisor, and the last return that counts', (lag, words) => {
  const spec = riskControl.schema.parse({ type: 'risk_control', target: 0.15, sessions: 20, lag });
  const text = riskControl.sentences(spec).join(' ');
  expect(text).toContain('at a leverage of 15% divided by its volatility');
  expect(text).toContain(words);
});

test('a rate declared in the other currency is reported at its field, and refused where the overlay is computed', () => {
  const declareCurrencies = (domestic: string | null, foreign: string | null): MarketData => {
    const message = { DOMESTIC: domestic, FOREIGN: foreign };
    const series = [...market.series!].map(([id, priceSeries]): [string, PriceSeries] => [
      id,
      id in message ? { ...priceSeries, currency: message[id as keyof typeof message] } : priceSeries,
    ]);
    return { ...market, series: new Map(series) };
  };
  const createDifferenceFinding = (path: string) => ['warning', 'CURRENCIES_DIFFER', `overlay.${path}`];
  const bothFindings = [createDifferenceFinding('rates.domestic'), createDifferenceFinding('rates.foreign')];
  const document = IndexDocument.parse({ ...createOverlayIndex(hedge, inPounds), ...inPounds });
  const listErrors = (on: MarketData) =>
    checkOnMarket(document, on, { severity: 'error', indexOf: (id) => documents[id] }).map(({ path }) => path);
  // The underlying index is in dollars, and the overlay in pounds.
  expect(listRemarks(hedge, inPounds, declareCurrencies('USD', 'GBP'))).toEqual(bothFindings);
  expect(listErrors(declareCurrencies('USD', 'GBP'))).toEqual(['overlay.rates.domestic', 'overlay.rates.foreign']);
  expect(listRemarks(hedge, inPounds, declareCurrencies('GBX', 'USD'))).toEqual([]);
  expect(listRemarks(hedge, inPounds, declareCurrencies(null, 'EUR'))).toEqual([
    createDifferenceFinding('rates.foreign'),
  ]);
  expect(listErrors(declareCurrencies(null, 'EUR'))).toEqual([]);
  const inEuros = declareCurrencies('EUR', null);
  expect(listRemarks({ type: 'leverage', factor: 2, financing: 'DOMESTIC' }, {}, inEuros)).toEqual([
    createDifferenceFinding('financing'),
  ]);
  expect(listRemarks({ ...risk, cash: 'DOMESTIC' }, {}, inEuros)).toEqual([createDifferenceFinding('cash')]);
  expect(listRemarks({ type: 'excess_return', cash: 'FOREIGN' }, {}, inEuros)).toEqual([]);
  expect(listRemarks(createCurrencyHedge(dollars), inPounds, declareCurrencies('GBP', 'GBP'))).toEqual([
    createDifferenceFinding('currencies[0].rate'),
  ]);
  const [swapped] = listFindings(hedge, inPounds, declareCurrencies('USD', 'GBP'));
  expect(swapped!.message).toBe(
    'overlay.rates.domestic must be the rate of GBP, but the series DOMESTIC is in USD, which has a separate field. Are the rates swapped?',
  );
});

test.each([
  [{}, 'At the close, the cash is invested in the index monthly on the last session of every month.'],
  [
    { rebalance: { frequency: 'quarterly', anchor: 'nth_session', session: 5, offset: 2 } },
    'At the close, the cash is invested in the index quarterly 2 sessions after session 5 of March, June, September and December.',
  ],
  [
    { rebalance: { frequency: 'weekly', weekday: 2 } },
    'At the close, the cash is invested in the index every week on Wednesday.',
  ],
  [
    { rebalance: { frequency: 'custom', dates: ['2024-01-03'] } },
    'At the close, the cash is invested in the index on 2024-01-03.',
  ],
  [{ rebalance: { frequency: 'none' } }, 'The cash is never invested in the index.'],
])('the methodology of income held as cash %j states the days of its reviews', (terms, sentence) => {
  const body = createOverlayIndex({ type: 'held_income', ...terms });
  const { document } = validateIndex(body, { calendars: CALENDARS.list(), indexOf: () => documents['X'] });
  expect(createMethodology(document!)).toContain(sentence);
});

test.each([
  [{ anchor: 'nth_session' }, ['error MISSING_PARAMETER overlay.rebalance.session']],
  [
    { anchor: 'nth_weekday' },
    ['error MISSING_PARAMETER overlay.rebalance.nth', 'error MISSING_PARAMETER overlay.rebalance.weekday'],
  ],
  [{ anchor: 'last_session', session: 4 }, ['warning NO_EFFECT overlay.rebalance.session']],
  [{ frequency: 'custom' }, ['error MISSING_PARAMETER overlay.rebalance.dates']],
])('the schedule %j of income held as cash is checked like that of an index', (schedule, expected) => {
  const body = createOverlayIndex({ type: 'held_income', rebalance: { frequency: 'monthly', ...schedule } });
  const { findings } = validateIndex(body, { calendars: CALENDARS.list(), indexOf: () => documents['X'] });
  expect(findings.map(({ severity, code, path }) => `${severity} ${code} ${path}`)).toEqual(expected);
});
