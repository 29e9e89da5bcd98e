import { createWithholding } from './withholding.js';
import { computeEffect, type SessionEffect } from '../index-mathematics/session-effect.js';
import { addSpinOffValue } from './spin-offs.js';
import { createKey, type GrowthTerms } from './growth-terms.js';
import type { MarketData } from '../market/market-data.js';

/** Effects of the actions of a market on prices, by ex-date, then in the order of the actions. */
export interface EffectsByDay {
  /** Ex-dates, [E]. */
  readonly days: Int32Array;
  /** Columns of the securities, [E]. */
  readonly columns: Int32Array;
  /** Members of the effects, [E] each. */
  readonly terms: Readonly<Record<keyof SessionEffect, Float64Array>>;
}

/**
 * Maximum number of growth terms with cached effects. It suffices for the return variants of a risk model. Each entry
 * needs 72 bytes per action.
 */
const TERMS_MAX = 2;

const effectsByActions = new WeakMap<MarketData['actions'], Map<string, EffectsByDay>>();

/** Returns the effects of all actions that are not cancelled. @cost O(N + A log A), once per market and terms */
export function createEffectsByDay(market: MarketData, terms: GrowthTerms): EffectsByDay {
  const key = `${market.adjustment} ${createKey(terms)}`;
  const effectsByKey = effectsByActions.get(market.actions) ?? new Map<string, EffectsByDay>();
  effectsByActions.set(market.actions, effectsByKey);
  const effects = effectsByKey.get(key) ?? readEffects(market, terms);
  effectsByKey.delete(key);
  effectsByKey.set(key, effects);
  if (effectsByKey.size > TERMS_MAX) effectsByKey.delete(effectsByKey.keys().next().value!);
  return effects;
}

export function readEffect({ terms }: EffectsByDay, position: number): SessionEffect {
  return {
    ratio: terms.ratio[position]!,
    cash: terms.cash[position]!,
    rights: terms.rights[position]!,
    subscription: terms.subscription[position]!,
    special: terms.special[position]!,
    income: terms.income[position]!,
    spunOff: terms.spunOff[position]!,
    detached: terms.detached[position]!,
  };
}

function readEffects(market: MarketData, terms: GrowthTerms): EffectsByDay {
  const { actions, identifiers, adjustment } = market;
  const findWithheldFraction = createWithholding(market, terms.withholdingTax);
  const columnByIdentifier = new Map(identifiers.map((identifier, column) => [identifier, column]));
  const datedEffects = actions.flatMap((action) => {
    const column = columnByIdentifier.get(action.identifier);
    const effect =
      action.status === 'cancelled'
        ? undefined
        : computeEffect(
            action,
            adjustment,
            terms,
            findWithheldFraction(action.identifier, action.exDay),
            () => addSpinOffValue(market, action).worth!,
          );
    return column === undefined || effect === undefined ? [] : [{ day: action.exDay, column, effect }];
  });
  datedEffects.sort((a, b) => a.day - b.day);
  const getTerms = (term: keyof SessionEffect): Float64Array =>
    Float64Array.from(datedEffects, ({ effect }) => effect[term]);
  return {
    days: Int32Array.from(datedEffects, ({ day }) => day),
    columns: Int32Array.from(datedEffects, ({ column }) => column),
    terms: {
      ratio: getTerms('ratio'),
      cash: getTerms('cash'),
      rights: getTerms('rights'),
      subscription: getTerms('subscription'),
      special: getTerms('special'),
      income: getTerms('income'),
      spunOff: getTerms('spunOff'),
      detached: getTerms('detached'),
    },
  };
}
