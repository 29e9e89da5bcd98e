import type { Candidate } from './difference-candidates.js';
import type { CandidateTerms, Evaluation } from './difference-terms.js';
import type { Agreement, Unexplained } from './outside-levels.js';

/** State of the search: a run with some changes. */
export interface DifferenceNode {
  readonly terms: CandidateTerms;
  readonly own: Evaluation;
  readonly chosen: readonly ChosenCandidate[];
  readonly unexplained: Unexplained;
  readonly agreement: Agreement;
  /** True if steps without an explanation were searched again after a later cause. */
  readonly isReopened?: boolean;
}

/** Change that explains a session, with the others that explain it as well. */
export interface ChosenCandidate {
  readonly candidate: Candidate;
  /** Position of the first session that it explains. */
  readonly position: number;
  /** Candidates that agree with the outside level as long. */
  readonly rivals: readonly Candidate[];
  /** True if hardly any change has the size of the difference by chance. */
  readonly isCertain: boolean;
  /** Expected number of the changes of the session that explain it by chance. */
  readonly expected: number;
  /** Computes the runs of rivals. */
  readonly listRivals: () => readonly Fit[];
  /** Levels before and after the change; null for further changes of one session. */
  readonly levels: { readonly before: Float64Array; readonly after: Float64Array } | null;
  /** True for one of several changes of a session. */
  readonly isPaired: boolean;
}

export interface Fit {
  readonly candidates: readonly Candidate[];
  readonly terms: CandidateTerms;
  readonly own: Evaluation;
  readonly agreement: Agreement;
}

/** Changes that explain a session as well as a cause. */
type Rivals = Pick<ChosenCandidate, 'rivals' | 'listRivals' | 'isCertain' | 'expected'>;

export const NO_RIVALS: Rivals = { rivals: [], listRivals: () => [], isCertain: false, expected: 0 };

export const createRivals = (rivals: readonly Fit[]): Rivals => ({
  ...NO_RIVALS,
  rivals: rivals.map(({ candidates: [candidate] }) => candidate!),
  listRivals: () => rivals,
});

/** Returns the state after changes that explain its first difference. */
export function createChild(
  node: DifferenceNode,
  { candidates, terms, own, agreement }: Fit,
  ofSession: Rivals = NO_RIVALS,
): DifferenceNode {
  const position = node.agreement.reach;
  const added = candidates.map((candidate, k) => ({
    candidate,
    position,
    ...(candidates.length === 1 ? ofSession : { ...ofSession, rivals: [], listRivals: () => [] }),
    // Changes of one session that explain it together have one ratio of levels.
    levels: k === 0 ? { before: node.own.levels, after: own.levels } : null,
    isPaired: candidates.length > 1,
  }));
  return { ...node, terms, own, agreement, chosen: added.reduce(lengthen, node.chosen) };
}

/** Adds a change. A price that is carried on the session after its last one lengthens the change before. */
function lengthen(
  chosen: readonly ChosenCandidate[],
  { levels, ...added }: ChosenCandidate,
): readonly ChosenCandidate[] {
  const { candidate } = added;
  const moved = chosen.findIndex(({ candidate: one }) => isMovedOn(one, candidate));
  if (moved >= 0) return chosen.with(moved, moveOn(chosen[moved]!, { ...added, levels }));
  const at = chosen.findIndex(({ candidate: one }) => isContinued(one, candidate) || isState(one, candidate));
  if (at < 0) return [...chosen, { ...added, levels }];
  const before = chosen[at]!;
  return chosen.with(at, {
    ...before,
    candidate: {
      ...before.candidate,
      date: before.candidate.date ?? before.candidate.review?.date ?? null,
      through: before.candidate.manner === candidate.manner ? candidate.through : candidate.date,
      edits: [...before.candidate.edits, ...candidate.edits],
    },
    levels: joinLevels(before.levels, levels),
  });
}

type Ratio = ChosenCandidate['levels'];

/** Returns the levels before the first and after the second of two changes. */
const joinLevels = (first: Ratio, second: Ratio): Ratio =>
  first === null || second === null
    ? (first ?? second)
    : {
        before: first.before,
        after: first.after.map((level, t) => (level * second.after[t]!) / second.before[t]!),
      };

/** Returns true for a change that moves on what another one has made late. */
function isMovedOn(before: Candidate, { subject, manner, identifier, date, edits: [edit] }: Candidate): boolean {
  const isSame = before.subject === subject && before.identifier === identifier;
  if (manner !== 'late' || before.manner !== 'late' || !isSame || before.date === null || date === null) return false;
  const [last] = before.edits.slice(-1);
  if (last?.kind === 'action' && edit?.kind === 'action') return last.after === edit.before;
  return subject === 'rebalance' && date > before.date && date - before.date <= MOVED_DAYS;
}

/** Most days from a rebalance to the session to which it is moved. */
const MOVED_DAYS = 10;

const COUNTS = ['one session', 'two sessions', 'three sessions', 'four sessions', 'five sessions'];

const nameSessions = (sessions: number): string => COUNTS[sessions - 1] ?? 'several sessions';

/** Returns a change by one session more. Its date stays that of the run. */
function moveOn(before: ChosenCandidate, { candidate, levels }: ChosenCandidate): ChosenCandidate {
  const { edits, words } = before.candidate;
  const count = edits.length; // one edit for each session
  return {
    ...before,
    candidate: {
      ...before.candidate,
      edits: [...edits, ...candidate.edits],
      words: words.replace(nameSessions(count), nameSessions(count + 1)),
    },
    levels: joinLevels(before.levels, levels),
    rivals: [],
    listRivals: () => [],
  };
}

/** Returns true for a price that is carried from the last session of another change of it on. */
const isContinued = (before: Candidate, after: Candidate): boolean =>
  before.manner === 'carried' &&
  after.manner === 'carried' &&
  before.subject === after.subject &&
  before.identifier === after.identifier &&
  before.date !== null &&
  before.value === after.value &&
  after.after === before.through;

/**
 * Returns true for a constituent that is left out, or held in addition, also from the end of another change on, and for one
 * whose lasting change ends.
 */
const isState = (before: Candidate, after: Candidate): boolean =>
  before.subject === 'constituent' &&
  after.subject === 'constituent' &&
  before.identifier === after.identifier &&
  after.date !== null &&
  (before.manner === after.manner
    ? before.through === after.date
    : before.through === null && after.through === null && (before.date ?? -Infinity) < after.date);
