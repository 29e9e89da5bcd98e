import { expect } from 'vitest';
import { createComposer } from '#domain/books/composer.js';
import { indexDecider } from '#domain/optimisation/derived-index.js';
import { parseValidDay } from '#domain/base/time.js';
import { type IndexDocument as Definition } from '#domain/definition/index-document.js';
import { explainConstituent, type Explanation } from '#domain/decide/explanation.js';
import { CALENDARS, WEEK } from './signed-case.js';
import { type MarketSketch, buildMarket } from './market-builder.js';
import { createDocument } from '../index-document.js';

export interface Case extends Omit<MarketSketch, 'dates'> {
  readonly treatment?: Partial<NonNullable<Definition['pipeline']>['treatment']>;
  /** Rebalance dates after the first rebalance on 4 March. */
  readonly dates?: readonly string[];
  readonly selection?: readonly unknown[];
  /** Securities of the universe; default: A and B. */
  readonly universe?: readonly string[];
}

/**
 * Returns a function that explains why a security is or is not in an index on a day. The index consists of A and B with
 * equal weights from 4 March on.
 */
export function explainCase({ treatment = {}, dates = [], selection = [], universe = ['A', 'B'], ...sketch }: Case) {
  const market = buildMarket({ dates: WEEK, ...sketch });
  const document = createDocument({
    base_date: WEEK[0],
    rebalance: dates.length === 0 ? { frequency: 'none' } : { frequency: 'custom', dates },
    universe: { kind: 'list', identifiers: universe },
    pipeline: { selection, treatment, weighting: { type: 'EqualWeight' } },
  });
  return (name: string, asOf: string): Explanation => {
    const until = parseValidDay(asOf);
    const documents = { X: document };
    const composer = createComposer({ market, calendars: CALENDARS, documents, until, createDecider: indexDecider });
    return explainConstituent(composer, 'X', { column: market.identifiers.indexOf(name), asOf: until });
  };
}

export const repeatPrice = (price: number) => WEEK.map(() => price);
export const parseDay = parseValidDay;
export const close = (value: number) => expect.closeTo(value, 12) as number;
