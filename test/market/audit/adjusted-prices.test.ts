import { expect, test } from 'vitest';
import { createCounterRandom } from '#kernels/random/counter-random.js';
import type { Adjustment } from '#domain/market/market-data.js';
import { auditMarket } from '#market/judge/audit.js';
import { allocateEmptyPanel } from '#market/panels/panels.js';
import { NO_TABLES } from '../../domain/backtest/market-builder.js';

const SESSIONS = 300;
const EX_ROW = 150;
const FIRST = 19_000;

/**
 * Returns the warnings for a security with a nearly constant price. Its dividends are a tenth of the price, but the
 * price does not move on the ex-dates.
 */
function listWarnings(adjustment: Adjustment): string[] {
  const random = createCounterRandom({ seed: 5, stream: 0 });
  const close = allocateEmptyPanel(SESSIONS);
  let price = 100;
  close.forEach((_, t) => (close[t] = price *= 1 + 0.01 * (random.uniform() - 0.5)));
  const action = {
    identifier: 'A',
    type: 'SPECIAL_DIVIDEND',
    value: 10,
    exDay: FIRST + EX_ROW,
    payDay: null,
    status: null,
    announcedDay: null,
    related: null,
    subscriptionPrice: null,
  } as const;
  const content = {
    identifiers: ['A'],
    dates: Int32Array.from({ length: SESSIONS }, (_, t) => FIRST + t),
    fields: new Map([['CLOSE', close]]),
    ...NO_TABLES,
    actions: [action],
  };
  return auditMarket(content, adjustment, () => {}).doubts.map(({ kind }) => kind);
}

test('a dividend without effect on prices as traded is flagged, and one on prices with reinvestment is not', () => {
  expect(listWarnings('none')).toEqual(['dividend_size']);
  expect(listWarnings('splits')).toEqual(['dividend_size']);
  expect(listWarnings('total')).toEqual([]);
});
