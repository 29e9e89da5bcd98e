import { compareText } from '../base/findings.js';
import { findFirstAtLeast, findLastAtMost } from '../base/numbers.js';
import { Refusal } from '../base/refusals.js';
import { type Day, formatDay } from '../base/time.js';
import {
  ACTION_KINDS,
  type Adjustment,
  type CorporateAction,
  createReferenceSpells,
  findSpell,
  isBlank,
  type MarketData,
  readReference,
  type ReferenceValue,
  type ReturnVariant,
} from './market-data.js';
import { createExchangeRates, findRedenomination, readRateOn, shareRates } from './rates.js';
import { findBasis, type MarketBasis, readPanelRow, type SessionAction, type SessionMarket } from './session-market.js';

/** Fraction that is withheld from ordinary dividends: a single rate, or rates by value of a reference field. */
export type WithholdingTax = number | WithholdingRates;

interface WithholdingRates {
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

interface TaxedSecurities {
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
interface GrowthTreatment {
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

type ChangingTerms = Pick<GrowthTerms, 'withholdingTax' | 'specialDividends' | 'rights' | 'splits' | 'splitShares'>;

interface AmendedTerms extends ChangingTerms {
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

/** Amounts of a session's corporate actions on one security, per share on the new share basis. */
export interface SessionAmounts {
  /** Share-count multiplier of splits, stock dividends and bonus issues. */
  readonly ratio: number;
  /** Cash that is reinvested in the paying security. */
  readonly cash: number;
  /** New shares per share held, and the price per new share. Both are zero without an issue that adjusts the close. */
  readonly rights: number;
  readonly subscription: number;
  /** Cash by which the previous close is reduced. */
  readonly special: number;
  /** Ordinary dividend that the whole index reinvests in this return variant. */
  readonly income: number;
  /**
   * Value of the shares of another security that a holder receives. NaN if it is unknown; the change of the price on the
   * session is then the value.
   */
  readonly spunOff: number;
  /**
   * Value of the shares of another security that a holder receives as a separate holding. The price falls by it unless a
   * later bar shows the fall.
   */
  readonly detached: number;
}

/** Effect of a session's corporate actions on one security. */
export interface SessionEffect extends SessionAmounts {
  /** Present if cash buys more of the security at the previous close, after its adjustment, and not at the close. */
  readonly buysAt?: 'previous_close';
}

export const NO_EFFECT: SessionEffect = {
  ratio: 1,
  cash: 0,
  rights: 0,
  subscription: 0,
  special: 0,
  income: 0,
  spunOff: 0,
  detached: 0,
};

/** Returns an effect with its amounts in another currency, which are `rate` times as large. */
export const convertEffect = (effect: SessionEffect, rate: number): SessionEffect => ({
  ...effect,
  cash: effect.cash * rate,
  subscription: effect.subscription * rate,
  special: effect.special * rate,
  income: effect.income * rate,
  spunOff: effect.spunOff * rate,
  detached: effect.detached * rate,
});

export function combineEffects(before: SessionEffect, change: SessionEffect): SessionEffect {
  return {
    ratio: before.ratio * change.ratio,
    cash: before.cash + change.cash,
    rights: before.rights + change.rights,
    subscription: change.rights === 0 ? before.subscription : change.subscription,
    special: before.special + change.special,
    income: before.income + change.income,
    spunOff: before.spunOff + change.spunOff,
    detached: before.detached + change.detached,
    ...((before.buysAt ?? change.buysAt) ? { buysAt: 'previous_close' } : {}),
  };
}

/**
 * Returns the effect of an action on prices with the given adjustment. Returns undefined if there is no effect.
 * @param withheld fraction withheld from an ordinary dividend of the security
 * @param worth returns the value of the shares that a spin-off distributes per share
 */
export function computeEffect(
  action: CorporateAction,
  adjustment: Adjustment,
  terms: GrowthTerms,
  withheld: number,
  worth: () => number = () => Number.NaN,
): SessionEffect | undefined {
  if (adjustment === 'total') return undefined;
  if (ACTION_KINDS[action.type] === 'ratio') {
    return adjustment === 'none' && terms.splits === 'apply' ? { ...NO_EFFECT, ratio: action.value } : undefined;
  }
  switch (action.type) {
    case 'DIVIDEND':
      return computeOrdinaryEffect(action, terms, withheld);
    case 'SPECIAL_DIVIDEND':
    case 'RETURN_OF_CAPITAL':
      return computeSpecialEffect(action.value, terms.specialDividends);
    case 'RIGHTS_ISSUE':
      if (action.subscriptionPrice === null || !(action.value > 0)) return undefined;
      return { ...NO_EFFECT, rights: action.value, subscription: action.subscriptionPrice };
    case 'SPIN_OFF':
      return computeSpinOffEffect(action, terms, worth);
    default:
      return undefined;
  }
}

function computeSpinOffEffect(
  { value }: CorporateAction,
  terms: GrowthTerms,
  worth: () => number,
): SessionEffect | undefined {
  if (!(value > 0)) return undefined;
  if (terms.valuesSpinOffs === true) return { ...NO_EFFECT, spunOff: worth() };
  const detached = worth();
  return detached > 0 ? { ...NO_EFFECT, detached } : undefined;
}

function computeOrdinaryEffect(
  { value }: CorporateAction,
  terms: GrowthTerms,
  withheld: number,
): SessionEffect | undefined {
  const share = computeReinvestedShare(terms.variant, withheld);
  // Dividend points are counted in every return variant. The effect is listed even if the variant reinvests nothing.
  if (terms.reinvestment === 'index') return { ...NO_EFFECT, income: share * value };
  return share === 0 ? undefined : { ...NO_EFFECT, cash: share * value };
}

/** Returns the fraction of an ordinary dividend that a return variant reinvests. */
function computeReinvestedShare(variant: ReturnVariant, withheld: number): number {
  return { price: 0, total: 1, net: 1 - withheld }[variant];
}

function computeSpecialEffect(value: number, treatment: GrowthTerms['specialDividends']): SessionEffect | undefined {
  if (treatment === 'ignore') return undefined;
  return treatment === 'adjust' ? { ...NO_EFFECT, special: value } : { ...NO_EFFECT, cash: value };
}

/**
 * Returns the previous close on the basis of a session: after splits, minus special dividends, at the theoretical
 * ex-rights price.
 * @source S&P DJI, Index Mathematics Methodology: corporate actions and index adjustments
 */
export function adjustClose(effect: SessionEffect, before: number): number {
  const { ratio, rights, subscription } = effect;
  const split = before / ratio - computeReduction(effect, before);
  return rights === 0 ? split : (split + rights * subscription) / (1 + rights);
}

/**
 * Returns the special dividend that reduces the previous close. A dividend larger than the close counts as a return
 * instead.
 */
function computeReduction({ ratio, special }: SessionEffect, before: number): number {
  return special < before / ratio ? special : 0;
}

/**
 * Returns the price of a security that has no bar on the session of an effect. Without a bar, the fall of the price is
 * the value of the distributed shares. A value that is not smaller than the price reduces nothing.
 */
export function carryClose(effect: SessionEffect, before: number): number {
  const adjustedClose = adjustClose(effect, before);
  const distributed = effect.spunOff + effect.detached;
  return distributed < adjustedClose ? adjustedClose - distributed : adjustedClose;
}

/**
 * Returns the return of a security over a session with an effect, including dividends of the return variant.
 * @param before carried close of the previous session, on the share basis of that session
 * @param bar close of the session, NaN without a bar
 */
export function computeGrowthStep(
  effect: SessionEffect,
  before: number,
  bar: number,
): { readonly factor: number; readonly carried: number } {
  const { ratio, rights, special, income, spunOff } = effect;
  const adjustedClose = adjustClose(effect, before);
  if (buysEarly(effect, before)) {
    const carried = bar === bar ? bar : carryClose(effect, before);
    const isUnknown = bar === bar && spunOff !== spunOff;
    const price = isUnknown || (bar !== bar && !(effect.detached > 0)) ? adjustedClose : carried;
    const received = bar === bar && !isUnknown ? spunOff : 0;
    return { factor: (addKeptCash(effect, before, price) + income + received) / adjustedClose, carried };
  }
  const paid = computeKeptCash(effect, before) + income;
  if (bar !== bar) {
    const carried = carryClose(effect, before);
    const held = effect.detached > 0 ? carried : adjustedClose;
    return { factor: held / adjustedClose + paid / adjustedClose, carried };
  }
  if (spunOff !== spunOff) return { factor: 1 + paid / adjustedClose, carried: bar };
  const cash = paid + spunOff;
  const isSplitAlone = rights === 0 && special === 0;
  return { factor: isSplitAlone ? (ratio * (bar + cash)) / before : (bar + cash) / adjustedClose, carried: bar };
}

/**
 * Returns true if the cash of an effect buys more of the security at the adjusted previous close. Cash that is not
 * smaller than that price is reinvested at the close.
 */
function buysEarly(effect: SessionEffect, before: number): boolean {
  return effect.buysAt !== undefined && computeKeptCash(effect, before) < adjustClose(effect, before);
}

/**
 * Returns the value at a price of one share and of the shares that the cash of its security bought: `price + cash`, or
 * `price * close / (close - cash)` with the adjusted previous close.
 */
export function addKeptCash(effect: SessionEffect, before: number, price: number): number {
  const cash = computeKeptCash(effect, before);
  if (!buysEarly(effect, before)) return price + cash;
  const close = adjustClose(effect, before);
  return price * (close / (close - cash));
}

/** Returns the part of the value of a holding at the close that the cash of its security bought. */
export function computeBoughtValue(
  effect: SessionEffect,
  { before, price, value }: { readonly before: number; readonly price: number; readonly value: number },
): number {
  return buysEarly(effect, before)
    ? value * (computeKeptCash(effect, before) / adjustClose(effect, before))
    : (value * effect.cash) / (price + effect.cash);
}

/** Returns the cash of an effect that is part of the return of the paying security, which reinvests it. */
function computeKeptCash(effect: SessionEffect, before: number): number {
  return effect.cash + (effect.special - computeReduction(effect, before));
}

/**
 * Returns the index shares after a rights issue per share before it, by which payments of that session are divided. They
 * are paid on the shares before the issue, and an effect states amounts per index share after it.
 * @param before close before the session
 */
export function countSharesOfPayments(effect: SessionEffect, before: number, terms: ShareTerms): number {
  const { ratio, rights, cash, income, spunOff, detached } = effect;
  const isPaid = cash !== 0 || income !== 0 || spunOff !== 0 || detached !== 0;
  return rights === 0 || !isPaid ? 1 : computeShareFactor({ ...effect, ratio: 1 }, before / ratio, terms);
}

/** Returns an effect whose payments are stated per share before a rights issue as amounts per share after it. */
export function spreadPayments(effect: SessionEffect, shares: number): SessionEffect {
  if (shares === 1) return effect;
  const { cash, income, spunOff, detached } = effect;
  return {
    ...effect,
    cash: cash / shares,
    income: income / shares,
    spunOff: spunOff / shares,
    detached: detached / shares,
  };
}

export type ShareTerms = Pick<GrowthTerms, 'rights' | 'splitShares'>;

/**
 * Returns the ratio of two market values of a holding: after the previous close was adjusted, and before. The divisor
 * changes by the weighted sum of these ratios. The ratio is 1 if index shares absorb the adjustment.
 */
export function computeOpeningFactor(effect: SessionEffect, before: number, terms: ShareTerms): number {
  const { ratio, rights, subscription } = effect;
  const split = before / ratio;
  const reducedRatio = split - computeReduction(effect, before);
  const splitFactor = terms.splitShares === 'keep' ? 1 / ratio : 1;
  const specialFactor = reducedRatio === split ? 1 : reducedRatio / split;
  if (rights === 0 || terms.rights === 'constituent') return splitFactor * specialFactor;
  const subscriptionFactor = (reducedRatio + rights * subscription) / reducedRatio;
  return (
    splitFactor *
    specialFactor *
    (terms.rights === 'subscribe' ? subscriptionFactor : subscriptionFactor / (1 + rights))
  );
}

/**
 * Returns the ratio of index shares after an effect to index shares before. It applies to shares that are kept through
 * a rebalance.
 */
export function computeShareFactor(effect: SessionEffect, before: number, terms: ShareTerms): number {
  const { ratio, rights } = effect;
  const splitFactor = terms.splitShares === 'keep' ? 1 : ratio;
  if (rights === 0 || terms.rights === 'price_only') return splitFactor;
  if (terms.rights === 'subscribe') return splitFactor * (1 + rights);
  const closeWithoutRights = adjustClose({ ...effect, rights: 0 }, before);
  return (splitFactor * closeWithoutRights) / adjustClose(effect, before);
}

/**
 * Returns the value of the shares that a spin-off distributes for one share, in the currency of that share. The price of
 * the distributed security is its last bar on or before the day. NaN if it has none, or if the rate is missing.
 * @cost O(T) at most, for the search of the bar
 */
export function valueSpinOff(market: MarketData, action: CorporateAction, day: Day): number {
  if (action.worth !== undefined) return action.worth;
  const { identifiers, dates, fields } = market;
  const child = action.related === null ? -1 : identifiers.indexOf(action.related);
  if (child < 0) return Number.NaN;
  const close = fields.get('CLOSE')!;
  for (let row = findLastAtMost(dates, day); row >= 0; row--) {
    const price = close[row * identifiers.length + child]!;
    if (price === price) return action.value * price * convertChild(market, action, { day });
  }
  return Number.NaN;
}

/**
 * Returns the currency units of the parent per currency unit of the distributed security.
 * @param indexCurrency currency of the index, which is that of securities for which the store states no currency
 */
function convertChild(
  market: MarketData,
  { identifier, related }: CorporateAction,
  { day, indexCurrency }: { readonly day: Day; readonly indexCurrency?: string | undefined },
): number {
  const readCurrency = (name: string) =>
    readReference(market.reference, name, 'CURRENCY', day) ?? market.currency ?? (indexCurrency || undefined);
  const [from, to] = [readCurrency(related!), readCurrency(identifier)];
  return typeof from === 'string' && typeof to === 'string' ? readRateOn(market, { from, to, day }) : 1;
}

/**
 * Returns an action with the value of the shares that it distributes, for a market without the distributed security.
 * Other actions are returned unchanged.
 */
export function addSpinOffValue(market: MarketData, action: CorporateAction): CorporateAction {
  if (action.type !== 'SPIN_OFF') return action;
  const row = findFirstAtLeast(market.dates, action.exDay);
  return { ...action, worth: valueSpinOff(market, action, market.dates[row] ?? action.exDay) };
}

/**
 * Returns the actions of a market in order, each spin-off on the session on which prices show it: the first one from its
 * ex-date with a bar of the parent or a price of the distributed security.
 */
function placeSpinOffs(sm: SessionMarket): readonly SessionAction[] {
  const { all } = sm.actions;
  if (!all.some(({ action }) => action.type === 'SPIN_OFF')) return all;
  return all
    .map((one) => (one.action.type === 'SPIN_OFF' ? { ...one, session: findShownSession(sm, one) } : one))
    .toSorted((a, b) => a.session - b.session || a.column - b.column);
}

type PlacedSpinOff = Pick<SessionAction, 'action' | 'column'>;

/** Returns the session on which prices show a spin-off; its own session if none does. */
function findShownSession(sm: SessionMarket, spinOff: SessionAction): number {
  for (let session = spinOff.session; session < sm.sessions.length; session++)
    if (showsFall(sm, spinOff, session) || valueOnSession(sm, spinOff, { session }) > 0) return session;
  return spinOff.session;
}

/** Returns true if the parent has a bar of the ex-date or later by a session. */
function showsFall(sm: SessionMarket, { action, column }: PlacedSpinOff, session: number): boolean {
  const ex = findFirstAtLeast(sm.sessions, action.exDay);
  if (session > ex && session === sm.first) return sm.lastBar[readPanelRow(sm, session) + column]! >= ex;
  return sm.rows.dayOf(sm.market.fields.get('CLOSE')!, session, column) >= action.exDay;
}

interface ValuedSession {
  readonly session: number;
  /** Effect of rights issues on index shares. Default: none. */
  readonly rights?: GrowthTerms['rights'];
  readonly indexCurrency?: string;
}

/**
 * Returns the value on a session of the shares that a spin-off distributes for one index share of the session, before a
 * rights issue on it, in the currency of that share. NaN if the distributed security has no price, or if the rate is
 * missing.
 */
function valueOnSession(sm: SessionMarket, { action, column }: PlacedSpinOff, valued: ValuedSession): number {
  const { session, indexCurrency } = valued;
  const day = sm.sessions[session]!;
  const child = action.related === null ? -1 : sm.columnOf(action.related);
  if (action.worth !== undefined || child < 0 || session < sm.first) return valueSpinOff(sm.market, action, day);
  if (sm.hasEnded(session, child)) return Number.NaN;
  const ex = findFirstAtLeast(sm.sessions, action.exDay);
  const shares = countShares(sm, child, { ex, session }) / countShares(sm, column, { ex, ...valued });
  return (
    action.value * shares * sm.carriedClose(session, child) * convertChild(sm.market, action, { day, indexCurrency })
  );
}

/**
 * Returns the value of the shares that a placed spin-off distributes for one share on its session. NaN if it is unknown,
 * and under terms of holdings if the bar of the parent shows it. Without such a bar, the value is in the currency of the
 * previous close, which it reduces.
 */
function valueDistribution(
  sm: SessionMarket,
  { valuesSpinOffs, rights, currency }: Pick<GrowthTerms, 'valuesSpinOffs' | 'rights' | 'currency'>,
  one: SessionAction,
): number {
  const { session, column } = one;
  if (showsFall(sm, one, session))
    return valuesSpinOffs === true ? valueOnSession(sm, one, { session, indexCurrency: currency }) : Number.NaN;
  const { redenominations } = createExchangeRates(sm, currency);
  return (
    valueOnSession(sm, one, { session, rights, indexCurrency: currency }) /
    findRedenomination(redenominations, session, column)
  );
}

/**
 * Returns the shares on a session, before a rights issue on it, of a holder of one share on an earlier ex-date, after a
 * split on that date.
 */
function countShares(
  { actions: { all, starts }, market }: SessionMarket,
  column: number,
  { ex, session, rights }: ValuedSession & { readonly ex: number },
): number {
  let count = 1;
  for (let a = starts[ex]!; a < starts[session + 1]!; a++) {
    const { action, column: affected, session: at } = all[a]!;
    if (affected !== column) continue;
    if (ACTION_KINDS[action.type] === 'ratio' && market.adjustment === 'none' && at > ex) count *= action.value;
    if (action.type === 'RIGHTS_ISSUE' && rights === 'subscribe' && action.subscriptionPrice !== null && at < session)
      count *= 1 + action.value;
  }
  return count;
}

export interface SecurityEffect extends SessionEffect {
  readonly column: number;
}

/**
 * Effects of all sessions as columns, ordered by session and security, [A] each. A simulation reads the effects session
 * by session.
 */
export interface EffectTable {
  readonly columns: Int32Array;
  readonly ratio: Float64Array;
  readonly cash: Float64Array;
  readonly rights: Float64Array;
  readonly subscription: Float64Array;
  readonly special: Float64Array;
  readonly income: Float64Array;
  readonly spunOff: Float64Array;
  readonly detached: Float64Array;
  /** Ordinary dividends before and after tax. 0 if the paying security reinvests them. */
  readonly ordinary: Float64Array;
  readonly net: Float64Array;
  /** Position of the first effect of each session, [S + 1]. */
  readonly starts: Int32Array;
  /** 1 for a session on which corporate actions change units of holdings, [S]. */
  readonly isOpening: Uint8Array;
  readonly terms: GrowthTerms;
  readonly getTerms: (session: number) => GrowthTerms;
  /** Carried close of the security of each effect on its session; NaN until it is computed, [A]. */
  readonly carried: Float64Array;
  /** Session of each effect, [A]. */
  readonly sessions: Int32Array;
}

/** Maximum number of terms with cached effects: more than the number of variants of a definition. */
const TABLES_MAX = 8;

const tablesByMarket = new WeakMap<SessionMarket, Map<string, EffectTable>>();

/** Returns the effects of all actions under given terms. @cost O(A) once per market and terms */
export function createEffectTable(sm: SessionMarket, terms: GrowthTerms): EffectTable {
  let tables = tablesByMarket.get(sm);
  if (!tables) tablesByMarket.set(sm, (tables = new Map()));
  const key = createGrowthKey(terms);
  let table = tables.get(key);
  if (!table) {
    const basis = findBasis(sm);
    tables.set(key, (table = basis === undefined ? readEffects(sm, terms) : replaceEffects(sm, terms, basis)));
    if (tables.size > TABLES_MAX) tables.delete(tables.keys().next().value!);
  }
  return table;
}

/** Makes a market with the same closes and actions use the tables of another. */
export function shareEffects(from: SessionMarket, to: SessionMarket): void {
  const tables = tablesByMarket.get(from) ?? new Map<string, EffectTable>();
  tablesByMarket.set(from, tables);
  tablesByMarket.set(to, tables);
}

/** Returns the effect on a security on a session. Returns undefined without an effect. */
export function findEffect(table: EffectTable, session: number, column: number): SecurityEffect | undefined {
  const { columns, starts } = table;
  for (let e = starts[session]!; e < starts[session + 1]!; e++) if (columns[e] === column) return readEffect(table, e);
  return undefined;
}

export function readEffect(table: EffectTable, position: number): SecurityEffect {
  const { columns, ratio, cash, rights, subscription, special, income, spunOff, detached } = table;
  return {
    column: columns[position]!,
    ratio: ratio[position]!,
    cash: cash[position]!,
    rights: rights[position]!,
    subscription: subscription[position]!,
    special: special[position]!,
    income: income[position]!,
    spunOff: spunOff[position]!,
    detached: detached[position]!,
    ...(table.terms.reinvestedAt === undefined ? {} : { buysAt: table.terms.reinvestedAt }),
  };
}

/**
 * Returns the ratio of two market values of a holding: after an effect has adjusted the previous close, and at that
 * close.
 * @param before carried close
 */
export function computeOpening(table: EffectTable, position: number, before: number): number {
  return computeOpeningFactor(readEffect(table, position), before, table.getTerms(table.sessions[position]!));
}

/**
 * Returns true if an effect may change the units of a holding. If units are not shares, only an adjustment of the
 * previous close that changes the value of a holding does.
 */
function hasOpening(table: EffectRows, position: number, terms: GrowthTerms): boolean {
  const [ratio, rights] = [table.ratio[position]!, table.rights[position]!];
  const [special, cash] = [table.special[position]!, table.cash[position]!];
  if (holdsShares(terms)) return ratio !== 1 || rights > 0 || special !== 0 || cash !== 0;
  return (
    special !== 0 || (rights > 0 && terms.rights !== 'constituent') || (ratio !== 1 && terms.splitShares === 'keep')
  );
}

interface ListedEffect {
  readonly effect: SecurityEffect;
  readonly session: number;
  /** Ordinary dividends before and after tax. */
  readonly ordinary: number;
  readonly net: number;
}

const AMOUNTS = [
  'ratio',
  'cash',
  'rights',
  'subscription',
  'special',
  'income',
  'spunOff',
  'detached',
  'ordinary',
  'net',
] as const;

function readEffects(sm: SessionMarket, terms: GrowthTerms): EffectTable {
  const getTerms = createTermsBySession(sm, terms);
  const listed = listEffects(sm, getTerms);
  const table = allocateEffects(sm, terms, listed.length);
  listed.forEach(({ effect, session, ordinary, net }, e) => {
    table.columns[e] = effect.column;
    table.sessions[e] = session;
    table.ratio[e] = effect.ratio;
    table.cash[e] = effect.cash;
    table.rights[e] = effect.rights;
    table.subscription[e] = effect.subscription;
    table.special[e] = effect.special;
    table.income[e] = effect.income;
    table.spunOff[e] = effect.spunOff;
    table.detached[e] = effect.detached;
    table.ordinary[e] = ordinary;
    table.net[e] = net;
  });
  return indexEffects(table, getTerms);
}

type EffectRows = Omit<EffectTable, 'getTerms'>;

function allocateEffects({ sessions }: SessionMarket, terms: GrowthTerms, count: number): EffectRows {
  const allocate = (): Float64Array => new Float64Array(count);
  return {
    columns: new Int32Array(count),
    ratio: allocate(),
    cash: allocate(),
    rights: allocate(),
    subscription: allocate(),
    special: allocate(),
    income: allocate(),
    spunOff: allocate(),
    detached: allocate(),
    ordinary: allocate(),
    net: allocate(),
    starts: new Int32Array(sessions.length + 1),
    isOpening: new Uint8Array(sessions.length),
    terms,
    carried: allocate().fill(Number.NaN),
    sessions: new Int32Array(count),
  };
}

function indexEffects(table: EffectRows, getTerms: EffectTable['getTerms']): EffectTable {
  const { sessions, starts, isOpening } = table;
  sessions.forEach((session, e) => {
    starts[session + 1]!++;
    if (isOpening[session] === 0 && hasOpening(table, e, getTerms(session))) isOpening[session] = 1;
  });
  for (let s = 0; s < isOpening.length; s++) starts[s + 1]! += starts[s]!;
  return { ...table, getTerms };
}

/** Returns the effects of the basis of a market, in which those of some securities are read again. */
function replaceEffects(sm: SessionMarket, terms: GrowthTerms, basis: MarketBasis): EffectTable {
  const view: SessionMarket = { ...sm, actions: basis.actions };
  shareRates(sm, view);
  const [before, own] = [createEffectTable(basis.sm, terms), readEffects(view, terms)];
  const isChanged = new Uint8Array(sm.securityCount);
  for (const column of basis.columns) isChanged[column] = 1;
  // Positions in the table of the basis, and complements of positions in that of the changed securities.
  const order: number[] = [];
  let next = 0;
  const takeBefore = (session: number, column: number): void => {
    for (; next < own.columns.length; next++) {
      const at = own.sessions[next]!;
      if (at > session || (at === session && own.columns[next]! > column)) return;
      order.push(~next);
    }
  };
  before.columns.forEach((column, e) => {
    if (isChanged[column] === 1) return;
    takeBefore(before.sessions[e]!, column);
    order.push(e);
  });
  takeBefore(Infinity, 0);
  const table = allocateEffects(sm, terms, order.length);
  for (const member of ['columns', 'sessions', ...AMOUNTS] as const) {
    const [values, ofBefore, ofOwn] = [table[member], before[member], own[member]];
    for (let e = 0; e < order.length; e++) {
      const from = order[e]!;
      values[e] = from < 0 ? ofOwn[~from]! : ofBefore[from]!;
    }
  }
  return indexEffects(table, own.getTerms);
}

export function createTermsBySession({ sessions }: SessionMarket, terms: GrowthTerms): EffectTable['getTerms'] {
  if (terms.amended === undefined) return () => terms;
  const termsBySession = new Map<number, GrowthTerms>();
  return (session) => {
    const result = termsBySession.get(session) ?? findTerms(terms, sessions[session]!);
    termsBySession.set(session, result);
    return result;
  };
}

/** Returns one combined effect per security and session, in order. */
function listEffects(sm: SessionMarket, getTerms: EffectTable['getTerms']): ListedEffect[] {
  const list: ListedEffect[] = [];
  const withholdingByTax = new Map<WithholdingTax, ReturnType<typeof createWithholding>>();
  const findWithholding = ({ withholdingTax: tax }: GrowthTerms): ReturnType<typeof createWithholding> => {
    const findWithheldFraction = withholdingByTax.get(tax) ?? createWithholding(sm.market, tax);
    withholdingByTax.set(tax, findWithheldFraction);
    return findWithheldFraction;
  };
  for (const sessionAction of placeSpinOffs(sm)) {
    const { column, session } = sessionAction;
    const terms = getTerms(session);
    const action = convertAmounts(sm, terms, sessionAction);
    const withheldFraction = findWithholding(terms)(action.identifier, sm.sessions[session]!);
    const change = computeEffect(action, sm.market.adjustment, terms, withheldFraction, () =>
      valueDistribution(sm, terms, sessionAction),
    );
    if (change === undefined) continue;
    const ordinaryDividend = action.type === 'DIVIDEND' && terms.reinvestment === 'index' ? action.value : 0;
    const net = ordinaryDividend * computeReinvestedShare('net', withheldFraction);
    const before = list.at(-1);
    if (before?.effect.column === column && session === before.session) {
      const effect = { column, ...combineEffects(before.effect, change) };
      list[list.length - 1] = { effect, session, ordinary: before.ordinary + ordinaryDividend, net: before.net + net };
    } else list.push({ effect: { column, ...change }, session, ordinary: ordinaryDividend, net });
  }
  return list.map((one) => (one.effect.rights === 0 ? one : payBeforeRights(sm, one, getTerms(one.session), list)));
}

/**
 * Returns an action with its amounts in the currencies in which they apply. Amounts are stated in the currency of the
 * security on the ex-date. Those that adjust the previous close apply in the currency of that close, at its rate.
 */
function convertAmounts(
  sm: SessionMarket,
  { currency, specialDividends }: GrowthTerms,
  { action, column, session }: SessionAction,
): CorporateAction {
  const rates = createExchangeRates(sm, currency);
  if (rates.isNative(column)) return action;
  const isCash = ACTION_KINDS[action.type] === 'cash';
  const isPaid = isCash && (action.type === 'DIVIDEND' || specialDividends !== 'adjust');
  const on = isPaid ? session : Math.max(0, session - 1);
  const conversion = { column, stated: action.exDay, wanted: sm.sessions[on]!, session: on };
  if (rates.convert(1, conversion) === 1) return action;
  const { value, subscriptionPrice } = action;
  return {
    ...action,
    value: isCash ? rates.convert(value, conversion) : value,
    subscriptionPrice: subscriptionPrice && rates.convert(subscriptionPrice, conversion),
  };
}

/**
 * Converts payments of a session with a rights issue to amounts per index share after it.
 * @param earlier effects before it, in order
 */
function payBeforeRights(
  sm: SessionMarket,
  { effect, ...listed }: ListedEffect,
  terms: GrowthTerms,
  earlier: readonly ListedEffect[],
): ListedEffect {
  const { session, ordinary, net } = listed;
  if (session <= sm.first) return { effect, ...listed };
  const paid = { ...effect, income: effect.income + ordinary }; // the price return has points without income
  const shares = countSharesOfPayments(
    paid,
    findCarriedBefore(sm, { session, column: effect.column }, terms, earlier),
    terms,
  );
  return {
    session,
    effect: { column: effect.column, ...spreadPayments(effect, shares) },
    ordinary: ordinary / shares,
    net: net / shares,
  };
}

/** Returns the close that a security carries before a session: its latest close after the effects since. */
function findCarriedBefore(
  sm: SessionMarket,
  { session, column }: Pick<LaterEvents, 'session' | 'column'>,
  { currency }: GrowthTerms,
  earlier: readonly ListedEffect[],
): number {
  const bar = sm.lastBar[readPanelRow(sm, session - 1) + column]!;
  // Without an action since, or in a market that begins later than the bar, only splits are known.
  if (bar < sm.first || bar === session - 1) return sm.carriedClose(session - 1, column);
  const { redenominations } = createExchangeRates(sm, currency);
  let price = sm.carriedClose(bar, column);
  for (let s = bar + 1; s < session; s++) {
    const passed = earlier.find((one) => one.session === s && one.effect.column === column);
    if (passed !== undefined) price = carryClose(passed.effect, price);
    price *= findRedenomination(redenominations, s, column);
  }
  return price;
}

interface LaterEvents {
  readonly session: number;
  readonly column: number;
  readonly day: Day;
}

/** Returns the effect of the actions of a session after a day. Returns undefined if there are none. */
export function findEffectAfter(
  sm: SessionMarket,
  terms: GrowthTerms,
  { session, column, day }: LaterEvents,
): SessionEffect | undefined {
  const { all, starts } = sm.actions;
  let effect: SessionEffect | undefined;
  for (let a = starts[session]!; a < starts[session + 1]!; a++) {
    const { action } = all[a]!;
    if (all[a]!.column !== column || action.exDay <= day) continue;
    const change = computeEffect(action, sm.market.adjustment, terms, 0, () => valueDistribution(sm, terms, all[a]!));
    if (change !== undefined) effect = effect === undefined ? change : combineEffects(effect, change);
  }
  return effect;
}
