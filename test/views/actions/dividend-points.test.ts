import { expect, test } from 'vitest';
import { DATES, showWholeIndexUntil } from './index-case.js';

test('a dividend has the index points of its amount times the index shares over the divisor', () => {
  // Of the level of 100, half is 1 share of A at 50, and half is 0.5 shares of B at 100. The special dividend of 10
  // takes 5 of the market value of 100: the divisor is then 0.95. The dividend of 2 on 1 share is 2 / 0.95.
  const close = { A: [50, 50, 48, 48], B: [100, 90, 90, 90] };
  const actions = [
    { name: 'B', ex: DATES[1]!, type: 'SPECIAL_DIVIDEND' as const, value: 10 },
    { name: 'A', ex: DATES[2]!, type: 'DIVIDEND' as const, value: 2 },
  ];
  for (const [rows, stored] of [
    [2, undefined],
    [4, 2 / 0.95],
  ] as const) {
    const { shown, columns } = showWholeIndexUntil(rows, close, actions, { withholding_tax: 0.3 });
    const [special, dividend] = shown;
    expect(special).toMatchObject({ dividend_points: null, net_dividend_points: null });
    expect(dividend!.shares_before).toBeCloseTo(1, 12);
    expect(dividend!.divisor_before).toBeCloseTo(0.95, 12);
    expect(dividend!.dividend_points).toBeCloseTo(2 / 0.95, 12);
    expect(dividend!.net_dividend_points).toBeCloseTo((0.7 * 2) / 0.95, 12);
    // The run adds up the same points when it reinvests them.
    if (stored !== undefined) expect(columns.f64('dividendPoints')[2]).toBeCloseTo(stored, 12);
  }
});
