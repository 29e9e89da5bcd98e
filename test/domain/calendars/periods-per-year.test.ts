import { expect, test } from 'vitest';
import { createPerformance } from '#views/performance.js';
import { createRunColumns, openColumns } from '#domain/backtest/run-file/columns.js';
import { indexDecider } from '#domain/optimisation/derived-index.js';
import { estimatePeriodsPerYear } from '#domain/calendars/calendar.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import { computeGrowth } from '#domain/market/growth.js';
import { createSecurityTerms } from '#domain/market/action-effects.js';
import { estimateRiskModel } from '#domain/risk/estimation.js';
import { formatDay, parseValidDay } from '#domain/base/time.js';
import { referenceEngine } from '#kernels/engines/reference.js';
import { openCalendars } from '#market/serve/calendar-files.js';
import { buildMarket } from '../backtest/market-builder.js';
import { runOn } from '../backtest/random-run.js';

const calendars = openCalendars();

test('of all calendars those that trade every day have 365 sessions a year, the others 252', () => {
  const daily = calendars.list().filter(({ code }) => estimatePeriodsPerYear(calendars.get(code)!.sessions) === 365);
  expect(daily.map(({ code }) => code)).toEqual(['24/7']);
  expect(estimatePeriodsPerYear(calendars.get('XNYS')!.sessions)).toBe(252);
});

test.each([
  ['2024-03-04', 5, 252], // sessions from Monday to Friday
  ['2024-03-10', 5, 252], // sessions from Sunday to Thursday
  ['2024-03-08', 2, 252], // sessions on Fridays and Saturdays
  ['2024-03-08', 3, 365],
  ['2024-03-09', 1, 252],
])('%s and the days after it, %i in all, are a series of a year of %i sessions', (first, count, year) => {
  expect(estimatePeriodsPerYear(Array.from({ length: count }, (_, t) => parseValidDay(first) + t))).toBe(year);
});

const SESSIONS = 60;
const first = parseValidDay('2024-03-01');
const dates = Array.from({ length: SESSIONS }, (_, t) => formatDay(first + t));
const close = {
  A: dates.map((_, t) => 100 + 9 * Math.sin(t)),
  B: dates.map((_, t) => 50 + 4 * Math.cos(2 * t)),
};
const computeMean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;
const computeVariance = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + (value - computeMean(values)) ** 2, 0) / (values.length - 1);

/** Returns a run on a calendar. The dates of its market are the dates of the calendar. */
function runOnCalendar(code: string) {
  const calendar = calendars.get(code)!;
  const sessions = dates.filter((date) => calendar.isSession(parseValidDay(date)));
  const closes = Object.fromEntries(
    Object.entries(close).map(([name, row]) => [name, sessions.map((date) => row[dates.indexOf(date)]!)]),
  );
  const document = IndexDocument.parse({
    id: 'X',
    name: 'X',
    calendar: code,
    base_date: sessions[0],
    rebalance: { frequency: 'none' },
    pipeline: { weighting: { type: 'EqualWeight' } },
  });
  return runOn(calendars, buildMarket({ dates: sessions, close: closes }), document, { createDecider: indexDecider });
}

test.each([
  ['24/7', 365],
  ['XNYS', 252],
])('on %s volatility, the Sharpe ratio and the annual return are those of %i sessions', (code, year) => {
  const run = runOnCalendar(code);
  const level = [...run.level];
  const returns = level.slice(1).map((value, t) => value / level[t]! - 1);
  const volatility = Math.sqrt(year * computeVariance(returns));
  expect(run.metrics.volatility).toBeCloseTo(volatility, 12);
  expect(run.metrics.sharpe_ratio).toBeCloseTo((year * computeMean(returns)) / volatility, 12);
  expect(run.metrics.annualised_return).toBeCloseTo((level.at(-1)! / level[0]!) ** (year / returns.length) - 1, 12);
  const bytes = createRunColumns(run, { contentHash: 'x' });
  const columns = openColumns((from, to) => bytes.slice(from, to));
  const request = { of: 'portfolio', variant: null, start: null, end: null } as const;
  const { statistics } = createPerformance(columns, request);
  const losses = computeMean(returns.map((value) => Math.min(value, 0) ** 2));
  expect(statistics.downside_volatility).toBeCloseTo(Math.sqrt(year * losses), 12);
});

test.each([
  ['24/7', 365],
  ['XNYS', 252],
])('on %s the variances of a risk model are those of %i sessions', (code, year) => {
  const { sm } = runOnCalendar(code).index.book;
  const growth = computeGrowth(sm, createSecurityTerms('total', 'USD'));
  const window = { sm, growth, from: 0, to: sm.sessions.length - 1 };
  const settings = { estimator: 'shrinkage', target: 'constant_correlation', intensity: 0 } as const;
  const { covariance } = referenceEngine.scope(() => {
    const estimate = estimateRiskModel(referenceEngine, window, [0, 1], {
      ...settings,
      intensity_method: 'shape',
      repair: false,
      half_life: null,
    } as never); // Settings that the estimator does not read are omitted.
    return { covariance: estimate.covariance.slice() };
  });
  const returns = [...sm.sessions].slice(1).map((_, t) => growth[2 * (t + 1)]! - 1);
  expect(covariance[0]).toBeCloseTo(year * computeVariance(returns), 12);
});
