import { describe, expect, test } from 'vitest';
import { indexDecider } from '#domain/optimisation/derived-index.js';
import { selectReportedFindings } from '#domain/backtest/findings.js';
import { formatDay } from '#domain/base/time.js';
import type { Finding } from '#domain/base/findings.js';
import { buildMarket } from './market-builder.js';
import { runOn } from './random-run.js';
import { CALENDARS, WEEK } from './signed-case.js';
import { createDocument } from '../index-document.js';

describe('a security that lacks its weight at one rebalance after the other', () => {
  const document = createDocument({
    base_date: WEEK[0],
    rebalance: { frequency: 'daily' },
    pipeline: { weighting: { type: 'MarketCapWeight', params: { free_float: false } } },
  });
  const closes = WEEK.map(() => 1);
  // C has a share count only on the last day.
  const shares = { A: closes, B: closes, C: WEEK.map((_, t) => (t === WEEK.length - 1 ? 1 : null)) };
  const market = buildMarket({
    dates: WEEK,
    close: { A: closes, B: closes, C: closes },
    fields: { SHARES_OUTSTANDING: shares },
  });
  const run = runOn(CALENDARS, market, document, { start: WEEK[2]!, createDecider: indexDecider });
  const lackingFindings = run.findings.filter(({ code }) => code === 'NO_WEIGHT_DATA');

  test('is one finding with the number of those rebalances, the first and the last', () => {
    expect(lackingFindings).toHaveLength(1);
    expect(lackingFindings[0]).toMatchObject({
      count: 3,
      first_date: WEEK[2],
      last_date: WEEK[4],
      path: 'pipeline.weighting',
    });
    expect(lackingFindings[0]!.message).toMatch(
      /^3 times from 2024-03-06 to 2024-03-08\. First: 1 selected security .*: C\.$/,
    );
  });

  test('is reported for rebalances that the run lists, and for no earlier one', () => {
    const list = run.rebalances.map(({ date }) => formatDay(date));
    expect(list[0]).toBe(WEEK[2]);
    expect(list).toContain(lackingFindings[0]!.first_date);
    expect(list).toContain(lackingFindings[0]!.last_date);
  });
});

describe('findings of a run', () => {
  const createFinding = (code: Finding['code'], date: string, message = `On ${date} it lacked.`): Finding => ({
    severity: 'warning',
    code,
    message,
    path: 'derivation',
    first_date: date,
    last_date: date,
  });
  const report = (decisions: readonly Finding[]) =>
    selectReportedFindings(
      { decisions, solves: [], indexExits: [], portfolioExits: [], rights: [], jumps: [] },
      { assumptions: [], since: '2024-02-01' },
    );

  test('of rebalances that were held stay apart, as each has its own reason', () => {
    const heldFindings = [createFinding('REBALANCE_HELD', '2024-02-05'), createFinding('REBALANCE_HELD', '2024-03-05')];
    expect(report(heldFindings)).toEqual(heldFindings);
  });

  test('of one code and different places stay apart', () => {
    const finding = createFinding('NO_WEIGHT_DATA', '2024-02-05');
    const other = { ...finding, path: 'derivation.constraints[0]' };
    expect(report([finding, other])).toEqual([finding, other]);
  });

  test('of several indices underneath an overlay cover the first to the last date of all', () => {
    const dates = ['2024-01-05', '2024-03-05', '2024-04-05', '2024-02-05', '2024-03-20'];
    const [only, ...rest] = report(dates.map((date) => createFinding('NO_WEIGHT_DATA', date)));
    expect(rest).toEqual([]);
    expect(only).toMatchObject({ count: 4, first_date: '2024-02-05', last_date: '2024-04-05' });
  });
});
