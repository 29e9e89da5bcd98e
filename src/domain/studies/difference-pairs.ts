import type { Day } from '../base/time.js';
import type { Candidate } from './difference-candidates.js';
import type { DifferenceNode } from './difference-result.js';
import { attempt, type CauseSubject, evaluateWhole } from './difference-terms.js';
import {
  agreesUpTo,
  evaluatePart,
  EVIDENCE_SESSIONS,
  FAINT_SESSIONS,
  findAnchor,
  findReviewBegin,
  findSession,
  listAhead,
  PAIR_FAINT,
  reportSession,
  runFromSession,
  type Search,
  solveFree,
  type Tried,
  tryAll,
} from './difference-trials.js';
import { computeTolerance, levelOn } from './outside-levels.js';

/** Maximum number of pairs of changes of one session that are computed. */
const PAIRS_MAX = 60;

/** Largest error of the product of two effects on one review, relative to the smaller one. */
const REVIEW_ERROR = 0.2;

/** Largest error of the product of the effects of a change and of a convention on one review. */
const CONVENTION_ERROR = 1.2;

/** Largest error of the product of two effects on one session, in units of the product of the effects. */
const INTERACTION = 5;

/** Returns pairs of changes, of which one is a convention or both are of reviews, that explain a session together. */
export function listFixedPairs(node: DifferenceNode, tried: readonly Tried[], search: Search): Tried[] {
  const { outside } = search;
  const { reach, low, high } = node.agreement;
  const days = listAhead(node, search);
  const value = outside.values[reach]!;
  const tolerance = computeTolerance(outside, value) / value;
  const scale = Number.isFinite(high) ? (low + high) / 2 : value / levelOn(node.own, days[0]!);
  const wanted = days.map((day, k) => outside.values[reach + k]! / levelOn(node.own, day) / scale);
  const local = tried.filter(({ candidates: [one], effect, effects }) =>
    // A convention acts a session later than a review that is moved by a session.
    one!.date === null ? measureLargest(effects) > tolerance / 2 : Math.abs(effect - 1) > tolerance / 2,
  );
  const pairs: PairOfChanges[] = [];
  for (let i = 0; i < local.length; i++)
    for (let j = i + 1; j < local.length; j++) {
      const [a, b] = [local[i]!, local[j]!];
      if (isSameObject(a.candidates[0]!, b.candidates[0]!) || isOfSets(a, b)) continue;
      const moves = Math.abs((a.effect - 1) * (b.effect - 1));
      const errors = wanted.map((one, k) => Math.abs(a.effects[k]! * b.effects[k]! - one));
      // Two changes of one review act on each other's weights.
      const isOfReview = [a, b].every(({ candidates: [one] }) => one!.review !== undefined || isOfReviews(one!));
      const isMixed = [a, b].some(({ candidates: [one] }) => isOfReviews(one!));
      const error = isMixed ? CONVENTION_ERROR : REVIEW_ERROR;
      const mixed = isOfReview ? error * Math.min(...[a, b].map((one) => measureLargest(one.effects))) : 0;
      if (errors[0]! <= 2 * tolerance + INTERACTION * moves + mixed + 1e-9)
        pairs.push({ pair: [a, b], error: errors[0]!, sum: errors.reduce((sum, one) => sum + one, 0), isMixed });
    }
  const ordered = [
    ...pairs.toSorted((a, b) => a.sum - b.sum).slice(0, PAIRS_MAX / 2),
    // The effect of a convention on a review that is moved is known least.
    ...pairs
      .filter(({ isMixed }) => isMixed)
      .toSorted((a, b) => a.sum - b.sum)
      .slice(0, PAIRS_MAX / 2),
    ...pairs.toSorted((a, b) => a.error - b.error).slice(0, PAIRS_MAX / 2),
  ];
  // Of many pairs, some explain a session by chance: evidence are later sessions.
  const isNear = outside.decimals !== null && Math.abs(wanted[0]! - 1) < PAIR_FAINT * tolerance;
  return [...new Set(ordered)].flatMap(({ pair: [a, b] }) =>
    tryPair(node, { pair: [a.candidates[0]!, b.candidates[0]!], isNear }, search),
  );
}

/** Returns true for two changes of one session that act on the level without each other. */
const isOfSets = (...pair: readonly Tried[]): boolean =>
  pair.every(({ candidates: [one] }) => one!.date !== null) &&
  pair.some(({ candidates: [one] }) => one!.review === undefined);

interface TriedPair {
  readonly pair: readonly [Candidate, Candidate];
  /** True if the difference is near the rounding, where two of many changes explain it by chance. */
  readonly isNear: boolean;
}

/** Runs two changes. Evidence for two conventions are more sessions, because each acts on many. */
function tryPair(node: DifferenceNode, { pair, isNear }: TriedPair, search: Search): Tried[] {
  const isWhole = pair.every(({ date }) => date === null);
  const count = isNear || isWhole ? FAINT_SESSIONS : EVIDENCE_SESSIONS;
  const ordered = pair.toSorted((one, other) => Number(one.date === null) - Number(other.date === null));
  const result = tryAll(node, ordered, search);
  return result !== null && agreesUpTo(node, result, node.agreement.reach + count, search) ? [result] : [];
}

/** Subjects of conventions that act only on dividends of one type. */
const OF_TYPES: ReadonlySet<CauseSubject> = new Set(['variant', 'tax', 'reinvestment', 'special_dividend']);

/** Returns pairs of a dividend of another type and a convention that then acts, or does not act, on it. */
export function listRetypedPairs(node: DifferenceNode, candidates: readonly Candidate[], search: Search): Tried[] {
  const retyped = candidates.filter(
    ({ edits: [edit] }) =>
      edit?.kind === 'action' && edit.before?.type !== edit.after?.type && edit.after !== null && edit.before !== null,
  );
  const conventions = candidates.filter(
    ({ date, free, subject }) => date === null && free === undefined && OF_TYPES.has(subject),
  );
  const pairs = retyped.flatMap((one) => conventions.map((other) => [one, other] as const));
  return pairs.slice(0, PAIRS_MAX / 2).flatMap((pair) => tryPair(node, { pair, isNear: true }, search));
}

/** Maximum number of changes that are combined with one free value. */
const FREE_PAIRS_MAX = 12;

interface FreePairs {
  readonly candidates: readonly Candidate[];
  readonly tried: readonly Tried[];
}

/** Returns pairs of a value that acts on every session and a convention of fixed size. Evidence are many sessions. */
export function listFreePairs(node: DifferenceNode, { candidates, tried }: FreePairs, search: Search): Tried[] {
  const { outside } = search;
  const { reach, low, high } = node.agreement;
  const days = listAhead(node, search);
  const scale = Number.isFinite(high) ? (low + high) / 2 : outside.values[reach]! / levelOn(node.own, days[0]!);
  const wanted = days.map((day, k) => Math.log(outside.values[reach + k]! / levelOn(node.own, day) / scale));
  const others = tried.filter(
    ({ candidates: [one, second] }) => second === undefined && one!.free === undefined && one!.date === null,
  );
  const least = reach + FAINT_SESSIONS;
  return candidates.flatMap((value) => {
    const { free, date } = value;
    const measured = free === undefined || date !== null ? null : measureFree(node, value, search);
    if (free === undefined || measured === null) return [];
    const { step } = measured;
    const [at, above] = [measured.at, measured.above].map((ratios) => ratios.map(Math.log)) as [number[], number[]];
    const errors = others.flatMap((other) => {
      if (isSameObject(other.candidates[0]!, value)) return [];
      const rest = wanted.map((one, k) => one - Math.log(other.effects[k]!));
      const number = free.guess + (step * (rest[0]! - at[0]!)) / (above[0]! - at[0]!);
      if (!free.accepts(number) && number !== free.guess) return [];
      const error = rest.reduce(
        (sum, one, k) => sum + Math.abs(at[k]! + ((above[k]! - at[k]!) * (number - free.guess)) / step - one),
        0,
      );
      return [{ other, error }];
    });
    return errors
      .toSorted((a, b) => a.error - b.error)
      .slice(0, FREE_PAIRS_MAX)
      .flatMap(({ other }) => solveWith(node, { value, others: other.candidates, least }, search));
  });
}

/** Ratios of the levels on the sessions of a difference with a value and with one a step above it. */
interface MeasuredValue {
  readonly at: readonly number[];
  readonly above: readonly number[];
  /** Ratios with a value two steps above. */
  readonly far: readonly number[];
  readonly step: number;
}

/** Measures how a free value acts on the sessions of a difference. Returns null if it does not act on the first one. */
export function measureFree(node: DifferenceNode, candidate: Candidate, search: Search): MeasuredValue | null {
  const { outside } = search;
  const { guess, create } = candidate.free!;
  const step = guess === 0 ? 0.01 : 0.1 * guess;
  const measure = (number: number): number[] | null => {
    const part = attempt(() => evaluatePart(node, create(number), [candidate], search));
    if (part === null) return null;
    const ratio = (day: Day): number => levelOn(part, day) / levelOn(node.own, day);
    const first = candidate.date === null ? ratio(outside.days[findAnchor(node, search)]!) : 1;
    return listAhead(node, search).map((day) => ratio(day) / first);
  };
  const [at, above, far] = [measure(guess), measure(guess + step), measure(guess + 2 * step)];
  if (at === null || above === null || far === null) return null;
  return Math.abs(above[0]! - at[0]!) > 0 ? { at, above, far, step } : null;
}

interface ValueWith {
  readonly value: Candidate;
  readonly others: readonly Candidate[];
  /** Position up to which the levels must agree. */
  readonly least: number;
}

/** Finds a free value after other changes. */
export function solveWith(node: DifferenceNode, { value, others, least }: ValueWith, search: Search): Tried[] {
  const own = attempt(() => evaluateWhole(node.own, others, findSession(node, search.outside)));
  if (own === null) return [];
  const after = { ...node, own, terms: own.terms };
  const found = solveFree(after, value, search);
  if (found === null || !agreesUpTo(node, found, least, search)) return [];
  // With another change, some value that is no short number explains a level that grows by another rate.
  return found.isUsual === false ? [] : [{ ...found, candidates: [...others, ...found.candidates] }];
}

/** Returns the largest of the effects on a few sessions. */
const measureLargest = (effects: readonly number[]): number =>
  Math.max(...effects.map((effect) => Math.abs(effect - 1)));

/** Returns true for a convention that acts at reviews. */
export const isOfReviews = ({ date, subject, free }: Candidate): boolean =>
  date === null && free === undefined && (subject === 'cap' || subject === 'pricing');

interface PairOfChanges {
  readonly pair: readonly [Tried, Tried];
  /** Error of the product of the effects on the session of the difference, and its sum with the next sessions. */
  readonly error: number;
  readonly sum: number;
  /** True with a convention of reviews. */
  readonly isMixed: boolean;
}

/** Returns true for two changes of the same event, price or review, which exclude each other. */
export const isSameObject = (a: Candidate, b: Candidate): boolean =>
  a.subject === b.subject && a.identifier === b.identifier && a.date === b.date;

/** Measures the effects of conventions of reviews, each of which can explain a difference together with a change of the review. */
export function measureConventions(node: DifferenceNode, candidates: readonly Candidate[], search: Search): Tried[] {
  reportSession(node, search);
  const session = findSession(node, search.outside);
  const from = findReviewBegin(node, session);
  if (from === null) return [];
  const days = listAhead(node, search);
  const to = node.own.compositions.sm.sessionAt(days.at(-1)!);
  return candidates.flatMap((candidate) => {
    const { edits } = candidate;
    if (!isOfReviews(candidate)) return [];
    const part = runFromSession(node, edits, { from, to });
    if (part === null) return [];
    const effects = days.map((day) => levelOn(part, day) / levelOn(node.own, day));
    if (effects.every((effect) => effect === 1) || Number.isNaN(effects[0])) return [];
    const { terms, own, agreement } = node;
    return [{ candidates: [candidate], terms, own, agreement, effect: effects[0]!, effects }];
  });
}
