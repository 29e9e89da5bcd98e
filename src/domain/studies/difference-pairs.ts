import type { Day } from '../base/time.js';
import type { Candidate } from './difference-candidates.js';
import type { DifferenceNode } from './difference-result.js';
import { attempt, type CauseSubject, evaluateWhole } from './difference-terms.js';
import {
  evaluatePart,
  CHANCE,
  EVIDENCE_SESSIONS,
  FAINT_SESSIONS,
  findAnchor,
  findReviewBegin,
  findSession,
  isLargeFor,
  listAhead,
  PAIR_FAINT,
  reportSession,
  runFromSession,
  type Search,
  solveFree,
  type Tried,
  tryAll,
  tryEdits,
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

/** Returns pairs of changes of one session that explain it together. */
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
      if (isSameObject(a.candidates[0]!, b.candidates[0]!)) continue;
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
  // Of many pairs of events and prices, some have the size of one step by chance.
  const isStep = pair.every(({ date, review }) => date !== null && review === undefined);
  if (isStep && !isLargeFor(node, PAIRS_MAX, search)) return [];
  const result = tryAll(node, ordered, search);
  return result !== null && result.agreement.reach >= Math.min(node.agreement.reach + count, search.outside.days.length)
    ? [result]
    : [];
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

/**
 * Returns pairs of a free value and a change of fixed size. A value that acts on every session needs many sessions as
 * evidence, a price or an amount a number with the usual decimals in a range that is narrow for all changes.
 */
export function listFreePairs(node: DifferenceNode, { candidates, tried }: FreePairs, search: Search): Tried[] {
  const { outside } = search;
  const { reach, low, high } = node.agreement;
  const days = listAhead(node, search);
  const scale = Number.isFinite(high) ? (low + high) / 2 : outside.values[reach]! / levelOn(node.own, days[0]!);
  const wanted = days.map((day, k) => Math.log(outside.values[reach + k]! / levelOn(node.own, day) / scale));
  const conventions = candidates.filter(
    ({ date, free, subject }) => date === null && !free && OF_OVERLAYS.has(subject),
  );
  const fixed = tried.filter(({ candidates: [one, second] }) => second === undefined && one!.free === undefined);
  return candidates.flatMap((value) => {
    const { free } = value;
    if (free === undefined) return [];
    const step = free.guess === 0 ? 0.01 : 0.1 * free.guess;
    const measure = (number: number): number[] | null => {
      const part = attempt(() => evaluatePart(node, free.create(number), [value], search));
      if (part === null) return null;
      const ratio = (day: Day): number => levelOn(part, day) / levelOn(node.own, day);
      const first = value.date === null ? ratio(outside.days[findAnchor(node, search)]!) : 1;
      return days.map((day) => Math.log(ratio(day) / first));
    };
    const [at, above] = [measure(free.guess), measure(free.guess + step)];
    if (at === null || above === null || !(Math.abs(above[0]! - at[0]!) > 0)) return [];
    const others = fixed.filter(
      ({ candidates: [one] }) => !isSameObject(one!, value) && (one!.date === null) === (value.date === null),
    );
    const measured = others.flatMap((other) => {
      const rest = wanted.map((one, k) => one - Math.log(other.effects[k]!));
      const number = free.guess + (step * (rest[0]! - at[0]!)) / (above[0]! - at[0]!);
      if (!free.accepts(number) && number !== free.guess) return [];
      const errors = rest.map((one, k) =>
        Math.abs(at[k]! + ((above[k]! - at[k]!) * (number - free.guess)) / step - one),
      );
      return [{ other, error: errors.reduce((sum, one) => sum + one, 0) }];
    });
    return measured
      .toSorted((a, b) => a.error - b.error)
      .slice(0, FREE_PAIRS_MAX)
      .flatMap(({ other }) =>
        solveWith(node, { value, other: other.candidates[0]!, count: others.length, conventions }, search),
      );
  });
}

interface ValueWith {
  readonly value: Candidate;
  readonly other: Candidate;
  /** Number of changes that are combined with the value. */
  readonly count: number;
  /** Conventions of fixed size that act on every session. */
  readonly conventions: readonly Candidate[];
}

/** Subjects of conventions that act on every session. */
const OF_OVERLAYS: ReadonlySet<CauseSubject> = new Set(['fee', 'financing', 'day_count']);

/** Finds a free value after another change. */
function solveWith(node: DifferenceNode, { value, other, count, conventions }: ValueWith, search: Search): Tried[] {
  const own = attempt(() => evaluateWhole(node.own, [other], findSession(node, search.outside)));
  if (own === null) return [];
  const after = { ...node, own, terms: own.terms };
  const found = solveFree(after, value, search);
  const least = node.agreement.reach + (value.date === null ? FAINT_SESSIONS : EVIDENCE_SESSIONS);
  if (found === null || found.agreement.reach < Math.min(least, search.outside.days.length)) return [];
  if (value.date !== null && !(found.isUsual === true && found.chance! * count < CHANCE)) return [];
  // A convention of fixed size is likelier than a value that is no short number.
  const likelier = value.date === null && found.isUsual === false ? conventions : [];
  const equal = likelier.flatMap((one) => tryEdits(after, one, search) ?? []);
  return [found, ...equal.filter(({ agreement: { reach } }) => reach >= found.agreement.reach)].map((one) => ({
    ...one,
    candidates: [other, ...one.candidates],
  }));
}

/** Returns the largest of the effects on a few sessions. */
const measureLargest = (effects: readonly number[]): number =>
  Math.max(...effects.map((effect) => Math.abs(effect - 1)));

/** Returns true for a convention that acts at reviews. */
const isOfReviews = ({ date, subject, free }: Candidate): boolean =>
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
const isSameObject = (a: Candidate, b: Candidate): boolean =>
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
