import type { ProducedBytes } from '#base/bytes.js';
import type { Memory } from '#base/memory.js';
import { callOnce } from '#base/once.js';
import { LIMITS } from '../../base/limits.js';
import type { NumberType } from '../../base/numbers.js';
import { type Day, formatDay, parseValidDay } from '../../base/time.js';
import type { BookPart } from '../../books/book.js';
import type { Composition, Compositions } from '../../books/compositions.js';
import { createIndexTerms } from '../../books/index-run.js';
import { createShareChangeTerms } from '../../books/state.js';
import { listClosures, type RecordedClosures } from '../../calendars/calendar.js';
import { findTextInForce } from '../../definition/amendments.js';
import { findBreachRule, isPublishedRule } from '../../definition/compliance.js';
import { type RoundingSpec, TreatmentSpec } from '../../definition/index-document.js';
import type { EventCause } from '../../definition/index-schedule.js';
import {
  createDatedRounding,
  type DatedTreatment,
  findRounding,
  findTreatment,
  STALE_SESSIONS,
} from '../../definition/treatment.js';
import {
  createGrowthTerms,
  findTerms,
  type GrowthTerms,
  type ShareTerms,
  toChangingTerms,
} from '../../market/action-effects.js';
import { type MeasuredVariant, resolveVariant, type ReturnVariant } from '../../market/market-data.js';
import type { SessionMarket } from '../../market/session-market.js';
import type { AppendedSessions, WholeRun } from './block.js';
import type { BlockName } from './blocks.js';

/** Name of the separate price file in the header of a whole run. */
export const PRICES_NAME = 'prices';

/** Minimum size in bytes of prices in a separate file. A smaller file costs more than it saves. */
export const SEPARATE_BYTES_MIN = 1 << 20;

/** Prices of a run in a separate file, which runs with equal securities, days and adjustments share. */
export interface SeparatePrices extends ProducedBytes {
  readonly identifiers: readonly string[];
  readonly days: Int32Array;
  /** Key of the terms that adjust bars between two sessions. Empty if there are no such bars. */
  readonly adjustedBy: string;
}

/**
 * Returns the name of the price file of a run. The name is derived from the name of the columns file, not stored in it,
 * so that equal runs have equal bytes.
 */
export function findPricesFile(columns: string): string {
  const [digits = ''] = /^[0-9a-f]*/.exec(columns)!;
  const invertedDigits = Array.from(digits, (digit) => (15 - Number.parseInt(digit, 16)).toString(16)).join('');
  return `${invertedDigits}${columns.slice(digits.length)}`;
}

/** Returns the full name of a file to which the header of a columns file refers. */
export function resolveSiblingFile(columns: string, name: string): string {
  return name === PRICES_NAME ? findPricesFile(columns) : name;
}

/**
 * Returns the name by which the header of a columns file refers to a file. This is the inverse of `resolveSiblingFile`.
 */
export function formatNameInHeader(columns: string, file: string): string {
  return file === findPricesFile(columns) ? PRICES_NAME : file;
}

/** Signature at the start of a run file. */
export const RUN_FILE_MAGIC = 'DVSRUN01';

/** Bytes of the signature and the header length. */
export const PREAMBLE_BYTES = 16;

/** Rounds a size up to a multiple of 8 bytes: every block begins at such an offset. */
export function roundUpToBlock(bytes: number): number {
  return Math.ceil(bytes / 8) * 8;
}

/** Number of bytes before and after a panel. */
interface SurroundingBytes {
  readonly before: number;
  readonly after: number;
}

/**
 * Allocates a panel with space before and after it, in which a file can be laid out around the panel. The space
 * contains zeros, the panel arbitrary contents.
 */
function allocatePlacedPanel(memory: Memory, cellCount: number, { before, after }: SurroundingBytes): Float64Array {
  const offset = roundUpToBlock(PREAMBLE_BYTES + before);
  const end = offset + 8 * cellCount;
  return new Float64Array(memory(end + roundUpToBlock(after), { from: offset, to: end }), offset, cellCount);
}

/**
 * Size in bytes of a header without securities and rebalances, of the header entry of a security, and of the entry of a
 * rebalance.
 */
const HEADER_BYTES = 16_384;
const NAME_BYTES = 64;
const REBALANCE_BYTES = 128;
/**
 * Bytes per security and event: weights before, costs, targets, raw and capped weights, index shares, snapshot and
 * transaction.
 */
const EVENT_BYTES = 128;
/** Bytes of a corporate-action effect with its distribution, of a date in all series, and of a position. */
const EFFECT_BYTES = 96;
const DATE_BYTES = 256;
const POSITION_BYTES = 40;
/**
 * Bytes of a share-count change with the weight that it moves, and the expected share-count changes per security and
 * session.
 */
const COUNT_CHANGE_BYTES = 64;
const COUNT_CHANGE_RATE = 1 / 8;
const DESCRIPTION_BYTES = 1 << 18;

interface AllocationInput {
  readonly memory: Memory;
  readonly cells: number;
  /** Last session of the weights. */
  readonly to: number;
  /** True if prices of at least `SEPARATE_BYTES_MIN` bytes are written to a separate file. */
  readonly pricesApart: boolean;
}

/**
 * Allocates memory for the weights of an index, with space before and after them for the other columns of the run. The
 * weights then need not be copied into the file. If the space is too small, one copy is needed. Too much space costs
 * nothing, because the system provides memory pages only on the first write.
 */
export function allocateColumns(
  compositions: Compositions,
  { memory, cells, to, pricesApart }: AllocationInput,
): Float64Array {
  const { sm, list, first } = compositions;
  const dateCount = to - first + 1;
  const names = cells / dateCount;
  let eventCount = list.length + 1;
  for (let session = first; session <= to; session++) eventCount += sm.actions.isStructural[session]!;
  const bytesPerEvent = EVENT_BYTES * names + REBALANCE_BYTES * 16;
  const after =
    (pricesApart ? Math.min(SEPARATE_BYTES_MIN, 8 * cells) : 8 * cells) +
    eventCount * bytesPerEvent +
    EFFECT_BYTES * sm.actions.all.length +
    DATE_BYTES * dateCount +
    (createShareChangeTerms(compositions) === undefined ? 0 : COUNT_CHANGE_BYTES * COUNT_CHANGE_RATE * cells) +
    POSITION_BYTES * LIMITS.MAX_POSITION_ROWS +
    4 * NAME_BYTES * names +
    DESCRIPTION_BYTES;
  const before = HEADER_BYTES + NAME_BYTES * names + REBALANCE_BYTES * list.length;
  return allocatePlacedPanel(memory, cells, { before, after });
}

/** Maximum number of added and of removed securities that a row of rebalances names. A table has room for a few. */
export const LARGEST_CHANGES_MAX = 5;

/** Stored form of a treatment; default values are omitted. */
type StoredTreatment = Pick<TreatmentSpec, 'special_dividends' | 'splits' | 'breach_rule'> & {
  readonly stale_targets?: 'defer';
} & Partial<
    Pick<
      TreatmentSpec,
      | 'delisting'
      | 'max_stale_sessions'
      | 'entry_stale_sessions'
      | 'suspension'
      | 'withholding_tax'
      | 'reinvestment'
      | 'reinvestment_at'
      | 'rights'
      | 'spin_offs'
    >
  > & {
    readonly split_shares?: 'keep';
  };

/** Settings of runs whose header omits them, as in versions up to 0.2.0. */
const OLDER_SETTINGS = { reinvestment: 'constituent', rights: 'constituent' } as const;

/** Settings that apply after the close of a day, from an amendment of the index. */
interface StoredAmendment {
  /** YYYY-MM-DD */
  readonly after: string;
  readonly treatment: StoredTreatment;
  readonly rounding: RoundingSpec;
}

/** Header members that state the terms of the simulation. */
interface RunSettings {
  readonly treatment: StoredTreatment;
  readonly rounding: RoundingSpec | undefined;
  readonly amended: readonly StoredAmendment[] | undefined;
}

/** Header members with the currencies of the run and of its securities. */
interface RunCurrencies {
  readonly currency: string;
  readonly securities_in: string | undefined;
}

export function findRunSettings(
  { treatment, rounding = {}, amended = [] }: RunSettings,
  day: Day,
): Pick<StoredAmendment, 'treatment' | 'rounding'> {
  return amended.findLast(({ after }) => parseValidDay(after) < day) ?? { treatment, rounding };
}

export function toDatedRunTreatment({
  treatment,
  amended,
}: Pick<RunSettings, 'treatment' | 'amended'>): DatedTreatment {
  if (amended === undefined) return restoreTreatment(treatment);
  return {
    ...restoreTreatment(treatment),
    amended: amended.map((storedAmendment) => ({
      after: parseValidDay(storedAmendment.after),
      treatment: restoreTreatment(storedAmendment.treatment),
      weighting: undefined,
    })),
  };
}

export function readRunGrowthTerms(header: RunSettings & RunCurrencies, variant: ReturnVariant): GrowthTerms {
  const createTerms = (treatment: StoredTreatment): GrowthTerms => ({
    ...createGrowthTerms(restoreTreatment(treatment), readSecurityCurrency(header), variant),
    ...readRunShareTerms(treatment),
  });
  const terms = createTerms(header.treatment);
  if (header.amended === undefined) return terms;
  const amendedTerms = header.amended.map(({ after, treatment }) =>
    toChangingTerms(createTerms(treatment), parseValidDay(after)),
  );
  return { ...terms, amended: amendedTerms };
}

/** Restores the treatment of a run from its stored form. */
export function restoreTreatment({ split_shares: _shares, ...treatment }: StoredTreatment): TreatmentSpec {
  const { max_stale_sessions: sessions = STALE_SESSIONS } = treatment;
  const gaps = { max_stale_sessions: sessions, entry_stale_sessions: sessions ?? STALE_SESSIONS };
  return TreatmentSpec.parse({ ...OLDER_SETTINGS, ...gaps, ...treatment });
}

/** Returns the terms on which corporate actions change the index shares of a run. */
export function readRunShareTerms({
  rights = OLDER_SETTINGS.rights,
  split_shares: splitShares,
}: StoredTreatment): ShareTerms {
  return { rights, splitShares: splitShares ?? 'multiply' };
}

const getDefaultTreatment = callOnce(() => TreatmentSpec.parse({}));

type TreatmentTerms = Pick<GrowthTerms, 'rights' | 'splitShares'> & {
  readonly rule: StoredTreatment['breach_rule'] | null;
};

function toStoredTreatment(treatment: TreatmentSpec, { rule, rights, splitShares }: TreatmentTerms): StoredTreatment {
  const { special_dividends, splits, stale_targets, delisting, max_stale_sessions, withholding_tax } = treatment;
  const { reinvestment, reinvestment_at, spin_offs, suspension, entry_stale_sessions } = treatment;
  return {
    special_dividends,
    splits,
    ...(stale_targets === 'defer' ? { stale_targets } : {}),
    ...(rule ? { breach_rule: rule } : {}),
    ...(delisting === getDefaultTreatment().delisting ? {} : { delisting }),
    ...(max_stale_sessions === STALE_SESSIONS ? {} : { max_stale_sessions }),
    ...(max_stale_sessions === STALE_SESSIONS && entry_stale_sessions === STALE_SESSIONS
      ? {}
      : { entry_stale_sessions }),
    ...(suspension === 'zero' ? { suspension } : {}),
    ...(withholding_tax === getDefaultTreatment().withholding_tax ? {} : { withholding_tax }),
    ...(reinvestment === OLDER_SETTINGS.reinvestment ? {} : { reinvestment }),
    ...(reinvestment_at === 'previous_close' ? { reinvestment_at } : {}),
    ...(rights === OLDER_SETTINGS.rights ? {} : { rights }),
    ...(spin_offs === 'drop_after_first_session' ? { spin_offs } : {}),
    ...(splitShares === 'keep' ? { split_shares: splitShares } : {}),
  };
}

/** Returns the published rule whose breach triggers a rebalance. Returns null for limits of the index itself. */
function readPublishedRule(document: Parameters<typeof findBreachRule>[0]): TreatmentTerms['rule'] {
  const name = findBreachRule(document)?.name;
  return name !== undefined && isPublishedRule(name) ? name : null;
}

interface AmendedIndex extends Pick<Compositions, 'document' | 'treatment' | 'sm'> {
  readonly last: Day;
}

/**
 * Returns the changes that amendments made to an index up to the last day of a run. Returns undefined if there are
 * none.
 */
function toStoredAmendments(index: AmendedIndex): readonly StoredAmendment[] | undefined {
  const { document, treatment, sm, last } = index;
  const rounding = createDatedRounding(document, sm.calendar);
  const terms = createIndexTerms(index);
  const days = new Set([...(treatment.amended ?? []), ...(rounding?.amended ?? [])].map(({ after }) => after));
  const amendments = [...days]
    .filter((after) => after < last)
    .toSorted((a, b) => a - b)
    .map((after): StoredAmendment => {
      const { document: text } = findTextInForce(document, sm.calendar, after + 1);
      const rule = readPublishedRule(text);
      return {
        after: formatDay(after),
        treatment: toStoredTreatment(findTreatment(treatment, after + 1), { rule, ...findTerms(terms, after + 1) }),
        rounding: findRounding(rounding, after + 1),
      };
    });
  return amendments.length === 0 ? undefined : amendments;
}

export function readSecurityCurrency({ currency, securities_in: securityCurrency }: RunCurrencies): string {
  return securityCurrency ?? currency;
}

/**
 * Versions of the header. Version 1 is a whole file, unchanged since release 0.1.0. A file of version 2 refers to one
 * earlier file, a file of version 3 to all earlier files.
 */
export const WHOLE_VERSION = 1;
export const ONE_BASE_VERSION = 2;
export const SEGMENTS_VERSION = 3;

/** Header of a run file, as written. */
export interface RunHeader {
  readonly version: typeof SEGMENTS_VERSION | typeof ONE_BASE_VERSION | typeof WHOLE_VERSION;
  readonly run_id: string;
  readonly index_id: string;
  readonly currency: string;
  /** MIC of the index calendar. */
  readonly calendar: string;
  /** Recorded calendar changes at the time of the run; absent if there were none. */
  readonly closures: RecordedClosures | undefined;
  /**
   * Treatment of prices and corporate actions, rebalance triggers, and the rule for target weights without a price bar.
   */
  readonly treatment: StoredTreatment;
  /** Rounding decimals of the index; absent if nothing is rounded. */
  readonly rounding: RoundingSpec | undefined;
  /** Treatment and rounding after each amendment, by date. Absent if no amendment changed them. */
  readonly amended: readonly StoredAmendment[] | undefined;
  /**
   * Return variant of the index level. It depends on the dividend treatment and on the adjustment of the market prices.
   */
  readonly variant: ReturnVariant;
  readonly store_content_hash: string;
  /** Held securities, ascending, [H]. */
  readonly names: readonly string[];
  readonly dates: number;
  readonly index_dates: number;
  readonly has_costs: boolean;
  readonly has_cap: boolean;
  /**
   * True if the file stores the index weights separately from the portfolio weights. This is the case if the weights
   * differ on some date and views show both.
   */
  readonly has_index_weights: boolean;
  readonly rebalances: readonly StoredRebalance[];
  /** Row in `rates` of each security that is priced in another currency, by security position. */
  readonly foreign: Readonly<Record<string, number>>;
  /** External benchmark; null if there is none. Files of earlier versions lack its return variant. */
  readonly benchmark: {
    readonly id: string;
    readonly kind: 'index' | 'identifier';
    readonly variant?: MeasuredVariant;
  } | null;
  /** Valuation currency of the securities of a quanto overlay, if it is not the currency of the run. */
  readonly securities_in: string | undefined;
  /** Return components of an overlay that do not come from securities; absent for other runs. */
  readonly parts: readonly StoredPart[] | undefined;
  readonly blocks: Readonly<Record<BlockName, BlockPosition | undefined>>;
  /** Names of the files in the folder that contain the first segments of the blocks, earliest first. */
  readonly begun?: readonly string[];
  /** Securities that joined the run in extensions, in order. */
  readonly joined?: readonly AddedSecurity[];
}

/** Return component of an overlay or of an underlying overlay. */
type StoredPart = Pick<BookPart, 'part'> & { readonly index_id: string };

export interface AddedSecurity {
  readonly name: string;
  /**
   * Number of the first file whose panels have a column for the security. The open file has the number after the last
   * earlier file.
   */
  readonly file: number;
  /** Number of run dates before the security joined. `joinedPrice` contains this many prices of the security. */
  readonly dates: number;
}

export interface StoredRebalance {
  /** Scheduled effective date, YYYY-MM-DD. */
  readonly date: string;
  /** Run date index of the session whose prices the rebalance uses. -1 if that session is before the run. */
  readonly at: number;
  readonly cap: number | null;
  readonly redistributed: number;
  /**
   * Tracking error to the parent of a derived index, as forecast at the decision, annualised. Absent without a risk
   * model.
   */
  readonly tracking_error?: number;
  /** Trigger; absent for a scheduled rebalance. */
  readonly cause?: EventCause;
  /** Day of the closes that converted the weights into index shares; absent if it is the effective date. */
  readonly reference?: string;
}

/** Position of a block in the run file. */
export interface BlockPosition {
  readonly type: NumberType;
  /** Bytes from the beginning of the file. */
  readonly offset: number;
  /** Number of elements, including those in other files. */
  readonly length: number;
  /** Offset and length of the block's segment in each earlier file, as pairs. */
  readonly begins?: readonly number[];
}

/** Header members that describe a run; the other members contain the positions of its blocks. */
export type RunFacts = Omit<RunHeader, 'version' | 'blocks' | 'begun' | 'joined'>;

interface Member<T> {
  readonly whole: (source: WholeRun) => T;
  /** Returns the value for the run with the new sessions. */
  readonly extended: (stored: T, source: AppendedSessions) => T;
  /** Rank in the order of comparison; null if the member is compared elsewhere or only identifies the run. */
  readonly compared: number | null;
  /** Returns the value that is compared. Default: the member itself. */
  readonly shown?: (value: T) => unknown;
}

const keepValue = <T>(stored: T): T => stored;

/** Catalogue of the header members, in the order of writing. */
export const HEADER: { readonly [M in keyof RunFacts]: Member<RunFacts[M]> } = {
  run_id: { whole: ({ run }) => run.plan.runId, extended: keepValue, compared: null },
  index_id: { whole: ({ run }) => run.plan.indexId, extended: keepValue, compared: null },
  currency: { whole: ({ run }) => run.document.currency, extended: keepValue, compared: 0 },
  calendar: { whole: ({ run }) => run.document.calendar, extended: keepValue, compared: 1 },
  // A change of the calendars prevents an extension. A comparison covers the effects of calendar changes, not the
  // changes themselves.
  closures: {
    whole({ run }) {
      const closures = listClosures(run.plan.documents);
      return Object.keys(closures).length === 0 ? undefined : closures;
    },
    extended: keepValue,
    compared: null,
  },
  treatment: {
    whole({ run }) {
      const { compositions } = run.index;
      const rule = readPublishedRule(compositions.document);
      return toStoredTreatment(compositions.treatment, { rule, ...createIndexTerms(compositions) });
    },
    extended: keepValue,
    compared: 3,
    // `reinvest` and `constituent` denote one treatment.
    shown: ({ special_dividends: special, ...treatment }) => ({
      special_dividends: special === 'reinvest' ? 'constituent' : special,
      ...treatment,
    }),
  },
  rounding: {
    whole: ({ run }) => run.document.rounding,
    extended: keepValue,
    compared: 12,
    shown: (rounding) => rounding ?? {},
  },
  amended: {
    whole: ({ run }) => toStoredAmendments({ ...run.index.compositions, last: run.days.at(-1)! }),
    extended: (_stored, { continuation: { index }, days }) => toStoredAmendments({ ...index, last: days.at(-1)! }),
    compared: 13,
    shown: (amended) => amended ?? [],
  },
  variant: {
    whole: ({ run: { portfolio, index } }) =>
      resolveVariant(portfolio.sm.market, index.compositions.treatment.dividends),
    extended: keepValue,
    compared: 2,
  },
  store_content_hash: {
    whole: ({ contentHash }) => contentHash,
    extended: (_stored, { contentHash }) => contentHash,
    compared: null,
  },
  names: {
    whole: ({ run, names }) => listIdentifiers(run.portfolio.sm.identifiers, names),
    extended: (_stored, { continuation, names }) => listIdentifiers(continuation.index.sm.identifiers, names),
    compared: 4,
  },
  dates: { whole: ({ run }) => run.portfolio.length, extended: (_stored, { days }) => days.length, compared: null },
  index_dates: {
    whole: ({ run }) => run.index.book.length,
    extended: (_stored, { indexLevel }) => indexLevel.length,
    compared: null,
  },
  has_costs: { whole: ({ run }) => run.plan.request.transaction_cost_bps > 0, extended: keepValue, compared: 7 },
  has_cap: { whole: ({ run }) => run.uncapped !== null, extended: keepValue, compared: 8 },
  has_index_weights: { whole: ({ indexRows }) => indexRows !== null, extended: keepValue, compared: 9 },
  rebalances: {
    whole: ({ run: { rebalances, portfolio } }) =>
      rebalances.map((rebalance) => toStoredRebalance(rebalance, { sm: portfolio.sm, shift: -portfolio.from })),
    extended(stored, { continuation: { rebalances, portfolio }, before }) {
      return [
        ...stored,
        ...rebalances.map((rebalance) =>
          toStoredRebalance(rebalance, { sm: portfolio.sm, shift: before - 1 - portfolio.from }),
        ),
      ];
    },
    compared: 10,
    // Files of version 0.2.0 have no tracking error.
    shown: (rebalances) => rebalances.map(({ date, at, cap, redistributed }) => ({ date, at, cap, redistributed })),
  },
  // The row numbers have no effect on results.
  foreign: {
    whole: ({ rates }) => rates.foreign,
    extended: (_stored, { rates }) => rates.foreign,
    compared: 5,
    shown: (foreign) => Object.keys(foreign),
  },
  benchmark: {
    whole: ({ run: { benchmark } }) =>
      benchmark && { id: benchmark.reference.id, kind: benchmark.reference.kind, variant: benchmark.variant },
    extended: keepValue,
    compared: 6,
    // Files of version 0.2.0 lack the return variant.
    shown: (benchmark) => benchmark && { id: benchmark.id, kind: benchmark.kind },
  },
  securities_in: {
    whole: ({ run }) => run.portfolio.overlay?.securitiesIn,
    extended: keepValue,
    compared: null,
  },
  parts: {
    whole: ({ run }) => run.portfolio.overlay?.parts.map(({ indexId, part }) => ({ index_id: indexId, part })),
    extended: keepValue,
    compared: 11,
    shown: (parts) => parts ?? [],
  },
};

function listIdentifiers(identifiers: readonly string[], columns: Int32Array): string[] {
  return Array.from(columns, (column) => identifiers[column]!);
}

/** Conversion of market sessions into dates of a run. */
interface RebalanceShift {
  readonly sm: Pick<SessionMarket, 'sessions'>;
  /** Added to a market session, gives the run date index. */
  readonly shift: number;
}

function toStoredRebalance(composition: Composition, { sm, shift }: RebalanceShift): StoredRebalance {
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
  const position = Math.max(-1, session + shift);
  const forecast = trackingError === undefined ? {} : { tracking_error: trackingError };
  const reference = targets === undefined || pricing >= session ? {} : { reference: formatDay(sm.sessions[pricing]!) };
  return {
    date: formatDay(date),
    at: position,
    cap,
    redistributed,
    ...forecast,
    ...(cause ? { cause } : {}),
    ...reference,
  };
}

export const HEADER_MEMBERS = Object.keys(HEADER) as (keyof RunFacts)[]; // Object.keys returns plain strings.

export function createWholeHeader(source: WholeRun): RunFacts {
  return Object.fromEntries(
    HEADER_MEMBERS.map((member) => [member, HEADER[member].whole(source)]),
  ) as unknown as RunFacts; // Every member is in the catalogue.
}

export function extendHeader(stored: RunFacts, source: AppendedSessions): RunFacts {
  const extendMember = <M extends keyof RunFacts>(member: M): RunFacts[M] =>
    HEADER[member].extended(stored[member], source);
  return Object.fromEntries(HEADER_MEMBERS.map((member) => [member, extendMember(member)])) as unknown as RunFacts; // every member is in the catalogue
}

/** Returns the text of a member for a comparison. */
export function formatMember(header: RunFacts, member: keyof RunFacts): string {
  const readFact = <M extends keyof RunFacts>(name: M): unknown => {
    const { [name]: entry } = HEADER;
    return entry.shown ? entry.shown(header[name]) : header[name];
  };
  return JSON.stringify(readFact(member));
}
