import type { Day } from '../time/days.js';
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
  /** Terms after the close of a day, by date, that an amended methodology has; absent where it has none. */
  readonly amended?: readonly AmendedTerms[];
}

/** Members in which the terms of one index may differ by date. */
export type ChangingTerms = Pick<
  GrowthTerms,
  'withholdingTax' | 'specialDividends' | 'rights' | 'splits' | 'splitShares'
>;

export interface AmendedTerms extends ChangingTerms {
  readonly after: Day;
}

/** Terms as those that an amendment makes of others after the close of a day. */
export function changingTerms(terms: GrowthTerms, after: Day): AmendedTerms {
  const { withholdingTax, specialDividends, rights, splits, splitShares } = terms;
  return { after, withholdingTax, specialDividends, rights, splits, splitShares };
}

/** The terms on a day. */
export function termsOn(terms: GrowthTerms, day: Day): GrowthTerms {
  if (terms.amended === undefined) return terms;
  const { amended, ...first } = terms;
  const { after: _after, ...changed } = amended.findLast(({ after }) => after < day) ?? { after: day };
  return { ...first, ...changed };
}

/** Terms without what takes effect after the close of a day. */
export function termsThrough({ amended, ...first }: GrowthTerms, day: Day): GrowthTerms {
  const kept = (amended ?? []).filter(({ after }) => after < day);
  return kept.length === 0 ? first : { ...first, amended: kept };
}

/** Terms with other members on every date. */
function changedTerms(terms: GrowthTerms, change: Partial<GrowthTerms>): GrowthTerms {
  const { withholdingTax } = change;
  const { amended } = terms;
  return {
    ...terms,
    ...change,
    ...(amended === undefined || withholdingTax === undefined
      ? {}
      : { amended: amended.map((one) => ({ ...one, withholdingTax })) }),
  };
}

function all(terms: GrowthTerms): readonly ChangingTerms[] {
  return [terms, ...(terms.amended ?? [])];
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
  const taxed = all(terms).some(({ withholdingTax }) => isTaxed(withholdingTax));
  return terms.reinvestment === 'constituent' && terms.variant === 'net' && taxed
    ? changedTerms(terms, { variant: 'total', withholdingTax: 0 })
    : terms;
}

/** Terms of what is held: dividends that the index reinvests are in the growth of no holding, whatever the variant. */
export function heldTerms(terms: GrowthTerms): GrowthTerms {
  return terms.reinvestment === 'index' ? changedTerms(terms, { variant: 'price', withholdingTax: 0 }) : terms;
}

/** Whether previous closes are adjusted by something else than splits. */
export function adjustsCloses(terms: GrowthTerms): boolean {
  return all(terms).some(({ specialDividends, rights }) => specialDividends === 'adjust' || rights !== 'constituent');
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
    ...(terms.amended ?? []),
  ]);
}
