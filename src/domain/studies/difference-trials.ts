import { findFirstAtLeast, findLastAtMost, roundHalfAwayFromZero } from '../base/numbers.js';
import { type Day, formatDay } from '../base/time.js';
import type { Candidate, FreeValue, Site } from './difference-candidates.js';
import type { Sought } from './difference-estimates.js';
import type { DifferenceNode, Fit } from './difference-nodes.js';
import {
  attempt,
  type CauseSubject,
  changeLevels,
  type Edit,
  evaluateChanged,
  evaluateWhole,
  findBegin,
  findRuleId,
  findState,
  findWindow,
  listReviewsOf,
  REVIEW_SESSIONS,
  runInWindow,
  WINDOW_SESSIONS,
} from './difference-terms.js';
import {
  type Agreement,
  compareLevels,
  computeTolerance,
  computeUnit,
  countDecimals,
  hasDecimals,
  levelOn,
  type OutsideLevels,
  type OwnLevels,
  PRECISION,
  type Unexplained,
} from './outside-levels.js';

/** State of a search. */
export interface Search {
  readonly outside: OutsideLevels;
  readonly known: Set<CauseSubject>;
  readonly causesMax: number;
  /** Reports progress from 0 to 1; throws to cancel the search. */
  readonly report: (fraction: number, message: string) => void;
  /** Conventions that change levels that agree. */
  readonly refuted: Set<string>;
  /** Changes that later levels contradict. */
  readonly contradicted: Set<string>;
  expansions: number;
  /** Number of changes that were run. */
  runs: number;
  best: DifferenceNode | null;
  isBounded: boolean;
}

/** Part of the progress after the first runs, and before the causes are described. */
export const [OPENED, SEARCHED] = [0.05, 0.95];

/** Reports the session that is explained. Called before each run, so that a cancelled search ends within one run. */
export function reportSession({ agreement: { reach } }: DifferenceNode, search: Search): void {
  const { report, outside } = search;
  const { days } = outside;
  search.runs++;
  const fraction = OPENED + (SEARCHED - OPENED) * (reach / days.length);
  report(fraction, `explaining the session ${formatDay(days[Math.min(reach, days.length - 1)]!)}`);
}

export const countUnexplained = ({ unexplained }: DifferenceNode): number =>
  unexplained.breaks.length + unexplained.skipped.length;

/** Most consecutive sessions without an explanation that are separate errors of the outside level. */
const SINGLE_MAX = 2;

/**
 * Returns the days without an explanation before and after which the levels agree, each with the day from which they agree
 * again: errors of the outside level, and no sign of a cause.
 */
export function findSingleDays({ breaks, skipped, noise }: Unexplained, days: Int32Array): ReadonlyMap<Day, Day> {
  const [left, single] = [new Set([...breaks, ...skipped, ...noise]), new Map<Day, Day>()];
  const open = new Set(skipped);
  for (let t = 1; open.size > 0 && t < days.length; t++) {
    let end = t;
    while (open.has(days[end]!)) end++;
    const isClosed = end < days.length && !left.has(days[t - 1]!) && !left.has(days[end]!);
    if (isClosed && end - t <= SINGLE_MAX) for (const day of days.subarray(t, end)) single.set(day, days[end]!);
    t = end;
  }
  return single;
}

/** Number of sessions after a difference above the rounding with which a candidate must agree first. */
export const AHEAD = 2;

/** Returns the day of the difference and the days after it that are computed first. */
export const listAhead = ({ agreement: { reach } }: DifferenceNode, { outside }: Pick<Search, 'outside'>): Day[] => [
  ...outside.days.subarray(reach, reach + AHEAD + 1),
];

/** Change that was run, with its effect on the sessions of the difference. */
export interface Tried extends Fit {
  /** Ratio of the changed to the own level on the session of the difference. */
  readonly effect: number;
  /** Ratios of the levels on this session and the next ones. */
  readonly effects: readonly number[];
  /** Changes whose run is known only for a few sessions after the difference. */
  readonly brief?: readonly Edit[] | undefined;
  /** False if a free value is no number with the usual decimals. */
  readonly isUsual?: boolean;
  /** Share of numbers in whose range by rounding there is one as short as a free value. */
  readonly chance?: number;
  /** True if a free value is a short number, which levels of this precision hardly give by chance. */
  readonly isConclusive?: boolean;
  /** True if hardly any change of fixed size has the size of the difference by chance. */
  readonly isCertain?: boolean;
  /** True if the returns of several sessions after the difference agree only with this value. */
  readonly isConfirmed?: boolean;
  /** Expected number of the changes of the session that explain it by chance. */
  readonly expected?: number;
}

/** Size of a difference in units of rounding that some change has by chance. */
const FAINT = 20;

/** Sessions that a change must explain if some change has the size of the difference by chance. */
export const FAINT_SESSIONS = 20;

/**
 * Returns the number of sessions after a difference that are evidence enough for a change: few events that are moved by a
 * session are possible, and their effect ends; a change that has its size hardly by chance needs none.
 */
export function countEvidence({ unexplained }: DifferenceNode, { candidates, expected }: Tried): number {
  const [candidate] = candidates as [Candidate];
  const { date, review, free } = candidate;
  if (date !== null && review === undefined && free === undefined && expected! < CHANCE_ALONE) return 0;
  return isMoved(candidate) && unexplained.breaks.length === 0 ? 1 : Infinity;
}

const isMoved = ({ manner, edits: [edit] }: Candidate): boolean =>
  (manner === 'early' || manner === 'late') && edit?.kind === 'action';

/** Returns true for a change whose effect on the level ends: a moved event, or a price or rate on some sessions. */
export const isPassing = (candidate: Candidate): boolean => isOfPrice(candidate) || isMoved(candidate);

/** Size of a difference in units of rounding up to which two of many changes explain it by chance. */
export const PAIR_FAINT = 500;

/** Returns true if some change has the size of the difference by chance, because it is near the rounding. */
function isFaint(node: DifferenceNode, search: Search): boolean {
  const known = faint.get(node);
  if (known !== undefined) return known;
  const { needed, tolerance } = seek(node, search, 1);
  const result = search.outside.decimals !== null && Math.abs(needed[0]!.difference) < (FAINT * tolerance) / 2;
  faint.set(node, result);
  return result;
}

const faint = new WeakMap<DifferenceNode, boolean>();

/** Size of a difference in units of rounding, for each change that is tried, above which none has it by chance. */
const CERTAIN = 50;

/** Returns true if no change of many has the size of the difference by chance. */
export function isLargeFor(node: DifferenceNode, count: number, search: Search): boolean {
  const { needed, tolerance } = seek(node, search, 1);
  return Math.abs(needed[0]!.difference) > CERTAIN * count * tolerance;
}

/**
 * Returns the number of sessions after a difference with which a candidate must agree before the whole run is computed:
 * all that are its evidence if the difference is near the rounding.
 */
export const countAhead = (node: DifferenceNode, search: Search): number =>
  isFaint(node, search) ? countFaint(node, search) : AHEAD;

/** Fewest sessions that are evidence for a change near the rounding. */
const FAINT_LEAST = 4;

/** Returns the number of sessions up to the next large step of a difference, which is of another cause. */
function countFaint(node: DifferenceNode, search: Search): number {
  const { needed, tolerance } = seek(node, search, FAINT_SESSIONS);
  const step = needed.findIndex(
    ({ difference }, k) => k > 0 && Math.abs(difference - needed[k - 1]!.difference) > (FAINT * tolerance) / 2,
  );
  return step < 0 ? FAINT_SESSIONS : Math.max(step - 1, FAINT_LEAST);
}

/**
 * Returns the position up to which a change must agree at least. A session is no evidence by itself if the difference is
 * near the rounding, or after sessions without an explanation, because the weights may then be others.
 */
export function findEvidence(node: DifferenceNode, search: Search): number {
  const { reach } = node.agreement;
  const isOpen = countUnexplained(node) > findSingleDays(node.unexplained, search.outside.days).size;
  const count = isFaint(node, search) ? countFaint(node, search) : isOpen ? EVIDENCE_SESSIONS : 0;
  return Math.min(reach + count, search.outside.days.length - 1);
}

/** Returns true if levels agree up to a position, but for a single wrong level from outside after the first sessions. */
export function agreesUpTo(
  node: DifferenceNode,
  { own, brief, agreement }: Tried,
  least: number,
  search: Search,
): boolean {
  const { days } = search.outside;
  const { reach } = agreement;
  if (reach >= Math.min(least, days.length)) return true;
  if (brief !== undefined || reach <= node.agreement.reach + AHEAD) return false;
  const { skipped, ...others } = node.unexplained;
  const further = compareLevels(own, search.outside, { ...others, skipped: [...skipped, days[reach]!] });
  return further.reach >= Math.min(least + 1, days.length);
}

/** Returns the difference of a state on its first session and the following ones. */
export function seek(node: DifferenceNode, { outside }: Search, count: number = AHEAD): Sought {
  const { reach, low, high } = node.agreement;
  const { sm } = node.own.compositions;
  const value = outside.values[reach]!;
  const scale = Number.isFinite(high) ? (low + high) / 2 : value / levelOn(node.own, outside.days[reach]!);
  const before = outside.days[reach - 1];
  const place = (day: Day): number => findRuleSession(node, day, sm.sessionAt(day));
  return {
    previous: before === undefined ? -1 : place(before),
    session: place(outside.days[reach]!),
    begin: place(outside.days[findAnchor(node, { outside })]!),
    tolerance: (2 * computeTolerance(outside, value)) / value,
    needed: Array.from(outside.days.subarray(reach, reach + count), (day, k) => ({
      session: place(day),
      difference: outside.values[reach + k]! / (levelOn(node.own, day) * scale) - 1,
    })),
  };
}

/** Sessions after a large change of scale that have it too; fewer levels can be wrong ones. */
const SCALED_AFTER = 5;

/** Returns true if the levels of the following sessions are nearer to a change of scale than to the scale before it. */
export function isLastingScale({ own, agreement }: DifferenceNode, value: number, outside: OutsideLevels): boolean {
  const { reach, low, high } = agreement;
  const days = outside.days.subarray(reach + 1, reach + 1 + SCALED_AFTER);
  const hasScale = (day: Day, k: number): boolean => {
    const size = Math.log((2 * outside.values[reach + 1 + k]!) / (levelOn(own, day) * (low + high)));
    return Math.abs(size - Math.log(value)) < Math.abs(size);
  };
  return days.length === SCALED_AFTER && days.every(hasScale);
}

export function findRuleSession({ own, terms }: DifferenceNode, day: Day, session: number): number {
  const shift = terms.reading.reduce((sum, { terms: { shifted_sessions: by } }) => sum + Number(by ?? 0), 0);
  return (findRuleId(terms) === terms.indexId ? session : own.rule.sm.sessionAt(day)) - shift;
}

/** Returns the place of a day of the outside levels in the run of a state. */
export function createSite(node: DifferenceNode, day: Day, { outside }: Pick<Search, 'outside'>): Site {
  const { own } = node;
  const { sm } = own.compositions;
  return { own, session: findRuleSession(node, day, sm.sessionAt(day)), begin: sm.sessionAt(outside.days[0]!) };
}

/** Largest width of the range of a free value, in units of its last decimal, in which such a number is no chance. */
const CONCLUSIVE_WIDTH = 0.05;

/** Sessions that a change with a free value must explain. */
export const EVIDENCE_SESSIONS = 4;

/** Largest expected number of changes that explain a session by chance. */
export const CHANCE = 0.05;

/** Largest one for a change that explains only its own session. */
const CHANCE_ALONE = 0.01;

/** Ratio to a difference, and its inverse, between which changes have its size. */
const SIZE_RATIO = 2;

interface Trials {
  readonly candidates: readonly Candidate[];
  readonly all: readonly Tried[];
}

/**
 * Returns the expected number of changes of a session that explain it by chance: by a value of which the rounding allows
 * many short numbers, or as an event or a price of fixed size where the rounding is no small part of the sizes of all.
 */
export function expectByChance(
  node: DifferenceNode,
  tried: Tried,
  { candidates, all }: Trials,
  search: Search,
): number {
  const [{ free, date, review }] = tried.candidates as [Candidate];
  if (free !== undefined) {
    const count = candidates.filter((one) => one.free !== undefined && one.date === date).length;
    return tried.isConfirmed === true ? 0 : tried.chance! * count;
  }
  const { reach } = node.agreement;
  const { needed, tolerance } = seek(node, search, 1);
  const size = Math.abs(needed[0]!.difference);
  const count = all.filter(({ effect }) => {
    const ratio = Math.abs(effect - 1) / size;
    return ratio > 1 / SIZE_RATIO && ratio < SIZE_RATIO;
  }).length;
  const width = Math.min(tolerance, measureWidth(node, tried, search));
  const ofSession = (count * 2 * width) / ((SIZE_RATIO - 1 / SIZE_RATIO) * size);
  const expected = ofSession * computeLaterChance(node, tried, search);
  // A convention and a change of a review act on the returns of many sessions.
  return date === null || review !== undefined
    ? Math.min(expected, all.length * computeLaterChance(node, tried, search, reach))
    : expected;
}

/** Returns the relative width of the range in which the rounded levels before and after a change determine its effect. */
function measureWidth(
  { agreement: { reach, low, high } }: DifferenceNode,
  { own, brief, agreement: { reach: end } }: Tried,
  { outside }: Pick<Search, 'outside'>,
): number {
  if (brief !== undefined || !Number.isFinite(high)) return Infinity;
  let [least, most] = [0, Infinity];
  for (let t = reach; t < end; t++) {
    const [level, value] = [levelOn(own, outside.days[t]!), outside.values[t]!];
    const tolerance = computeTolerance(outside, value);
    const [from, to] = [(value - tolerance) / level, (value + tolerance) / level];
    if (to < least || from > most) continue; // a session that is left out
    [least, most] = [Math.max(least, from), Math.min(most, to)];
  }
  return (most - least) / least + (high - low) / low;
}

/** Most returns that are counted as evidence. */
const RETURNS_MAX = 60;

/** Returns true for another price or rate on some sessions. */
const isOfPrice = ({ date, edits: [edit] }: Candidate): boolean =>
  date !== null && edit?.kind === 'bars' && edit.field === 'CLOSE';

/**
 * Returns the probability that changes agree by chance with the returns from a position on up to the next difference: the
 * product of the rounding of each return over the change of it. For a wrong price they are those up to its last session:
 * its end is no evidence.
 */
export function computeLaterChance(
  { own, agreement }: DifferenceNode,
  { candidates, own: changed, brief, agreement: { reach } }: Tried,
  { outside }: Search,
  from: number = agreement.reach + AHEAD + 1,
): number {
  if (brief !== undefined) return 1;
  const price = candidates.find(isOfPrice);
  const first = price === undefined ? from : agreement.reach + 1;
  const last = price === undefined ? Infinity : findLastAtMost(outside.days, price.through!) + 1;
  let chance = 1;
  const end = Math.min(reach, first + RETURNS_MAX, last);
  const ratio = (t: number): number => levelOn(changed, outside.days[t]!) / levelOn(own, outside.days[t]!);
  for (let t = first; t < end; t++) {
    const value = outside.values[t]!;
    const move = Math.abs(ratio(t) / (t === 0 ? 1 : ratio(t - 1)) - 1);
    const rounding = (4 * computeTolerance(outside, value)) / value;
    if (move > rounding) chance *= rounding / move;
  }
  return chance;
}

/** Runs a candidate: first up to a few sessions after the difference, then to the end. */
export function tryCandidate(node: DifferenceNode, candidate: Candidate, search: Search): Tried[] {
  if (candidate.free === undefined && candidate.longer === undefined) {
    const brief = tryBriefly(node, [candidate], search);
    return brief === null ? [] : [brief];
  }
  const direct = candidate.free === undefined ? tryEdits(node, candidate, search) : solveFree(node, candidate, search);
  if (direct === null) return [];
  // A free value fits its own session by construction: evidence are later sessions, or a number with the usual decimals.
  const least = Math.min(node.agreement.reach + EVIDENCE_SESSIONS, search.outside.days.length);
  const isConclusive = direct.isConclusive === true && countUnexplained(node) === 0;
  if (candidate.free !== undefined && !isConclusive && direct.agreement.reach < least) return [];
  if (direct.isUsual === false && direct.isConclusive !== true && direct.isConfirmed !== true) return [];
  const { longer } = candidate;
  if (longer === undefined || direct.agreement.reach <= node.agreement.reach) return [direct];
  const results = [direct];
  for (let next = longer(); next !== null; next = next.longer?.() ?? null) {
    const result = tryEdits(node, next, search);
    if (result === null || result.agreement.reach <= results.at(-1)!.agreement.reach) break;
    results.push(result);
  }
  return results.toReversed();
}

export function tryEdits(node: DifferenceNode, candidate: Candidate, search: Search): Tried | null {
  return tryAll(node, [candidate], search);
}

export function tryAll(node: DifferenceNode, candidates: readonly Candidate[], search: Search): Tried | null {
  const tried = tryBriefly(node, candidates, search);
  return tried !== null && agreesAhead(node, tried, search) ? complete(node, tried, search) : tried;
}

/** Runs changes up to a few sessions after the difference. */
function tryBriefly(node: DifferenceNode, candidates: readonly Candidate[], search: Search): Tried | null {
  const { outside } = search;
  const { reach } = node.agreement;
  const day = outside.days[reach]!;
  const edits = candidates.flatMap((candidate) => candidate.edits);
  reportSession(node, search);
  if (isRefutedEarly(node, candidates, search)) return null;
  const part = attempt(() => evaluatePart(node, edits, candidates, search));
  if (part === null) return null;
  const measure = (one: Day): number => levelOn(part, one) / levelOn(node.own, one);
  // A change that acts before the first level of the scale changes the scale.
  const atAnchor = measure(outside.days[findAnchor(node, search)]!);
  const first = Number.isNaN(atAnchor) ? 1 : atAnchor;
  const effect = measure(day) / first;
  if (effect === 1 || Number.isNaN(effect)) return null;
  const agreement = comparePart(node, part, search);
  const effects = listAhead(node, search).map((one) => measure(one) / first);
  const tried = { candidates, terms: node.terms, effect, effects, own: node.own, agreement };
  return agreement.reach <= reach ? tried : { ...tried, brief: edits };
}

/** Computes the whole run of changes that agree on the session of the difference. Returns null if it is refused. */
export function complete(node: DifferenceNode, { brief, ...tried }: Tried, search: Search): Tried | null {
  const { outside } = search;
  if (brief === undefined) return tried;
  reportSession(node, search);
  const own = attempt(() => evaluateWhole(node.own, tried.candidates, findSession(node, outside)));
  return own === null
    ? null
    : { ...tried, terms: own.terms, own, agreement: compareLevels(own, outside, node.unexplained) };
}

/** Returns changes that explain a session, after those with the same states to the end of the run if these agree longer. */
export function prolong(node: DifferenceNode, fit: Tried, search: Search): Tried[] {
  if (!fit.candidates.some(({ lasting }) => lasting !== undefined)) return [fit];
  const candidates = fit.candidates.map((one) => one.lasting?.() ?? one);
  const lasting = complete(node, { ...fit, candidates, brief: [] }, search);
  return lasting !== null && lasting.agreement.reach > fit.agreement.reach ? [lasting, fit] : [fit];
}

/** Returns the session of the first difference of a state. */
export const findSession = ({ own, agreement: { reach } }: DifferenceNode, { days }: OutsideLevels): number =>
  own.compositions.sm.sessionAt(days[reach]!);

/** Returns true if a change agrees on the sessions after the difference that are computed first. */
const agreesAhead = (node: DifferenceNode, { agreement }: Tried, search: Search): boolean =>
  agreement.reach > Math.min(node.agreement.reach + countAhead(node, search), search.outside.days.length - 1);

/**
 * Computes whole runs of the changes that agree ahead. If there are any, the others that last agree no longer than before.
 */
export function settle(node: DifferenceNode, tried: readonly Tried[], search: Search): Tried[] {
  const isAgreed = tried.some((one) => agreesAhead(node, one, search));
  return tried.flatMap((one) => {
    const [{ free, longer }] = one.candidates as [Candidate];
    if (one.brief === undefined || (!isAgreed && !agreesAhead(node, one, search))) return [one];
    if (!agreesAhead(node, one, search))
      return [
        free === undefined && longer === undefined ? { ...one, brief: undefined, agreement: node.agreement } : one,
      ];
    const result = complete(node, one, search);
    return result === null ? [] : [result];
  });
}

/** Fewest and most sessions of the first check of a convention, which changes the levels from the start. */
const EARLY_SESSIONS = [45, 130] as const;

/** Ratio of the sessions of two checks of a convention. */
const EARLY_FACTOR = 6;

/** Returns true if a convention changes levels that agree. Checks few sessions first, because they cost little. */
function isRefutedEarly(node: DifferenceNode, [candidate]: readonly Candidate[], search: Search): boolean {
  const { outside, refuted } = search;
  const { reach } = node.agreement;
  const { date, free, edits, words, value, subject, types } = candidate!;
  if (date !== null || attempt(() => changeLevels(node.own, edits)) !== null) return false;
  const key = `${words} ${value}`;
  const isLocal = node.chosen.every((one) => one.candidate.date !== null);
  if (isLocal && refuted.has(key)) return true;
  if (free !== undefined) return false;
  const { list, sm } = node.own.rule;
  const second = list[1] === undefined ? 0 : findFirstAtLeast(outside.days, sm.sessions[list[1].session]!) + AHEAD;
  const first = Math.min(Math.max(second, EARLY_SESSIONS[0]), EARLY_SESSIONS[1]);
  if (reach >= 2 * first && !isActiveOn(node, candidate!, search)) return true;
  for (let count = first; 2 * count <= reach; count *= EARLY_FACTOR) {
    const part = attempt(() => evaluateChanged(node.own, edits, outside.days[count + countShifts(node)]!));
    const isPossible = part !== null && compareLevels(part, outside, node.unexplained).reach > count;
    const isContinuous = CONTINUOUS.has(subject) && types === undefined;
    const isIdle = isContinuous && part?.levels.every((level, t) => level === node.own.levels[t]);
    if (isPossible && !(isIdle && hasPaid(node, outside.days[count]!))) continue;
    if (isLocal) refuted.add(key);
    return true;
  }
  return false;
}

/** Subjects of conventions that act on every dividend or rate: without an effect at first they have none later. */
const CONTINUOUS: ReadonlySet<CauseSubject> = new Set(['reinvestment', 'tax', 'currency']);

/** Returns true if a security of the index has paid an ordinary dividend up to a day. */
function hasPaid({ own: { rule } }: DifferenceNode, until: Day): boolean {
  const { sm, first, list } = rule;
  const held = new Set(list[0]?.columns);
  return sm.actions.all
    .slice(sm.actions.starts[first + 1], sm.actions.starts[sm.sessionAt(until) + 1])
    .some(({ action, column }) => held.has(column) && action.type === 'DIVIDEND' && action.status !== 'cancelled');
}

/** Size of a difference in units of rounding that roundings of several sessions can have together. */
const NEAR_ROUNDING = 2;

/** Returns true unless a convention of reviews, or of rounding, cannot act on the session of the difference. */
function isActiveOn(node: DifferenceNode, { subject, edits, value }: Candidate, search: Search): boolean {
  const session = findSession(node, search.outside);
  if (!edits.every(({ kind }) => kind === 'document')) return true;
  const runFrom = (from: number): OwnLevels | null => runFromSession(node, edits, { from, to: session });
  if (subject === 'rounding') {
    const { needed, tolerance } = seek(node, search);
    const difference = Math.abs(needed[0]!.difference);
    if (difference <= NEAR_ROUNDING * tolerance) return true;
    const state = attempt(() => findState(node.own, session));
    if (state !== null && difference > (2 * computeUnit(value ?? 0)) / state.end.divisor + tolerance) return false;
    const part = runFrom(session - WINDOW_SESSIONS);
    return part === null || part.levels.some((level, t) => level !== levelOn(node.own, part.days[t]!));
  }
  if (subject !== 'cap' && subject !== 'pricing') return true;
  const from = findReviewBegin(node, session);
  if (from === null) return false;
  const part = runFrom(from);
  return part === null || comparePart(node, part, search).reach > node.agreement.reach;
}

/** Returns the levels after changes of documents from a session on. Returns null if they need a whole run. */
export const runFromSession = (
  { own }: DifferenceNode,
  edits: readonly Edit[],
  { from, to }: { readonly from: number; readonly to: number },
): OwnLevels | null => attempt(() => runInWindow(() => findWindow(own, from)?.run(edits, to) ?? null));

/** Returns the session before the review that is near a session. Returns null if there is none. */
export function findReviewBegin({ own }: DifferenceNode, session: number): number | null {
  const last = own.rule.list.findLast((one) => one.session <= session);
  return last === undefined || last.session < session - WINDOW_SESSIONS
    ? null
    : Math.min(session - WINDOW_SESSIONS, last.decision - REVIEW_SESSIONS);
}

/** Computes the levels up to a few sessions after a difference: from the sessions before it where that is possible. */
export function evaluatePart(
  node: DifferenceNode,
  edits: readonly Edit[],
  candidates: readonly Candidate[],
  search: Search,
): OwnLevels {
  const { outside } = search;
  const { reach } = node.agreement;
  const through = Math.max(...candidates.map((one) => (one.manner === 'carried' ? (one.through ?? 0) : 0)));
  // A free value is found from several sessions.
  const ahead = candidates.some(({ free }) => free !== undefined) ? FAINT_SESSIONS : countAhead(node, search);
  const last = Math.max(reach, findLastAtMost(outside.days, through)) + ahead + countShifts(node);
  const until = outside.days[Math.min(last, outside.days.length - 1)]!;
  const changed = changeLevels(node.own, edits);
  if (changed !== null) return changed;
  const from = findBegin(node.own, candidates, findSession(node, outside));
  const to = node.own.compositions.sm.sessionAt(until);
  const run = (): OwnLevels | null => (from === null ? null : (findWindow(node.own, from)?.run(edits, to) ?? null));
  return runInWindow(run) ?? evaluateChanged(node.own, edits, until);
}

/** Returns the number of sessions after a level that its change reads: one if levels are dated a session early. */
const countShifts = ({ terms: { reading } }: DifferenceNode): number => (reading.length > 0 ? 1 : 0);

/** Compares levels of a part of the sessions: those before it are those of the state itself. */
function comparePart(node: DifferenceNode, part: OwnLevels, { outside }: Pick<Search, 'outside'>): Agreement {
  const first = node.own.days.indexOf(part.days[0]!);
  if (first <= 0) return compareLevels(part, outside, node.unexplained);
  const levels = new Float64Array(first + part.levels.length);
  levels.set(node.own.levels.subarray(0, first));
  levels.set(part.levels, first);
  return compareLevels({ days: node.own.days.subarray(0, levels.length), levels }, outside, node.unexplained);
}

/** Sessions after a difference from which a value that acts on every session is found. */
const GRADUAL_SESSIONS = [0, 5, 20, 60, 250];

/** Maximum number of secants: the effect of the ratio of a split on an index by prices is far from linear. */
const SECANTS_MAX = 8;

/** Finds the number of a candidate with which the outside level agrees, as a number with few decimals. */
export function solveFree(node: DifferenceNode, candidate: Candidate, search: Search): Tried | null {
  const { outside } = search;
  const { reach, low, high } = node.agreement;
  const { guess, create, decimals, accepts, isGradual = false } = candidate.free!;
  const targets = isGradual
    ? GRADUAL_SESSIONS.map((after) => Math.min(reach + after, outside.days.length - 1))
    : [reach];
  let best: Tried | null = null;
  const isReviewed = listReviewsOf(node.own.rule, create(guess)).length > 0;
  const known = Number.isFinite(high) ? (low + high) / 2 : 1;
  // A value that also acts before the first outside level changes the scale.
  const anchor = isGradual && low !== high ? findAnchor(node, search) : null;
  const scale = (own: OwnLevels): number =>
    anchor === null ? known : outside.values[anchor]! / levelOn(own, outside.days[anchor]!);
  const step = guess === 0 ? 0.01 : 0.1 * guess;
  for (const target of new Set(targets)) {
    const day = outside.days[target]!;
    const runLevels = (value: number): OwnLevels | null =>
      attempt(() =>
        target === reach
          ? evaluatePart(node, create(value), [candidate], search)
          : (changeLevels(node.own, create(value)) ?? evaluateChanged(node.own, create(value), day)),
      );
    const run = (value: number): number => {
      const own = runLevels(value);
      return own === null ? Number.NaN : levelOn(own, day) * scale(own);
    };
    const wanted = outside.values[target]!;
    let [a, b] = [guess, guess + step];
    let [fa, fb] = [levelOn(node.own, day) * scale(node.own) - wanted, run(b) - wanted];
    if (candidate.manner === 'added' || candidate.subject === 'price') fa = run(a) - wanted;
    let slope = (fb - fa) / (b - a);
    if (!(Math.abs(slope) > 0)) return null;
    for (let k = 0; k < SECANTS_MAX && Math.abs(fb) > PRECISION * wanted && fb !== fa; k++) {
      slope = (fb - fa) / (b - a);
      const next = b - fb / slope;
      [a, fa] = [b, fb];
      b = next;
      if (!Number.isFinite(b)) return best;
      fb = run(b) - wanted;
    }
    const tolerance = computeTolerance(outside, wanted) * (anchor === null ? 1 : 2);
    const near = { value: b, width: tolerance / Math.abs(slope) };
    const isNarrowed = target === reach && outside.decimals !== null;
    const narrowed = isNarrowed
      ? narrow(near, { runLevels, step: Math.max(step, 4 * near.width), from: reach, scale }, search)
      : near;
    // The levels before determine the scale within their rounding.
    const ofScale = Number.isFinite(high) ? (((high - low) / (high + low)) * wanted) / Math.abs(slope) : 0;
    const [centre, width] = [narrowed.value, Math.min(near.width, narrowed.width + ofScale)];
    for (const value of listShortNumbers(centre, width, { decimals, guess })) {
      if (!accepts(value) || isOwnValue(candidate, value)) continue;
      const changed = giveValue(candidate, value);
      const brief = tryBriefly(node, [changed], search);
      if (brief === null) continue;
      // Of values with equal levels after the session, the first is kept.
      const isAhead = agreesAhead(node, brief, search);
      if (isAhead && best !== null && !isReviewed && haveEqualEffects(best, brief, tolerance / wanted)) continue;
      const result = isAhead ? complete(node, brief, search) : brief;
      if (result === null || (best !== null && result.agreement.reach < best.agreement.reach)) continue;
      const precision = { width: narrowLater(node, result, { slope, width, target }, search), decimals, guess };
      const isUsual = decimals >= UNUSUAL_DECIMALS || value === roundHalfAwayFromZero(value, decimals);
      const assessed = assess(value, precision);
      const isLonger = best === null || result.agreement.reach > best.agreement.reach;
      // Of numbers with more decimals, the one that is there least by chance is preferred.
      if (isLonger || (best!.isUsual === false && !isUsual && assessed.chance! < best!.chance!))
        best = { ...result, isUsual, ...assessed, isConfirmed: isConfirmed(node, result, search) };
      if (result.agreement.reach >= outside.days.length && isUsual) return best;
    }
  }
  return best;
}

/** Significant digits of a rate that is stated: those of a percentage over 100, without the noise of the division. */
const STATED_DIGITS = 12;

/** Returns a candidate with another number. */
export function giveValue(candidate: Candidate, number: number): Candidate {
  const { guess, create } = candidate.free!;
  const before = candidate.found ?? guess;
  const stated =
    candidate.value === null || before === 0
      ? number
      : Number(((candidate.value / before) * number).toPrecision(STATED_DIGITS));
  return { ...candidate, edits: create(number), value: stated, found: number };
}

/** Largest relative difference of a value from that of the run with which it is no other value. */
const OWN_PART = 1e-3;

/** Returns true for the value of the run, but for what the rounding of another found value leaves. */
const isOwnValue = ({ manner, subject, free }: Candidate, value: number): boolean =>
  manner !== 'added' && subject !== 'price' && Math.abs(value - free!.guess) <= OWN_PART * free!.guess;

/** Decimals of a number that is not rounded. */
const UNUSUAL_DECIMALS = 6;

interface Slope {
  /** Change of the level per unit of the value. */
  readonly slope: number;
  readonly width: number;
  /** Position of the session of the slope. */
  readonly target: number;
}

/** Returns half the range of a value of an event, whose effect lasts, that all levels up to the next difference allow. */
function narrowLater(node: DifferenceNode, result: Tried, { slope, width, target }: Slope, search: Search): number {
  if (target !== node.agreement.reach || result.candidates[0]!.edits[0]?.kind !== 'action') return width;
  const later = (measureWidth(node, result, search) * search.outside.values[target]!) / (2 * Math.abs(slope));
  return Math.min(width, later);
}

interface Precision {
  readonly width: number;
  readonly decimals: number;
  readonly guess: number;
}

const assess = (value: number, precision: Precision): Pick<Tried, 'isConclusive' | 'chance'> => ({
  isConclusive: isShort(value, precision),
  chance: computeChance(value, precision),
});

/** Returns true for a number with few decimals, or in a short ratio to the guess, in a range that is narrow for it. */
function isShort(value: number, { width, decimals, guess }: Precision): boolean {
  const isConclusive = (one: number, places: number, range: number): boolean =>
    hasDecimals(one, places) && range < CONCLUSIVE_WIDTH * computeUnit(places);
  const places = countPlaces(value, decimals);
  return (
    isConclusive(value, places, width) || (guess > 0 && isConclusive(value / guess, RATIO_DECIMALS, width / guess))
  );
}

/** Further decimals that a number can have. */
const PLACES_MORE = 2;

/** Returns the number of decimals of a value: at least the usual ones, and at most some more. */
const countPlaces = (value: number, decimals: number): number =>
  Math.min(Math.max(decimals, countDecimals(value)), decimals + PLACES_MORE);

/** Ratios of a price or an amount in another unit to its own. */
const UNIT_RATIOS = [0.01, 100];

/** Returns the share of numbers in whose range there is one as short as a value, by its decimals or its ratio to the guess. */
function computeChance(value: number, { width, decimals, guess }: Precision): number {
  const ratio = value / guess;
  const places = countPlaces(value, decimals);
  // More decimals are more numbers.
  const numbers = (places - decimals + 1) / computeUnit(places);
  const isUnit = UNIT_RATIOS.some((one) => Math.abs(ratio - one) <= PRECISION * one);
  return Math.min(
    1,
    decimals < UNUSUAL_DECIMALS && hasDecimals(value, places) ? 2 * width * numbers : 1,
    guess > 0 && hasDecimals(ratio, RATIO_DECIMALS)
      ? (2 * width) / guess / (isUnit ? 1 : computeUnit(RATIO_DECIMALS))
      : 1,
  );
}

/** Decimals of the ratio of another value to that of an event: a tax or a factor. */
export const RATIO_DECIMALS = 2;

/** Sessions whose returns must agree with a value that is no short number. One unknown number needs more than one. */
const CONFIRMATIONS = 2;

/** Part of the rounding in which levels are equal. */
const EQUAL_PART = 0.01;

/** Returns true if two changes of a session have equal effects on the next ones. */
const haveEqualEffects = (a: Tried, b: Tried, tolerance: number): boolean =>
  a.effects.length > 1 &&
  a.effects.slice(1).every((effect, k) => Math.abs(effect - b.effects[k + 1]!) <= EQUAL_PART * tolerance + PRECISION);

/** Returns true if a value acts on the returns of further sessions, so that their agreement is evidence for it. */
function isConfirmed(
  { own, agreement }: DifferenceNode,
  { own: changed, brief, agreement: { reach: end } }: Tried,
  { outside }: Search,
): boolean {
  if (brief !== undefined) return false;
  const measure = (t: number): number => levelOn(changed, outside.days[t]!) / levelOn(own, outside.days[t]!);
  let count = 0;
  let previous = measure(agreement.reach);
  for (let t = agreement.reach + 1; t < end && count < CONFIRMATIONS; t++) {
    const ratio = measure(t);
    const tolerance = (4 * computeTolerance(outside, outside.values[t]!)) / outside.values[t]!;
    if (!(Math.abs(ratio / previous - 1) > tolerance)) continue; // a value that acts gradually is seen after some sessions
    count++;
    previous = ratio;
  }
  return count >= CONFIRMATIONS;
}

/** Returns the position of the first session that has the scale of the session of the difference. */
export function findAnchor(
  { unexplained: { breaks } }: DifferenceNode,
  { outside: { days } }: Pick<Search, 'outside'>,
): number {
  return breaks.length === 0 ? 0 : days.indexOf(breaks.at(-1)!);
}

interface NearValue {
  readonly value: number;
  /** Half the range of values that the rounding of the levels allows. */
  readonly width: number;
}

interface Narrowing {
  readonly runLevels: (value: number) => OwnLevels | null;
  readonly step: number;
  /** Position of the first session. */
  readonly from: number;
  readonly scale: (own: OwnLevels) => number;
}

/** Narrows the range of a value by the rounded levels of the following sessions, as long as they allow a common value. */
function narrow(
  near: NearValue,
  { runLevels, step, from, scale }: Narrowing,
  { outside }: Pick<Search, 'outside'>,
): NearValue {
  const [at, above] = [runLevels(near.value), runLevels(near.value + step)];
  if (at === null || above === null) return near;
  let [low, high] = [near.value - near.width, near.value + near.width];
  for (let t = from + 1; t < outside.days.length; t++) {
    const [level, other] = [at, above].map((own) => levelOn(own, outside.days[t]!) * scale(own)) as [number, number];
    const slope = (other - level) / step;
    const missing = outside.values[t]! - level;
    if (!(Math.abs(slope) > 0)) break;
    const [centre, width] = [
      near.value + missing / slope,
      computeTolerance(outside, outside.values[t]!) / Math.abs(slope),
    ];
    if (centre - width > high || centre + width < low) break;
    [low, high] = [Math.max(low, centre - width), Math.min(high, centre + width)];
  }
  return { value: (low + high) / 2, width: (high - low) / 2 };
}

/** Maximum number of further values with the usual decimals above a value, and below it, that its rounding allows. */
const NEIGHBOURS_MAX = 8;

/**
 * Returns numbers near a value: the shortest one, those with the usual decimals, with the fewest decimals within a width,
 * in a short ratio to the guess, and the value itself.
 */
function listShortNumbers(
  value: number,
  width: number,
  { decimals, guess }: Pick<FreeValue, 'decimals' | 'guess'>,
): number[] {
  const numbers: number[] = [];
  for (let d = 0; d < decimals; d++) {
    const short = roundHalfAwayFromZero(value, d);
    if (Math.abs(short - value) > width) continue;
    numbers.push(short);
    break;
  }
  numbers.push(roundHalfAwayFromZero(value, decimals));
  const count = Math.min(NEIGHBOURS_MAX, Math.floor(width / computeUnit(decimals)));
  for (let k = 1; k <= count; k++)
    for (const sign of [1, -1]) numbers.push(roundHalfAwayFromZero(value + sign * k * computeUnit(decimals), decimals));
  for (let d = 0; d <= 8; d++) {
    const short = roundHalfAwayFromZero(value, d);
    if (Math.abs(short - value) > width * 1.01) continue;
    numbers.push(short);
    break;
  }
  const ofGuess = guess * roundHalfAwayFromZero(value / guess, RATIO_DECIMALS);
  if (Math.abs(ofGuess - value) <= width * 1.01) numbers.push(ofGuess);
  return [...new Set([...numbers, value])];
}
