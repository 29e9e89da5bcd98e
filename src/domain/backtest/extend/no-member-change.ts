import { changesMembers, type EventsSpec } from '../../documents/events-spec.js';
import { listTexts } from '../../documents/amended-texts.js';
import { findReview } from '../../documents/reviews.js';
import { findTreatment } from '../../documents/treatment.js';
import type { Composition } from '../../books/compositions.js';
import { listDueAfter } from '../../books/due-rebalances.js';
import { readPanelRow } from '../../market/session-market.js';
import type { ResumeRunInput, IndexContinuation } from './continuation.js';
import { CannotResumeError } from '../../documents/full-run-reasons.js';

/**
 * Checks that no constituent changes between reviews on the new sessions. After such a change, the run cannot be
 * extended, because the selection of a new constituent compares all securities of the market.
 * @throws CannotResumeError if a constituent may change, or if the index was not simulated
 */
export function assertNoMemberChange(
  { plan: { documents }, checkpoint: { recent } }: ResumeRunInput,
  simulated: readonly IndexContinuation[],
): void {
  for (const id of recent.keys()) {
    const eventSpecs = listTexts(documents[id]!).map(({ document }) => document.events);
    const eventsOfChanges = eventSpecs.filter(changesMembers);
    if (eventsOfChanges.length === 0) continue;
    const index = simulated.find((indexContinuation) => indexContinuation.document.id === id);
    if (index === undefined || eventsOfChanges.some((events) => mayChange(index, events)))
      throw new CannotResumeError('member_change');
  }
}

function mayChange(index: IndexContinuation, events: EventsSpec): boolean {
  const { document, sm, from, to, composed, book } = index;
  const { replacement, fast_exit: exit, fast_entry: entry } = events;
  const hasLeft = book.events.some(({ at, exits, conversions }) => at > 0 && exits.length + conversions.length > 0);
  if (replacement !== 'none' && (hasLeft || composed.some((composition) => keepsMissing(index, composition))))
    return true;
  if (exit !== undefined) {
    const scheduledDocument = { ...document, rebalance: exit.schedule };
    if (listDueAfter(scheduledDocument, sm, { first: book.from, after: from, last: to }).length > 0) return true;
  }
  return entry !== undefined && hasNewSecurity(index, from - entry.after_sessions);
}

/**
 * Returns true if a review that keeps the constituents also keeps one without a price that leaves at its close. A full
 * run replaces this constituent before the review.
 */
function keepsMissing(
  { document, sm, treatment }: IndexContinuation,
  { session, columns, reviews = [], amendment = 0 }: Composition,
): boolean {
  const text = listTexts(document)[amendment]!.document;
  const isExcluding = findTreatment(treatment, sm.sessions[session]!).missing_prices === 'exclude';
  if (!isExcluding || reviews.every((id) => findReview(text, id).scope === 'membership')) return false;
  return columns.some((column) => !sm.hasBar(session, column) && sm.isOpen(session, column));
}

/** Returns true if a security has had its first price after a session. */
function hasNewSecurity({ sm, to }: IndexContinuation, session: number): boolean {
  const bars = readPanelRow(sm, to);
  const isOld = (column: number): boolean => {
    for (let s = session; s >= 0; s--) if (!Number.isNaN(sm.closeAt(s, column))) return true;
    return false;
  };
  for (let column = 0; column < sm.securityCount; column++)
    if (sm.lastBar[bars + column]! > session && !isOld(column)) return true;
  return false;
}
