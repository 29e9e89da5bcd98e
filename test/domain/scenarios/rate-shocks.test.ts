import { describe, expect, test } from 'vitest';
import { openMarketOn } from '#domain/market/session-market.js';
import { computeGrowth } from '#domain/market/growth.js';
import { createSecurityTerms } from '#domain/market/action-effects.js';
import type { Refusal } from '#domain/base/refusals.js';
import { computeShockScenario, type ScenarioMarket, type Shock } from '#domain/studies/scenarios.js';
import { formatDay } from '#domain/base/time.js';
import { buildMarket } from '../backtest/market-builder.js';
import { CALENDARS, WEEKDAYS } from '../rules/rule-market.js';

const SESSIONS = 80;
const FIRST = WEEKDAYS.sessions.findIndex((day) => formatDay(day) === '2020-01-01');
const DATES = Array.from({ length: SESSIONS }, (_, s) => formatDay(WEEKDAYS.sessions[FIRST + s]!));

/** Changes of a rate in percentage points; none on the first session. */
const CHANGES = DATES.map((_, s) => (s === 0 ? 0 : 0.05 * Math.sin(3 * s)));

const createRates = (start: number): number[] => {
  let rate = start;
  return CHANGES.map((change) => (rate += change));
};

/** Returns a market with a security whose return is -5 times the change of the rate in percentage points. */
function createRateMarket(name: string, closes: readonly number[]): ScenarioMarket {
  let price = 100;
  const builtMarket = buildMarket({
    dates: DATES,
    close: { A: CHANGES.map((change) => (price *= 1 - 0.05 * change)) },
  });
  const days = builtMarket.dates;
  const series = { identifier: name, name: null, currency: null, days, closes: Float64Array.from(closes) };
  const market = { ...builtMarket, series: new Map([[name, series]]) };
  const sm = openMarketOn({ market, calendars: CALENDARS, code: WEEKDAYS.code });
  return {
    sm,
    growth: computeGrowth(sm, createSecurityTerms('total', 'USD')),
    session: sm.sessionAt(days.at(-1)!),
    held: [{ identifier: 'A', weight: 1, column: sm.columnOf('A'), group: 'X' }],
    groups: ['X'],
  };
}

const compute = (market: ScenarioMarket, shocks: Readonly<Record<string, Shock>>) =>
  computeShockScenario(market, { name: 'S', shocks, regression_sessions: 60, path: 'scenarios[0]', by: 'SECTOR' });

function findReason(run: () => unknown): string {
  try {
    run();
  } catch (refusal) {
    return JSON.stringify((refusal as Refusal).detail);
  }
  return 'no refusal';
}

describe('a shock of an interest rate', () => {
  test.each([4, 0.1, -1])('is a change in percentage points at a level of %d %%', (level) => {
    const market = createRateMarket('RATE_USD', createRates(level));
    expect(compute(market, { RATE_USD: { bps: 100 } }).return).toBeCloseTo(-0.05, 10);
    expect(compute(market, { RATE_USD: { bps: -25 } }).return).toBeCloseTo(0.0125, 10);
  });

  test.each([
    ['RATE_USD', 4],
    ['EURIBOR', -0.4],
    ['EURIBOR', 0],
  ])('as a fraction of %s at a level of %d is refused with the alternative', (name, level) => {
    const market = createRateMarket(name, createRates(level));
    expect(findReason(() => compute(market, { [name]: 0.01 }))).toContain(
      'in basis points, such as { \\"bps\\": 100 }',
    );
  });

  test('is refused for a price and for a holding', () => {
    const market = createRateMarket('GOLD', createRates(1900));
    expect(findReason(() => compute(market, { GOLD: { bps: 10 } }))).toContain('percent per year');
    expect(findReason(() => compute(market, { A: { bps: 10 } }))).toContain('is held');
    expect(compute(market, { GOLD: 0.01 }).return).toBeLessThan(0);
  });
});
