import { withheldIn } from '#domain/index-mathematics/withholding.js';
import { priceSessions } from '#domain/documents/stale-sessions.js';
import type { ActionsView } from '#contract/analytics/actions.js';
import { datedRunTreatment, runGrowthTerms, runSettingsOn, runTreatment } from '#domain/backtest/run-file/settings.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import {
  offerChoices,
  offersOf,
  rightsChoices,
  scripChoices,
  type AfterChoice,
  type Offer,
} from '#domain/corporate-actions/choices.js';
import { proForma, type BeforeAction, type ProForma, type WorthOf } from '#domain/corporate-actions/pro-forma.js';
import { sharesToCome } from '#domain/corporate-actions/share-basis.js';
import { formatDay, type Day } from '#domain/time/days.js';
import { compareText } from '#domain/refusals/findings.js';
import { ACTION_KINDS, type CorporateAction } from '#domain/market/market-data.js';
import type { ExchangeRates } from '#domain/market/exchange-rates.js';
import type { SessionMarket } from '#domain/market/session-market.js';
import { firstAtLeast } from '#domain/numbers/search.js';
import { csvTable } from '../csv-table.js';
import { levelsOf } from '../dividends/dividend-points-view.js';
import { divisors, freeTrades, isDivisorFixed } from '../exports/tables/events.js';
import type { HeldIndex, HeldName } from './pro-forma-rows.js';
import { takenOutcome } from './taken-outcome.js';

/** Most actions that are listed: the latest. */
const LISTED_MAX = 10_000;

export interface ActionsInput {
  readonly sm: SessionMarket;
  /** Into the currency of the index. */
  readonly rates: ExchangeRates;
  /** First and last day wanted, null where they are open. */
  readonly from: Day | null;
  readonly to: Day | null;
}

type Row = ActionsView['actions'][number];

/** Past and coming effects of actions on held securities. @cost reads [H] weights for each action */
export function actionsView(columns: RunColumns, input: ActionsInput): ActionsView {
  const { sm, from, to } = input;
  const days = columns.i32('days');
  const last = days.at(-1)!;
  const wanted = sm.market.actions.filter(
    ({ exDay, status, announcedDay }) =>
      status !== 'cancelled' &&
      exDay > days[0]! &&
      (from === null || exDay >= from) &&
      (to === null || exDay <= to) &&
      (exDay <= last || announcedDay === null || announcedDay <= last),
  );
  const toRow = rowMaker(columns, days, { ...input, offers: offersOf(wanted) });
  const rows = [...wanted.flatMap((action) => toRow(action) ?? []), ...silentExits(columns, days, input)].toSorted(
    (a, b) => compareText(a.ex_date, b.ex_date) || compareText(a.identifier, b.identifier),
  );
  return {
    index_id: columns.header.run_id,
    as_of: formatDay(last),
    actions: rows.slice(-LISTED_MAX),
    actions_total: rows.length,
  };
}

interface RowInput extends ActionsInput {
  /** By the actions that are their sides. */
  readonly offers: ReadonlyMap<CorporateAction, Offer>;
}

/** Actions after which a name is gone. */
const ENDINGS: ReadonlySet<string> = new Set(['MERGER', 'ACQUISITION', 'DELISTING', 'TICKER_CHANGE']);

/**
 * Names that left without an action: they had no price for as long as the treatment waits.
 * @cost reads [2 x H] weights for each name that left
 */
function silentExits(columns: RunColumns, days: Int32Array, { sm, rates, from, to }: ActionsInput): Row[] {
  const { names, has_index_weights: hasOwn, run_id: runId, index_id: indexId } = columns.header;
  const divisor = hasOwn || runId === indexId ? divisors(columns, days) : null;
  const { weightAt, sharesAt } = heldOn(columns, days, { sm, rates });
  const ended = new Set(
    sm.actions.all
      .filter(({ action }) => ENDINGS.has(action.type))
      .map(({ session, column }) => `${session} ${column}`),
  );
  return freeTrades(columns).flatMap(({ at, name, notional }): Row[] => {
    const day = days[at]!;
    const column = sm.columnOf(names[name]!);
    if (at === 0 || column < 0 || (from !== null && day < from) || (to !== null && day > to)) return [];
    const session = sm.sessionAt(day);
    const weight = weightAt(at - 1, name);
    // A sale of what was held long, or a purchase of what was short, that leaves nothing.
    if (weight * notional >= 0 || weightAt(at, name) !== 0 || ended.has(`${session} ${column}`)) return [];
    return [
      {
        ex_date: formatDay(day),
        identifier: names[name]!,
        type: 'SILENT_DELISTING',
        value: sm.carriedClose(session, column),
        related: null,
        cash: null,
        announced: null,
        state: 'effective',
        awaits_decision: false,
        election_date: null,
        election_default: null,
        choices: [],
        price_before: sm.carriedClose(session, column),
        weight_before: weight,
        weight_after: 0,
        shares_before: sharesAt(at - 1, column, weight),
        shares_after: 0,
        divisor_before: divisor?.[at - 1] ?? null,
        divisor_after: divisor?.[at] ?? null,
        proceeds: sm.carriedClose(session, column),
        received: null,
      },
    ];
  });
}

/** The holdings of the index of a run at its last close. @cost reads [H] weights */
export function heldAtEnd(columns: RunColumns, { sm, rates }: Pick<ActionsInput, 'sm' | 'rates'>): HeldIndex {
  const { names } = columns.header;
  const days = columns.i32('days');
  const last = days.length - 1;
  const { weightAt, sharesAt } = heldOn(columns, days, { sm, rates });
  const held = names.flatMap((identifier, place): HeldName[] => {
    const weight = weightAt(last, place);
    const column = sm.columnOf(identifier);
    return weight === 0 || column < 0 ? [] : [{ identifier, weight, shares: sharesAt(last, column, weight) }];
  });
  return { held, sharesStay: columns.has('dividendPoints') };
}

function heldOn(columns: RunColumns, days: Int32Array, { sm, rates }: Pick<ActionsInput, 'sm' | 'rates'>) {
  const { names, has_index_weights: hasOwn } = columns.header;
  const block = hasOwn ? 'indexWeights' : 'weights';
  const level = marketValues(columns, days);
  return {
    weightAt: (t: number, place: number): number =>
      columns.f64(block, t * names.length + place, t * names.length + place + 1)[0]!,
    sharesAt(t: number, column: number, weight: number): number {
      const session = sm.sessionAt(days[t]!);
      const rate = rates.isNative(column) ? 1 : rates.rateAt(session, column);
      return weight === 0 ? 0 : (weight * level[t]!) / (sm.carriedClose(session, column) * rate);
    },
  };
}

/** Market value that index shares are of: the level, times the divisor where all variants share both. */
function marketValues(columns: RunColumns, days: Int32Array): Float64Array {
  const level = levelsOf(columns);
  if (!columns.has('dividendPoints')) return level;
  const divisor = divisors(columns, days);
  return level.map((points, t) => points * divisor[t]!);
}

function rowMaker(columns: RunColumns, days: Int32Array, { sm, rates, offers }: RowInput) {
  const { names, has_index_weights: hasOwn, run_id: runId, index_id: indexId, variant } = columns.header;
  const treatment = runTreatment(columns.header.treatment);
  const last = days.at(-1)!;
  const sharesBy = sharesToCome(sm, sm.sessionAt(last), treatment.splits);
  const places = new Map(names.map((name, place) => [name, place]));
  const divisor = hasOwn || runId === indexId ? divisors(columns, days) : null;
  const { weightAt, sharesAt } = heldOn(columns, days, { sm, rates });
  const level = marketValues(columns, days);
  const isFixed = isDivisorFixed(columns);
  const isTotal = sm.market.adjustment === 'total';
  const growth = runGrowthTerms(columns.header, variant);
  const withheldOf = (identifier: string, day: Day): number =>
    withheldIn(sm.market, runTreatment(runSettingsOn(columns.header, day).treatment).withholding_tax)(identifier, day);
  const terms = { sm, rates, treatment: datedRunTreatment(columns.header), growth };
  /** Worth of a share of one name in shares of another, of shares as they are on the ex-date. */
  const worthIn =
    ({ identifier: own, exDay }: CorporateAction, t: number): WorthOf =>
    (identifier) => {
      const session = sm.sessionAt(days[t]!);
      const valueOf = (name: string, of: number) =>
        (sm.carriedClose(session, of) * (rates.isNative(of) ? 1 : rates.rateAt(session, of))) / sharesBy(name, exDay);
      const other = sm.columnOf(identifier);
      if (other < 0 || !sm.isPriceable(session, other, priceSessions(treatment))) return null;
      const worth = valueOf(identifier, other) / valueOf(own, sm.columnOf(own));
      return Number.isFinite(worth) ? worth : null;
    };
  return (action: CorporateAction): Row | null => {
    const place = places.get(action.identifier);
    const column = sm.columnOf(action.identifier);
    const at = firstAtLeast(days, action.exDay);
    const isComing = at === days.length;
    const before = at - 1;
    const weight = place === undefined || column < 0 ? 0 : weightAt(before, place);
    if (weight === 0) return null;
    const shares = sharesAt(before, column, weight);
    const close = sm.carriedClose(sm.sessionAt(days[before]!), column);
    const split = isComing && ACTION_KINDS[action.type] !== 'ratio' ? sharesBy(action.identifier, action.exDay) : 1;
    const held = {
      weight,
      price: close / split,
      variant,
      treatment,
      growth,
      withheld: withheldOf(action.identifier, action.exDay),
      isTotal,
    };
    const worth = worthIn(action, before);
    const after = isComing
      ? pending(proForma(action, held, worth), { shares, split, divisor: divisor?.[before] ?? null, isFixed })
      : {
          weight: weightAt(at, place!),
          shares: sharesAt(at, column, weightAt(at, place!)),
          divisor: divisor?.[at] ?? null,
          ...takenOutcome(terms, action, { session: sm.sessionAt(days[at]!), column, shares, level: level[at]! }),
        };
    const offer = offers.get(action);
    const choices = offer === undefined ? ownChoices(action, held) : offerChoices(offer, held, worth);
    const election = offer === undefined ? action : { ...offer.shares, ...offer.cash };
    const isElective = offer !== undefined || action.type === 'RIGHTS_ISSUE' || action.scripRatio !== undefined;
    const awaitsDecision = isElective && (election.electionDay === undefined ? isComing : election.electionDay >= last);
    return {
      ex_date: formatDay(action.exDay),
      identifier: action.identifier,
      type: action.type,
      value: action.value === 0 && ACTION_KINDS[action.type] === 'structural' ? null : action.value,
      related: action.related,
      cash: action.cash ?? null,
      announced: action.announcedDay === null ? null : formatDay(action.announcedDay),
      state: isComing ? 'coming' : 'effective',
      awaits_decision: awaitsDecision,
      election_date: election.electionDay === undefined ? null : formatDay(election.electionDay),
      election_default: election.electionDefault ?? null,
      choices: isComing || awaitsDecision ? choices.map((choice) => choiceRow(choice, { shares, split })) : [],
      price_before: finite(close),
      weight_before: weight,
      weight_after: after.weight,
      shares_before: shares,
      shares_after: finite(after.shares),
      divisor_before: divisor?.[before] ?? null,
      divisor_after: after.divisor,
      proceeds: after.proceeds,
      received: after.received,
    };
  };
}

function ownChoices(action: CorporateAction, held: BeforeAction): AfterChoice[] {
  return action.type === 'RIGHTS_ISSUE' ? rightsChoices(action, held) : scripChoices(action, held);
}

/** The figures of every action as CSV, one row an action; the effects of a decision are omitted. */
export function actionsCsv({ actions }: ActionsView): string {
  return csvTable(
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
] as const satisfies readonly (keyof Row)[];

/** A holding before an action. */
interface Held {
  /** Index shares. */
  readonly shares: number;
  /** Shares that one of them has become by then. */
  readonly split: number;
}

function choiceRow(
  { choice, weight, shares, cash, received }: AfterChoice,
  { shares: before, split }: Held,
): Row['choices'][number] {
  const taken = received && { ...received, ratio: received.ratio * split };
  return { choice, weight_after: weight, shares_after: before * shares, cash: cash * split, received: taken };
}

interface HeldByIndex extends Held {
  /** Null of a strategy. */
  readonly divisor: number | null;
  readonly isFixed: boolean;
}

function pending(after: ProForma, { shares, split, divisor, isFixed }: HeldByIndex) {
  const moved = after.divisor === null || divisor === null ? null : divisor * after.divisor;
  return {
    weight: after.weight,
    shares: after.shares === null ? null : shares * after.shares,
    divisor: isFixed ? divisor : moved,
    proceeds: after.proceeds === null ? null : after.proceeds * split,
    received: after.received && { ...after.received, ratio: after.received.ratio * split },
  };
}

/** A name that is gone has no price. */
function finite(value: number | null): number | null {
  return value !== null && Number.isFinite(value) ? value : null;
}
