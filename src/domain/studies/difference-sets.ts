import { roundHalfAwayFromZero } from '../base/numbers.js';
import type { Day } from '../base/time.js';
import { ACTION_KINDS, readReference } from '../market/market-data.js';
import type { Candidate } from './difference-candidates.js';
import type { DifferenceNode } from './difference-nodes.js';
import { attempt, type CauseSubject, evaluateWhole, measureSensitivity } from './difference-terms.js';
import {
  agreesUpTo,
  computeLaterChance,
  evaluatePart,
  EVIDENCE_SESSIONS,
  FAINT_SESSIONS,
  findAnchor,
  findReviewBegin,
  findSession,
  isLargeFor,
  listAhead,
  PAIR_FAINT,
  RATIO_DECIMALS,
  reportSession,
  runFromSession,
  type Search,
  seek,
  solveFree,
  type Tried,
  tryAll,
  tryEdits,
} from './difference-trials.js';
import { computeTolerance, computeUnit, levelOn } from './outside-levels.js';

/** Relative changes of the level on the session of a difference and the next ones. */
type Moves = readonly number[];

/** Change of fixed size with its moves. */
interface Member {
  readonly candidate: Candidate;
  /** The first one is of the rule-based index. */
  readonly moves: Moves;
  /** Type of the cash that the change concerns; null if it concerns no cash. */
  readonly cash: Cash | null;
}

type Cash = 'special' | 'ordinary' | 'rights';

/** Change with a free value. The moves x of a value v above the guess have v / x linear in v. */
interface FreeMember extends Member {
  /** Values of v / x of the first move at one and at two steps above the guess. */
  readonly ratios: readonly [number, number];
  readonly step: number;
  readonly slopes: Moves;
}

/** Difference that a set of changes must make. */
interface Target {
  readonly wanted: Moves;
  /** Rounding of each move. */
  readonly tolerances: Moves;
  /** Relative change of the level per relative change of the rule-based index on the session of the difference. */
  readonly sensitivity: number;
}

/** Set of changes near a difference. */
interface NearSet {
  readonly members: readonly Member[];
  /** Error on the session of the difference. */
  readonly error: number;
}

/** Radius, in units of the rounding, in which other sets are counted: their number over it is expected in the rounding by chance. */
const RADIUS = 300;

/** Number of other sets within the radius if none is found. */
const NEAR_LEAST = 0.5;

/** Largest expected number of other sets that explain a session by chance. */
const SET_CHANCE = 0.02;

/** Maximum number of sets near a difference, and of those that are run. */
const SETS_MAX = 400;
const RUNS_MAX = 40;

/** Maximum number of changes whose sets are tried. */
const MEMBERS_MAX = 180;

/** Cash that lowers the divisor: none, or that of an adjusted close, or all of it. Other changes add up in the value. */
const DIVISORS: readonly (readonly (Cash | null)[])[] = [
  [],
  ['special'],
  ['special', 'ordinary'],
  ['rights'],
  ['rights', 'special'],
  ['rights', 'special', 'ordinary'],
];

/** Largest part of the square of the sum of moves by which the move of all differs from their sum. */
const PRODUCT = 4;

/** Largest relative error of a rate of exchange that multiplies the other moves of a session. */
const RATE_MOVE = 0.01;

/** Largest product of two moves in the move of both on a later session. */
const LATER_PRODUCT = 5;

/**
 * Returns sets of two or three changes of one session that explain it together. A set is evidence only if hardly any other
 * set is near the difference: with rounded levels, some of many sets agree by chance.
 */
export function listLocalSets(
  node: DifferenceNode,
  { tried, candidates }: { readonly tried: readonly Tried[]; readonly candidates: readonly Candidate[] },
  search: Search,
): Tried[] {
  const whole = createTarget(node, search);
  const members = listMembers(node, { tried, target: whole }, search);
  let free: FreeMember[] | undefined;
  for (let count = whole.wanted.length; count > 0; count--) {
    const target = { ...whole, wanted: whole.wanted.slice(0, count), tolerances: whole.tolerances.slice(0, count) };
    const counts = { near: members.filter((one) => measureError([one], target) !== null).length, chance: 0 };
    for (const size of [2, 3]) {
      const found = findSets(node, { members, target, size, counts }, search);
      if (found.length > 0) return found;
      if (counts.near === Infinity) break;
      free ??= listFreeMembers(node, { candidates, target: whole }, search);
      const withFree = findFreeSets(node, { members, free, target, size, counts }, search);
      if (withFree.length > 0) return withFree;
    }
  }
  return [];
}

function createTarget(node: DifferenceNode, search: Search): Target {
  const { outside } = search;
  const { reach, low, high } = node.agreement;
  const days = listAhead(node, search);
  const isScaled = Number.isFinite(high);
  const scale = isScaled ? (low + high) / 2 : outside.values[reach]! / levelOn(node.own, days[0]!);
  const ofScale = isScaled ? (high - low) / (high + low) : 0;
  const sensitivity = measureSensitivity(node.own, seek(node, search).session) ?? 1;
  const ofRule = (moves: Moves): number[] => [moves[0]! / sensitivity, ...moves.slice(1)];
  return {
    wanted: ofRule(days.map((day, k) => outside.values[reach + k]! / levelOn(node.own, day) / scale - 1)),
    tolerances: ofRule(
      days.map((_, k) => computeTolerance(outside, outside.values[reach + k]!) / outside.values[reach + k]! + ofScale),
    ).map(Math.abs),
    sensitivity,
  };
}

/** Returns the moves of ratios of levels. */
const toMoves = (ratios: readonly number[], { sensitivity }: Target): number[] =>
  ratios.map((ratio, k) => (ratio - 1) / (k === 0 ? sensitivity : 1));

/** Returns a move as a part of the divisor. */
const toPart = (move: number): number => move / (1 + move);

function findCash({ edits: [edit] }: Candidate): Member['cash'] {
  const type = edit?.kind === 'action' ? (edit.before ?? edit.after)!.type : 'SPLIT';
  if (type === 'RIGHTS_ISSUE') return 'rights';
  if (ACTION_KINDS[type] !== 'cash') return null;
  return type === 'DIVIDEND' ? 'ordinary' : 'special';
}

/** Returns the changes of fixed size that act on the session. A price can be carried for several sessions. */
function listMembers(
  node: DifferenceNode,
  { tried, target }: { readonly tried: readonly Tried[]; readonly target: Target },
  search: Search,
): Member[] {
  const single = tried.filter(
    ({ candidates: [one, second], effect }) =>
      second === undefined &&
      one!.date !== null &&
      one!.free === undefined &&
      Math.abs(effect - 1) > target.tolerances[0]! * Math.abs(target.sensitivity),
  );
  const longer = single.flatMap(({ candidates: [one] }) => {
    const second = one!.longer?.();
    const results = [second, second?.longer?.()];
    return results.flatMap((next) => (next == null ? [] : (tryEdits(node, next, search) ?? [])));
  });
  return [...single, ...longer].slice(0, MEMBERS_MAX).map(({ candidates: [candidate], effects }) => ({
    candidate: candidate!,
    moves: toMoves(effects, target),
    cash: findCash(candidate!),
  }));
}

function listFreeMembers(
  node: DifferenceNode,
  { candidates, target }: { readonly candidates: readonly Candidate[]; readonly target: Target },
  search: Search,
): FreeMember[] {
  return candidates.flatMap((candidate): FreeMember[] => {
    const { free, date } = candidate;
    if (free === undefined || date === null) return [];
    const measured = measureFree(node, candidate, search);
    if (measured === null) return [];
    const { step } = measured;
    const [at, above, far] = [measured.at, measured.above, measured.far].map((one) => toMoves(one, target)) as [
      number[],
      number[],
      number[],
    ];
    return [
      {
        candidate,
        moves: at,
        ratios: [step / (above[0]! - at[0]!), (2 * step) / (far[0]! - at[0]!)],
        step,
        slopes: at.map((move, k) => (above[k]! - move) / step),
        cash: findCash(candidate),
      },
    ];
  });
}

function sumMoves(members: readonly Member[], k: number): number {
  let sum = 0;
  for (const { moves } of members) sum += moves[k]!;
  return sum;
}

/** Returns the value and the divisor after a set of changes, of which some cash lowers the divisor. */
function sumParts(members: readonly Member[], divisors: readonly (Cash | null)[]): { value: number; divisor: number } {
  let [value, divisor] = [1, 1];
  for (const { moves, cash } of members)
    if (divisors.includes(cash)) divisor -= toPart(moves[0]!);
    else value += moves[0]!;
  return { value, divisor };
}

/** Returns the error of a set on the session of the difference. Returns null if it is not near the difference on each session. */
function measureError(members: readonly Member[], target: Target): number | null {
  const { wanted, tolerances } = target;
  let [sum, ofRates] = [0, 0];
  let hasRate = false;
  for (const { moves, candidate } of members) {
    sum += Math.abs(moves[0]!);
    if (candidate.subject === 'currency') hasRate = true;
    else ofRates += RATE_MOVE * Math.abs(moves[0]!);
  }
  // Another rate multiplies the changes of securities in its currency.
  const radius = RADIUS * tolerances[0]! + (hasRate ? ofRates : 0);
  if (Math.abs(sumMoves(members, 0) - wanted[0]!) > radius + PRODUCT * sum * sum) return null;
  let error = Infinity;
  for (const divisors of DIVISORS) {
    const { value, divisor } = sumParts(members, divisors);
    error = Math.min(error, Math.abs(value / divisor - 1 - wanted[0]!));
  }
  return error <= radius && agreesLater(members, target, RADIUS) ? error : null;
}

function agreesLater(members: readonly Member[], { wanted, tolerances }: Target, radius: number): boolean {
  if (wanted.length === 1) return true;
  const largest = members.map(({ moves }) => Math.max(...moves.map(Math.abs)));
  const sum = largest.reduce((all, one) => all + one, 0);
  const products = (sum ** 2 - largest.reduce((all, one) => all + one ** 2, 0)) / 2;
  return wanted.every(
    (one, k) => k === 0 || Math.abs(one - sumMoves(members, k)) <= radius * tolerances[k]! + LATER_PRODUCT * products,
  );
}

interface SetSearch {
  readonly members: readonly Member[];
  readonly target: Target;
  readonly size: number;
  /** Number of sets near the difference, and expected number that agree by chance. */
  readonly counts: { near: number; chance: number };
}

/** Calls a function with each set of changes of different objects, until it returns false. */
function visitSets(members: readonly Member[], size: number, visit: (set: readonly Member[]) => boolean): boolean {
  const set: Member[] = [];
  const extend = (from: number): boolean => {
    if (set.length === size) return visit(set);
    for (let k = from; k < members.length; k++) {
      const next = members[k]!;
      if (set.some((one) => isSameObject(one.candidate, next.candidate) || areOfReview(one, next))) continue;
      set.push(next);
      const isOpen = extend(k + 1);
      set.pop();
      if (!isOpen) return false;
    }
    return true;
  };
  return extend(0);
}

/** Returns true for two changes of reviews, which act on each other's weights. */
const areOfReview = (a: Member, b: Member): boolean =>
  a.candidate.review !== undefined && b.candidate.review !== undefined;

const toNames = (candidates: readonly Candidate[]): string =>
  candidates
    .map(({ subject, identifier, date }) => `${subject} ${identifier} ${date}`)
    .toSorted()
    .join();

function findSets(node: DifferenceNode, { members, target, size, counts }: SetSearch, search: Search): Tried[] {
  const near: NearSet[] = [];
  visitSets(members, size, (set) => {
    const error = measureError(set, target);
    if (error !== null) near.push({ members: [...set], error });
    return near.length < SETS_MAX;
  });
  if (near.length >= SETS_MAX) {
    counts.near = Infinity;
    return [];
  }
  const found: Tried[] = [];
  const others = new Set<string>();
  for (const [k, { members: set, error }] of near.toSorted((a, b) => a.error - b.error).entries()) {
    const changes = set.map(({ candidate }) => candidate);
    const tried = k < RUNS_MAX ? tryAll(node, changes, search) : null;
    if (tried !== null && tried.agreement.reach >= node.agreement.reach + target.wanted.length) found.push(tried);
    else if (tried === null ? error <= RADIUS * target.tolerances[0]! : isNear(tried, target))
      others.add(toNames(changes));
  }
  const names = new Set(found.map(({ candidates }) => toNames(candidates)));
  counts.near += [...others].filter((name) => !names.has(name)).length + Math.max(0, names.size - 1);
  return selectSets(node, { found, counts }, search);
}

interface FoundSets extends Pick<SetSearch, 'counts'> {
  readonly found: readonly Tried[];
}

/** Returns the sets of the same objects that agree longest, if other ones hardly do so by chance. */
function selectSets(node: DifferenceNode, { found, counts }: FoundSets, search: Search): Tried[] {
  const reach = Math.max(...found.map(({ agreement }) => agreement.reach));
  const longest = found.filter(({ agreement }) => agreement.reach === reach);
  if (new Set(longest.map(({ candidates }) => toNames(candidates))).size !== 1) return [];
  return longest.flatMap((one) => {
    const near = Math.max(counts.near, NEAR_LEAST) / RADIUS;
    const expected = (near + counts.chance) * computeLaterChance(node, one, search);
    return expected < SET_CHANCE ? [{ ...one, expected, isCertain: false }] : [];
  });
}

/** Returns true if a run is near a difference. */
function isNear({ effects }: Tried, target: Target): boolean {
  const moves = toMoves(effects, target);
  return target.wanted.every((one, k) => Math.abs(moves[k]! - one) <= RADIUS * target.tolerances[k]!);
}

interface FreeSetSearch extends SetSearch {
  readonly free: readonly FreeMember[];
}

/** Finds sets of which one change has a free value, which must be a short number. */
function findFreeSets(
  node: DifferenceNode,
  { members, free, target, size, counts }: FreeSetSearch,
  search: Search,
): Tried[] {
  const near: (NearSet & { readonly value: FreeMember })[] = [];
  visitSets(members, size - 1, (set) => {
    for (const value of free) {
      if (set.some(({ candidate }) => isSameObject(candidate, value.candidate))) continue;
      const { error, chance } = solveShort(set, value, target);
      counts.chance += chance;
      if (error !== null) near.push({ members: [...set], error, value });
    }
    return near.length < SETS_MAX;
  });
  if (near.length >= SETS_MAX) return [];
  const least = node.agreement.reach + target.wanted.length;
  const found = near
    .toSorted((a, b) => a.error - b.error)
    .slice(0, RUNS_MAX)
    .flatMap(({ members: set, value }) =>
      solveWith(node, { value: value.candidate, others: set.map(({ candidate }) => candidate), least }, search),
    );
  return selectSets(node, { found, counts }, search);
}

/** Finds the value with which a set explains the difference. Returns its error to a short number, and the chance of one. */
function solveShort(
  set: readonly Member[],
  value: FreeMember,
  target: Target,
): { readonly error: number | null; readonly chance: number } {
  const { moves, slopes, ratios, step, cash, candidate } = value;
  const { guess, decimals, accepts } = candidate.free!;
  const { wanted, tolerances } = target;
  const bend = (ratios[1] - ratios[0]) / step;
  let best = Infinity;
  let isPossible = false;
  for (const divisors of DIVISORS) {
    const parts = sumParts(set, divisors);
    const level = 1 + wanted[0]!;
    const part = parts.divisor - parts.value / level;
    const move = divisors.includes(cash) ? part / (1 - part) : level * parts.divisor - parts.value;
    const number = guess + (ratios[0] - bend * step) / (1 / (move - moves[0]!) - bend);
    if (!accepts(number)) continue;
    const after = {
      ...value,
      moves: moves.map((one, k) => one + (slopes[k]! / slopes[0]!) * (move - moves[0]!)),
    };
    if (!agreesLater([...set, after], target, 1)) continue;
    isPossible = true;
    const short = [
      roundHalfAwayFromZero(number, decimals),
      guess * roundHalfAwayFromZero(number / guess, RATIO_DECIMALS),
    ];
    for (const one of short) best = Math.min(best, Math.abs((one - number) * slopes[0]!));
  }
  if (!isPossible) return { error: null, chance: 0 };
  const width = tolerances[0]! / Math.abs(slopes[0]!);
  const chance = (2 * width) / computeUnit(decimals) + (2 * width) / guess / computeUnit(RATIO_DECIMALS);
  return { error: best <= 2 * tolerances[0]! ? best : null, chance: Math.min(1, chance) };
}

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

/** Reference field by which the securities of a market close on the same holidays. */
const HOLIDAY_FIELD = 'COUNTRY';

/** Returns the prices of all securities of a country that are carried on a session: a holiday of its market. */
export function listHolidaySets(node: DifferenceNode, candidates: readonly Candidate[], search: Search): Tried[] {
  const { reference } = node.terms.market;
  const countries = new Map<string, Candidate[]>();
  for (const candidate of candidates) {
    const { manner, subject, identifier, date, through } = candidate;
    if (manner !== 'carried' || subject !== 'price' || identifier === null || date !== through) continue;
    const country = readReference(reference, identifier, HOLIDAY_FIELD, date!);
    if (typeof country === 'string') countries.set(country, [...(countries.get(country) ?? []), candidate]);
  }
  // A holiday of all markets is no session. Near the rounding, the prices of some country explain a session by chance.
  if (countries.size < 2 || !isLargeFor(node, countries.size, search)) return [];
  return [...countries.values()].flatMap((carried) => {
    if (carried.length < 2) return [];
    const result = tryAll(node, carried, search);
    return result !== null && agreesUpTo(node, result, node.agreement.reach + 1, search) ? [result] : [];
  });
}

/** Returns another value of an event together with a convention of events of its type. Evidence are many sessions. */
export function listConventionPairs(node: DifferenceNode, candidates: readonly Candidate[], search: Search): Tried[] {
  const conventions = candidates.filter(({ types, free }) => types !== undefined && free === undefined);
  const least = node.agreement.reach + FAINT_SESSIONS;
  return candidates.flatMap((value) => {
    const [edit] = value.edits;
    if (value.free === undefined || edit?.kind !== 'action' || edit.before === null) return [];
    const { type } = edit.before;
    return conventions
      .filter(({ types }) => types!.includes(type))
      .flatMap((one) => solveWith(node, { value, others: [one], least }, search));
  });
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
