import type { IndexText } from '../documents/amended-texts.js';
import { findTextInForce, listTextSpans } from '../documents/text-spans.js';
import { findBreachRule, createBreachWatch } from '../compliance/breach-watch.js';
import type { LimitRuleName } from '../compliance/rules.js';
import type { Day } from '../time/days.js';
import type { Finding } from '../refusals/findings.js';
import type { SessionMarket } from '../market/session-market.js';
import { findFirstAtLeast, findLastAtMost } from '../numbers/search.js';
import type { Book } from './book.js';
import { findCompositionInForce, type Composer, type Composition, type Compositions } from './compositions.js';
import { addComposition, decideRebalanceOn } from './decide-index.js';
import { findFollowedSession } from './decided-by.js';
import { hasAnyBar, type DueRebalance } from './due-rebalances.js';
import { simulateBookUntil, updateStoredBook, type WatchInput } from './watched-book.js';
import type { StoredBook } from './resumed-book.js';

/** Number of sessions simulated at a time. After a breach, at most this many sessions are simulated again. */
const SPAN_SESSIONS = 32;

export type WatchedCompositions = Pick<Compositions, 'list' | 'findings' | 'called'>;

/**
 * Decides the rebalances of a schedule, and the rebalances that breaches of a rule trigger. A breach begins at the
 * close at which drift or a corporate action moves the weights beyond a bound. The composition is decided at that close
 * and takes effect after the lag of the schedule. Two breaches trigger no rebalance: one that a rebalance itself
 * causes, and one that begins while a rebalance is pending.
 * @cost O(T H), and SPAN_SESSIONS more for each breach
 */
export function decideWithBreaches(composer: Composer, input: WatchInput): WatchedCompositions {
  const { due, first, last, tick } = input;
  const document = composer.document(input.indexId);
  const compositions: Composition[] = [];
  const findings: Finding[] = [];
  const decideAndRecord = (rebalance: DueRebalance): Composition | undefined => {
    const decidedRebalance = decideRebalanceOn(composer, { indexId: input.indexId, rebalance, known: compositions });
    findings.push(...decidedRebalance.findings);
    const { composition } = decidedRebalance;
    if (composition) addComposition(compositions, composition);
    return composition;
  };
  const state: WatchState = { rule: null, open: new Set(), calledUntil: first };
  let storedBook: StoredBook | null = null;
  let session = first - 1;
  let position = 0;
  while (session < last) {
    tick?.((session - first + 1) / (last - first + 1));
    const next = due[position];
    // decisions are made in session order, because each uses the state of the previous decision
    const followed = next === undefined ? Infinity : findFollowedSession(document, next);
    if (next !== undefined && followed <= session + 1) {
      decideAndRecord(next);
      position++;
      continue;
    }
    const { sm, text, ends } = findTextOnSession(composer, input, session + 1);
    const to = Math.min(session + SPAN_SESSIONS, followed - 1, last, ends);
    const rule = findBreachRule(text.document.pipeline?.treatment);
    if (rule !== state.rule) state.open.clear();
    state.rule = rule;
    const span: Span = { stored: storedBook, at: session, to, known: compositions, decide: decideAndRecord, sm, text };
    const book = watchSpan(composer, input, span, state);
    storedBook = updateStoredBook(storedBook, book);
    session = to;
  }
  return { list: compositions, findings, ...(state.called === undefined ? {} : { called: state.called }) };
}

/** Returns the definition in force on a session, and the last session on which it is in force. */
function findTextOnSession(
  composer: Composer,
  { indexId, first }: WatchInput,
  session: number,
): Pick<Span, 'sm' | 'text'> & { readonly ends: number } {
  const sm = composer.market(indexId);
  const document = composer.document(indexId);
  const day = sm.sessions[Math.max(session, first)]!;
  const next = listTextSpans(document, sm.calendar).find(({ after }) => after >= day);
  const ends = next === undefined ? Infinity : findLastAtMost(sm.sessions, next.after);
  return { sm, text: findTextInForce(document, sm.calendar, day), ends };
}

interface WatchState {
  /** Rule that was checked on the previous span. */
  rule: LimitRuleName | null;
  readonly open: Set<string>;
  /** Effective session of the latest breach-triggered rebalance. */
  calledUntil: number;
  /** Breach-triggered rebalance that takes effect after the last session. */
  called?: Compositions['called'];
}

/** Sessions between two scheduled decisions. A rebalance that was decided earlier may take effect within them. */
interface Span {
  /** State of the book at the close of session `at`; null before the first session. */
  readonly stored: StoredBook | null;
  readonly at: number;
  readonly to: number;
  readonly known: readonly Composition[];
  readonly decide: (rebalance: DueRebalance) => Composition | undefined;
  readonly sm: SessionMarket;
  /** Version of the definition in force on all sessions of the span. */
  readonly text: IndexText;
}

/** Simulates the book of a span, including the rebalances triggered by its breaches. */
function watchSpan(composer: Composer, input: WatchInput, span: Span, state: WatchState): Book {
  const { at, to, decide, sm, text } = span;
  const { rebalance } = text.document;
  const { rule } = state;
  let book = simulateBookUntil(composer, { ...input, ...span });
  if (rule === null) return book;
  let from = at + 1;
  for (;;) {
    const breach = findNextBreach(book, { rule, from, to, span, state });
    if (breach === null) return book;
    from = breach + 1;
    const session = findEffectiveSession(sm, breach + rebalance.effective_lag, input.last);
    state.calledUntil = session;
    if (session > input.last) {
      state.called = { session: breach, effective: findDayAfter(sm, input.last, session - input.last) };
      continue;
    }
    const isScheduled = input.due.some((dueRebalance) => dueRebalance.session === session);
    if (isScheduled) continue;
    const composition = decide({
      date: sm.sessions[session]!,
      also: [],
      session,
      decision: breach,
      announced: session > breach ? sm.sessions[breach]! : null,
      cause: 'breach',
      ...(text.position === 0 ? {} : { amendment: text.position }),
    });
    if (composition === undefined || session > to) continue;
    book = simulateBookUntil(composer, { ...input, ...span });
    if (session === breach) from = breach; // the rebalance changed the weights at this close
  }
}

/** Returns the first session at or after `earliest` on which any security trades; `last + 1` if there is none. */
function findEffectiveSession(sm: SessionMarket, earliest: number, last: number): number {
  let session = earliest;
  while (session <= last && !hasAnyBar(sm, session)) session++;
  return session;
}

/** Returns the calendar day `count` sessions after a session. Returns null if the calendar ends earlier. */
function findDayAfter({ sessions, calendar }: SessionMarket, session: number, count: number): Day | null {
  return calendar.sessions[findFirstAtLeast(calendar.sessions, sessions[session]!) + count] ?? null;
}

interface BreachSearchSpan {
  readonly rule: LimitRuleName;
  readonly from: number;
  readonly to: number;
  readonly span: Span;
  readonly state: WatchState;
}

/** Returns the first session at whose close a breach begins that triggers a rebalance. */
function findNextBreach(book: Book, { rule, from, to, span, state }: BreachSearchSpan): number | null {
  const { sm, columns, weights } = book;
  const names = Array.from(columns, (column) => sm.identifiers[column]!);
  const watch = createBreachWatch({ rule, market: sm.market, names, open: state.open });
  const H = columns.length;
  for (let session = from; session <= to; session++) {
    const row = (session - book.from) * H;
    const begins = watch.begins(sm.sessions[session]!, weights.subarray(row, row + H));
    if (begins && session > state.calledUntil && findCompositionInForce(span.known, session)?.session !== session)
      return session;
  }
  return null;
}
