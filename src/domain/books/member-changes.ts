import type { IndexDocument } from '../documents/index-document.js';
import { listTexts, type IndexText } from '../documents/amended-texts.js';
import { changesMembers, EventsSpec } from '../documents/events-spec.js';
import { addRebalanceDate, type Finding } from '../refusals/findings.js';
import { readPanelRow, type SessionMarket } from '../market/session-market.js';
import type { Book, BookEvent } from './book.js';
import {
  findCompositionInForce,
  isReview,
  type Composer,
  type Composition,
  type Compositions,
} from './compositions.js';
import { decideRebalanceOn } from './decide-index.js';
import { findDecider, findFollowedSession } from './decided-by.js';
import { listDueAfter, type DueRebalance } from './due-rebalances.js';
import { applyFastEntry, applyFastExit } from './fast-changes.js';
import {
  findWeighing,
  isInPhase,
  simulateWatchedBook,
  readClosingHoldings,
  weighEntrants,
  isCapped,
  computeMarketValueUnit,
  type MemberChange,
  type WatchedBooks,
  type MemberWatch,
} from './member-watch.js';
import {
  listReplacementCandidates,
  composeEntering,
  chooseReplacements,
  type EnteringSecurity,
} from './replacements.js';
import { updateStoredBook, type WatchInput } from './watched-book.js';

/**
 * Number of sessions simulated at a time. After a change of constituents, at most this many sessions are simulated
 * again.
 */
const SPAN_SESSIONS = 64;

/** Returns true if constituents of an index may change between its reviews. */
export function hasMemberChanges(composer: Composer, indexId: string): boolean {
  const document = composer.document(indexId);
  return document.pipeline !== null && listTexts(document).some((text) => changesMembers(text.document.events));
}

/**
 * Decides the rebalances of a schedule and the changes of constituents between them: replacements at the close at which
 * a constituent left, removals by rank, and additions of new securities. Each change is a separate composition, decided
 * on data up to its session.
 * @cost O(T H), plus SPAN_SESSIONS for each change
 */
export function decideWithChanges(composer: Composer, input: WatchInput): Pick<Compositions, 'list' | 'findings'> {
  const watches = createWatches(composer, input);
  const watch = watches[0]!; // every index has a first version
  const { due, known, last, tick } = watch;
  const document = composer.document(input.indexId);
  let watchedBooks: WatchedBooks = { at: input.first - 1, book: null, uncapped: null, unit: null };
  let position = 0;
  while (watchedBooks.at < last) {
    tick?.((watchedBooks.at - input.first + 1) / (last - input.first + 1));
    const next = due[position];
    const followed = next === undefined ? Infinity : findFollowedSession(document, next);
    if (next !== undefined && followed <= watchedBooks.at + 1) {
      decideRebalance(watches[next.amendment ?? 0]!, next, watchedBooks);
      position++;
      continue;
    }
    const to = Math.min(watchedBooks.at + SPAN_SESSIONS, followed - 1, last);
    watchedBooks = searchSpan(watches, watchedBooks, to);
  }
  return { list: known, findings: watch.findings };
}

/**
 * Creates one search for changes of constituents per version of an index definition. All share one list of
 * compositions.
 */
function createWatches(composer: Composer, input: WatchInput): MemberWatch[] {
  const sharedState = { known: [], findings: [] };
  return listTexts(composer.document(input.indexId)).map((text) =>
    createWatch(composer, { ...input, ...sharedState, text }),
  );
}

interface WatchedTextInput extends WatchInput, Pick<MemberWatch, 'known' | 'findings'> {
  readonly text: IndexText;
}

export function createWatch(wholeComposer: Composer, { text, ...input }: WatchedTextInput): MemberWatch {
  const { document, position } = text;
  const composer = wholeComposer.under(input.indexId, position);
  const sm = composer.market(input.indexId);
  const { events = EventsSpec.parse({}) } = document;
  const { pool } = wholeComposer.decider(input.indexId, { amendment: position });
  if (pool === undefined) throw new Error(`${input.indexId} changes at reviews alone`);
  const { fast_exit: exit, fast_entry: entry } = events;
  const span = { first: input.first, after: input.first, last: input.last };
  return {
    ...input,
    whole: wholeComposer,
    composer,
    document,
    events,
    sm,
    pool,
    exits: exit === undefined ? [] : listDueAfter({ ...removeReviews(document), rebalance: exit.schedule }, sm, span),
    entries: entry === undefined ? new Map() : groupNewSecurities(sm, { ...input, after: entry.after_sessions }),
  };
}

/** Returns the document without reviews other than `rebalance`. */
export const removeReviews = ({ reviews: _reviews, ...document }: IndexDocument): IndexDocument => document;

/**
 * Returns securities with their first price after the first session of an index, grouped by the session on which they
 * are ranked.
 */
function groupNewSecurities(
  sm: SessionMarket,
  { first, last, after }: { readonly first: number; readonly last: number; readonly after: number },
): Map<number, readonly number[]> {
  const results = new Map<number, number[]>();
  for (let session = Math.max(first, sm.first) + 1; session + after <= last; session++) {
    const row = readPanelRow(sm, session);
    for (let column = 0; column < sm.securityCount; column++) {
      if (sm.lastBar[row + column] !== session || sm.lastBar[row - sm.securityCount + column]! >= 0) continue;
      results.set(session + after, [...(results.get(session + after) ?? []), column]);
    }
  }
  return results;
}

function decideRebalance(watch: MemberWatch, rebalance: DueRebalance, watchedBooks: WatchedBooks): void {
  const { composer, indexId, known, findings } = watch;
  const { decision: session } = rebalance;
  const keepsMembers = findDecider(composer.document(indexId), { ...rebalance, amendment: 0 }).scope !== 'membership';
  const warnings: Finding[] = [];
  if (keepsMembers && watchedBooks.at + 1 === session && known.length > 0) {
    // Constituents that left at the close of the reference date are replaced before weights are computed.
    const composition = replaceLeavers(
      { ...watch, findings: warnings },
      { standing: watchedBooks, book: simulateWatchedBook(watch, watchedBooks, session), session },
    );
    if (composition !== undefined) insertComposition(known, composition);
  }
  const decidedRebalance = decideRebalanceOn(watch.whole, { indexId, rebalance, known });
  // Without a composition on the session, the search of that session repeats the warnings.
  const compositions = [findCompositionInForce(known, session), decidedRebalance.composition];
  if (compositions.some((composition) => composition?.session === session)) findings.push(...warnings);
  findings.push(...decidedRebalance.findings);
  if (decidedRebalance.composition) insertComposition(known, refillIndex(watch, decidedRebalance.composition));
}

/**
 * Adds replacements to the composition of a review for constituents that left after its decision, before its index
 * shares took effect.
 */
export function refillIndex(watch: MemberWatch, composition: Composition): Composition {
  const { events, composer, indexId, pool, sm, findings } = watch;
  const { targets, columns, weights, session, ranking = new Int32Array(0) } = composition;
  const missingCount = countMissing(composition, events);
  if (targets === undefined || events.replacement === 'none' || missingCount === 0) return composition;
  const departedConstituents = Array.from(targets.columns, (column, k): DepartedConstituent => ({
    column,
    weight: targets.weights[k]!,
  }))
    .filter(({ column }) => !columns.includes(column))
    .slice(0, missingCount);
  const result = listReplacementCandidates(
    { composer, indexId, pool, session, staying: columns, ranking, wanted: missingCount },
    events,
  );
  if (result.length < departedConstituents.length)
    findings.push(warnOfMissingReplacement(sm, session, departedConstituents.slice(result.length)));
  if (result.length === 0) return composition;
  const remainingWeight = 1 - departedConstituents.reduce((sum, { weight }) => sum + weight, 0);
  const compositionWithEntrants = composeEntering({
    composer,
    indexId,
    pool: findWeighing(watch, composition).pool,
    session,
    decision: composition.decision,
    cause: 'replacement',
    before: composition,
    held: {
      held: columns,
      weights,
      units: composition.fixedShares ?? weights,
      ...(composition.counts ? { counts: { ...composition.counts, columns } } : {}),
    },
    uncapped: { held: columns, weights: composition.uncapped },
    leaving: [],
    entries: result.map(({ column }, k): EnteringSecurity => ({
      column,
      replaced: departedConstituents[k]!.weight / remainingWeight,
    })),
    swaps: chooseReplacements({
      rule: events.replacement,
      before: composition,
      decision: session,
      found: result,
      left: departedConstituents.map(({ column }) => column),
    }),
    worth: composition.worth ?? null,
  });
  const { cause: _, entered: __, ...review } = compositionWithEntrants;
  return {
    ...composition,
    ...review,
    date: composition.date,
    also: composition.also,
    announced: composition.announced,
  };
}

/** Returns the number of securities that left after a review was decided, and that replacements follow. */
export function countMissing({ targets, columns, transition }: Composition, events: EventsSpec | undefined): number {
  if (targets === undefined || transition !== undefined || (events?.replacement ?? 'none') === 'none') return 0;
  return Math.max(0, targets.columns.length - columns.length);
}

function insertComposition(compositions: Composition[], composition: Composition): void {
  const position = compositions.findLastIndex(({ session }) => session <= composition.session);
  const isSame = compositions[position]?.session === composition.session;
  compositions.splice(isSame ? position : position + 1, isSame ? 1 : 0, composition);
}

/**
 * Searches the sessions of a span for changes. Each change is searched on the book that includes the earlier changes.
 */
function searchSpan(under: readonly MemberWatch[], watchedBooks: WatchedBooks, to: number): WatchedBooks {
  const first = under[0]!;
  let book = simulateWatchedBook(first, watchedBooks, to);
  for (let session = watchedBooks.at + 1; session <= to; session++) {
    const watch = under[findCompositionInForce(first.known.filter(isReview), session)?.amendment ?? 0]!;
    for (const applyChange of MEMBER_CHANGES) {
      const composition = applyChange(watch, { standing: watchedBooks, book, session });
      if (composition === undefined) continue;
      insertComposition(watch.known, composition);
      book = simulateWatchedBook(watch, watchedBooks, to);
    }
  }
  const uncappedBook = isCapped(first) ? simulateWatchedBook(first, watchedBooks, to, true) : null;
  return {
    at: to,
    book: updateStoredBook(watchedBooks.book, book),
    uncapped: uncappedBook && updateStoredBook(watchedBooks.uncapped, uncappedBook),
    unit: computeMarketValueUnit(first, { standing: watchedBooks, book, session: to }),
  };
}

/** Replaces constituents that left at a close, unless a review takes effect at that close. */
const replaceLeavers: MemberChange = (watch, watchPosition) => {
  const { events, known, composer, indexId, pool, findings, sm } = watch;
  if (events.replacement === 'none' || isInPhase(known, watchPosition.session)) return undefined;
  const before = findCompositionInForce(known, watchPosition.session);
  const event = watchPosition.book.events.find(
    (bookEvent) => bookEvent.at === watchPosition.session - watchPosition.book.from,
  );
  if (before === undefined || event === undefined || before.session === watchPosition.session) return undefined;
  const departedConstituents = listLeavers(watchPosition.book, event, before.columns);
  if (departedConstituents.length === 0) return undefined;
  const ends = readClosingHoldings(watch, watchPosition);
  if (ends.held.held.length === 0) return undefined;
  const { ranking = new Int32Array(0) } = before;
  const request = {
    composer,
    indexId,
    pool,
    session: watchPosition.session,
    staying: ends.held.held,
    ranking,
    wanted: departedConstituents.length,
  };
  const result = listReplacementCandidates(request, events);
  if (result.length < departedConstituents.length)
    findings.push(warnOfMissingReplacement(sm, watchPosition.session, departedConstituents.slice(result.length)));
  const remainingWeight = 1 - event.exits.reduce((sum, { change }) => sum - change, 0);
  const entries = result.map(({ column }, k): EnteringSecurity => ({
    column,
    replaced: departedConstituents[k]!.weight / remainingWeight,
  }));
  if (entries.length === 0) return undefined;
  const swaps = chooseReplacements({
    rule: events.replacement,
    before,
    decision: watchPosition.session,
    found: result,
    left: departedConstituents.map(({ column }) => column),
  });
  return composeEntering({
    ...weighEntrants(watch, watchPosition, ends),
    cause: 'replacement',
    leaving: [],
    entries,
    swaps,
  });
};

interface DepartedConstituent {
  readonly column: number;
  readonly weight: number;
}

/** Returns the constituents that left at a close, at a price or by converting into another constituent. */
function listLeavers({ columns }: Book, { exits, conversions }: BookEvent, members: Int32Array): DepartedConstituent[] {
  const conversionsIntoMembers = conversions.filter(({ into: other }) => members.includes(columns[other]!));
  const left = new Map<number, number>();
  for (const { slot, weight } of conversionsIntoMembers) left.set(columns[slot]!, weight);
  const convertedSlots = new Set(conversions.map(({ slot }) => slot));
  for (const { slot, change } of exits)
    if (!convertedSlots.has(slot)) left.set(columns[slot]!, (left.get(columns[slot]!) ?? 0) - change);
  return [...left].filter(([column]) => members.includes(column)).map(([column, weight]) => ({ column, weight }));
}

function warnOfMissingReplacement(
  sm: SessionMarket,
  session: number,
  departedConstituents: readonly DepartedConstituent[],
): Finding {
  const namesText = departedConstituents.map(({ column }) => sm.identifiers[column]!).join(', ');
  const [finding] = addRebalanceDate(
    [
      {
        severity: 'warning',
        code: 'NO_REPLACEMENT',
        message: `No security was available to replace ${namesText}; the weight was distributed over the other constituents.`,
        path: 'events.replacement',
      },
    ],
    sm.sessions[session]!,
  );
  return finding!;
}

const MEMBER_CHANGES: readonly MemberChange[] = [replaceLeavers, applyFastExit, applyFastEntry];
