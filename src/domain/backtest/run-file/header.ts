import type { RoundingSpec } from '../../documents/rounding.js';
import type { EventCause } from '../../schedule/rebalance-causes.js';
import { breachRuleOf } from '../../compliance/breach-watch.js';
import { formatDay } from '../../time/days.js';
import type { MeasuredVariant, ReturnVariant } from '../../market/market-data.js';
import { variantOn } from '../../market/price-basis.js';
import type { SessionMarket } from '../../market/session-market.js';
import type { NumberType } from '../../numbers/number-types.js';
import type { BookPart } from '../../books/book.js';
import type { Composition } from '../../books/compositions.js';
import { indexTerms } from '../../books/index-run.js';
import type { AddedSessions, WholeRun } from './block.js';
import type { BlockName } from './schema.js';
import { type StoredTreatment, type StoredAmendment, storedTreatment, storedAmendments } from './settings.js';

/**
 * Formats of the header: a whole file is as it was in version 0.1.0, one that continues another was once written with
 * that one alone, and is now with all of them.
 */
export const WHOLE_VERSION = 1;
export const ONE_BASE_VERSION = 2;
export const SEGMENTS_VERSION = 3;

/** The header of a run file, as it is written. */
export interface RunHeader {
  readonly version: typeof SEGMENTS_VERSION | typeof ONE_BASE_VERSION | typeof WHOLE_VERSION;
  readonly run_id: string;
  readonly index_id: string;
  readonly currency: string;
  /** MIC of the index calendar. */
  readonly calendar: string;
  /** How its returns are made from prices and actions, whether targets wait for a bar, and what calls for a rebalance. */
  readonly treatment: StoredTreatment;
  /** Decimals of the index; absent where nothing is rounded. */
  readonly rounding: RoundingSpec | undefined;
  /** What amendments have made of both, by date; absent where they are what they were on the first date. */
  readonly amended: readonly StoredAmendment[] | undefined;
  /** Return variant of the index, as the prices of the market have it. */
  readonly variant: ReturnVariant;
  readonly store_content_hash: string;
  /** Names held, ascending, [H]. */
  readonly names: readonly string[];
  readonly dates: number;
  readonly index_dates: number;
  readonly has_costs: boolean;
  readonly has_cap: boolean;
  /**
   * Whether the weights of the index are stored beside those of the portfolio, because they differ on some date and are
   * what views show.
   */
  readonly has_index_weights: boolean;
  readonly rebalances: readonly StoredRebalance[];
  /** Row in `rates` of each name whose prices are in another currency. */
  readonly foreign: Readonly<Record<string, number>>;
  /** External benchmark, null without one; runs of earlier versions do not say its return. */
  readonly benchmark: {
    readonly id: string;
    readonly kind: 'index' | 'identifier';
    readonly variant?: MeasuredVariant;
  } | null;
  /** Currency that securities are valued in, where that is not the currency of the run: of a quanto. */
  readonly securities_in: string | undefined;
  /** What an overlay earns beside its names; absent of other runs. */
  readonly parts: readonly StoredPart[] | undefined;
  readonly blocks: Readonly<Record<BlockName, PlacedBlock | undefined>>;
  /** Names of the files beside this one that hold the first segments of its blocks, the earliest first. */
  readonly begun?: readonly string[];
  /** Names that the run came to hold after it was extended, in the order in which they came. */
  readonly joined?: readonly JoinedName[];
}

/** A part of an overlay, its own or of one beneath it. */
export type StoredPart = Pick<BookPart, 'part'> & { readonly index_id: string };

export interface JoinedName {
  readonly name: string;
  /** Position of the first file whose panels have a column for it: among those before, behind them for this one. */
  readonly file: number;
  /** Dates of the run before: so many of its prices are in `joinedPrice`. */
  readonly dates: number;
}

export interface StoredRebalance {
  /** Effective date by the schedule, YYYY-MM-DD. */
  readonly date: string;
  /** Position in the dates of the run of the session it was priced from; -1 when it lies before the run. */
  readonly at: number;
  readonly cap: number | null;
  readonly redistributed: number;
  /** To the parent of a derived index, annualised, as forecast at the decision; absent without a risk model. */
  readonly tracking_error?: number;
  /** What called for it, where that is not the schedule. */
  readonly cause?: EventCause;
  /** Day at whose closes its weights became index shares, where that is before the effective one. */
  readonly reference?: string;
}

/** Where a block lies. */
export interface PlacedBlock {
  readonly type: NumberType;
  /** Bytes from the beginning of the file. */
  readonly offset: number;
  /** Elements, with those in other files. */
  readonly length: number;
  /** Offset and length of what lies in each of the files before. */
  readonly begins?: readonly number[];
}

/** Members that say what a run is: those beside them say where its blocks lie. */
export type RunFacts = Omit<RunHeader, 'version' | 'blocks' | 'begun' | 'joined'>;

/** Everything that is done to a member of the header. */
interface Member<T> {
  readonly whole: (source: WholeRun) => T;
  /** Of the run with the sessions added to it. */
  readonly extended: (stored: T, source: AddedSessions) => T;
  /**
   * Place in the order in which members are compared; null for what another part has, or what says no more than whose
   * run it is.
   */
  readonly compared: number | null;
  /** As it is compared. */
  readonly shown?: (value: T) => unknown;
}

const same = <T>(stored: T): T => stored;

/** The catalogue of the header, in the order in which it is written. */
export const HEADER: { readonly [M in keyof RunFacts]: Member<RunFacts[M]> } = {
  run_id: { whole: ({ run }) => run.plan.runId, extended: same, compared: null },
  index_id: { whole: ({ run }) => run.plan.indexId, extended: same, compared: null },
  currency: { whole: ({ run }) => run.document.currency, extended: same, compared: 0 },
  calendar: { whole: ({ run }) => run.document.calendar, extended: same, compared: 1 },
  treatment: {
    whole({ run }) {
      const { compositions } = run.index;
      const rule = breachRuleOf(compositions.document.pipeline?.treatment);
      return storedTreatment(compositions.treatment, { rule, ...indexTerms(compositions) });
    },
    extended: same,
    compared: 3,
    // An alias of the same setting.
    shown: ({ special_dividends: special, ...treatment }) => ({
      special_dividends: special === 'reinvest' ? 'constituent' : special,
      ...treatment,
    }),
  },
  rounding: {
    whole: ({ run }) => run.document.rounding,
    extended: same,
    compared: 12,
    shown: (rounding) => rounding ?? {},
  },
  amended: {
    whole: ({ run }) => storedAmendments({ ...run.index.compositions, last: run.days.at(-1)! }),
    extended: (_stored, { continuation: { index }, days }) => storedAmendments({ ...index, last: days.at(-1)! }),
    compared: 13,
    shown: (amended) => amended ?? [],
  },
  variant: {
    whole: ({ run: { portfolio, index } }) => variantOn(portfolio.sm.market, index.compositions.treatment.dividends),
    extended: same,
    compared: 2,
  },
  store_content_hash: {
    whole: ({ contentHash }) => contentHash,
    extended: (_stored, { contentHash }) => contentHash,
    compared: null,
  },
  names: {
    whole: ({ run, names }) => namesOf(run.portfolio.sm.identifiers, names),
    extended: (_stored, { continuation, names }) => namesOf(continuation.index.sm.identifiers, names),
    compared: 4,
  },
  dates: { whole: ({ run }) => run.portfolio.length, extended: (_stored, { days }) => days.length, compared: null },
  index_dates: {
    whole: ({ run }) => run.index.book.length,
    extended: (_stored, { indexLevel }) => indexLevel.length,
    compared: null,
  },
  has_costs: { whole: ({ run }) => run.plan.request.transaction_cost_bps > 0, extended: same, compared: 7 },
  has_cap: { whole: ({ run }) => run.uncapped !== null, extended: same, compared: 8 },
  has_index_weights: { whole: ({ indexRows }) => indexRows !== null, extended: same, compared: 9 },
  rebalances: {
    whole: ({ run: { rebalances, portfolio } }) =>
      rebalances.map((rebalance) => storedRebalance(rebalance, { sm: portfolio.sm, shift: -portfolio.from })),
    extended(stored, { continuation: { rebalances, portfolio }, before }) {
      return [
        ...stored,
        ...rebalances.map((rebalance) =>
          storedRebalance(rebalance, { sm: portfolio.sm, shift: before - 1 - portfolio.from }),
        ),
      ];
    },
    compared: 10,
    // Version 0.2.0 has no tracking error.
    shown: (rebalances) => rebalances.map(({ date, at, cap, redistributed }) => ({ date, at, cap, redistributed })),
  },
  // Which row a name has decides nothing.
  foreign: {
    whole: ({ rates }) => rates.foreign,
    extended: (_stored, { rates }) => rates.foreign,
    compared: 5,
    shown: (foreign) => Object.keys(foreign),
  },
  benchmark: {
    whole: ({ run: { benchmark } }) =>
      benchmark && { id: benchmark.reference.id, kind: benchmark.reference.kind, variant: benchmark.variant },
    extended: same,
    compared: 6,
    // Version 0.2.0 has no return of it.
    shown: (benchmark) => benchmark && { id: benchmark.id, kind: benchmark.kind },
  },
  securities_in: {
    whole: ({ run }) => run.portfolio.overlay?.securitiesIn,
    extended: same,
    compared: null,
  },
  parts: {
    whole: ({ run }) => run.portfolio.overlay?.parts.map(({ indexId, part }) => ({ index_id: indexId, part })),
    extended: same,
    compared: 11,
    shown: (parts) => parts ?? [],
  },
};

function namesOf(identifiers: readonly string[], columns: Int32Array): string[] {
  return Array.from(columns, (column) => identifiers[column]!);
}

/** A rebalance of a run that begins some sessions of the market before its first date. */
export interface RebalanceShift {
  readonly sm: Pick<SessionMarket, 'sessions'>;
  /** From sessions of the market to dates of the run. */
  readonly shift: number;
}

export function storedRebalance(composition: Composition, { sm, shift }: RebalanceShift): StoredRebalance {
  const {
    date,
    session,
    cap,
    redistributed,
    trackingError,
    cause,
    targets,
    decision,
    pricing = decision,
  } = composition;
  const at = Math.max(-1, session + shift);
  const forecast = trackingError === undefined ? {} : { tracking_error: trackingError };
  const reference = targets === undefined || pricing >= session ? {} : { reference: formatDay(sm.sessions[pricing]!) };
  return { date: formatDay(date), at, cap, redistributed, ...forecast, ...(cause ? { cause } : {}), ...reference };
}

export const HEADER_MEMBERS = Object.keys(HEADER) as (keyof RunFacts)[]; // Object.keys returns plain strings.

export function wholeHeader(source: WholeRun): RunFacts {
  return Object.fromEntries(
    HEADER_MEMBERS.map((member) => [member, HEADER[member].whole(source)]),
  ) as unknown as RunFacts; // Every member is in the catalogue.
}

export function extendedHeader(stored: RunFacts, source: AddedSessions): RunFacts {
  const extended = <M extends keyof RunFacts>(member: M): RunFacts[M] =>
    HEADER[member].extended(stored[member], source);
  return Object.fromEntries(HEADER_MEMBERS.map((member) => [member, extended(member)])) as unknown as RunFacts; // As above.
}

/** A member as it is compared. */
export function shownMember(header: RunFacts, member: keyof RunFacts): string {
  const shown = <M extends keyof RunFacts>(name: M): unknown => {
    const { [name]: entry } = HEADER;
    return entry.shown ? entry.shown(header[name]) : header[name];
  };
  return JSON.stringify(shown(member));
}
