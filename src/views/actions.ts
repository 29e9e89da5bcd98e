import type { ActionsView } from '#contract/analytics/run-views.js';
import {
  findRunSettings,
  readRunGrowthTerms,
  restoreTreatment,
  toDatedRunTreatment,
} from '#domain/backtest/run-file/header.js';
import type { RunColumns } from '#domain/backtest/run-file/columns.js';
import { compareText } from '#domain/base/findings.js';
import { findFirstAtLeast } from '#domain/base/numbers.js';
import { type Day, formatDay } from '#domain/base/time.js';
import { computePaidFraction, computePendingShares } from '#domain/books/announced-dividends.js';
import type { OutsideMergers } from '#domain/books/book.js';
import { type EventTerms, listEvents, type SessionEvents } from '#domain/books/events.js';
import {
  type ChoiceOutcome,
  computeOfferChoices,
  computeProForma,
  computeReinvestment,
  computeRightsChoices,
  computeScripChoices,
  listOffers,
  type Offer,
  type PositionBeforeAction,
  type ProForma,
  type ReceivedShares,
  type WorthReader,
} from '#domain/books/pro-forma.js';
import type { TreatmentSpec } from '#domain/definition/index-document.js';
import { findTreatment, readPriceSessions } from '#domain/definition/treatment.js';
import {
  addKeptCash,
  createEffectTable,
  createWithholding,
  findEffect,
  type GrowthTerms,
} from '#domain/market/action-effects.js';
import { readCarriedClose } from '#domain/market/growth.js';
import { ACTION_KINDS, type CorporateAction } from '#domain/market/market-data.js';
import type { ExchangeRates } from '#domain/market/rates.js';
import type { SessionMarket } from '#domain/market/session-market.js';
import { readLevels } from './dividend-points.js';
import { isDivisorFixed, listFreeTrades, readDivisors } from './events.js';
import { formatCsvTable } from './formats/text.js';

export interface ActionsInput {
  readonly sm: SessionMarket;
  /** Exchange rates into the currency of the index. */
  readonly rates: ExchangeRates;
  /**
   * Mergers after which the security leaves the index. Undefined if the index converts such a security into the
   * acquirer.
   */
  readonly outside?:
    | { readonly mergers: OutsideMergers; readonly isComing: (action: CorporateAction) => boolean }
    | undefined;
  /** First and last requested day; null if open. */
  readonly from: Day | null;
  readonly to: Day | null;
}

type ActionRow = ActionsView['actions'][number];

/** A constituent of the index at the last close. */
interface HeldSecurity {
  readonly identifier: string;
  readonly weight: number;
  /** Index shares. */
  readonly shares: number;
}

type Action = ActionsView['actions'][number];
type Choice = Action['choices'][number];

/** Constituent after one future action, for one choice of an election. Unknown numbers are null. */
interface ProFormaRow {
  readonly ex_date: string;
  readonly identifier: string;
  readonly type: string;
  /** Choice of an election; null for the choice that the index makes. */
  readonly choice: string | null;
  readonly constituent: string;
  readonly weight_before: number;
  readonly weight_after: number | null;
  readonly shares_before: number;
  readonly shares_after: number | null;
}

/** Maximum number of rows in a file. The number of actions times constituents has no other limit. */
const ROWS_MAX = 500_000;

/** The holdings of an index at the last close. */
interface IndexHoldings {
  readonly holdings: readonly HeldSecurity[];
  /**
   * True if an exit changes the divisor and leaves the other shares unchanged. False if the proceeds buy more shares of
   * the other constituents.
   */
  readonly sharesStay: boolean;
}

/**
 * Returns the whole index after each future action, as if only that action happened. An election has one result per
 * choice.
 */
export function createProFormaRows(actions: readonly Action[], { holdings, sharesStay }: IndexHoldings): ProFormaRow[] {
  const rows: ProFormaRow[] = [];
  for (const action of actions) {
    if (action.state !== 'coming' || isSharesOfOffer(action, actions)) continue;
    for (const choice of action.choices.length === 0 ? [null] : action.choices) {
      if (rows.length + holdings.length > ROWS_MAX) return rows;
      rows.push(...createRowsAfter(action, choice, { holdings, sharesStay }));
    }
  }
  return rows;
}

/**
 * Returns true for the row of an offer with the choice of shares. The row with the choice of cash already lists both
 * choices.
 */
function isSharesOfOffer({ type, identifier, ex_date, choices }: Action, actions: readonly Action[]): boolean {
  const isCash = (other: Action): boolean =>
    other.type === 'ACQUISITION' && other.identifier === identifier && other.ex_date === ex_date;
  return type === 'MERGER' && choices.length > 0 && actions.some(isCash);
}

function createRowsAfter(
  action: Action,
  choice: Choice | null,
  { holdings, sharesStay }: IndexHoldings,
): ProFormaRow[] {
  const { ex_date, identifier, type, weight_before: weight, shares_before: shares } = action;
  const after = choice ?? action;
  const { received } = after;
  const otherWeight = after.weight_after === null ? null : 1 - after.weight_after - (received?.weight ?? 0);
  const otherFactor = otherWeight === null || weight === 1 ? null : otherWeight / (1 - weight);
  // The proceeds of an exit buy the other securities. The cash of an election comes from outside the index or leaves
  // the index.
  const boughtRatio =
    choice === null && action.proceeds !== null && !sharesStay ? computeBoughtRatio(action, weight) : 1;
  const commonFields = { ex_date, identifier, type, choice: choice?.choice ?? null };
  const heldIdentifiers = new Set(holdings.map((name) => name.identifier));
  const heldSecurities =
    received === null || heldIdentifiers.has(received.identifier)
      ? holdings
      : [...holdings, { identifier: received.identifier, weight: 0, shares: 0 }];
  return heldSecurities.map((name): ProFormaRow => {
    const previousFields = { constituent: name.identifier, weight_before: name.weight, shares_before: name.shares };
    if (name.identifier === identifier)
      return { ...commonFields, ...previousFields, weight_after: after.weight_after, shares_after: after.shares_after };
    const ownReceipt = received?.identifier === name.identifier ? received : null;
    return {
      ...commonFields,
      ...previousFields,
      weight_after: otherFactor === null ? null : name.weight * otherFactor + (ownReceipt?.weight ?? 0),
      shares_after:
        boughtRatio === null
          ? null
          : boughtRatio * (name.shares + (ownReceipt === null ? 0 : ownReceipt.ratio * shares)),
    };
  });
}

/**
 * Returns how the proceeds of an exit change the shares of all other securities, as the ratio after / before. Received
 * shares count as other securities. Returns null if nothing else is held.
 */
function computeBoughtRatio({ proceeds, price_before: price, received }: Action, weight: number): number | null {
  if (weight === 1 || proceeds === null || price === null) return null;
  return 1 + ((weight * proceeds) / price / (1 - weight)) * (1 - (received?.weight ?? 0));
}

const COLUMNS = [
  'ex_date',
  'identifier',
  'type',
  'choice',
  'constituent',
  'weight_before',
  'weight_after',
  'shares_before',
  'shares_after',
] as const satisfies readonly (keyof ProFormaRow)[];

export function formatProFormaCsv(rows: readonly ProFormaRow[]): string {
  return formatCsvTable(
    COLUMNS,
    rows.map((row) => COLUMNS.map((column) => row[column])),
  );
}

/**
 * Returns the holdings of the index at the last close of a run.
 * @cost reads [H] weights
 */
export function readHoldingsAtEnd(
  columns: RunColumns,
  { sm, rates }: Pick<ActionsInput, 'sm' | 'rates'>,
): IndexHoldings {
  const { names } = columns.header;
  const days = columns.i32('days');
  const last = days.length - 1;
  const { weightAt, sharesAt } = readHoldingsOn(columns, days, { sm, rates });
  const heldSecurities = names.flatMap((identifier, position): HeldSecurity[] => {
    const weight = weightAt(last, position);
    const column = sm.columnOf(identifier);
    return weight === 0 || column < 0 ? [] : [{ identifier, weight, shares: sharesAt(last, column, weight) }];
  });
  return { holdings: heldSecurities, sharesStay: columns.has('dividendPoints') };
}

/** Returns readers of the weights and index shares of a run by session. */
function readHoldingsOn(columns: RunColumns, days: Int32Array, { sm, rates }: Pick<ActionsInput, 'sm' | 'rates'>) {
  const { names, has_index_weights: hasOwn } = columns.header;
  const block = hasOwn ? 'indexWeights' : 'weights';
  const level = computeMarketValues(columns, days);
  const growth = readRunGrowthTerms(columns.header, columns.header.variant);
  return {
    weightAt: (t: number, position: number): number =>
      columns.f64(block, t * names.length + position, t * names.length + position + 1)[0]!,
    sharesAt(t: number, column: number, weight: number): number {
      const session = sm.sessionAt(days[t]!);
      const rate = rates.isNative(column) ? 1 : rates.rateAt(session, column);
      return weight === 0 ? 0 : (weight * level[t]!) / (readCarriedClose(sm, growth, session, column) * rate);
    },
  };
}

/**
 * Returns the market value on which index shares are based. It is the level, multiplied by the divisor if all return
 * variants share both index shares and divisor.
 */
function computeMarketValues(columns: RunColumns, days: Int32Array): Float64Array {
  const level = readLevels(columns);
  if (!columns.has('dividendPoints')) return level;
  const divisor = readDivisors(columns, days);
  return level.map((points, t) => points * divisor[t]!);
}

/** A holding before a session with an event. */
interface HoldingBefore {
  readonly session: number;
  readonly column: number;
  /** Index shares at the previous close. */
  readonly shares: number;
  /** Level at the close of the session. */
  readonly level: number;
  /** Returns true if the index held a security before the session. Default: it held none. */
  readonly isHeld?: (identifier: string) => boolean;
}

interface ExitProceeds {
  /**
   * Cash per share held before the event, in the currency of the security; null if the security stayed or was converted
   * into shares only.
   */
  readonly proceeds: number | null;
  readonly received: ReceivedShares | null;
}

const NO_PROCEEDS: ExitProceeds = { proceeds: null, received: null };

/**
 * Returns the outcome that a run applied to a security with an action. For an offer, returns only the side that was
 * chosen.
 */
function findActualOutcome(terms: EventTerms, action: CorporateAction, holdingBefore: HoldingBefore): ExitProceeds {
  const { sm, rates } = terms;
  const { session, column, shares, level, isHeld } = holdingBefore;
  const events = listEvents(terms, session);
  if (action.type === 'SPIN_OFF')
    return { proceeds: null, received: findReceivedChild(terms, action, { ...holdingBefore, events }) };
  const exit = events?.exits.get(column);
  if (exit === undefined || exit.action !== action) return NO_PROCEEDS;
  const effect = findEffect(createEffectTable(sm, terms.growth), session, column);
  const split = effect?.ratio ?? 1;
  const proceedsPerShare = exit.proceeds ?? readCarriedClose(sm, terms.growth, session, column);
  const targetColumn = events!.conversions.get(column);
  const isSpread =
    targetColumn === undefined ||
    (terms.growth.splitShares === 'keep' && isHeld?.(sm.identifiers[targetColumn]!) === true);
  if (isSpread) return { proceeds: proceedsPerShare * split, received: null };
  const rate = rates.isNative(column) ? 1 : rates.rateAt(session, column);
  const before = readCarriedClose(sm, terms.growth, session - 1, column);
  const value = effect === undefined ? proceedsPerShare : addKeptCash(effect, before, proceedsPerShare);
  const weight = (shares * split * value * (1 - exit.cashShare) * rate) / level;
  return {
    proceeds: action.cash === undefined ? null : action.cash * split,
    received: { identifier: sm.identifiers[targetColumn]!, ratio: exit.ratio * split, weight },
  };
}

/**
 * Returns the shares of a spun-off security that were received. If it has no price by the close of the day, their
 * weight is zero.
 */
function findReceivedChild(
  { sm, rates, treatment, growth }: EventTerms,
  { related }: CorporateAction,
  { session, column, shares, level, events }: HoldingBefore & { readonly events: SessionEvents | undefined },
): ReceivedShares | null {
  const spinOff = events?.spinOffs.find(({ parent, child }) => parent === column && sm.identifiers[child] === related);
  if (spinOff === undefined) return null;
  const { child, units } = spinOff;
  const ratio = units * (findEffect(createEffectTable(sm, growth), session, column)?.ratio ?? 1);
  const isPriced = sm.isPriceable(session, child, Infinity);
  const rate = rates.isNative(child) ? 1 : rates.rateAt(session, child);
  // A spun-off security can leave the index at its first close. It then has no weight afterwards.
  const isDropped = findTreatment(treatment, sm.sessions[session]!).spin_offs === 'drop_after_first_session';
  const weight =
    isPriced && !isDropped ? (shares * ratio * readCarriedClose(sm, growth, session, child) * rate) / level : 0;
  return { identifier: sm.identifiers[child]!, ratio, weight };
}

/** Types of actions after which a security is not traded any more. */
const ENDING_TYPES: ReadonlySet<string> = new Set(['MERGER', 'ACQUISITION', 'DELISTING', 'TICKER_CHANGE']);

/**
 * Returns exits that have no corporate action. Such a security had no price for longer than the treatment permits.
 * @cost reads up to two weights for each trade without cost
 */
function listSilentExits(columns: RunColumns, days: Int32Array, { sm, rates, from, to }: ActionsInput): ActionRow[] {
  const { names, has_index_weights: hasOwn, run_id: runId, index_id: indexId } = columns.header;
  const divisor = hasOwn || runId === indexId ? readDivisors(columns, days) : null;
  const { weightAt, sharesAt } = readHoldingsOn(columns, days, { sm, rates });
  const growth = readRunGrowthTerms(columns.header, columns.header.variant);
  const endedIdentifiers = new Set(
    sm.actions.all
      .filter(({ action }) => ENDING_TYPES.has(action.type))
      .map(({ session, column }) => `${session} ${column}`),
  );
  return listFreeTrades(columns).flatMap(({ at, name, notional }): ActionRow[] => {
    const day = days[at]!;
    const column = sm.columnOf(names[name]!);
    if (at === 0 || column < 0 || (from !== null && day < from) || (to !== null && day > to)) return [];
    const session = sm.sessionAt(day);
    const weight = weightAt(at - 1, name);
    // An exit sells a whole long position or buys back a whole short position.
    if (weight * notional >= 0 || weightAt(at, name) !== 0 || endedIdentifiers.has(`${session} ${column}`)) return [];
    const price = readCarriedClose(sm, growth, session, column);
    return [
      {
        ...NO_ELECTION,
        ex_date: formatDay(day),
        identifier: names[name]!,
        type: 'SILENT_DELISTING',
        value: price,
        related: null,
        price_before: price,
        weight_before: weight,
        weight_after: 0,
        shares_before: sharesAt(at - 1, column, weight),
        shares_after: 0,
        divisor_before: divisor?.[at - 1] ?? null,
        divisor_after: divisor?.[at] ?? null,
        proceeds: price,
      },
    ];
  });
}

/**
 * Returns the exits of spun-off securities at their first close.
 * @cost reads up to three weights for each trade without cost
 */
function listSpinOffExits(columns: RunColumns, days: Int32Array, input: ActionsInput): ActionRow[] {
  const { sm, rates, from, to } = input;
  const { names, has_index_weights: hasOwn, run_id: runId, index_id: indexId, variant } = columns.header;
  const treatment = toDatedRunTreatment(columns.header);
  const terms = { sm, rates, treatment, growth: readRunGrowthTerms(columns.header, variant) };
  const divisor = hasOwn || runId === indexId ? readDivisors(columns, days) : null;
  const { weightAt, sharesAt } = readHoldingsOn(columns, days, { sm, rates });
  const level = computeMarketValues(columns, days);
  return listFreeTrades(columns).flatMap(({ at, name }): ActionRow[] => {
    const day = days[at]!;
    const column = sm.columnOf(names[name]!);
    if (at === 0 || column < 0 || (from !== null && day < from) || (to !== null && day > to)) return [];
    if (findTreatment(treatment, day).spin_offs !== 'drop_after_first_session') return [];
    if (weightAt(at - 1, name) !== 0 || weightAt(at, name) !== 0) return [];
    const spinOff = sm.actions.related.findLast(
      ({ session, action }) =>
        action.type === 'SPIN_OFF' && action.related === names[name] && session <= sm.sessionAt(day),
    );
    const spunColumn = spinOff === undefined ? -1 : names.indexOf(spinOff.action.identifier);
    if (spinOff === undefined || spunColumn < 0) return [];
    const previousSession = findFirstAtLeast(days, spinOff.action.exDay) - 1;
    const parent = sharesAt(previousSession, spinOff.column, weightAt(previousSession, spunColumn));
    const parentHolding = {
      session: spinOff.session,
      column: spinOff.column,
      shares: parent,
      level: level[previousSession + 1]!,
    };
    const { received } = findActualOutcome(terms, spinOff.action, parentHolding);
    if (received === null) return [];
    const close = readCarriedClose(sm, terms.growth, sm.sessionAt(day), column);
    return [
      {
        ...NO_ELECTION,
        ex_date: formatDay(day),
        identifier: names[name]!,
        type: 'SPIN_OFF_EXIT',
        value: close,
        related: spinOff.action.identifier,
        price_before: null,
        weight_before: 0,
        weight_after: 0,
        shares_before: parent * received.ratio,
        shares_after: 0,
        divisor_before: divisor?.[at - 1] ?? null,
        divisor_after: divisor?.[at] ?? null,
        proceeds: close,
      },
    ];
  });
}

/** Members of a row that has no corporate action in the store. */
const NO_ELECTION = {
  cash: null,
  announced: null,
  state: 'effective',
  awaits_decision: false,
  election_date: null,
  election_default: null,
  choices: [],
  dividend_return: null,
  net_dividend_return: null,
  dividend_points: null,
  net_dividend_points: null,
  received: null,
} satisfies Partial<ActionRow>;

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
    const isHeld = (identifier: string): boolean => {
      const other = columnByName.get(identifier);
      return other !== undefined && weightAt(previousSession, other) !== 0;
    };
    const state = { ...runTerms, weight, price: close / split, withheld, level: levels[t - 1]!, isHeld };
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
          ...findActualOutcome(terms, action, {
            session: sm.sessionAt(days[t]!),
            column,
            shares,
            level: level[t]!,
            isHeld,
          }),
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

interface ViewHoldingBefore {
  /** Index shares. */
  readonly shares: number;
  /** Number of shares that one held share has become by the ex-date. */
  readonly split: number;
}

function createChoiceRow(
  { choice, weight, shares, cash, received }: ChoiceOutcome,
  { shares: previousShares, split }: ViewHoldingBefore,
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

interface IndexHolding extends ViewHoldingBefore {
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
