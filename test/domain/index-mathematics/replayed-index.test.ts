import { describe, expect, test } from 'vitest';
import { fc } from '../../fast-check.js';
import type { ActionSketch } from '../backtest/market-builder.js';
import { expectNear, readLevels, runIndexCase, listWeekdays, type IndexCase } from './index-case.js';
import { replay, type ReplayTerms } from './plain-replay.js';

const RUNS = Number(process.env['PROPERTY_RUNS'] ?? 40);
const SESSIONS = 30;
const NAMES = ['A', 'B', 'C', 'D', 'E', 'F'];
const CURRENCIES: Readonly<Record<string, string>> = { C: 'EUR', D: 'EUR', E: 'GBP' };

/**
 * Random prices in three currencies. They move by up to 6 % a session, and some are missing for one or two sessions.
 * Events of every kind occur.
 */
const randomCase = fc
  .record({
    steps: fc.array(fc.integer({ min: -60, max: 60 }), { minLength: 400, maxLength: 400 }),
    halts: fc.array(fc.record({ name: fc.nat(5), at: fc.integer({ min: 2, max: SESSIONS - 4 }) }), { maxLength: 4 }),
    events: fc.array(
      fc.record({
        name: fc.nat(5),
        type: fc.constantFrom<ActionSketch['type']>(
          'DIVIDEND',
          'DIVIDEND',
          'SPECIAL_DIVIDEND',
          'SPLIT',
          'RIGHTS_ISSUE',
          'SPIN_OFF',
          'MERGER',
          'ACQUISITION',
        ),
        at: fc.integer({ min: 1, max: SESSIONS - 1 }),
        size: fc.integer({ min: 1, max: 9 }),
      }),
      { maxLength: 10 },
    ),
    terms: fc.record<Omit<ReplayTerms, 'keepsShares'>>({
      special: fc.constantFrom('adjust', 'adjust', 'ignore'),
      rights: fc.constantFrom('subscribe', 'price_only'),
      spinOffs: fc.constantFrom('zero_price', 'drop_after_first_session', 'ignore'),
      withholdingTax: fc.constantFrom(0, 0.15),
    }),
    dividends: fc.constantFrom('price', 'total', 'net'),
    weighting: fc.constantFrom('EqualWeight', 'MarketCapWeight', 'PriceWeight'),
    frequency: fc.constantFrom('none', 'weekly', 'daily'),
    counts: fc.array(
      fc.record({
        name: fc.nat(5),
        at: fc.integer({ min: 1, max: SESSIONS - 1 }),
        percent: fc.integer({ min: -20, max: 30 }),
      }),
      { maxLength: 12 },
    ),
    threshold: fc.constantFrom(undefined, 0, 0.05, 0.1),
    isReplaced: fc.boolean(),
    lag: fc.integer({ min: 0, max: 4 }),
  })
  .map(sketch);

interface SketchedIndex {
  readonly sketch: IndexCase;
  readonly terms: ReplayTerms;
}

interface RandomCase {
  readonly steps: number[];
  readonly halts: { name: number; at: number }[];
  readonly events: { name: number; type: ActionSketch['type']; at: number; size: number }[];
  readonly terms: Omit<ReplayTerms, 'keepsShares'>;
  readonly dividends: string;
  readonly weighting: string;
  readonly frequency: string;
  readonly lag: number;
  readonly counts: { name: number; at: number; percent: number }[];
  readonly threshold: number | undefined;
  readonly isReplaced: boolean;
}

function sketch({
  steps,
  halts,
  events,
  terms,
  dividends,
  weighting,
  frequency,
  lag,
  counts,
  threshold,
  isReplaced,
}: RandomCase): SketchedIndex {
  const days = listWeekdays(SESSIONS);
  const listPath = (start: number, n: number): number[] => {
    let price = start;
    return days.map((_, t) => (price *= 1 + steps[(7 * t + n * 31) % steps.length]! / 1000));
  };
  const close: Record<string, (number | null)[]> = Object.fromEntries(
    NAMES.map((name, n) => [name, listPath(40 + 15 * n, n)]),
  );
  // The price during a halt is the last traded price. If a special dividend is paid during the halt, this price is not
  // the value of a share.
  for (const { name, at } of weighting === 'PriceWeight' ? [] : halts)
    close[NAMES[name]!]![at] = close[NAMES[name]!]![at + 1] = null;
  const actions = listOwnEvents(events).map(({ name, type, at, size }) =>
    toAction(NAMES[name]!, type, { ex: days[at]!, size }),
  );
  // Spun-off securities have prices from the ex-date on. Acquired and merged securities have no later prices.
  for (const { name, type, related, ex } of actions) {
    const row = days.indexOf(ex);
    if (type === 'SPIN_OFF') close[related!] = listPath(5, row).map((price, t) => (t < row ? null : price));
    if (type === 'MERGER' || type === 'ACQUISITION')
      close[name] = close[name]!.map((price, t) => (t > row ? null : price));
  }
  const currencies = Object.keys(close).map((name) => [name, { CURRENCY: CURRENCIES[name[0]!] ?? 'USD' }]);
  const shares = createShares(Object.keys(close), { days, actions, counts });
  return {
    sketch: {
      close: { ...close, EURUSD: listPath(1.1, 77), GBPUSD: listPath(1.3, 88) },
      fields: { SHARES_OUTSTANDING: shares },
      reference: Object.fromEntries(currencies),
      universe: NAMES,
      actions,
      treatment: {
        dividends,
        withholding_tax: terms.withholdingTax,
        special_dividends: terms.special,
        rights: terms.rights,
        spin_offs: terms.spinOffs,
      },
      weighting: { type: weighting },
      rebalance: { frequency, effective_lag: lag },
      ...listChanges({ threshold, isReplaced: isReplaced && lag === 0 }),
    },
    terms: {
      ...terms,
      keepsShares: weighting === 'PriceWeight',
      threshold: weighting === 'MarketCapWeight' ? threshold : undefined,
    },
  };
}

interface CountSketch {
  readonly days: readonly string[];
  readonly actions: readonly ActionSketch[];
  readonly counts: readonly { name: number; at: number; percent: number }[];
}

/** Returns share counts. They change by splits on their ex-dates, and by the given changes. */
function createShares(names: readonly string[], { days, actions, counts }: CountSketch): Record<string, number[]> {
  return Object.fromEntries(
    names.map((name, n) => {
      const nameCounts = counts.filter((one) => NAMES[one.name] === name[0]);
      const split = (t: number): number =>
        actions
          .filter((one) => one.name === name && one.type === 'SPLIT' && days.indexOf(one.ex) <= t)
          .reduce((ratio, { value }) => ratio * value, 1);
      const computeCountGrowth = (t: number): number =>
        nameCounts.filter(({ at }) => at <= t).reduce((factor, { percent }) => factor * (1 + percent / 100), 1);
      return [name, days.map((_, t) => (100 + 10 * n) * split(t) * computeCountGrowth(t))];
    }),
  );
}

/** Returns the part of an index document that sets the changes between reviews. */
function listChanges({ threshold, isReplaced }: { threshold: number | undefined; isReplaced: boolean }) {
  const counts = threshold === undefined ? {} : { share_changes: 'effective', threshold };
  if (!isReplaced) return { events: counts };
  const exit = { rank: 4, field: 'MARKET_CAP', schedule: { frequency: 'weekly', weekday: 1 } };
  return {
    selection: [{ id: 'top', type: 'TopN', params: { field: 'MARKET_CAP', count: 4 } }],
    events: { ...counts, replacement: 'next_ranked', fast_exit: exit },
  };
}

/**
 * Keeps at most one event per security and session. Also drops events after the end of a security. A never ends; all
 * mergers are into A.
 */
function listOwnEvents<E extends { name: number; type: string; at: number }>(events: readonly E[]): E[] {
  const isEnding = (type: string): boolean => type === 'MERGER' || type === 'ACQUISITION';
  const sortedEvents = events.toSorted((a, b) => a.at - b.at);
  return sortedEvents.filter(({ name, type, at }, i) => {
    const before = sortedEvents.slice(0, i).filter((other) => other.name === name);
    const isSpun = type === 'SPIN_OFF' && before.some((other) => other.type === 'SPIN_OFF');
    return (
      !isSpun && !(name === 0 && isEnding(type)) && !before.some((other) => other.at === at || isEnding(other.type))
    );
  });
}

function toAction(name: string, type: ActionSketch['type'], { ex, size }: { ex: string; size: number }): ActionSketch {
  switch (type) {
    case 'SPLIT':
      return { name, type, ex, value: [0.5, 2, 3][size % 3]! };
    case 'RIGHTS_ISSUE':
      return { name, type, ex, value: 0.1 * size, subscription: 20 };
    case 'SPIN_OFF':
      return { name, type, ex, value: 0.2 * size, related: `${name}KID` };
    case 'MERGER':
      return { name, type, ex, value: 0.3 * size, related: 'A', ...(size % 2 === 0 ? { cash: 2 * size } : {}) };
    case 'ACQUISITION':
      return { name, type, ex, value: 10 * size };
    default:
      return { name, type, ex, value: 0.4 * size };
  }
}

describe('on random markets with every kind of event, halts and three currencies', () => {
  test('levels, divisor, dividend points and weights are those of numbers of shares written out', () => {
    fc.assert(
      fc.property(randomCase, ({ sketch, terms }) => {
        const run = runIndexCase(sketch);
        const expected = replay(run, terms);
        const { reinvested, columns, weights, sm } = run.index.book;
        for (const variant of ['price', 'total', 'net'] as const)
          readLevels(run, variant).forEach((level, t) => expectNear(level, expected[variant][t]!, 1e-10));
        expected.points.forEach((points, t) => expect(reinvested!.points[t]! - points).toBeCloseTo(0, 9));
        expected.divisor.forEach((divisor, t) => expectNear(run.index.book.divisor[t]!, divisor, 1e-10));
        expected.weights.forEach((held, t) =>
          columns.forEach((column, slot) =>
            expect(weights[t * columns.length + slot]!).toBeCloseTo(held.get(sm.identifiers[column]!) ?? 0, 10),
          ),
        );
      }),
      { numRuns: RUNS },
    );
  });

  test('the price return is continuous at every change of the divisor, and total return follows from points', () => {
    fc.assert(
      fc.property(randomCase, ({ sketch, terms }) => {
        const run = runIndexCase(sketch);
        const expected = replay(run, terms);
        for (const { before, divisorBefore, after, divisorAfter } of expected.changes)
          expectNear(before / divisorBefore, after / divisorAfter);
        const [price, total, net] = (['price', 'total', 'net'] as const).map((variant) => readLevels(run, variant));
        const { points, netPoints } = run.index.book.reinvested!;
        for (let t = 1; t < price!.length; t++) {
          expectNear(total![t]!, (total![t - 1]! * (price![t]! + points[t]!)) / price![t - 1]!);
          expectNear(net![t]!, (net![t - 1]! * (price![t]! + netPoints[t]!)) / price![t - 1]!);
        }
        // The level of the index equals the level of its return variant.
        const ownLevels = readLevels(run, sketch.treatment!['dividends' as never]);
        run.index.book.value.forEach((value, t) => expectNear(value, ownLevels[t]!, 1e-11));
      }),
      { numRuns: RUNS },
    );
  });
});
