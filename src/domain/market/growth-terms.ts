import { compareText } from '../base/findings.js';
import { Refusal } from '../base/refusals.js';
import { type Day, formatDay } from '../base/time.js';
import type { MarketData, ReferenceValue, ReturnVariant } from './market-data.js';
import { createReferenceSpells, findSpell, isBlank } from './reference.js';

/** Fraction that is withheld from ordinary dividends: a single rate, or rates by value of a reference field. */
export type WithholdingTax = number | WithholdingRates;

export interface WithholdingRates {
  /** Reference column, such as the country of a security. */
  readonly field: string;
  /** Rates by value of the field. */
  readonly rates: Readonly<Record<string, number>>;
  /** Rate of values without a separate rate. */
  readonly default?: number | undefined;
}

function isTaxed(tax: WithholdingTax): boolean {
  return tax !== 0;
}

/**
 * Returns a function that returns the fraction withheld from payments of a security on a day. The result is NaN if the
 * field value of the security has no rate.
 * @cost O(rows of the column) on the first call
 */
export function createWithholding(market: MarketData, tax: WithholdingTax): (identifier: string, day: Day) => number {
  if (typeof tax === 'number') return () => tax;
  const spells = createReferenceSpells(market, tax.field);
  const columnByIdentifier = indexColumns(market);
  return (identifier, day) => {
    const column = columnByIdentifier.get(identifier);
    return findRate(column === undefined ? null : findSpell(spells[column]!, day), tax);
  };
}

/** Returns the fraction withheld for a value of the field. Returns NaN if no rate applies. */
function findRate(value: ReferenceValue, { rates, default: others = Number.NaN }: WithholdingRates): number {
  if (isBlank(value)) return others;
  const key = String(value);
  return Object.hasOwn(rates, key) ? rates[key]! : others;
}

const columnsByMarket = new WeakMap<MarketData, ReadonlyMap<string, number>>();

function indexColumns(market: MarketData): ReadonlyMap<string, number> {
  const columns =
    columnsByMarket.get(market) ?? new Map(market.identifiers.map((identifier, column) => [identifier, column]));
  columnsByMarket.set(market, columns);
  return columns;
}

export interface TaxedSecurities {
  readonly columns: Iterable<number>;
  /** First and last day; default: all history. */
  readonly from?: Day;
  readonly to?: Day;
}

/** Returns the field values of securities that have no rate, ascending. A missing field value is null. */
export function listValuesWithoutRate(
  market: MarketData,
  tax: WithholdingTax,
  { columns, from = -Infinity, to = Infinity }: TaxedSecurities,
): (string | null)[] {
  if (typeof tax === 'number' || tax.default !== undefined) return [];
  const spells = createReferenceSpells(market, tax.field);
  const taxedColumns = new Set(columns);
  const values = new Set<string | null>();
  const addValue = (value: ReferenceValue): void => {
    if (Number.isNaN(findRate(value, tax))) values.add(isBlank(value) ? null : String(value));
  };
  for (const column of taxedColumns) {
    const columnSpells = spells[column]!;
    if (columnSpells.length === 0) addValue(null);
    for (const [k, spell] of columnSpells.entries())
      if (spell.from <= to && (columnSpells[k + 1]?.from ?? Infinity) > from) addValue(spell.value);
  }
  // A dividend may be paid before the first field value of its security.
  const columnByIdentifier = indexColumns(market);
  for (const { type, status, identifier, exDay } of market.actions) {
    const column = columnByIdentifier.get(identifier);
    if (type !== 'DIVIDEND' || status === 'cancelled' || column === undefined || !taxedColumns.has(column)) continue;
    if (exDay > from && exDay <= to) addValue(findSpell(spells[column]!, exDay));
  }
  return [...values].toSorted((a, b) => compareText(a ?? '', b ?? ''));
}

/**
 * Asserts that a rate applies to the dividends of securities.
 * @throws Refusal NO_RATE that lists the values without a rate
 */
export function requireWithholdingRates(
  market: MarketData,
  tax: WithholdingTax,
  taxedSecurities: TaxedSecurities,
): void {
  const values = listValuesWithoutRate(market, tax, taxedSecurities);
  if (typeof tax === 'number' || values.length === 0) return;
  const location =
    taxedSecurities.from === undefined || taxedSecurities.to === undefined
      ? ''
      : ` from ${formatDay(taxedSecurities.from)} to ${formatDay(taxedSecurities.to)}`;
  throw new Refusal('NO_RATE', `${describeWithoutRate(tax, values)}${location}.`, { field: tax.field, values });
}

export function describeWithoutRate({ field }: WithholdingRates, values: readonly (string | null)[]): string {
  const valueList = values.map((value) => value ?? '(no value)').join(', ');
  return `withholding_tax has no rate and no default for ${values.length} value${values.length === 1 ? '' : 's'} of ${field}: ${valueList}`;
}

/** Members of an index document that determine the growth of a price. */
export interface GrowthTreatment {
  readonly dividends: ReturnVariant;
  readonly withholding_tax: WithholdingTax;
  readonly reinvestment: 'index' | 'constituent';
  readonly reinvestment_at?: 'close' | 'previous_close' | undefined;
  readonly special_dividends: 'adjust' | 'constituent' | 'reinvest' | 'ignore';
  readonly rights?: 'subscribe' | 'price_only' | 'constituent' | undefined;
  readonly splits: 'apply' | 'ignore';
}

export interface GrowthTerms {
  readonly variant: ReturnVariant;
  /** Fraction withheld from ordinary dividends. It affects only net returns. */
  readonly withholdingTax: WithholdingTax;
  /** Security in which ordinary dividends are reinvested: the whole index, or the paying security. */
  readonly reinvestment: GrowthTreatment['reinvestment'];
  /** Present if dividends are reinvested at the previous close, and not at the close of their ex-date. */
  readonly reinvestedAt?: 'previous_close';
  readonly specialDividends: GrowthTreatment['special_dividends'];
  readonly rights: NonNullable<GrowthTreatment['rights']>;
  readonly splits: GrowthTreatment['splits'];
  /** Effect of a split on index shares. They are multiplied, or they are kept and the divisor changes. */
  readonly splitShares: 'multiply' | 'keep';
  readonly currency: string;
  /**
   * True if the shares that a spin-off distributes are part of the return of the paying security. An index holds them
   * instead.
   */
  readonly valuesSpinOffs?: true;
  /** Later terms by date, from amendments of the methodology; absent without amendments. */
  readonly amended?: readonly AmendedTerms[];
}

export type ChangingTerms = Pick<
  GrowthTerms,
  'withholdingTax' | 'specialDividends' | 'rights' | 'splits' | 'splitShares'
>;

export interface AmendedTerms extends ChangingTerms {
  readonly after: Day;
}

export function toChangingTerms(terms: GrowthTerms, after: Day): AmendedTerms {
  const { withholdingTax, specialDividends, rights, splits, splitShares } = terms;
  return { after, withholdingTax, specialDividends, rights, splits, splitShares };
}

export function findTerms(terms: GrowthTerms, day: Day): GrowthTerms {
  if (terms.amended === undefined) return terms;
  const { amended, ...first } = terms;
  const { after: _after, ...changed } = amended.findLast(({ after }) => after < day) ?? { after: day };
  return { ...first, ...changed };
}

/** Returns terms without the changes that take effect after the close of a day. */
export function selectTermsUntil({ amended, ...first }: GrowthTerms, day: Day): GrowthTerms {
  const effectiveAmendments = (amended ?? []).filter(({ after }) => after < day);
  return effectiveAmendments.length === 0 ? first : { ...first, amended: effectiveAmendments };
}

/** Returns terms with some members changed on every date. */
function createChangedTerms(terms: GrowthTerms, change: Partial<GrowthTerms>): GrowthTerms {
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

function listTerms(terms: GrowthTerms): readonly ChangingTerms[] {
  return [terms, ...(terms.amended ?? [])];
}

export function createGrowthTerms(
  treatment: GrowthTreatment,
  currency: string,
  variant: ReturnVariant = treatment.dividends,
): GrowthTerms {
  return {
    variant,
    withholdingTax: variant === 'net' || treatment.reinvestment === 'index' ? treatment.withholding_tax : 0,
    reinvestment: treatment.reinvestment,
    ...(treatment.reinvestment_at === 'previous_close' ? { reinvestedAt: treatment.reinvestment_at } : {}),
    specialDividends: treatment.special_dividends,
    rights: treatment.rights ?? 'price_only',
    splits: treatment.splits,
    splitShares: 'multiply',
    currency,
  };
}

/** Returns the terms of the returns of securities that an index reads: those of the index, with spin-offs. */
export function createReturnTerms(treatment: GrowthTreatment, currency: string, variant: ReturnVariant): GrowthTerms {
  return { ...createGrowthTerms(treatment, currency, variant), valuesSpinOffs: true };
}

/** Returns the terms of a single security that reinvests all its payments. */
export function createSecurityTerms(variant: ReturnVariant, currency: string): GrowthTerms {
  return {
    variant,
    withholdingTax: 0,
    reinvestment: 'constituent',
    specialDividends: 'constituent',
    rights: 'constituent',
    splits: 'apply',
    splitShares: 'multiply',
    currency,
    valuesSpinOffs: true,
  };
}

/**
 * Returns the terms of a short position. It pays dividends in full, without withholding tax. Dividends that the whole
 * index reinvests are not part of the growth of a single position.
 */
export function toShortTerms(terms: GrowthTerms): GrowthTerms {
  const isTaxedAtAll = listTerms(terms).some(({ withholdingTax }) => isTaxed(withholdingTax));
  return terms.reinvestment === 'constituent' && terms.variant === 'net' && isTaxedAtAll
    ? createChangedTerms(terms, { variant: 'total', withholdingTax: 0 })
    : terms;
}

/**
 * Returns the terms of holdings. Dividends that the whole index reinvests do not contribute to the growth of a holding,
 * in any return variant.
 */
export function toHoldingTerms(terms: GrowthTerms): GrowthTerms {
  return terms.reinvestment === 'index' ? createChangedTerms(terms, { variant: 'price', withholdingTax: 0 }) : terms;
}

/** Returns true if the units of holdings are shares, because dividends do not change the number of shares. */
export function holdsShares({ reinvestment }: Pick<GrowthTerms, 'reinvestment'>): boolean {
  return reinvestment === 'index';
}

/** Returns the terms of holdings of an index, to which spun-off shares are added as another holding. */
export function withoutSpinOffs({ valuesSpinOffs: _valuesSpinOffs, ...terms }: GrowthTerms): GrowthTerms {
  return terms;
}

/** Returns the terms that determine carried prices. These depend neither on the return variant nor on dividends. */
export function toCloseTerms(terms: GrowthTerms): GrowthTerms {
  return createChangedTerms(terms, { variant: 'price', withholdingTax: 0, reinvestment: 'index' });
}

/** Returns a key of terms. Under terms with equal keys, the growth of every price is equal. */
export function createGrowthTermsKey(terms: GrowthTerms): string {
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
    ...(terms.valuesSpinOffs === true ? ['spin-offs'] : []),
    ...(terms.reinvestedAt === undefined ? [] : [terms.reinvestedAt]),
    ...(terms.amended ?? []),
  ]);
}

/** Returns the key of terms without amendments that change no term. */
export function createGrowthKey({ amended, ...first }: GrowthTerms): string {
  const changed: AmendedTerms[] = [];
  for (const one of amended ?? []) {
    const { after: _after, ...before } = changed.at(-1) ?? toChangingTerms(first, 0);
    const { after: _day, ...own } = toChangingTerms({ ...first, ...one }, 0);
    if (JSON.stringify(before) !== JSON.stringify(own)) changed.push({ after: one.after, ...own });
  }
  return createGrowthTermsKey(changed.length === 0 ? first : { ...first, amended: changed });
}
