import type { TreatmentSpec } from '../documents/index-document.js';
import type { ReturnVariant } from './market-data.js';

/** Terms of growth: the inputs besides the market. */
export interface GrowthTerms {
  readonly variant: ReturnVariant;
  /** Fraction withheld from ordinary dividends; read by `net` only. */
  readonly withholdingTax: number;
  readonly specialDividends: TreatmentSpec['special_dividends'];
  readonly splits: TreatmentSpec['splits'];
  /** Currency of the index. */
  readonly currency: string;
}

export function growthTerms(
  treatment: TreatmentSpec,
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
