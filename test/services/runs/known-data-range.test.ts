import { describe, expect, test } from 'vitest';
import { parseValidDay } from '#domain/base/time.js';
import { readIndex } from '#domain/definition/index-validation.js';
import { openCalendars } from '#market/serve/calendar-files.js';
import { assertFirstVersion } from '#services/runs/plans.js';
import { buildMarket } from '../../domain/backtest/market-builder.js';
import { createEqualIndex } from '../../equal-index.js';

const DATES = ['2024-01-02', '2024-01-03', '2024-01-04', '2024-01-05', '2024-01-08'];
/**
 * Closes by security. OLD has prices from the first date on, NEW from the fourth. The currency pair is not a security
 * of an index.
 */
const CLOSES: Readonly<Record<string, readonly number[]>> = {
  OLD: [1, 1, 1, 1, 1],
  NEW: [NaN, NaN, NaN, 2, 2],
  EURUSD: [1, 1, 1, 1, 1],
};

const createMarket = (identifiers: readonly string[]) => ({
  ...buildMarket({
    dates: DATES,
    close: Object.fromEntries(identifiers.map((name) => [name, CLOSES[name]!])),
    universes: [{ universe: 'LATE', identifier: 'OLD', start: parseValidDay('2024-01-04'), end: null }],
  }),
  currency: null,
});

const createIndex = (universe: unknown, base = DATES[0]!) =>
  readIndex(createEqualIndex('I', { base_date: base, rebalance: { frequency: 'monthly' }, universe }))!;

/**
 * Returns the decision that is refused if the first version of the data was known on the third date. Returns null if no
 * decision is refused.
 */
function findRefusedDecision(names: readonly string[], universe: unknown, base?: string): unknown {
  const document = createIndex(universe, base);
  const span = { market: createMarket(names), end: null, documents: { I: document }, calendars: openCalendars() };
  try {
    assertFirstVersion(
      {
        knownOn: parseValidDay('2024-01-08'),
        earlier: [{ artifact: 'a', sha256: '', knownOn: parseValidDay(DATES[2]!) }],
      },
      span,
    );
    return null;
  } catch (failure) {
    const { code, detail } = failure as { readonly code: string; readonly detail: Record<string, unknown> };
    return [code, detail['decision_date'], detail['first_known_on']];
  }
}

describe('of an index with its first decision before the first version', () => {
  const knownRange = ['NO_DATA_KNOWN', '2024-01-02', '2024-01-04'];

  test.each([
    ['every name', ['OLD', 'NEW'], { kind: 'all' }],
    ['listed names', ['OLD', 'NEW'], { kind: 'list', identifiers: ['OLD'] }],
  ])('of %s is refused with both days before a job is created', (_, names, universe) => {
    expect(findRefusedDecision(names, universe)).toEqual(knownRange);
  });

  test('the base date counts as the session on or after it', () => {
    expect(findRefusedDecision(['OLD'], { kind: 'all' }, '2023-12-30')).toEqual(knownRange);
  });
});

test.each([
  ['its names have no bar before', ['OLD', 'NEW'], { kind: 'list', identifiers: ['NEW'] }, undefined],
  ['its members join later', ['OLD', 'NEW'], { kind: 'named', id: 'LATE' }, undefined],
  ['it begins on that day', ['OLD'], { kind: 'all' }, '2024-01-04'],
  ['another index decides its universe', ['OLD'], { kind: 'index', id: 'P' }, undefined],
  ['an exchange rate alone has bars before', ['EURUSD', 'NEW'], { kind: 'all' }, undefined],
])('an index is not refused where %s', (_, names, universe, base) => {
  expect(findRefusedDecision(names, universe, base)).toBeNull();
});
