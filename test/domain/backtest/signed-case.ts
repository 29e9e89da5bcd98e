import { type IndexDocument as Definition } from '#domain/definition/index-document.js';
import type { DeciderFactory, Decision } from '#domain/books/compositions.js';
import type { Run } from '#domain/backtest/run.js';
import { buildMarket, createWeekdayCalendars, type MarketSketch } from './market-builder.js';
import { runOn, type RunRequest } from './random-run.js';
import { createDocument } from '../index-document.js';

export const CALENDARS = createWeekdayCalendars({ MAIN: { from: '2024-01-01', to: '2024-12-31' } });
export const WEEK = ['2024-03-04', '2024-03-05', '2024-03-06', '2024-03-07', '2024-03-08', '2024-03-11'];

export type Weights = Readonly<Record<string, number>>;
export type Treatment = Partial<NonNullable<Definition['pipeline']>['treatment']>;

export function createHolding(weightsOn: (session: number) => Weights): DeciderFactory {
  return (document, composer) => ({
    decide(session): Decision {
      const sm = composer.market(document.id);
      const targetEntries = Object.entries(weightsOn(session))
        .map(([name, weight]) => [sm.columnOf(name), weight] as const)
        .toSorted(([a], [b]) => a - b);
      const weights = Float64Array.from(targetEntries, ([, weight]) => weight);
      const columns = Int32Array.from(targetEntries, ([column]) => column);
      return {
        kind: 'decided',
        columns,
        weights,
        uncapped: weights,
        cap: null,
        capped: new Int32Array(0),
        redistributed: 0,
        findings: [],
      };
    },
  });
}

export interface SignedCase extends Omit<MarketSketch, 'dates'> {
  readonly dates?: readonly string[];
  readonly weights: Weights;
  readonly treatment?: Treatment;
  readonly rebalance?: Partial<Definition['rebalance']>;
  readonly request?: RunRequest;
  /** Other members of the document. */
  readonly document?: Partial<Pick<Definition, 'base_market_value' | 'rounding'>>;
}

/** Simulates a portfolio that has the given weights from the first date on. Default: no later rebalances. */
export function simulateSigned({
  dates = WEEK,
  weights,
  treatment = {},
  rebalance,
  request = {},
  document: members = {},
  ...sketch
}: SignedCase): Run {
  const document = createDocument({
    base_date: dates[0],
    rebalance: rebalance ?? { frequency: 'none' },
    pipeline: { treatment, weighting: { type: 'EqualWeight' } },
    ...members,
  });
  return runOn(CALENDARS, buildMarket({ dates, ...sketch }), document, {
    createDecider: createHolding(() => weights),
    ...request,
  });
}
