import { expect } from 'vitest';
import type { Run } from '#domain/backtest/run.js';
import { indexDecider } from '#domain/optimisation/derived-index.js';
import { createIndexShares } from '#domain/books/index-run.js';
import type { MarketData } from '#domain/market/market-data.js';
import { buildMarket, createWeekdayCalendars, type MarketSketch } from '../backtest/market-builder.js';
import { runOn, type RunRequest } from '../backtest/random-run.js';
import { createDocument } from '../index-document.js';

export const CALENDARS = createWeekdayCalendars({ MAIN: { from: '2024-01-01', to: '2024-12-31' } });

/** Returns weekdays from Monday 4 March 2024 on. */
export function listWeekdays(count: number): string[] {
  const { sessions } = CALENDARS.get('MAIN')!;
  const first = sessions.findIndex((day) => new Date(day * 86_400_000).toISOString().startsWith('2024-03-04'));
  return Array.from({ length: count }, (_, t) =>
    new Date(sessions[first + t]! * 86_400_000).toISOString().slice(0, 10),
  );
}

export interface IndexCase extends Omit<MarketSketch, 'dates'> {
  readonly treatment?: object;
  readonly rebalance?: object;
  readonly weighting?: object;
  readonly selection?: readonly object[];
  readonly reviews?: readonly object[];
  readonly universe?: readonly string[];
  readonly currency?: string;
  readonly events?: object;
  readonly request?: RunRequest;
  /** Additional members of the index document. */
  readonly document?: object;
  /** Market that replaces the sketched market. */
  readonly market?: MarketData;
}

/** Runs an index on all securities with the rules of its document. Default: no rebalances. */
export function runIndexCase({
  treatment = {},
  rebalance = { frequency: 'none' },
  weighting = { type: 'EqualWeight' },
  selection = [],
  reviews,
  universe,
  currency = 'USD',
  events,
  request = {},
  document: others = {},
  market,
  ...sketch
}: IndexCase): Run {
  const sessions = Object.values(sketch.close)[0]!.length;
  const dates = listWeekdays(sessions);
  const document = createDocument({
    base_date: dates[0],
    currency,
    rebalance,
    universe: {
      kind: 'list',
      identifiers: universe ?? Object.keys(sketch.close).filter((name) => !/^[A-Z]{6}$/.test(name)),
    },
    pipeline: { selection, treatment, weighting },
    ...(reviews === undefined ? {} : { reviews }),
    ...(events === undefined ? {} : { events }),
    ...others,
  });
  return runOn(CALENDARS, market ?? buildMarket({ dates, ...sketch }), document, {
    createDecider: indexDecider,
    ...request,
  });
}

export function readLevels({ variants }: Run, variant: 'price' | 'total' | 'net'): number[] {
  return [...variants[variant]!.level];
}

/** Returns the changes of share counts that an index applied between reviews. */
export function listShareChanges({ index }: Run): { session: number; column: number; before: number; after: number }[] {
  const { session, column, before, after } = index.book.shareChanges!;
  return Array.from(session, (on, i) => ({ session: on, column: column[i]!, before: before[i]!, after: after[i]! }));
}

export function expectNear(actual: number, expected: number, tolerance = 1e-12): void {
  expect(Math.abs(actual / expected - 1), `${actual} instead of ${expected}`).toBeLessThan(tolerance);
}

export function listIndexShares({ index }: Run, review: number): number[] {
  return [...createIndexShares(index.book, index.compositions)(index.compositions.list[review]!).shares!];
}

/** Returns the weights other than zero of a row of the book, by security. */
export function readHeldAt({ index: { book } }: Pick<Run, 'index'>, row: number): Record<string, number> {
  const H = book.columns.length;
  return Object.fromEntries(
    [...book.columns].flatMap((column, slot) => {
      const weight = book.weights[row * H + slot]!;
      return weight === 0 ? [] : [[book.sm.identifiers[column]!, Math.round(weight * 1e12) / 1e12]];
    }),
  );
}
