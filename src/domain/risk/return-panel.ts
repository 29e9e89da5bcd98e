import { selectColumns } from '#kernels/algebra/select-columns.js';
import type { Engine } from '#kernels/engines/engine.js';
import type { Day } from '../time/days.js';
import { LIMITS } from '../refusals/limits.js';
import { readGrowthRow } from '../index-mathematics/growth.js';
import { assertSecurity, type SessionMarket } from '../market/session-market.js';
import type { CrossSections } from '../datapoints/cross-section.js';
import { Refusal } from '../refusals/refusal.js';
import { createBarHistory, type BarHistory } from './bar-history.js';
import { describeExclusion } from './excluded-securities.js';

/** Minimum fraction of a window's sessions on which a security must have a price to be estimated. */
const COVERAGE_MIN = 0.8;

/** Window of growth factors, from which returns are computed. */
export interface ReturnWindow {
  readonly sm: SessionMarket;
  /** Growth factors of a unit of value, [S - first x N]: `computeGrowth(sm, createGrowthTerms(..., 'total'))`. */
  readonly growth: Float64Array;
  /** First session of the window; it has no return. */
  readonly from: number;
  /** Last session of the window. */
  readonly to: number;
  /** Datapoints of the market, for style factors. */
  readonly datapoints?: CrossSections;
}

/** Securities of a window that can be estimated together, with their common sessions. */
export interface Coverage {
  /** Market columns of the covered securities, in the requested order. */
  readonly columns: Int32Array;
  /** Sessions on which every covered security has a return, ascending, [T]. */
  readonly sessions: Int32Array;
  /** Largest number of returns of a requested security in the window. */
  readonly longest: number;
  /** Excluded columns with the reason. */
  readonly excluded: ReadonlyMap<number, string>;
}

/**
 * Determines the coverage of a window. A return needs a bar on its session and on the previous session, both inside the
 * window. First, securities with too few returns or prices are excluded. Then sessions are excluded on which a
 * remaining security has no return.
 * @param requestedColumns market columns without duplicates.
 * @cost O(sessions + securities log sessions) in addition to the missing sessions, once `createBarHistory` has read the
 * panel
 */
export function findCoverage({ sm, growth, from, to }: ReturnWindow, requestedColumns: ArrayLike<number>): Coverage {
  assertSecurity(sm, from);
  return findHistoryCoverage(createBarHistory(sm, growth), requestedColumns, { from, to });
}

/**
 * Determines the coverage from a history of bars.
 * @cost O(sessions + securities log sessions) in addition to the missing sessions
 */
export function findHistoryCoverage(
  history: BarHistory,
  requestedColumns: ArrayLike<number>,
  { from, to }: Pick<ReturnWindow, 'from' | 'to'>,
): Coverage {
  const columns: number[] = [];
  const exclusionReasons = new Map<number, string>();
  const sessions = to - from + 1;
  let longest = 0;
  for (let k = 0; k < requestedColumns.length; k++) {
    const column = requestedColumns[k]!;
    const returns = history.returns(column, from, to);
    longest = Math.max(longest, returns);
    const why = findExclusionReason({ bars: history.bars(column, from, to), returns, sessions });
    if (why === undefined) columns.push(column);
    else exclusionReasons.set(column, why);
  }
  return {
    columns: Int32Array.from(columns),
    sessions: columns.length > 0 ? history.complete(columns, from, to) : new Int32Array(0),
    longest,
    excluded: exclusionReasons,
  };
}

/** Returns true if a coverage has securities, and enough data to estimate them. */
export function isEstimable({ columns, sessions }: Pick<Coverage, 'columns' | 'sessions'>): boolean {
  return columns.length >= 1 && sessions.length >= LIMITS.MIN_MODEL_OBSERVATIONS;
}

/**
 * Refuses a coverage that is too small for any estimate.
 * @throws Refusal RISK_INSUFFICIENT_DATA
 */
export function assertEstimable({ sm }: { readonly sm: Pick<SessionMarket, 'identifiers'> }, coverage: Coverage): void {
  if (isEstimable(coverage)) return;
  const { columns, sessions, excluded } = coverage;
  const request = columns.length + excluded.size;
  const exclusionText = describeExclusion(
    new Map([...excluded].map(([column, why]) => [sm.identifiers[column]!, why])),
  );
  throw new Refusal(
    'RISK_INSUFFICIENT_DATA',
    `${columns.length} of ${request} securities are covered, with ${sessions.length} complete observations; at least 1 security and ${LIMITS.MIN_MODEL_OBSERVATIONS} observations are required. ${exclusionText}`.trimEnd(),
    { assets: columns.length, observations: sessions.length, observations_needed: LIMITS.MIN_MODEL_OBSERVATIONS },
  );
}

/** First and last day with a return, and the number of sessions with a return. */
export interface ReturnSpan {
  readonly first: Day;
  readonly last: Day;
  readonly sessions: number;
}

/** Returns the span of the returns of an estimable coverage. */
export function findReturnSpan(
  { sessions: days }: Pick<SessionMarket, 'sessions'>,
  { sessions }: Pick<Coverage, 'sessions'>,
): ReturnSpan {
  return { first: days[sessions[0]!]!, last: days[sessions.at(-1)!]!, sessions: sessions.length };
}

/** Source of returns for an estimate. */
export interface ReturnSource {
  /** Identifiers of the columns, and days of the sessions. */
  readonly sm: Pick<SessionMarket, 'identifiers' | 'sessions'>;
  readonly coverage: Coverage;
  /**
   * Writes the returns of the coverage row by row.
   * @param out [T x n], overwritten
   */
  readonly read: (out: Float64Array, engine: SelectingEngine) => void;
  /** Window of the returns; absent for returns from other sources. */
  readonly window?: ReturnWindow;
}

/**
 * Creates the source of the returns of a window, for given market columns.
 * @cost of `findCoverage`
 */
export function createReturnSource(window: ReturnWindow, requestedColumns: ArrayLike<number>): ReturnSource {
  const coverage = findCoverage(window, requestedColumns);
  return { sm: window.sm, coverage, read: (out, engine) => readReturns(window, coverage, out, engine), window };
}

/** Number of sessions that are read at a time. The returns of 1,000 securities then fit into a second-level cache. */
const BAND_SESSIONS = 64;

/** Engine functions for reading returns. Default: plain loops. */
type SelectingEngine = Pick<Engine, 'selectColumns'>;

const PLAIN_ENGINE: SelectingEngine = { selectColumns };

/**
 * Writes the returns of a coverage row by row.
 * @param out [T x n], overwritten
 * @cost one pass over the growth of the sessions
 */
export function readReturns(
  { sm, growth }: ReturnWindow,
  { columns, sessions }: Coverage,
  out: Float64Array,
  engine: SelectingEngine = PLAIN_ENGINE,
): void {
  const n = columns.length;
  const selection = { width: sm.securityCount, columns, less: 1 };
  for (let t = 0; t < sessions.length;) {
    let end = t + 1;
    while (end < sessions.length && end < t + BAND_SESSIONS && sessions[end] === sessions[end - 1]! + 1) end++;
    const row = readGrowthRow(sm, sessions[t]!);
    engine.selectColumns(
      growth.subarray(row, row + (end - t) * sm.securityCount),
      selection,
      out.subarray(t * n, end * n),
    );
    t = end;
  }
}

/**
 * Sums the returns of a coverage over its sessions, from the first to the last, [n].
 * @cost one pass over the growth of the sessions
 */
export function sumReturns({ sm, growth }: ReturnWindow, { columns, sessions }: Coverage): Float64Array {
  const sums = new Float64Array(columns.length);
  for (const session of sessions) {
    const row = readGrowthRow(sm, session);
    for (let i = 0; i < columns.length; i++) sums[i]! += growth[row + columns[i]!]! - 1;
  }
  return sums;
}

function findExclusionReason({
  bars,
  returns,
  sessions,
}: {
  readonly bars: number;
  readonly returns: number;
  readonly sessions: number;
}): string | undefined {
  if (bars === 0) return 'no price in the window';
  if (returns < LIMITS.MIN_NAME_OBSERVATIONS)
    return `${returns} returns in the window; at least ${LIMITS.MIN_NAME_OBSERVATIONS} are required`;
  if (bars < COVERAGE_MIN * sessions)
    return `prices on ${bars} of ${sessions} sessions; at least ${Math.ceil(COVERAGE_MIN * sessions)} are required`;
  return undefined;
}
