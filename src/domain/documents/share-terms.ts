import type { TreatmentSpec } from './index-document.js';
import type { WeightingSpec } from './weighting-spec.js';
import type { ShareTerms } from '../index-mathematics/adjusted-close.js';

/** Weighting that holds a fixed number of shares of each constituent. */
export const PRICE_WEIGHT = 'PriceWeight';

/** Fields of weightings by market value. Index shares under such a weighting are shares outstanding times a factor. */
const MARKET_VALUE_FIELDS: readonly unknown[] = ['MARKET_CAP', 'FREE_FLOAT_MARKET_CAP'];

/** Returns the effect of corporate actions on index shares, given the treatment and the weighting of an index. */
export function readShareTerms(
  { rights }: Pick<TreatmentSpec, 'rights'>,
  weighting: WeightingSpec | undefined,
): ShareTerms {
  return {
    rights: rights ?? (isMarketValue(weighting) ? 'subscribe' : 'price_only'),
    splitShares: isPriceWeighted(weighting) ? 'keep' : 'multiply',
  };
}

/**
 * Returns the kind of share counts from which the market values of a weighting are computed: with or without free
 * float. Returns null for other weightings.
 */
export function findCountedShares(weighting: WeightingSpec | undefined): 'all' | 'float' | null {
  if (weighting === undefined || !isMarketValue(weighting)) return null;
  const { params } = weighting;
  if (weighting.type === 'MarketCapWeight') return params['free_float'] === false ? 'all' : 'float';
  if ((params['power'] ?? 1) !== 1) return null;
  return params['field'] === 'MARKET_CAP' ? 'all' : 'float';
}

/** Returns true if weights are market values from shares outstanding. */
export function isMarketValue(weighting: WeightingSpec | undefined): boolean {
  if (weighting?.type === 'MarketCapWeight') return true;
  return weighting?.type === 'FieldWeight' && MARKET_VALUE_FIELDS.includes(weighting.params['field']);
}

/**
 * Returns true if an index holds a fixed number of shares of each constituent, so that its weights follow only prices.
 */
export function isPriceWeighted(weighting: WeightingSpec | undefined): boolean {
  return weighting?.type === PRICE_WEIGHT && weighting.params['splits'] !== 'keep_weight';
}

/** Returns true if the weight of a constituent depends only on its own market value or price. */
export function hasIndependentWeights(weighting: WeightingSpec | undefined): boolean {
  return findCountedShares(weighting) !== null || weighting?.type === PRICE_WEIGHT;
}
