import { readCarriedClose } from '#domain/index-mathematics/growth.js';
import type { GrowthTerms } from '#domain/index-mathematics/growth-terms.js';
import { createWithholding } from '#domain/index-mathematics/withholding.js';
import { readPriceSessions } from '#domain/documents/stale-sessions.js';
import type { ActionsView } from '#contract/analytics/actions.js';
import {
  toDatedRunTreatment,
  readRunGrowthTerms,
  findRunSettings,
  restoreTreatment,
} from '#domain/backtest/run-file/settings.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import {
  computeOfferChoices,
  listOffers,
  computeRightsChoices,
  computeScripChoices,
  type ChoiceOutcome,
  type Offer,
} from '#domain/corporate-actions/choices.js';
import {
  computeProForma,
  computeReinvestment,
  type PositionBeforeAction,
  type ProForma,
  type WorthReader,
} from '#domain/corporate-actions/pro-forma.js';
import { computePendingShares } from '#domain/corporate-actions/share-basis.js';
import { computePaidFraction } from '#domain/dividends/dividend-fractions.js';
import type { TreatmentSpec } from '#domain/documents/index-document.js';
import { formatDay, type Day } from '#domain/time/days.js';
import { compareText } from '#domain/refusals/findings.js';
import { ACTION_KINDS, type CorporateAction } from '#domain/market/market-data.js';
import { findFirstAtLeast } from '#domain/numbers/search.js';
import { formatCsvTable } from '../csv-table.js';
import { readLevels } from '../dividends/dividend-points-view.js';
import { readDivisors, isDivisorFixed } from '../exports/tables/events.js';
import type { ActionRow, ActionsInput } from './actions-input.js';
import { listSilentExits, listSpinOffExits } from './exit-rows.js';
import { readHoldingsOn, computeMarketValues } from './holdings-on-date.js';
import { findActualOutcome } from './taken-outcome.js';

/** Maximum number of listed actions, the latest ones. */
const LISTED_MAX = 10_000;

/**
 * Returns the effects of past and future corporate actions on held securities.
 * @cost reads up to three weights for each action
 */
export function createActionsView(columns: RunColumns, input: ActionsInput): ActionsView {
  const { sm, from, to } = input;
  const days = columns.i32('days');
  const last = days.at(-1)!;
  const selectedActions = sm.market.actions.filter(
    ({ exDay, status, announcedDay }) =>
      status !== 'cancelled' &&
      exDay > days[0]! &&
      (from === null || exDay >= from) &&
      (to === null || exDay <= to) &&
      (exDay <= last || announcedDay === null || announcedDay <= last),
  );
  const toRow = createRowMaker(columns, days, { ...input, offers: listOffers(selectedActions) });
  const rows = [
    ...selectedActions.flatMap((action) => toRow(action) ?? []),
    ...listSilentExits(columns, days, input),
    ...listSpinOffExits(columns, days, input),
  ].toSorted((a, b) => compareText(a.ex_date, b.ex_date) || compareText(a.identifier, b.identifier));
  return {
    index_id: columns.header.run_id,
    as_of: formatDay(last),
    actions: rows.slice(-LISTED_MAX),
    actions_total: rows.length,
  };
}

interface RowInput extends ActionsInput {
  /** Offers, keyed by each of their two actions. */
  readonly offers: ReadonlyMap<CorporateAction, Offer>;
}

function createRowMaker(columns: RunColumns, days: Int32Array, { sm, rates, offers, outside }: RowInput) {
  const { names, has_index_weights: hasOwn, run_id: runId, index_id: indexId, variant } = columns.header;
  const treatment = restoreTreatment(columns.header.treatment);
  const last = days.at(-1)!;
  const computeShares = computePendingShares(sm, sm.sessionAt(last), treatment.splits);
  const columnByName = new Map(names.map((name, position) => [name, position]));
  const divisor = hasOwn || runId === indexId ? readDivisors(columns, days) : null;
  const { weightAt, sharesAt } = readHoldingsOn(columns, days, { sm, rates });
  const level = computeMarketValues(columns, days);
  const levels = readLevels(columns);
  const hasFixedDivisor = isDivisorFixed(columns);
  const isTotal = sm.market.adjustment === 'total';
  const growth = readRunGrowthTerms(columns.header, variant);
  const computeWithheld = (identifier: string, day: Day): number =>
    createWithholding(sm.market, restoreTreatment(findRunSettings(columns.header, day).treatment).withholding_tax)(
      identifier,
      day,
    );
  const terms = { sm, rates, treatment: toDatedRunTreatment(columns.header), growth, outside: outside?.mergers };
  /**
   * Returns a function that converts a share of one security into shares of another. Both are on the share basis of the
   * ex-date.
   */
  const createExchangeRatio =
    ({ identifier: payerIdentifier, exDay }: CorporateAction, t: number): WorthReader =>
    (identifier) => {
      const session = sm.sessionAt(days[t]!);
      const computeValue = (name: string, column: number) =>
        (readCarriedClose(sm, growth, session, column) * (rates.isNative(column) ? 1 : rates.rateAt(session, column))) /
        computeShares(name, exDay);
      const other = sm.columnOf(identifier);
      if (other < 0 || !sm.isPriceable(session, other, readPriceSessions(treatment))) return null;
      const ratio = computeValue(identifier, other) / computeValue(payerIdentifier, sm.columnOf(payerIdentifier));
      return Number.isFinite(ratio) ? ratio : null;
    };
  const computeFraction = createFractionReader(days, { sm, rates, growth, splits: treatment.splits, isTotal });
  const runTerms = { variant, treatment, growth, isTotal };
  return (action: CorporateAction): ActionRow | null => {
    const columnOfAction = columnByName.get(action.identifier);
    const column = sm.columnOf(action.identifier);
    const t = findFirstAtLeast(days, action.exDay);
    const isComing = t === days.length;
    const previousSession = t - 1;
    const weight = columnOfAction === undefined || column < 0 ? 0 : weightAt(previousSession, columnOfAction);
    if (weight === 0) return null;
    const shares = sharesAt(previousSession, column, weight);
    const close = readCarriedClose(sm, growth, sm.sessionAt(days[previousSession]!), column);
    const split =
      isComing && ACTION_KINDS[action.type] !== 'ratio' ? computeShares(action.identifier, action.exDay) : 1;
    const withheld = computeWithheld(action.identifier, action.exDay);
    const state = { ...runTerms, weight, price: close / split, withheld, level: levels[t - 1]! };
    // A security that leaves by a merger keeps its last price.
    const readWorth: WorthReader =
      outside?.isComing(action) === true ? () => null : createExchangeRatio(action, previousSession);
    const after = isComing
      ? toPendingOutcome(computeProForma(action, state, readWorth), {
          shares,
          split,
          divisor: divisor?.[previousSession] ?? null,
          isFixed: hasFixedDivisor,
        })
      : {
          weight: weightAt(t, columnOfAction!),
          shares: sharesAt(t, column, weightAt(t, columnOfAction!)),
          divisor: divisor?.[t] ?? null,
          ...findActualOutcome(terms, action, { session: sm.sessionAt(days[t]!), column, shares, level: level[t]! }),
        };
    const offer = offers.get(action);
    const choices =
      offer === undefined ? listSecurityChoices(action, state) : computeOfferChoices(offer, state, readWorth);
    const election = describeElection(action, offer, { isComing, last });
    return {
      ex_date: formatDay(action.exDay),
      identifier: action.identifier,
      type: action.type,
      value: action.isUnpriced || action.type === 'TICKER_CHANGE' ? null : action.value,
      related: action.related,
      cash: action.cash ?? null,
      announced: action.announcedDay === null ? null : formatDay(action.announcedDay),
      state: isComing ? 'coming' : 'effective',
      ...election,
      choices:
        isComing || election.awaits_decision ? choices.map((choice) => createChoiceRow(choice, { shares, split })) : [],
      price_before: toFinite(close),
      weight_before: weight,
      weight_after: after.weight,
      shares_before: shares,
      shares_after: toFinite(after.shares),
      divisor_before: divisor?.[previousSession] ?? null,
      divisor_after: after.divisor,
      ...computeDividend(computeFraction(action, { t, column, price: state.price }), state),
      proceeds: after.proceeds,
      received: after.received,
    };
  };
}

/** Describes the decision of the holders about an action: its last date, its default, and whether it is still open. */
function describeElection(
  action: CorporateAction,
  offer: Offer | undefined,
  { isComing, last }: { readonly isComing: boolean; readonly last: Day },
): Pick<ActionRow, 'awaits_decision' | 'election_date' | 'election_default'> {
  const { electionDay: day, electionDefault } = offer === undefined ? action : { ...offer.shares, ...offer.cash };
  const isElective = offer !== undefined || action.type === 'RIGHTS_ISSUE' || action.scripRatio !== undefined;
  return {
    awaits_decision: isElective && (day === undefined ? isComing : day >= last),
    election_date: day === undefined ? null : formatDay(day),
    election_default: electionDefault ?? null,
  };
}

interface FractionTerms extends Pick<RowInput, 'sm' | 'rates'> {
  readonly growth: GrowthTerms;
  readonly splits: TreatmentSpec['splits'];
  /** True if prices contain dividends. They then have no fraction. */
  readonly isTotal: boolean;
}

interface PricedPosition {
  /** Number of the date in the run from which the action is effective. After the run: the number of dates. */
  readonly t: number;
  readonly column: number;
  /** Latest close on the share basis of the action. */
  readonly price: number;
}

/** Returns a function that divides a dividend by the price before it. It returns null for another action. */
function createFractionReader(days: Int32Array, { sm, rates, growth, splits, isTotal }: FractionTerms) {
  return (action: CorporateAction, { t, column, price }: PricedPosition): number | null => {
    if (action.type !== 'DIVIDEND' || isTotal) return null;
    if (t === days.length) return action.value / price;
    const dividend = { session: sm.sessionAt(days[t]!), column, value: action.value };
    return computePaidFraction(sm, dividend, { rates, growth, splits });
  };
}

/** Position before a dividend, and the level of the index in points. */
interface PositionInPoints extends PositionBeforeAction {
  readonly level: number;
}

/**
 * Returns a dividend as a fraction of the level and in index points, before tax and as a net return index reinvests it.
 * The index points are the amount times the index shares over the divisor, because the level is the market value over
 * the divisor.
 * @param fraction dividend divided by the price before it; null for another action
 */
function computeDividend(fraction: number | null, state: PositionInPoints) {
  const total = fraction === null ? null : toFinite(state.weight * fraction);
  const net = total === null ? null : total * computeReinvestment('net', state);
  return {
    dividend_return: total,
    net_dividend_return: net,
    dividend_points: total === null ? null : total * state.level,
    net_dividend_points: net === null ? null : net * state.level,
  };
}

function listSecurityChoices(action: CorporateAction, state: PositionBeforeAction): ChoiceOutcome[] {
  return action.type === 'RIGHTS_ISSUE' ? computeRightsChoices(action, state) : computeScripChoices(action, state);
}

/**
 * Formats the figures of all actions as CSV, one row per action. The effects of elections that are not decided are left
 * out.
 */
export function formatActionsCsv({ actions }: ActionsView): string {
  return formatCsvTable(
    FIGURES,
    actions.map((action) => FIGURES.map((figure) => action[figure])),
  );
}

const FIGURES = [
  'ex_date',
  'identifier',
  'type',
  'value',
  'related',
  'announced',
  'state',
  'awaits_decision',
  'election_date',
  'election_default',
  'weight_before',
  'weight_after',
  'shares_before',
  'shares_after',
  'divisor_before',
  'divisor_after',
  'cash',
] as const satisfies readonly (keyof ActionRow)[];

/** A holding before a corporate action. */
interface HoldingBefore {
  /** Index shares. */
  readonly shares: number;
  /** Number of shares that one held share has become by the ex-date. */
  readonly split: number;
}

function createChoiceRow(
  { choice, weight, shares, cash, received }: ChoiceOutcome,
  { shares: previousShares, split }: HoldingBefore,
): ActionRow['choices'][number] {
  const receivedShares = received && { ...received, ratio: received.ratio * split };
  return {
    choice,
    weight_after: weight,
    shares_after: previousShares * shares,
    cash: cash * split,
    received: receivedShares,
  };
}

interface IndexHolding extends HoldingBefore {
  /** Divisor of the index; null for a strategy. */
  readonly divisor: number | null;
  readonly isFixed: boolean;
}

function toPendingOutcome(after: ProForma, { shares, split, divisor, isFixed }: IndexHolding) {
  const newDivisor = after.divisor === null || divisor === null ? null : divisor * after.divisor;
  return {
    weight: after.weight,
    shares: after.shares === null ? null : shares * after.shares,
    divisor: isFixed ? divisor : newDivisor,
    proceeds: after.proceeds === null ? null : after.proceeds * split,
    received: after.received && { ...after.received, ratio: after.received.ratio * split },
  };
}

/** Returns a finite value, or null. A security that left has no price. */
function toFinite(value: number | null): number | null {
  return value !== null && Number.isFinite(value) ? value : null;
}
