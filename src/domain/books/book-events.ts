import { findTreatment, type DatedTreatment } from '../documents/treatment.js';
import { readPriceSessions } from '../documents/stale-sessions.js';
import type { TreatmentSpec } from '../documents/index-document.js';
import type { ExchangeRates } from '../market/exchange-rates.js';
import type { CorporateAction } from '../market/market-data.js';
import { findEffect, createEffectTable } from '../index-mathematics/session-effects.js';
import type { GrowthTerms } from '../index-mathematics/growth-terms.js';
import { createMergerKey, type OutsideMergers } from './merger-key.js';
import type { SessionMarket } from '../market/session-market.js';

/** Effects of corporate actions on a book on one session, by column. */
export interface SessionEvents {
  /** Securities that leave at the close. */
  readonly exits: ReadonlyMap<number, Exit>;
  /**
   * Securities that convert into another security at the close, each with the column of the other security. Their value
   * per share is in `exits`.
   */
  readonly conversions: ReadonlyMap<number, number>;
  /** Spin-offs of the session. */
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
          const proceeds = computeProceeds(action.value, action.type === 'DELISTING', treatment.delisting);
          exits.set(column, { type: action.type, action, proceeds, cashShare: 0 });
        }
        break;
      case 'MERGER': {
        const isPriced =
          relatedColumn >= 0 &&
          relatedColumn !== column &&
          action.value > 0 &&
          terms.outside?.has(createMergerKey(sm, session, column)) !== true &&
          sm.isPriceable(session, relatedColumn, readPriceSessions(treatment));
        if (!isPriced && (exits.get(column)?.action.value ?? 0) > 0) break;
        if (isPriced) conversions.set(column, relatedColumn);
        exits.set(column, { type: action.type, action, ...computeConsideration(terms, session, { action, isPriced }) });
        break;
      }
      case 'SPIN_OFF':
        if (
          treatment.spin_offs !== 'ignore' &&
          sm.market.adjustment !== 'total' &&
          relatedColumn >= 0 &&
          relatedColumn !== column &&
          action.value > 0
        ) {
          spinOffs.push({ parent: column, child: relatedColumn, units: action.value });
        }
        break;
      default:
        break;
    }
  }
  return exits.size === 0 && spinOffs.length === 0 ? undefined : { exits, conversions, spinOffs };
}

/**
 * Returns true if an acquisition takes precedence over a delisting on the same session. It does if the acquisition
 * states a payment, or if the delisting states none.
 */
function prevailsOverDelisting(before: Exit | undefined, { type, value }: CorporateAction): boolean {
  return before?.type === 'ACQUISITION' && type === 'DELISTING' && (before.action.value > 0 || !(value > 0));
}

/**
 * Returns the proceeds of a merger per share, from shares and cash. The proceeds are undefined, so that the last close
 * counts, if the merger does not convert the security into priced shares of an acquirer.
 */
function computeConsideration(
  terms: EventTerms,
  session: number,
  { action, isPriced }: { readonly action: CorporateAction; readonly isPriced: boolean },
): Pick<Exit, 'proceeds' | 'cashShare'> {
  if (!isPriced) return { proceeds: undefined, cashShare: 0 };
  const { sm } = terms;
  const columns = { priced: sm.columnOf(action.related!), quoted: sm.columnOf(action.identifier) };
  const shares = action.value * convertPrice(terms, session, columns);
  const { cash } = action;
  return cash === undefined
    ? { proceeds: shares, cashShare: 0 }
    : { proceeds: shares + cash, cashShare: cash / (shares + cash) };
}

/** Returns the proceeds of a share. Returns undefined if the last close counts as the proceeds. */
export function computeProceeds(
  value: number,
  isDelisting: boolean,
  treatment: TreatmentSpec['delisting'],
): number | undefined {
  if (treatment === 'last_price') return undefined;
  if (value > 0) return value;
  return isDelisting && treatment === 'zero' && value === 0 ? 0 : undefined;
}

interface ExitInput extends EventTerms {
  readonly session: number;
  readonly column: number;
  /** Price per share in money, on the share basis of the session. */
  readonly proceeds: number;
}

/** Returns the factor by which growth to the close becomes growth to the proceeds. */
export function computeExitFactor({ sm, growth, session, column, proceeds }: ExitInput): number {
  const close = sm.carriedClose(session, column);
  const cash = findEffect(createEffectTable(sm, growth), session, column)?.cash ?? 0;
  return (proceeds + cash) / (close + cash);
}

/** Returns the price of one security in the quotation currency of another. */
export function convertPrice(
  { sm, rates }: EventTerms,
  session: number,
  { priced, quoted }: { readonly priced: number; readonly quoted: number },
): number {
  return (sm.carriedClose(session, priced) * rates.rateAt(session, priced)) / rates.rateAt(session, quoted);
}
