import { readPriceSessions } from '../documents/stale-sessions.js';
import { createShareCounts } from '../datapoints/share-counts.js';
import type { IndexDocument, TreatmentSpec } from '../documents/index-document.js';
import { findCountedShares } from '../documents/share-terms.js';
import { computeShareFactor } from '../index-mathematics/adjusted-close.js';
import { findCarriedUnder } from '../index-mathematics/growth.js';
import { readEffect } from '../index-mathematics/session-effects.js';
import { listTextSpans } from '../documents/text-spans.js';
import type { SessionMarket } from '../market/session-market.js';
import type { BookState } from './book-state.js';
import type { CountTimeline } from './count-timeline.js';
import type { CountFactors, CountState, SecurityCounts, ShareChangeTerms } from './security-counts.js';

/** Returns the terms on which an index follows share counts. Returns undefined if its shares change only at reviews. */
export function createShareChangeTerms({ sm, document, treatment }: FollowingIndex): ShareChangeTerms | undefined {
  const texts = [{ after: -Infinity, text: { document } }, ...listTextSpans(document, sm.calendar)].map(
    ({ after, text }) => ({ after, ...findFollowedCounts(text.document) }),
  );
  const { counted } = texts.find((text) => text.counted !== null) ?? { counted: null };
  if (counted === null) return undefined;
  const maxStaleSessions = readPriceSessions(treatment);
  const counts = createShareCounts(sm, { counted, maxStaleSessions });
  if (counts === null) return undefined;
  return {
    counts,
    key: `${counted} ${maxStaleSessions}`,
    thresholdOn: (day) => texts.findLast(({ after }) => after < day)!.threshold,
  }; // the first version applies from the beginning
}

/** Returns the share counts that a version of a definition follows between reviews. Returns null if it follows none. */
function findFollowedCounts({ events, pipeline }: IndexDocument): {
  readonly counted: 'all' | 'float' | null;
  readonly threshold: number;
} {
  const countedShares = events?.share_changes === 'effective' ? findCountedShares(pipeline?.weighting) : null;
  return { counted: countedShares, threshold: countedShares === null ? Infinity : events!.threshold };
}

interface FollowingIndex {
  readonly sm: SessionMarket;
  readonly document: IndexDocument;
  readonly treatment: TreatmentSpec;
}

/** Returns the share counts of securities on a session, which a composition adopts. */
export function readCounts({ counts }: ShareChangeTerms, session: number, columns: Int32Array): SecurityCounts {
  const adoptedCounts = new Float64Array(columns.length);
  counts.fill(session, columns, adoptedCounts);
  return { adopted: adoptedCounts, latest: adoptedCounts };
}

/** Relative rounding error of a count that is the product of two numbers. */
const EPSILON = 1e-12;

/**
 * Computes share-count changes after the previous close as factors on holdings, by position. Returns null if there are
 * none. Counts are compared only on sessions on which they change in the data. A split or rights issue that reaches the
 * data late therefore changes nothing.
 * @cost O(changes of the session), O(H) on sessions after a change of the holdings
 */
export function countFactors(state: BookState, session: number): CountFactors | null {
  const { shareCounts: counts } = state;
  if (counts === null) return null;
  scaleCounts(state, session);
  const { factors, timeline, isSettled } = counts;
  factors.count = 0;
  const countAdoption: CountAdoption = {
    state,
    counts,
    session,
    threshold: counts.terms.thresholdOn(state.sm.sessions[session]!),
  };
  counts.isSettled =
    timeline !== null && isSettled ? adoptListedCounts(countAdoption, timeline) : adoptStatedCounts(countAdoption);
  return factors.count === 0 ? null : factors;
}

interface CountAdoption {
  readonly state: BookState;
  readonly counts: CountState;
  readonly session: number;
  readonly threshold: number;
}

/**
 * Applies the listed changes of a session.
 * @returns true if `latest` now equals the data for every holding
 */
function adoptListedCounts(taking: CountAdoption, { starts, slots, values }: CountTimeline): boolean {
  const { state, counts, session } = taking;
  const { isHeld, places, input } = state;
  const position = session - input.from;
  let isSettled = true;
  for (let e = starts[position]!; e < starts[position + 1]!; e++) {
    const slot = slots[e]!;
    if (isHeld[slot] !== 1 || values[e] === counts.latest[slot]) continue;
    isSettled = adoptCount(taking, places[slot]!, values[e]!) && isSettled;
  }
  return isSettled;
}

/**
 * Compares the counts of all holdings with the data, and applies differences.
 * @returns true if `latest` now equals the data for every holding
 */
function adoptStatedCounts(taking: CountAdoption): boolean {
  const { state, counts, session } = taking;
  const { count, heldSlots, heldColumns } = state;
  const { latest, values, terms } = counts;
  const { panel } = terms.counts;
  const row = panel?.rowAt(session) ?? -1;
  // counts in a panel are compared without a copy
  const cells = panel === undefined || row < 0 ? null : panel.cells;
  if (cells === null) terms.counts.fill(session, heldColumns.subarray(0, count), values.subarray(0, count));
  let isSettled = true;
  for (let k = 0; k < count; k++) {
    const after = cells === null ? values[k]! : cells[row + heldColumns[k]!]!;
    if (after === latest[heldSlots[k]!]!) continue;
    isSettled = after > 0 && adoptCount(taking, k, after) && isSettled;
  }
  return isSettled;
}

/**
 * Applies a count that differs from the latest one.
 * @returns true if it is now the latest count in the data
 */
function adoptCount({ state, counts, session, threshold }: CountAdoption, place: number, after: number): boolean {
  const { heldSlots, heldColumns, today } = state;
  const column = heldColumns[place]!;
  // When a merger issues shares, the counts are compared only after the merged security has converted.
  if (today !== undefined && isIssuing(today.conversions, column)) return false;
  const factor = updateCount(counts, { session, column, slot: heldSlots[place]!, after, threshold });
  if (factor === 1) return true;
  const { factors } = counts;
  factors.places[factors.count] = place;
  factors.values[factors.count++] = factor;
  return true;
}

interface ObservedCount {
  readonly session: number;
  readonly column: number;
  readonly slot: number;
  readonly after: number;
  readonly threshold: number;
}

/**
 * Adopts a count from the data.
 * @returns the factor on index shares. It is 1 for a first count, and for a change below the threshold.
 */
function updateCount(
  { adopted, latest, changes }: CountState,
  { session, column, slot, after, threshold }: ObservedCount,
): number {
  latest[slot] = after;
  const before = adopted[slot]!;
  if (!(before > 0)) {
    adopted[slot] = after;
    return 1;
  }
  const factor = after / before;
  if (factor === 1 || Math.abs(factor - 1) < threshold - EPSILON) return 1;
  adopted[slot] = after;
  changes.session.push(session);
  changes.column.push(column);
  changes.before.push(before);
  changes.after.push(after);
  changes.latest = session;
  return factor;
}

function isIssuing(conversions: ReadonlyMap<number, number>, column: number): boolean {
  for (const targetColumn of conversions.values()) if (targetColumn === column) return true;
  return false;
}

/** Scales share counts by splits and rights issues, like index shares. */
function scaleCounts({ shareCounts: counts, effects, slotOf, isHeld, sm }: BookState, session: number): void {
  const { starts, columns, ratio, rights } = effects;
  for (let e = starts[session]!; e < starts[session + 1]!; e++) {
    if (ratio[e] === 1 && rights[e] === 0) continue;
    const column = columns[e]!;
    const slot = slotOf[column]!;
    if (slot < 0 || isHeld[slot] !== 1) continue;
    const before = findCarriedUnder(sm, effects, session - 1, column);
    counts!.adopted[slot]! *= computeShareFactor(readEffect(effects, e), before, effects.getTerms(session));
  }
}

/** Adopts the share counts of new constituents from targets, one per column. */
export function adoptCounts(
  { shareCounts: counts, slotOf, isHeld }: BookState,
  { columns, counts: securityCounts }: { readonly columns: Int32Array; readonly counts?: SecurityCounts },
): void {
  if (counts === null) return;
  const { adopted, latest } = counts;
  counts.isSettled = false;
  for (let slot = 0; slot < isHeld.length; slot++) if (isHeld[slot] === 0) adopted[slot] = latest[slot] = Number.NaN;
  for (let k = 0; k < columns.length; k++) {
    const slot = slotOf[columns[k]!]!;
    adopted[slot] = securityCounts?.adopted[k] ?? Number.NaN;
    latest[slot] = securityCounts?.latest[k] ?? Number.NaN;
  }
}

/**
 * Sets the share counts of a security into which another security converted. If the security was held before, its
 * counts grow with its holding.
 */
export function convertCounts(state: BookState, { slot, into, growth }: CountConversion): void {
  const { shareCounts: counts } = state;
  if (counts === null) return;
  const { adopted, latest } = counts;
  counts.isSettled = false;
  if (growth !== null) adopted[into]! *= growth;
  else {
    adopted[into] = adopted[slot]!;
    latest[into] = latest[slot]!;
  }
}

interface CountConversion {
  readonly slot: number;
  readonly into: number;
  /**
   * Growth of the acquirer's holding. Null for a ticker change into a security that was not held; the new security then
   * gets the counts of the old one.
   */
  readonly growth: number | null;
}

/**
 * Returns the number of sessions over which holdings are summed ahead. It equals the number of sessions since the
 * latest share-count change: if changes are frequent, the next change would soon discard the sums.
 */
export function countSessionsAhead({ shareCounts }: BookState, session: number): number {
  if (shareCounts === null) return Infinity;
  const { latest } = shareCounts.changes;
  return latest < 0 ? Infinity : 1 + session - latest;
}
