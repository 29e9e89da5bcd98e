import type { ReturnVariant } from '../market/market-data.js';
import { isTaxed, type WithholdingTax } from './withholding.js';

/** Settings of an index that decide how a price grows, as its document has them. */
export interface GrowthTreatment {
  readonly dividends: ReturnVariant;
  readonly withholding_tax: WithholdingTax;
  readonly reinvestment: 'index' | 'constituent';
  readonly special_dividends: 'adjust' | 'constituent' | 'reinvest' | 'ignore';
  readonly rights?: 'subscribe' | 'price_only' | 'constituent' | undefined;
  readonly splits: 'apply' | 'ignore';
}

/** Terms of growth: the inputs besides the market. */
export interface GrowthTerms {
  readonly variant: ReturnVariant;
  /** Fraction withheld from ordinary dividends; read for `net` only. */
  readonly withholdingTax: WithholdingTax;
  /** What ordinary dividends buy: the whole index, or more of the security that pays them. */
  readonly reinvestment: GrowthTreatment['reinvestment'];
  readonly specialDividends: GrowthTreatment['special_dividends'];
  readonly rights: NonNullable<GrowthTreatment['rights']>;
  readonly splits: GrowthTreatment['splits'];
  /** Index shares in a split: multiplied, or kept while the divisor changes. */
  readonly splitShares: 'multiply' | 'keep';
  /** Currency of the index. */
  readonly currency: string;
}

export function growthTerms(
  treatment: GrowthTreatment,
  currency: string,
  variant: ReturnVariant = treatment.dividends,
): GrowthTerms {
  return {
    variant,
    withholdingTax: variant === 'net' || treatment.reinvestment === 'index' ? treatment.withholding_tax : 0,
    reinvestment: treatment.reinvestment,
    specialDividends: treatment.special_dividends,
    rights: treatment.rights ?? 'price_only',
    splits: treatment.splits,
    splitShares: 'multiply',
    currency,
  };
}

/** Terms of a security that is held by itself: it reinvests everything that it pays. */
export function securityTerms(variant: ReturnVariant, currency: string): GrowthTerms {
  return {
    variant,
    withholdingTax: 0,
    reinvestment: 'constituent',
    specialDividends: 'constituent',
    rights: 'constituent',
    splits: 'apply',
    splitShares: 'multiply',
    currency,
  };
}

/**
 * Terms on which a short position grows: it pays dividends whole, as nothing is withheld from what it pays. Where the
 * index reinvests dividends, they are in the growth of no position.
 */
export function shortTerms(terms: GrowthTerms): GrowthTerms {
  return terms.reinvestment === 'constituent' && terms.variant === 'net' && isTaxed(terms.withholdingTax)
    ? { ...terms, variant: 'total', withholdingTax: 0 }
    : terms;
}

/** Terms of what is held: dividends that the index reinvests are in the growth of no holding, whatever the variant. */
export function heldTerms(terms: GrowthTerms): GrowthTerms {
  return terms.reinvestment === 'index' ? { ...terms, variant: 'price', withholdingTax: 0 } : terms;
}

/** Whether previous closes are adjusted by something else than splits. */
export function adjustsCloses({ specialDividends, rights }: GrowthTerms): boolean {
  return specialDividends === 'adjust' || rights !== 'constituent';
}

/** Terms as a key: equal for terms on which every price grows alike. */
export function keyOf(terms: GrowthTerms): string {
  const { variant, withholdingTax, reinvestment, specialDividends, rights, splits, splitShares, currency } = terms;
  return JSON.stringify([
    variant,
    withholdingTax,
    reinvestment,
    specialDividends,
    rights,
    splits,
    splitShares,
    currency,
  ]);
}
