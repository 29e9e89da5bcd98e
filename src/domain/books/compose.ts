import { listTexts } from '../documents/amended-texts.js';
import { CannotResumeError } from '../documents/full-run-reasons.js';
import { listDueUnderTexts } from './due-under-texts.js';
import { parseValidDay, formatDay, type Day } from '../time/days.js';
import type { Finding } from '../refusals/findings.js';
import { readPanelRow } from '../market/session-market.js';
import { Refusal } from '../refusals/refusal.js';
import { findFirstAtLeast, findLastAtMost } from '../numbers/search.js';
import { type DueRebalance, listDueRebalances } from './due-rebalances.js';
import { addComposition, decideRebalanceOn } from './decide-index.js';
import { countMissing, decideWithChanges, hasMemberChanges } from './member-changes.js';
import { isWatched } from './find-rule-text.js';
import { decideWithBreaches } from './breach-rebalances.js';
import type { Composition, Compositions, Composer, ResumedIndex } from './compositions.js';

interface ComposeInput {
  readonly indexId: string;
  readonly until: Day;
  readonly tick: ((fraction: number) => void) | undefined;
}

export function computeCompositions(composer: Composer, { indexId, until, tick }: ComposeInput): Compositions {
  const document = composer.document(indexId);
  const sm = composer.market(indexId);
  const treatment = composer.treatment(indexId);
  const last = findLastAtMost(sm.sessions, until);
  const first = findFirstPriced(composer, { indexId, until });
  const due = listDueUnderTexts(document, sm, { first, last });
  const decidedCompositions = hasMemberChanges(composer, indexId)
    ? decideWithChanges(composer, { indexId, due, first, last, tick })
    : isWatched(document)
      ? decideWithBreaches(composer, { indexId, due, first, last, tick })
      : decideAll(composer, { indexId, due, before: [], tick });
  const outsideMergers = composer.outsideMergers(indexId);
  return {
    document,
    treatment,
    sm,
    first,
    ...decidedCompositions,
    memory: composer.left(indexId),
    ...(outsideMergers === undefined ? {} : { outside: outsideMergers }),
  };
}

/** Returns the first rebalance of an index, even if it produces no composition. @throws Refusal NO_DATA_IN_RANGE */
export function composeFirstRebalance(
  composer: Composer,
  { indexId, until }: Omit<ComposeInput, 'tick'>,
): DueRebalance {
  const first = findFirstPriced(composer, { indexId, until });
  return listDueRebalances(composer.document(indexId), composer.market(indexId), { first, last: first })[0]!; // the index begins at its first rebalance
}

interface ComposeOnInput {
  readonly indexId: string;
  readonly known: ResumedIndex;
  readonly tick: ((fraction: number) => void) | undefined;
}

/** Returns the compositions that follow the known compositions. */
export function composeOnMarket(
  composer: Composer,
  { indexId, known: { first, before, due, memory }, tick }: ComposeOnInput,
): Compositions {
  const { list, findings } = decideAll(composer, { indexId, due, before, tick });
  const context = {
    document: composer.document(indexId),
    treatment: composer.treatment(indexId),
    sm: composer.market(indexId),
  };
  // Without due rebalances, no decision changes the memory, and `left` would create a decider.
  return {
    ...context,
    first,
    list,
    findings,
    memory: due.length === 0 ? memory : composer.left(indexId),
    outside: composer.outsideMergers(indexId),
  };
}

interface DueInput {
  readonly indexId: string;
  /** Due rebalances, ascending. */
  readonly due: readonly DueRebalance[];
  /** Earlier compositions, including those in force at the decisions. */
  readonly before: readonly Composition[];
  readonly tick?: ((fraction: number) => void) | undefined;
}

/**
 * Decides due rebalances in order, without changes of constituents between reviews.
 * @throws Refusal as `decideRebalanceOn`
 * @throws CannotResumeError if constituents are to be replaced, or if a breach followed a reference date: only a full run
 *   decides such a rebalance
 */
function decideAll(
  composer: Composer,
  { indexId, due, before, tick }: DueInput,
): Pick<Compositions, 'list' | 'findings'> {
  const list: Composition[] = [];
  const compositions = [...before];
  const findings: Finding[] = [];
  due.forEach((rebalance, position) => {
    tick?.(position / due.length);
    // A full run decides the review on its reference date, before the breach of the stored run.
    if (before.some(({ cause, session }) => cause === 'breach' && session >= rebalance.decision))
      throw new CannotResumeError('breach');
    const { composition, findings: decisionFindings } = decideRebalanceOn(composer, {
      indexId,
      rebalance,
      known: compositions,
    });
    findings.push(...decisionFindings);
    if (composition === undefined) return;
    if (needsReplacements(composer, indexId, composition)) throw new CannotResumeError('member_change');
    addComposition(list, composition);
    addComposition(compositions, composition);
  });
  return { list, findings };
}

/** Returns true if securities that left after a review was decided are to be replaced. */
function needsReplacements(composer: Composer, indexId: string, composition: Composition): boolean {
  const document = composer.document(indexId);
  const { events } = listTexts(document)[composition.amendment ?? 0]!.document;
  return document.pipeline !== null && countMissing(composition, events) > 0;
}

/** Returns the first session on or after the base date with a price bar of a universe security. */
function findFirstPriced(composer: Composer, { indexId, until }: Pick<ComposeInput, 'indexId' | 'until'>): number {
  const document = composer.document(indexId);
  const sm = composer.market(indexId);
  const last = findLastAtMost(sm.sessions, until);
  for (let session = findFirstAtLeast(sm.sessions, parseValidDay(document.base_date)); session <= last; session++) {
    const bars = readPanelRow(sm, session);
    for (const column of composer.universe(indexId, session)) if (sm.lastBar[bars + column] === session) return session;
  }
  const day = formatDay(until);
  const why =
    day < document.base_date
      ? `The base date ${document.base_date} of ${indexId} is after ${day}`
      : `The data contains no price for the universe of ${indexId} from ${document.base_date} to ${day}`;
  throw new Refusal('NO_DATA_IN_RANGE', `${why}.`);
}
