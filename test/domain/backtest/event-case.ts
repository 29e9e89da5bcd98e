import { expect } from 'vitest';
import type { Run } from '#domain/backtest/run.js';
import { type IndexDocument as Definition } from '#domain/definition/index-document.js';
import { type MarketSketch, buildMarket, createWeekdayCalendars } from './market-builder.js';
import { runOn } from './random-run.js';
import { createDocument } from '../index-document.js';

export const WEEK = ['2024-03-04', '2024-03-05', '2024-03-06', '2024-03-07', '2024-03-08', '2024-03-11'];
const CALENDARS = createWeekdayCalendars({
  MAIN: { from: '2024-01-01', to: '2024-12-31' },
  OTHER: { from: '2024-01-01', to: '2024-12-31', holidays: ['2024-03-06'] },
});

/** Treatment in which all payments of a security are reinvested in this security. */
export const CONSTITUENT = {
  reinvestment: 'constituent',
  special_dividends: 'constituent',
  rights: 'constituent',
} as const;

export type Treatment = Partial<NonNullable<Definition['pipeline']>['treatment']>;

interface Case extends Omit<MarketSketch, 'dates'> {
  readonly dates?: readonly string[];
  readonly treatment?: Treatment;
  readonly rebalance?: Partial<Definition['rebalance']>;
  readonly costBps?: number;
  readonly start?: string;
  readonly end?: string | null;
}

/** Returns the index definition of a case. Weights are equal from 4 March on. Default: no later rebalances. */
export const createDefinition = ({ dates = WEEK, treatment = {}, rebalance = { frequency: 'none' }, close }: Case) =>
  createDocument({
    base_date: dates[0],
    rebalance,
    universe: {
      kind: 'list',
      identifiers: Object.keys(close).filter((name) => !/^[A-Z]{6}$/.test(name) && name !== 'KID'),
    },
    pipeline: { treatment, weighting: { type: 'EqualWeight' } },
  });

export function simulate(sketch: Case): Run {
  const { dates = WEEK, costBps = 0, start, end = null, treatment: _, rebalance: __, ...market } = sketch;
  return runOn(CALENDARS, buildMarket({ dates, ...market }), createDefinition(sketch), {
    transaction_cost_bps: costBps,
    start: start ?? null,
    end,
  });
}

/**
 * Returns the codes of the warnings of a run. It omits the warning about the missing currency, because test markets
 * declare none.
 */
export const listCodes = ({ findings }: Run) =>
  findings
    .filter(({ severity }) => severity === 'warning')
    .map(({ code }): string => code)
    .filter((code) => code !== 'CURRENCY_ASSUMED');
export const STAMP = { runAt: 't', runHash: 'h', storeContentHash: 's', engineVersion: '0' };

export const listLevels = (run: Run): number[] => [...run.index.book.value];

export function readWeights({ index: { book } }: Run, row: number): Record<string, number> {
  const { sm, columns, weights } = book;
  return Object.fromEntries(
    [...columns].flatMap((column, slot) =>
      weights[row * columns.length + slot]! > 0
        ? [[sm.identifiers[column]!, weights[row * columns.length + slot]!]]
        : [],
    ),
  );
}

export function close(actual: ArrayLike<number>, expected: readonly number[]): void {
  expect(actual.length).toBe(expected.length);
  expected.forEach((value, i) => expect(actual[i]).toBeCloseTo(value, 10));
}

export const repeatPrice = (price: number) => [price, price, price, price, price, price];
