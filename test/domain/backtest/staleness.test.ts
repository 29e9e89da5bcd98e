import { describe, expect, test } from 'vitest';
import { formatDay } from '#domain/base/time.js';
import { close, listCodes, repeatPrice, listLevels, simulate, readWeights, WEEK } from './event-case.js';

/**
 * Closes in which A has its last price on 5 March. A leaves at the close of 7 March, its second session without a
 * price.
 */
const CLOSES = { A: [100, 80, null, null, null, null], B: repeatPrice(50), C: repeatPrice(20) };
const treatment = { max_stale_sessions: 2 };
const createCustomSchedule = (date: string, effective_lag = 0) => ({
  frequency: 'custom' as const,
  dates: [date],
  effective_lag,
});
const listDays = (run: ReturnType<typeof simulate>) =>
  run.index.book.silent.map(({ session }) => formatDay(run.index.book.sm.sessions[session]!));
const EQUAL = { B: expect.closeTo(0.5, 12), C: expect.closeTo(0.5, 12) };

describe('a security leaves at the close of the last session that is waited for', () => {
  test.each([
    ['without a rebalance', { frequency: 'none' } as const],
    ['on a rebalance date as well, on which it is not selected', createCustomSchedule('2024-03-07')],
    ['where it was decided before its price stopped, and takes effect then', createCustomSchedule('2024-03-07', 2)],
  ])('%s', (_, rebalance) => {
    const run = simulate({ close: CLOSES, treatment, rebalance });
    close(listLevels(run), [100, 280 / 3, 280 / 3, 280 / 3, 280 / 3, 280 / 3]);
    expect(Object.keys(readWeights(run, 2))).toEqual(['A', 'B', 'C']);
    expect(readWeights(run, 3)).toEqual(EQUAL);
    expect([listDays(run), listCodes(run)]).toEqual([['2024-03-07'], ['SILENT_DELISTING']]);
    expect(run.portfolio.unfilled).toEqual([]);
  });

  test('and is selected one session before, for that session', () => {
    const run = simulate({ close: CLOSES, treatment, rebalance: createCustomSchedule('2024-03-06') });
    expect(Object.keys(readWeights(run, 2))).toEqual(['A', 'B', 'C']);
    expect(readWeights(run, 3)).toEqual(EQUAL);
    expect(listDays(run)).toEqual(['2024-03-07']);
  });

  test('and is not bought on a later effective date at a price above the maximum age', () => {
    const run = simulate({ close: CLOSES, treatment, rebalance: createCustomSchedule('2024-03-11', 4) });
    expect(WEEK[5]).toBe('2024-03-11');
    expect(readWeights(run, 4)).toEqual(EQUAL);
    expect(readWeights(run, 5)).toEqual(EQUAL);
    expect(run.portfolio.unfilled).toEqual([]);
  });
});
