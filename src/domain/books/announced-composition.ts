import type { Finding } from '../refusals/findings.js';
import { isRuleDocument } from '../documents/index-document.js';
import type { Day } from '../time/days.js';
import type { Composer, Composition, Compositions } from './compositions.js';
import { addComposition, decideRebalanceOn } from './decide-index.js';
import { areAllAnnounced, toDueRebalance, findNextRebalances, type NextRebalance } from './next-rebalance.js';
import { findPendingChange, addReplacements } from './pending-changes.js';

export interface AnnouncedIndexInput {
  readonly indexId: string;
  readonly session: number;
  /** Compositions before `session`, ascending. */
  readonly before: readonly Composition[];
  /** Announced rebalances that share one effective session, at or after `session`. */
  readonly next: readonly NextRebalance[];
}

/**
 * Returns the compositions of an index with announced rebalances, as if these took effect at the close of `session`.
 */
export function composeAsIfEffective(
  composer: Composer,
  { indexId, session, before, next }: AnnouncedIndexInput,
): { readonly list: readonly Composition[]; readonly findings: readonly Finding[] } {
  const sm = composer.market(indexId);
  const list = [...before];
  const findings: Finding[] = [];
  for (const nextRebalance of next) {
    const decidedRebalance = decideRebalanceOn(composer, {
      indexId,
      rebalance: toDueRebalance(sm, session, nextRebalance),
      known: list,
    });
    findings.push(...decidedRebalance.findings);
    if (decidedRebalance.composition === undefined) continue;
    const replacement = addReplacements(composer, { indexId, session, list }, decidedRebalance.composition);
    findings.push(...replacement.findings);
    addComposition(list, replacement.composition);
  }
  return { list, findings };
}

/** Index with an announced composition, which takes effect at the close of the session or later. */
export interface AnnouncedIndex {
  readonly effective: Day;
  /** Compositions up to the session; the last one is announced. */
  readonly compositions: Compositions;
}

/** Index without a pending announcement, with the next rebalance if the calendar has one. */
export interface UnannouncedIndex {
  readonly effective: null;
  readonly next: NextRebalance | undefined;
}

/**
 * Returns the announced composition of an index on a session. A composition is announced from the close of its
 * announcement to its effective close. Index shares are computed at the prices of the session.
 * @param composer composer without data after the session
 */
export function findAnnouncedIndex(
  composer: Composer,
  { indexId, session }: Pick<AnnouncedIndexInput, 'indexId' | 'session'>,
): AnnouncedIndex | UnannouncedIndex {
  const compositions = composer.compositions(indexId);
  const { sm, list } = compositions;
  const day = sm.sessions[session]!;
  if (list.at(-1)!.session === session) return { effective: day, compositions };
  const change = findPendingChange(composer, { indexId, session, list });
  if (change !== undefined)
    return { effective: change.effective, compositions: { ...compositions, list: [...list, change.composition] } };
  const next = findNextDueRebalances(composer, compositions, day);
  if (!areAllAnnounced(next, day)) return { effective: null, next: next[0] };
  const pendingComposition = composeAsIfEffective(composer, { indexId, session, before: list, next });
  if (pendingComposition.list.length === list.length) return { effective: null, next: next[0] };
  return { effective: next[0]!.date, compositions: { ...compositions, list: pendingComposition.list } };
}

/** Returns the next rebalances: those of the schedule, or the one triggered by a breach. */
function findNextDueRebalances(
  composer: Composer,
  { document, sm, called }: Compositions,
  day: Day,
): readonly NextRebalance[] {
  const scheduledRebalances = findNextRebalances(composer.document(document.id), sm, day + 1);
  const [first] = scheduledRebalances;
  if (called === undefined || called.effective === null) return scheduledRebalances;
  if (first !== undefined && first.session <= called.effective) return scheduledRebalances;
  return [{ date: called.effective, session: called.effective, decision: sm.sessions[called.session]! }];
}

/** Maximum number of pending rebalances of an index: one per session of the longest notice period. */
const PENDING_MAX = 60;

interface PendingInput extends Pick<AnnouncedIndexInput, 'indexId'> {
  /** Last session with data. */
  readonly last: number;
  /** Session up to which the compositions are decided. */
  readonly decided: number;
  /** Compositions up to the last session, ascending. */
  readonly known: readonly Composition[];
}

/**
 * Returns the compositions of an index that are decided up to a session and take effect after the last session with
 * data, in order. An index that reads them has the same decisions whether or not the data reach their effective closes.
 */
export function composePending(composer: Composer, { indexId, last, decided, known }: PendingInput): Composition[] {
  const document = composer.document(indexId);
  if (!isRuleDocument(document) || known.length === 0) return [];
  const sm = composer.market(indexId);
  const pending: Composition[] = [];
  let before = known;
  let from = sm.sessions[last]! + 1;
  for (let k = 0; k < PENDING_MAX; k++) {
    const upcoming = findNextRebalances(document, sm, from);
    const next = upcoming.filter(({ decision }) => decision <= sm.sessions[decided]!);
    if (next.length === 0) break;
    const { list } = composeAsIfEffective(composer, { indexId, session: last, before, next });
    const composition = list.at(-1)!;
    if (composition !== before.at(-1)) pending.push({ ...composition, session: last + 1 + k });
    before = list;
    from = upcoming[0]!.session + 1;
  }
  return pending;
}
