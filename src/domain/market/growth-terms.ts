import type { ReturnVariant } from './market-data.js';

/** Settings of an index that decide how a price grows, as its document has them. */
export interface GrowthTreatment {
  readonly dividends: ReturnVariant;
  readonly withholding_tax: number;
  readonly special_dividends: 'reinvest' | 'ignore';
  readonly splits: 'apply' | 'ignore';
}

/** Terms of growth: the inputs besides the market. */
export interface GrowthTerms {
  readonly variant: ReturnVariant;
  /** Fraction withheld from ordinary dividends; read by `net` only. */
  readonly withholdingTax: number;
  readonly specialDividends: GrowthTreatment['special_dividends'];
  readonly splits: GrowthTreatment['splits'];
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
    withholdingTax: variant === 'net' ? treatment.withholding_tax : 0,
    specialDividends: treatment.special_dividends,
    splits: treatment.splits,
    currency,
  };
}

/** Terms on which a short position grows: it pays dividends whole, as nothing is withheld from what it pays. */
export function shortTerms(terms: GrowthTerms): GrowthTerms {
  return terms.variant === 'net' && terms.withholdingTax > 0
    ? { ...terms, variant: 'total', withholdingTax: 0 }
    : terms;
}

/** Terms as a key: equal for terms on which every price grows alike. */
export function keyOf({ variant, withholdingTax, specialDividends, splits, currency }: GrowthTerms): string {
  return JSON.stringify([variant, withholdingTax, specialDividends, splits, currency]);
}
