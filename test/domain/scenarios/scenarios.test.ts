import { fc } from '../../fast-check.js';
import { expect, test } from 'vitest';
import { formatDay } from '#domain/base/time.js';
import { computeGrowth } from '#domain/market/growth.js';
import { createSecurityTerms } from '#domain/market/action-effects.js';
import { openMarketOn } from '#domain/market/session-market.js';
import { checkShape } from '#domain/base/schema.js';
import {
  computeScenario,
  computeShockScenario,
  computeWindowScenario,
  estimateResponse,
  type ScenarioMarket,
  ScenarioRequest,
} from '#domain/studies/scenarios.js';
import { buildMarket } from '../backtest/market-builder.js';
import { CALENDARS, WEEKDAYS } from '../rules/rule-market.js';
import { seeded } from '../../seeded.js';

const SESSIONS = 80;
const FIRST = WEEKDAYS.sessions.findIndex((day) => formatDay(day) === '2020-01-01');
const DATES = Array.from({ length: SESSIONS }, (_, s) => formatDay(WEEKDAYS.sessions[FIRST + s]!));
const TERMS = createSecurityTerms('total', 'USD');

interface Sketch {
  readonly close: Readonly<Record<string, readonly (number | null)[]>>;
  readonly weights: Readonly<Record<string, number>>;
  readonly sectors: Readonly<Record<string, string>>;
  readonly dividends?: readonly { readonly name: string; readonly ex: string; readonly value: number }[];
  readonly series?: Readonly<Record<string, readonly number[]>>;
}

function createMarket({ close, weights, sectors, dividends = [], series = {} }: Sketch): ScenarioMarket {
  const builtMarket = buildMarket({
    dates: DATES,
    close,
    actions: dividends.map((dividend) => ({ ...dividend, type: 'DIVIDEND' as const })),
  });
  const days = builtMarket.dates;
  const market = {
    ...builtMarket,
    series: new Map(
      Object.entries(series).map(([identifier, closes]) => [
        identifier,
        { identifier, name: null, currency: null, days, closes: Float64Array.from(closes) },
      ]),
    ),
  };
  const sm = openMarketOn({ market, calendars: CALENDARS, code: WEEKDAYS.code });
  return {
    sm,
    growth: computeGrowth(sm, TERMS),
    session: sm.sessionAt(days.at(-1)!),
    held: Object.entries(weights).map(([identifier, weight]) => ({
      identifier,
      weight,
      column: sm.columnOf(identifier),
      group: sectors[identifier]!,
    })),
    groups: sm.identifiers.map((identifier) => sectors[identifier]!),
  };
}

/** Returns prices that are constant, except that they change on the given sessions. */
const listSteps = (start: number, changes: Readonly<Record<number, number>>) => {
  let price = start;
  return DATES.map((_, s) => (price *= 1 + (changes[s] ?? 0)));
};

test('a window by hand: bought at the close before it, including dividends, a security without prices as its group or as all', () => {
  const removeEarly = (prices: number[]) => prices.map((price, s) => (s < 20 ? null : price));
  const market = createMarket({
    close: {
      A: listSteps(100, { 10: 0.1, 11: -0.2 }),
      B: listSteps(50, { 10: -0.1 }),
      NEW: removeEarly(listSteps(20, {})),
      ODD: removeEarly(listSteps(30, {})),
      // not held, but it is in the same group as NEW
      PEER: listSteps(10, { 11: -0.3 }),
    },
    weights: { A: 0.4, B: -0.2, NEW: 0.3, ODD: 0.4, GONE: 0.05 },
    sectors: { A: 'X', B: 'X', NEW: 'Y', PEER: 'Y', ODD: 'Z', GONE: 'X' },
    dividends: [{ name: 'B', ex: DATES[10]!, value: 5 }],
  });
  const terms = { name: 'w', path: 'scenarios[2]' };
  const { result, findings } = computeWindowScenario(market, {
    ...terms,
    window: { start: DATES[10]!, end: DATES[11]! },
  });
  expect(findings).toEqual([]);
  // A returns 1.1 * 0.8 = 0.88. B falls by 5 and pays 5. NEW has the return of PEER. ODD has the mean of A, B and PEER,
  // and GONE has the mean of A and B.
  const all = (0.88 + 1 + 0.7) / 3 - 1;
  const returns = { A: -0.12, B: 0, NEW: -0.3, ODD: all, GONE: -0.06 };
  const byName = new Map(result.by_name.map((row) => [row.identifier, row]));
  for (const [identifier, value] of Object.entries(returns))
    expect(byName.get(identifier)!.return).toBeCloseTo(value, 12);
  expect(result.return).toBeCloseTo(0.4 * -0.12 + 0.3 * -0.3 + 0.4 * all + 0.05 * -0.06, 12);
  expect(result.return).toBeCloseTo(
    result.by_group.reduce((sum, { contribution }) => sum + contribution, 0),
    14,
  );
  expect(result.proxied).toEqual([
    { identifier: 'NEW', proxy: 'Y' },
    { identifier: 'ODD', proxy: 'all names' },
    { identifier: 'GONE', proxy: 'X' },
  ]);
  expect(result.covered_weight).toBeCloseTo(0.6 / 1.35, 12);
  expect(result.window).toEqual({ start: DATES[9], end: DATES[11] });
  const first = 1 + 0.4 * 0.1 + 0.4 * (0.1 / 3) + 0.05 * 0.05;
  expect(result.worst_session).toEqual({
    date: DATES[11],
    return: expect.closeTo((1 + result.return!) / first - 1, 12),
  });
  expect(result.worst_sessions).toEqual([
    result.worst_session,
    { date: DATES[10], return: expect.closeTo(first - 1, 12) },
  ]);
});

test('a window outside the store has no return, and the range of the store is reported, also for an end beyond it', () => {
  const market = createMarket({ close: { A: listSteps(100, { 79: 0.1 }) }, weights: { A: 1 }, sectors: { A: 'X' } });
  const explainWindow = (window: { start: string; end: string }) =>
    computeScenario(market, { name: 'w', window }, { by: 'SECTOR', path: 'scenarios[2]' });
  for (const window of [
    { start: '2019-01-01', end: DATES[3]! },
    { start: '2031-01-01', end: '2031-02-01' },
    // The close before the window is not in the store.
    { start: DATES[0]!, end: DATES[3]! },
  ]) {
    const { result, findings } = explainWindow(window);
    expect(result).toMatchObject({
      name: 'w',
      return: null,
      by_name: [],
      by_group: [],
      covered_weight: 0,
      window: null,
    });
    expect(findings).toEqual([
      {
        severity: 'warning',
        code: 'NO_DATA_IN_RANGE',
        path: 'scenarios[2].window',
        message: `The scenario w, from the close before ${window.start} to ${window.end}, is not covered: the data covers ${DATES[0]!} to ${DATES[79]!}.`,
        value: window,
      },
    ]);
  }
  // The last session is a Tuesday.
  expect(DATES[79]).toBe('2020-04-21');
  const laterWindow = explainWindow({ start: DATES[78]!, end: '2020-04-22' });
  expect(laterWindow.result).toMatchObject({
    return: expect.closeTo(0.1, 12) as number,
    window: { start: DATES[77], end: DATES[79] },
  });
  expect(laterWindow.findings).toMatchObject([
    { code: 'WINDOW_CUT', path: 'scenarios[2].window.end', value: '2020-04-22' },
  ]);
  expect(explainWindow({ start: DATES[78]!, end: DATES[79]! }).findings).toEqual([]);
  // The window ends on a Sunday. The session before it is a Friday, so no return is lost.
  expect(explainWindow({ start: DATES[70]!, end: '2020-04-19' }).findings).toEqual([]);
});

test('one factor: slope, share explained and standard error by their formulas', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1e6 }), fc.integer({ min: 10, max: 60 }), (seed, T) => {
      const random = seeded(seed);
      const x = Float64Array.from({ length: T }, () => random() - 0.5);
      const y = x.map((value) => 1.5 * value + 0.01 + (random() - 0.5) / 3);
      const response = estimateResponse(y, [x], 3)!;
      const computeMean = (values: Float64Array) => values.reduce((sum, value) => sum + value, 0) / T;
      const sxx = x.reduce((sum, value) => sum + (value - computeMean(x)) ** 2, 0);
      const sxy = x.reduce((sum, value, t) => sum + (value - computeMean(x)) * (y[t]! - computeMean(y)), 0);
      const syy = y.reduce((sum, value) => sum + (value - computeMean(y)) ** 2, 0);
      expect(response.slopes[0]).toBeCloseTo(sxy / sxx, 10);
      expect(response.rSquared).toBeCloseTo(sxy ** 2 / sxx / syy, 10);
      const error = Math.sqrt((syy - sxy ** 2 / sxx) / (T - 2) / sxx);
      expect(response.errorOf(Float64Array.of(-0.2))).toBeCloseTo(0.2 * error, 10);
    }),
    { numRuns: 30 },
  );
});

test('an exact response to two factors is found; missing values are omitted; a factor that others determine is refused', () => {
  const random = seeded(5);
  const f = Float64Array.from({ length: 50 }, () => random() - 0.5);
  const g = f.map((value) => 0.3 * value + random());
  const y = f.map((value, t) => 2 * value - 0.5 * g[t]! + 0.001);
  y[7] = Number.NaN;
  g[9] = Number.NaN;
  const response = estimateResponse(y, [f, g], 20)!;
  expect(response.observations).toBe(48);
  expect([...response.slopes]).toEqual([expect.closeTo(2, 10), expect.closeTo(-0.5, 10)]);
  expect(response.rSquared).toBeCloseTo(1, 10);
  expect(estimateResponse(y, [f, f.map((value) => -3 * value)], 20)).toBeUndefined();
  expect(estimateResponse(y.slice(0, 19), [f.slice(0, 19)], 20)).toBeUndefined();
});

test('shocks: given securities and groups directly, the others by their response to a series, a security with a short history as its group', () => {
  const random = seeded(9);
  const moves = Float64Array.from({ length: SESSIONS }, () => (random() - 0.5) / 50);
  const listPath = (beta: number) => {
    let price = 100;
    return [...moves].map((move) => (price *= 1 + beta * move));
  };
  const market = createMarket({
    close: {
      A: listPath(1.5),
      B: listPath(0.5),
      C: listPath(2),
      D: listPath(1),
      E: listPath(1),
      YOUNG: listPath(3).map((price, s) => (s < 70 ? null : price)),
    },
    weights: { A: 0.25, B: 0.25, C: 0.2, D: 0.1, YOUNG: 0.2 },
    sectors: { A: 'X', B: 'X', C: 'Y', D: 'Z', E: 'Z', YOUNG: 'X' },
    series: { WORLD: listPath(1) },
  });
  const terms = { name: 's', regression_sessions: 60, path: 'scenarios[0]', by: 'SECTOR' };
  const result = computeShockScenario(market, { ...terms, shocks: { WORLD: -0.1, C: 0.07, 'SECTOR:Z': -0.5 } });
  const returns = Object.fromEntries(result.by_name.map(({ identifier, return: value }) => [identifier, value]));
  const expectValue = (value: number): unknown => expect.closeTo(value, 10);
  expect(returns).toEqual({
    A: expectValue(-0.15),
    B: expectValue(-0.05),
    C: expectValue(0.07),
    D: expectValue(-0.5),
    YOUNG: expectValue((-0.15 - 0.05) / 2),
  });
  expect(result.proxied).toEqual([{ identifier: 'YOUNG', proxy: 'X' }]);
  expect(result.return).toBeCloseTo(0.25 * -0.2 + 0.2 * 0.07 - 0.05 + 0.2 * -0.1, 10);
  expect(result).toMatchObject({ observations: 60, r_squared: expectValue(1) });
  const onlyScenario = computeShockScenario(market, { ...terms, shocks: { A: -0.2 } });
  expect(onlyScenario.return).toBeCloseTo(-0.05, 14);
  expect(onlyScenario.r_squared).toBeNull();
  // E is in the store but not held. A security that is not held can be a shock factor as well.
  expect(
    computeShockScenario(market, { ...terms, shocks: { E: -0.1 } }).by_name.find(
      ({ identifier }) => identifier === 'A',
    )!.return,
  ).toBeCloseTo(-0.15, 10);
});

test('the standard error of the return is that of the responding part as a whole', () => {
  const random = seeded(21);
  const drawOne = (beta: number, world: readonly number[]) => {
    let price = 100;
    return world.map((move) => (price *= 1 + beta * move + (random() - 0.5) / 100));
  };
  const moves = Array.from({ length: SESSIONS }, () => (random() - 0.5) / 50);
  let world = 100;
  const close = { A: drawOne(1, moves), B: drawOne(2, moves), C: drawOne(-1, moves), STRUCK: drawOne(3, moves) };
  const youngPrices = drawOne(1, moves).map((price, s) => (s < 70 ? null : price));
  const market = createMarket({
    close: { ...close, YOUNG: youngPrices },
    weights: { A: 0.3, B: 0.2, C: 0.1, STRUCK: 0.2, YOUNG: 0.2 },
    sectors: { A: 'X', B: 'X', C: 'Y', STRUCK: 'Y', YOUNG: 'X' },
    series: { WORLD: moves.map((move) => (world *= 1 + move)) },
  });
  const terms = { name: 's', regression_sessions: 60, path: 'scenarios[0]', by: 'SECTOR' };
  const result = computeShockScenario(market, { ...terms, shocks: { WORLD: -0.1, STRUCK: 0.3 } });
  // YOUNG responds like the mean of A and B. For STRUCK, a response is given.
  const countedWeights = { A: 0.4, B: 0.3, C: 0.1 };
  const listLastReturns = (prices: readonly number[]) =>
    prices.map((price, s) => price / prices[s - 1]! - 1).slice(-60);
  const part = Object.entries(countedWeights).map(([name, weight]) =>
    listLastReturns(close[name as keyof typeof countedWeights]).map((value) => weight * value),
  );
  const y = part[0]!.map((value, t) => value + part[1]![t]! + part[2]![t]!);
  const x = moves.slice(-60);
  const computeMean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / 60;
  const computeProduct = (a: readonly number[], b: readonly number[]) =>
    a.reduce((sum, value, t) => sum + (value - computeMean(a)) * (b[t]! - computeMean(b)), 0);
  const residualSquare = computeProduct(y, y) - computeProduct(x, y) ** 2 / computeProduct(x, x);
  expect(result.standard_error).toBeCloseTo(0.1 * Math.sqrt(residualSquare / 58 / computeProduct(x, x)), 12);
});

test('a shock of unknown securities, and collinear factors, are refused at their position', () => {
  const prices = listSteps(10, Object.fromEntries(DATES.map((_, s) => [s, ((s * 7) % 5) / 100 - 0.02])));
  const market = createMarket({
    close: { A: prices },
    weights: { A: 1 },
    sectors: { A: 'X' },
    series: { W: prices, V: prices.map((price) => 2 * price) },
  });
  const terms = { name: 's', regression_sessions: 60, path: 'scenarios[3]', by: 'SECTOR' };
  const createRefusal = (shocks: Record<string, number>) => {
    try {
      return computeShockScenario(market, { ...terms, shocks });
    } catch (thrown) {
      return thrown;
    }
  };
  expect(createRefusal({ 'SECTOR:Nothing': 0.1 })).toMatchObject({
    detail: { findings: [{ code: 'UNKNOWN_IDENTIFIER', path: 'scenarios[3].shocks.SECTOR:Nothing' }] },
  });
  expect(createRefusal({ W: -0.1, V: 0.1 })).toMatchObject({
    detail: { findings: [{ message: expect.stringContaining('are collinear') }] },
  });
  expect(createRefusal({ W: -0.1 })).toMatchObject({ return: expect.closeTo(-0.1, 10) });
});

test('two scenarios with one name are refused, the second by its position and that of the first', () => {
  const window = { start: '2020-01-01', end: '2020-02-01' };
  const scenarios = [
    { name: 'crash', window },
    { name: 'rates', shocks: { 'SECTOR:Banks': 0.1 } },
    { name: 'crash', shocks: { 'SECTOR:Banks': -0.2 } },
  ];
  expect(checkShape(ScenarioRequest, { scenarios }).findings).toEqual([
    {
      severity: 'error',
      code: 'DUPLICATE_ID',
      path: 'scenarios[2].name',
      message: 'scenarios[2].name is crash, the same name as scenarios[0].name.',
      value: 'crash',
    },
  ]);
  expect(checkShape(ScenarioRequest, { scenarios: scenarios.slice(0, 2) }).findings).toEqual([]);
});

test.each([
  [{ window: { start: '2020-03-23', end: '2020-02-19' } }, 'window.end is 2020-02-19, before start 2020-03-23.'],
  [
    { window: { start: '2020-13-01', end: '2020-03-01' } },
    'window.start must be a real day, YYYY-MM-DD, such as 2024-01-31; it is "2020-13-01".',
  ],
  [{}, 'window or shocks is required.'],
  [{ regression_sessions: 60 }, 'shocks is required.'],
])('errors of a scenario are reported separately from a missing security: %j', (scenario, told) => {
  const listMessages = (one: object) =>
    checkShape(ScenarioRequest, { scenarios: [one] }).findings.map(({ message }) => message);
  expect(listMessages({ name: 'crash', ...scenario })).toEqual([`scenarios[0].${told}`]);
  expect(listMessages(scenario)).toContain('scenarios[0].name is required.');
});

test('sessions of a regression that no shock needs are reported', () => {
  const market = createMarket({
    close: { A: listSteps(100, { 10: 0.1 }), B: listSteps(50, { 40: 0.02, 50: -0.03 }) },
    weights: { A: 1 },
    sectors: { A: 'X', B: 'X' },
  });
  const place = { by: 'SECTOR', path: 'scenarios[0]' };
  const listFindings = (shocks: Record<string, number>, regression_sessions: number) =>
    computeScenario(market, { name: 's', shocks, regression_sessions }, place).findings;
  expect(listFindings({ A: 0.1, 'SECTOR:X': 0.2 }, 60)).toMatchObject([
    { severity: 'warning', code: 'NO_EFFECT', path: 'scenarios[0].regression_sessions', value: 60 },
  ]);
  expect(listFindings({ A: 0.1 }, 504)).toEqual([]);
  expect(listFindings({ B: 0.1 }, 60)).toEqual([]);
});
