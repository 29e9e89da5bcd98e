import type { TreatmentSpec } from '../definition/index-document.js';
import { type DatedTreatment, findTreatment, readPriceSessions } from '../definition/treatment.js';
import { addKeptCash, createEffectTable, findEffect, type GrowthTerms } from '../market/action-effects.js';
import { findCarriedUnder, readCarriedClose } from '../market/growth.js';
import type { Adjustment, CorporateAction } from '../market/market-data.js';
import type { ExchangeRates } from '../market/rates.js';
import type { SessionMarket } from '../market/session-market.js';
import { createMergerKey, type OutsideMergers } from './book.js';

/** Effects of corporate actions on a book on one session, by column. */
export interface SessionEvents {
  /** Securities that leave at the close. */
  readonly exits: ReadonlyMap<number, Exit>;
  /**
   * Securities that convert into another security at the close, each with the column of the other security. Their value
   * per share is in `exits`.
   */
  readonly conversions: ReadonlyMap<number, number>;
  readonly spinOffs: readonly SpinOff[];
}

/** Corporate action that ends a security. */
export interface Exit {
  readonly type: 'DELISTING' | 'ACQUISITION' | 'MERGER';
  readonly action: CorporateAction;
  /** Proceeds per share, from shares and cash. Undefined if the last close counts as the proceeds. */
  readonly proceeds: number | undefined;
  /** Fraction of merger proceeds paid in cash. The rest is paid in shares of the acquirer. */
  readonly cashShare: number;
  /** Shares of the acquirer per share; 0 if the security does not convert. */
  readonly ratio: number;
}

export interface SpinOff {
  readonly parent: number;
  readonly child: number;
  /** Units of the spun-off security per unit of the parent, on the new share basis. */
  readonly units: number;
}

/** Terms of corporate actions. Books with equal terms have equal effects. */
export interface EventTerms {
  readonly sm: SessionMarket;
  readonly treatment: DatedTreatment;
  readonly growth: GrowthTerms;
  readonly rates: ExchangeRates;
  readonly outside?: OutsideMergers | undefined;
}

/** Returns the structural actions of a session; undefined if there are none. Uses no data after the session. */
export function listEvents(terms: EventTerms, session: number): SessionEvents | undefined {
  const { sm } = terms;
  const { all, starts } = sm.actions;
  if (starts[session] === starts[session + 1]) return undefined;
  const treatment = findTreatment(terms.treatment, sm.sessions[session]!);
  const exits = new Map<number, Exit>();
  const conversions = new Map<number, number>();
  const spinOffs: SpinOff[] = [];
  for (let a = starts[session]!; a < starts[session + 1]!; a++) {
    const { column, action } = all[a]!;
    const relatedColumn = action.related === null ? -1 : sm.columnOf(action.related);
    switch (action.type) {
      case 'DELISTING':
      case 'ACQUISITION':
        if (!conversions.has(column) && !prevailsOverDelisting(exits.get(column), action)) {
          const proceeds = computeProceeds(action, treatment.delisting);
          exits.set(column, { type: action.type, action, proceeds, ...NO_SHARES });
        }
        break;
      case 'MERGER': {
        const isPriced =
          relatedColumn >= 0 &&
          relatedColumn !== column &&
          action.value > 0 &&
          terms.outside?.has(createMergerKey(sm, session, column)) !== true &&
          (endsOn(sm, session, relatedColumn) || sm.isPriceable(session, relatedColumn, readPriceSessions(treatment)));
        const earlier = exits.get(column)?.action;
        if (!isPriced && earlier !== undefined && earlier.type !== 'MERGER' && !earlier.isUnpriced) break;
        if (isPriced) conversions.set(column, relatedColumn);
        exits.set(column, { type: action.type, action, proceeds: undefined, ...NO_SHARES });
        break;
      }
      case 'SPIN_OFF': {
        const spunOff = readSpinOff(action, { ...treatment, adjustment: sm.market.adjustment });
        if (spunOff !== null && relatedColumn >= 0)
          spinOffs.push({ parent: column, child: relatedColumn, units: spunOff.ratio });
        break;
      }
      default:
        break;
    }
  }
  if (exits.size === 0 && spinOffs.length === 0) return undefined;
  return { ...settleMergers(terms, session, { exits, conversions }), spinOffs };
}

/** Shares that a holder receives from a spin-off. */
export interface SpunOffShares {
  readonly identifier: string;
  /** Shares per share held, on the share basis of the ex-date. */
  readonly ratio: number;
}

/**
 * Returns what a spin-off distributes. Returns null if holders receive nothing: the treatment ignores spin-offs, prices
 * are already adjusted for them, or the action names no shares of another security. Books, pro forma figures, cash files
 * and tax lots all decide by this function.
 */
export function readSpinOff(
  { identifier, related, value }: CorporateAction,
  { spin_offs, adjustment }: Partial<Pick<TreatmentSpec, 'spin_offs'>> & { readonly adjustment: Adjustment },
): SpunOffShares | null {
  if (spin_offs === 'ignore' || adjustment === 'total') return null;
  return related === null || related === identifier || !(value > 0) ? null : { identifier: related, ratio: value };
}

const NO_SHARES = { cashShare: 0, ratio: 0 };

/** Returns true if an action ends a security on a session, or gives it another ticker. */
function endsOn({ actions: { all, starts } }: SessionMarket, session: number, column: number): boolean {
  for (let a = starts[session]!; a < starts[session + 1]!; a++)
    if (all[a]!.column === column && ENDING_TYPES.has(all[a]!.action.type)) return true;
  return false;
}

const ENDING_TYPES: ReadonlySet<string> = new Set(['DELISTING', 'ACQUISITION', 'MERGER', 'TICKER_CHANGE']);

type Endings = Pick<SessionEvents, 'exits' | 'conversions'>;

/**
 * Computes what holders of merged securities receive. If the acquirer ends on the same session, its own consideration
 * replaces its shares.
 */
function settleMergers(terms: EventTerms, session: number, ended: Endings): Endings {
  const exits = new Map(ended.exits);
  const conversions = new Map<number, number>();
  for (const column of ended.conversions.keys()) {
    const { into, ...consideration } = followMerger(terms, session, { column, ...ended });
    exits.set(column, { ...ended.exits.get(column)!, ...consideration });
    if (into !== null) conversions.set(column, into);
  }
  return { exits, conversions };
}

interface Consideration extends Pick<Exit, 'proceeds' | 'cashShare' | 'ratio'> {
  /** Column of the shares received. Null if only cash is received. */
  readonly into: number | null;
}

const LAST_CLOSE: Consideration = { proceeds: undefined, cashShare: 0, ratio: 0, into: null };

/** Follows the acquirers of a session to the security that still trades. The last close counts if there is none. */
function followMerger(
  terms: EventTerms,
  session: number,
  { column, exits, conversions }: Endings & { readonly column: number },
): Consideration {
  const { sm, rates, treatment } = terms;
  const ageMax = readPriceSessions(findTreatment(treatment, sm.sessions[session]!));
  let at = column;
  let [ratio, cash] = [1, 0];
  for (const visited = new Set([column]); ; visited.add(at)) {
    const exit = exits.get(at);
    const successor = exit === undefined ? findNewTicker(sm, session, at) : conversions.get(at);
    const toOwnCurrency = rates.rateAt(session, at) / rates.rateAt(session, column);
    if (exit !== undefined && successor === undefined) {
      const paid = exit.proceeds ?? readCarriedClose(sm, terms.growth, session, at);
      const proceeds = cash + ratio * paid * toOwnCurrency;
      return proceeds === proceeds ? { proceeds, cashShare: 0, ratio: 0, into: null } : LAST_CLOSE;
    }
    if (successor === undefined) break;
    if (exit !== undefined) {
      if (exit.action.cash !== undefined) cash += ratio * exit.action.cash * (at === column ? 1 : toOwnCurrency);
      ratio = at === column ? exit.action.value : ratio * exit.action.value;
    }
    if (visited.has(successor)) return LAST_CLOSE;
    at = successor;
  }
  if (!sm.isPriceable(session, at, ageMax)) return LAST_CLOSE;
  const shares = ratio * convertPrice(terms, session, { priced: at, quoted: column });
  return { proceeds: shares + cash, cashShare: cash / (shares + cash), ratio, into: at };
}

/** Returns the security that continues one whose ticker changed. Returns undefined if it still trades. */
function findNewTicker(sm: SessionMarket, session: number, column: number): number | undefined {
  if (!sm.hasEnded(session, column)) return undefined;
  const { all, starts } = sm.actions;
  const changes = all.slice(starts[session], starts[session + 1]).filter((one) => one.column === column);
  const related = changes.find(({ action }) => action.type === 'TICKER_CHANGE')?.action.related ?? null;
  return related === null || sm.columnOf(related) < 0 ? undefined : sm.columnOf(related);
}

/**
 * Returns true if an acquisition takes precedence over a delisting on the same session. It does if the acquisition
 * states a payment, or if the delisting states none.
 */
function prevailsOverDelisting(before: Exit | undefined, { type, isUnpriced }: CorporateAction): boolean {
  return before?.type === 'ACQUISITION' && type === 'DELISTING' && (!before.action.isUnpriced || isUnpriced === true);
}

/** Returns the proceeds of a share. Returns undefined if the last close counts as the proceeds. */
export function computeProceeds(
  { type, value, isUnpriced }: Pick<CorporateAction, 'type' | 'value' | 'isUnpriced'>,
  treatment: TreatmentSpec['delisting'],
): number | undefined {
  if (treatment === 'last_price') return undefined;
  if (!isUnpriced) return value;
  return type === 'DELISTING' && treatment === 'zero' ? 0 : undefined;
}

interface ExitInput extends Pick<EventTerms, 'sm' | 'growth'> {
  readonly session: number;
  readonly column: number;
  /** Price per share in money, on the share basis of the session. */
  readonly proceeds: number;
}

/** Returns the factor by which growth to the close becomes growth to the proceeds. */
export function computeExitFactor({ sm, growth, session, column, proceeds }: ExitInput): number {
  const table = createEffectTable(sm, growth);
  const close = findCarriedUnder(sm, table, session, column);
  const effect = findEffect(table, session, column);
  if (effect === undefined) return proceeds / close;
  const before = findCarriedUnder(sm, table, session - 1, column);
  return addKeptCash(effect, before, proceeds) / addKeptCash(effect, before, close);
}

/** Returns the price of one security in the quotation currency of another. */
export function convertPrice(
  { sm, rates, growth }: EventTerms,
  session: number,
  { priced, quoted }: { readonly priced: number; readonly quoted: number },
): number {
  return (
    (readCarriedClose(sm, growth, session, priced) * rates.rateAt(session, priced)) / rates.rateAt(session, quoted)
  );
}
