import type { Day } from '../base/time.js';
import type { TreatmentSpec } from '../definition/index-document.js';
import { createWithholding, type GrowthTerms, type WithholdingTax } from '../market/action-effects.js';
import { readCarriedClose } from '../market/growth.js';
import { ACTION_KINDS, type ActionStatus, type CorporateAction } from '../market/market-data.js';
import { createExchangeRates, type ExchangeRates } from '../market/rates.js';
import type { SessionMarket } from '../market/session-market.js';

/**
 * Returns the number of shares on a later day that one share on a session becomes. Uses only splits that were known on
 * that session.
 */
export type FutureSharesReader = (identifier: string, until: Day) => number;

export function computePendingShares(
  { market, sessions }: Pick<SessionMarket, 'market' | 'sessions'>,
  session: number,
  splits: TreatmentSpec['splits'],
): FutureSharesReader {
  if (market.adjustment !== 'none' || splits !== 'apply') return () => 1;
  const day = sessions[session]!;
  const corporateActions = market.actions.filter(
    ({ type, status, exDay, announcedDay }) =>
      ACTION_KINDS[type] === 'ratio' &&
      status !== 'cancelled' &&
      exDay > day &&
      (announcedDay === null || announcedDay <= day),
  );
  return (identifier, until) =>
    corporateActions.reduce(
      (shares, { identifier: actionIdentifier, exDay, value }) =>
        actionIdentifier === identifier && exDay <= until ? shares * value : shares,
      1,
    );
}

/** Ordinary dividend as a fraction of the price before it. */
export interface DividendFraction {
  readonly identifier: string;
  readonly exDay: Day;
  /** Day of the session on which the dividend counts. For a future dividend, this is the ex-date. */
  readonly day: Day;
  /** Dividend per share, in the currency of the security. */
  readonly dividend: number;
  /** Dividend divided by the previous close, both in the currency of the index. */
  readonly fraction: number;
  /** Fraction of the dividend that is withheld. */
  readonly withheld: number;
  readonly status: ActionStatus | null;
  readonly announcedDay: Day | null;
}

/** Terms by which an index treats dividends. */
export interface DividendTerms {
  /** Terms of the index, with its currency. */
  readonly growth: GrowthTerms;
  readonly splits: TreatmentSpec['splits'];
  readonly withholding: WithholdingTax;
}

/**
 * Returns the ordinary dividends of a market that have gone ex, by session. Excludes cancelled dividends and dividends
 * of securities without an earlier price.
 * @cost O(actions)
 */
export function listPaidDividends(sm: SessionMarket, terms: DividendTerms): DividendFraction[] {
  const rates = createExchangeRates(sm, terms.growth.currency);
  const findWithheldFraction = createWithholding(sm.market, terms.withholding);
  return sm.actions.all.flatMap(({ session, column, action }): DividendFraction[] => {
    if (action.type !== 'DIVIDEND' || session <= sm.first) return [];
    const fraction = computePaidFraction(sm, { session, column, value: action.value }, { ...terms, rates });
    return Number.isFinite(fraction)
      ? [createFraction(action, sm.sessions[session]!, { fraction, withheldOf: findWithheldFraction })]
      : [];
  });
}

/** Dividend per share, in the currency of the security, that went ex on a session after the first one. */
interface PaidDividend {
  readonly session: number;
  readonly column: number;
  readonly value: number;
}

interface FractionMarket extends Pick<DividendTerms, 'growth' | 'splits'> {
  /** Exchange rates into the currency of the index. */
  readonly rates: ExchangeRates;
}

/**
 * Returns a dividend as a fraction of the close before it, both in the currency of the index. Returns a value that is
 * not finite if the security has no earlier price.
 */
export function computePaidFraction(
  sm: SessionMarket,
  { session, column, value }: PaidDividend,
  { rates, growth, splits }: FractionMarket,
): number {
  const { all, starts } = sm.actions;
  const before = readCarriedClose(sm, growth, session - 1, column) * rates.rateAt(session - 1, column);
  const sameDay = all
    .slice(starts[session], starts[session + 1])
    .filter((otherSessionAction) => otherSessionAction.column === column);
  const ratio = computeRatio(
    sm,
    sameDay.map((sessionAction) => sessionAction.action),
    splits,
  );
  return (value * rates.rateAt(session, column) * ratio) / before;
}

/**
 * Returns the dividends that go ex after a session and were known on it. Prices and exchange rates are those of the
 * session; the share basis is that after future splits.
 */
export function listAnnouncedDividends(sm: SessionMarket, session: number, terms: DividendTerms): DividendFraction[] {
  const rates = createExchangeRates(sm, terms.growth.currency);
  const findWithheldFraction = createWithholding(sm.market, terms.withholding);
  const day = sm.sessions[session]!;
  const computeShares = computePendingShares(sm, session, terms.splits);
  const corporateActions = sm.market.actions.filter(
    ({ status, exDay, announcedDay }) =>
      status !== 'cancelled' && exDay > day && (announcedDay === null || announcedDay <= day),
  );
  return corporateActions.flatMap((action): DividendFraction[] => {
    const column = sm.columnOf(action.identifier);
    if (action.type !== 'DIVIDEND' || column < 0) return [];
    const rate = rates.isNative(column) ? 1 : rates.rateAt(session, column);
    const price = readCarriedClose(sm, terms.growth, session, column) * rate;
    const fraction = (action.value * rate * computeShares(action.identifier, action.exDay)) / price;
    return Number.isFinite(fraction)
      ? [createFraction(action, action.exDay, { fraction, withheldOf: findWithheldFraction })]
      : [];
  });
}

/** Returns the product of the split ratios: new shares per old share. */
function computeRatio(
  { market }: SessionMarket,
  actions: readonly CorporateAction[],
  splits: TreatmentSpec['splits'],
): number {
  if (market.adjustment !== 'none' || splits !== 'apply') return 1;
  return actions.reduce((ratio, { type, value }) => (ACTION_KINDS[type] === 'ratio' ? ratio * value : ratio), 1);
}

function createFraction(
  action: CorporateAction,
  day: Day,
  { fraction, withheldOf }: { readonly fraction: number; readonly withheldOf: ReturnType<typeof createWithholding> },
): DividendFraction {
  const { identifier, exDay, value: dividend, status, announcedDay } = action;
  return { identifier, exDay, day, dividend, fraction, withheld: withheldOf(identifier, day), status, announcedDay };
}
