import { findLastAtMost, findUpperMedian, roundHalfAwayFromZero } from '../base/numbers.js';
import type { Day } from '../base/time.js';
import { type Candidate, createRuleSite, listConstituentCandidates } from './difference-candidates.js';
import { createConvention, listConventions, listOtherFees } from './difference-conventions.js';
import { isOfReviews } from './difference-sets.js';
import type { ChosenCandidate, DifferenceNode, Fit } from './difference-nodes.js';
import {
  attempt,
  type CauseSubject,
  changeLevels,
  type Edit,
  evaluateChanged,
  type Evaluation,
} from './difference-terms.js';
import { createSite, giveValue, reportSession, type Search } from './difference-trials.js';
import {
  compareLevels,
  computeTolerance,
  computeUnit,
  countEqualReturns,
  countDecimals,
  findDecimals,
  haveEqualLevels,
  levelOn,
  NOTHING,
  type OutsideLevels,
  type OwnLevels,
  PRECISION,
} from './outside-levels.js';

/** Least support of a convention from which causes are searched: a chance of one in ten thousand. */
const SUPPORT_LEAST = Math.log(10_000);

/** Largest support by one session, so that several sessions are needed. */
const SUPPORT_SESSION = 3;

/** Subjects of conventions of the rates, of those that are run with each of them, and the maximum of their runs by securities and sessions. */
const OF_RATES: ReadonlySet<CauseSubject> = new Set(['currency']);
const WITH_RATES: ReadonlySet<CauseSubject> = new Set(['cap', 'pricing', 'reinvestment', 'variant']);
const PAIR_CELLS_MAX = 2_000_000;

/** Maximum number of sites whose conventions are listed. */
const SITES_MAX = 6;

/** Product of securities and sessions above which only conventions of every session are run. */
const CELLS_MAX = 300_000;

/** Subjects of conventions that act on every session. */
const OF_SESSIONS: ReadonlySet<CauseSubject> = new Set(['calendar', 'currency', 'variant', 'reinvestment']);

/** Subjects of conventions that read the levels of a run otherwise: they cost no run. */
const OF_READING: ReadonlySet<CauseSubject> = new Set(['calendar', 'currency']);

/** Reviews, or events, that must support a convention of them: a change of one review or event is no convention. */
const EVENTS_LEAST = 2;

/** Conventions from which causes are searched. */
export interface ConventionStart {
  /** States after each of them in turn. */
  readonly fits: readonly Fit[];
  /** Runs that do what the first one does. */
  readonly rivals: readonly Fit[];
}

/**
 * Returns the conventions without which no other cause can be seen: one that makes many returns agree, alone or with
 * another one.
 */
export function listStarts(start: DifferenceNode, best: DifferenceNode | null, search: Search): ConventionStart[] {
  const { outside } = search;
  const conventions = listSites(start, best, search).flatMap((site) => listConventionsAt(start, site, search));
  const { rule } = start.own;
  const cells = start.own.days.length * rule.sm.identifiers.length;
  const isLarge = cells > CELLS_MAX;
  const keys = new Set<string>();
  const singles = conventions.flatMap((one) => {
    const key = `${one.words} ${one.identifier} ${one.value}`;
    if (keys.has(key) || (isLarge && !OF_SESSIONS.has(one.subject))) return [];
    keys.add(key);
    return runFrom(start, one, search);
  });
  const measure = createSupport(start.own, outside);
  const support = (fits: readonly Fit[]): Supported => {
    const moves = measure(fits.at(-1)!.own);
    const isSeen = fits.every(({ candidates: [one] }) => isOfSeveral(start.own, one!, { moves, outside }));
    return { fits, support: isSeen ? moves.reduce((sum, one) => sum + one, 0) : -Infinity };
  };
  const addEach = (firsts: readonly Fit[], others: readonly Fit[]): Supported[] =>
    firsts.flatMap((first) =>
      others.flatMap((other) => {
        const second = other.candidates[0]!;
        if (first === other || first.candidates[0]!.subject === second.subject) return [];
        const after = { ...start, own: first.own, terms: first.own.terms };
        return runFrom(after, second, search).map((fit) => support([first, fit]));
      }),
    );
  const readings = singles.filter(({ candidates: [one] }) => isReading(one!));
  const ofRun = singles.filter(({ candidates: [one] }) => !isReading(one!));
  const alone = singles.map((fit) => support([fit]));
  let supported = selectSupported([...alone, ...addEach(ofRun, readings), ...addEach(readings.slice(0, 1), readings)]);
  if (supported.length === 0 && best === null) {
    const isOf = (subjects: ReadonlySet<CauseSubject>): Fit[] =>
      ofRun.filter(({ candidates: [one] }) => subjects.has(one!.subject));
    const firsts = isOf(OF_RATES);
    const others = isOf(WITH_RATES);
    if (firsts.length * others.length * cells <= PAIR_CELLS_MAX) supported = selectSupported(addEach(firsts, others));
  }
  if (supported.length === 0 && best !== null) {
    const members = listFirstConstituents(start, search);
    if (members.length * cells <= MEMBER_CELLS_MAX) {
      const ofMembers = members.flatMap((one) => runFrom(start, one, search));
      supported = selectSupported([...ofMembers.map((fit) => support([fit])), ...addEach(ofMembers, readings)]);
    }
  }
  return groupEqual(supported, search);
}

/** Product of constituents, securities and sessions above which constituents that differ from the start are not run. */
const MEMBER_CELLS_MAX = 5_000_000;

/** Returns constituents that may differ from before the first level on, if hardly any return agrees. */
function listFirstConstituents(start: DifferenceNode, { outside, known }: Search): Candidate[] {
  const { own, agreement } = start;
  const { length } = outside.days;
  if (known.has('constituent') || agreement.reach >= length || 2 * countEqualReturns(own, outside) >= length) return [];
  const site = createRuleSite(createSite(start, outside.days[agreement.reach]!, { outside }));
  const begin = site.sm.sessionAt(outside.days[0]!);
  return listConstituentCandidates(site).filter(({ review }) => review!.session <= begin);
}

interface Supported extends Pick<ConventionStart, 'fits'> {
  readonly support: number;
}

/** Returns the conventions with most support. Each further one needs the least support without the others. */
const selectSupported = (all: readonly Supported[]): Supported[] =>
  all
    .filter(({ support, fits }) => support > SUPPORT_LEAST * fits.length)
    .toSorted((a, b) => b.support - a.support - SUPPORT_LEAST * (b.fits.length - a.fits.length));

/** Returns the first ones, with those that have the same levels as rivals. */
function groupEqual([first, ...others]: readonly Supported[], { outside }: Search): ConventionStart[] {
  if (first === undefined) return [];
  const isRival = ({ fits }: Supported): boolean =>
    fits.length === first.fits.length &&
    fits[1]?.candidates[0] === first.fits[1]?.candidates[0] &&
    haveEqualLevels(fits.at(-1)!.own, first.fits.at(-1)!.own, outside);
  return [{ fits: first.fits, rivals: others.filter(isRival).map(({ fits }) => fits[0]!) }];
}

const isReading = ({ subject, edits }: Candidate): boolean =>
  OF_READING.has(subject) && edits.every(({ kind }) => kind === 'levels');

/** Returns the positions of the first differences that are left. */
function listSites(
  { agreement: { reach } }: DifferenceNode,
  best: DifferenceNode | null,
  { outside }: Search,
): number[] {
  const left = (best?.unexplained ?? NOTHING).breaks
    .map((day) => outside.days.indexOf(day))
    .filter((position) => position > reach);
  return [reach, ...left].slice(0, SITES_MAX);
}

/** Returns the sessions of the reviews, or of the events, on which a convention acts; null if it acts on every session. */
function listEventSessions({ rule: { sm, list } }: Evaluation, candidate: Candidate): number[] | null {
  if (isOfReviews(candidate)) return list.map(({ session }) => session + 1);
  const { types } = candidate;
  if (types === undefined) return null;
  return sm.actions.all.filter(({ action }) => types.includes(action.type)).map(({ session }) => session);
}

interface SupportMoves {
  readonly moves: Float64Array;
  readonly outside: OutsideLevels;
}

interface SupportCounts {
  readonly supporting: number;
  readonly against: number;
}

/**
 * Counts the reviews or events that are followed by returns that support a convention of them, up to the next one, and
 * those that are followed by returns without it. Returns null for other conventions.
 */
function countSupport(
  own: Evaluation,
  candidate: Candidate,
  { moves, outside: { days } }: SupportMoves,
): SupportCounts | null {
  const sessions = listEventSessions(own, candidate);
  if (sessions === null) return null;
  const { sm } = own.rule;
  const sums = new Float64Array(sessions.length + 1);
  for (const [t, one] of moves.entries()) sums[findLastAtMost(sessions, sm.sessionAt(days[t]!)) + 1]! += one;
  return {
    supporting: sums.filter((sum) => sum >= SUPPORT_SESSION).length,
    against: sums.filter((sum) => sum < -SUPPORT_SESSION).length,
  };
}

/** Returns true unless too few reviews support a convention of them, or too few more events than are against it. */
export function isOfSeveral(own: Evaluation, candidate: Candidate, support: SupportMoves): boolean {
  const counts = countSupport(own, candidate, support);
  if (counts === null) return true;
  const { supporting, against } = counts;
  return supporting - (candidate.types === undefined ? 0 : against) >= EVENTS_LEAST;
}

/** Reviews that support a convention of them that no other change of the reviews explains, for each that is against it. */
const REVIEWS_MANY = 10;

/** Returns true if many reviews support a convention of them: sessions without an explanation then have other causes. */
export function isOfMany({ candidate, levels }: ChosenCandidate, own: Evaluation, outside: OutsideLevels): boolean {
  if (levels === null) return false;
  const { days } = own;
  const moves = createSupport({ days, levels: levels.before }, outside)({ days, levels: levels.after });
  const counts = countSupport(own, candidate, { moves, outside });
  return counts !== null && counts.supporting >= REVIEWS_MANY * (1 + counts.against);
}

/**
 * Returns a function that measures by session how the outside returns support other levels than those of a run. Each
 * session whose return they change by more than its rounding counts the logarithm of this ratio: it is the chance that the
 * return agrees with the wrong one of both. Both may differ from the outside level by a constant rate, unless that is what
 * is measured.
 */
export function createSupport(
  own: OwnLevels,
  outside: OutsideLevels,
  hasRate = true,
): (other: OwnLevels) => Float64Array {
  const { days, values } = outside;
  const tolerances = values.map((value, t) =>
    t === 0
      ? Number.NaN
      : computeTolerance(outside, value) / value + computeTolerance(outside, values[t - 1]!) / values[t - 1]!,
  );
  const read = ({ days: ownDays, levels }: OwnLevels): Float64Array => {
    const result = new Float64Array(days.length).fill(Number.NaN);
    let before = Number.NaN;
    for (let t = 0, s = 0; t < days.length; t++) {
      while (s < ownDays.length && ownDays[s]! < days[t]!) s++;
      const level = ownDays[s] === days[t] ? Math.log(levels[s]!) : Number.NaN;
      result[t] = level - before;
      before = level;
    }
    return result;
  };
  const outsideReturns = values.map((value, t) => (t === 0 ? Number.NaN : Math.log(value / values[t - 1]!)));
  const findErrors = (returns: Float64Array): Float64Array => {
    const errors = outsideReturns.map((one, t) => one - returns[t]!);
    const rates = errors.map((error, t) => error / (days[t]! - days[t - 1]!)).filter(Number.isFinite);
    const rate = rates.length === 0 ? 0 : findUpperMedian(rates);
    const constant = errors.map((error, t) => error - rate * (days[t]! - days[t - 1]!));
    const count = (all: Float64Array): number => all.filter((error, t) => Math.abs(error) <= tolerances[t]!).length;
    return hasRate && count(constant) > count(errors) ? constant : errors;
  };
  const before = read(own);
  const errorsBefore = findErrors(before);
  return (other) => {
    const after = read(other);
    const errorsAfter = findErrors(after);
    const support = new Float64Array(days.length);
    for (let t = 1; t < days.length; t++) {
      const ratio = Math.abs(after[t]! - before[t]!) / (2 * tolerances[t]!);
      if (!(ratio > 1)) continue;
      const isAgreed = Math.abs(errorsAfter[t]!) <= tolerances[t]!;
      const wasAgreed = Math.abs(errorsBefore[t]!) <= tolerances[t]!;
      support[t] = (Number(isAgreed) - Number(wasAgreed)) * Math.min(Math.log(ratio), SUPPORT_SESSION);
    }
    return support;
  };
}

/** Returns the conventions of fixed size that can act on a position of the outside levels. */
export function listConventionsAt(start: DifferenceNode, position: number, { outside, known }: Search): Candidate[] {
  const site = createSite(start, outside.days[position]!, { outside });
  return listConventions(site).filter((one) => !known.has(one.subject) && one.free === undefined);
}

/** Runs a change of the whole run. Returns nothing if it is refused. */
export function runFrom(start: DifferenceNode, candidate: Candidate, search: Search): Fit[] {
  reportSession(start, search);
  const own = attempt(() => changeLevels(start.own, candidate.edits) ?? evaluateChanged(start.own, candidate.edits));
  return own === null ? [] : [toFit(start, [candidate], own, search)];
}

const toFit = (
  { unexplained }: DifferenceNode,
  candidates: readonly Candidate[],
  own: Evaluation,
  { outside }: Search,
): Fit => ({ candidates, terms: own.terms, own, agreement: compareLevels(own, outside, unexplained) });

/** Largest difference, in units of the last digit, from which levels that continue from rounded ones are searched. */
const CHAIN_UNITS = 2;

/** Chance that a level that is rounded by itself continues from the rounded previous one: both errors are uniform. */
const CHAIN_AGREED = 0.75;

/** Part of the sessions on which another cause acts. */
const CHAIN_OTHERS = 0.05;

/**
 * Returns the state in which each outside level grows from the rounded previous one. Evidence is the number of levels that
 * are the rounded product of the previous one and the return of the run, over the number by chance.
 */
export function findChained(node: DifferenceNode, { outside, known }: Search): Fit | null {
  const { own, agreement, unexplained } = node;
  const { days, values } = outside;
  // Levels can be rounded to fewer decimals than they are stated to have.
  const decimals = outside.decimals === null ? null : findDecimals(values);
  const isChained = own.terms.reading.some(({ terms }) => 'chained_level' in terms);
  if (decimals === null || isChained || known.has('rounding') || !Number.isFinite(agreement.high)) return null;
  const scale = (agreement.low + agreement.high) / 2;
  const size = Math.abs(values[agreement.reach]! - levelOn(own, days[agreement.reach]!) * scale);
  if (size > CHAIN_UNITS * computeUnit(decimals)) return null;
  // Another cause can change the returns of all later sessions: evidence is the best stretch of sessions.
  let [support, ofStretch, most] = [0, 0, -Infinity];
  for (let t = 1; t < days.length; t++) {
    const growth = levelOn(own, days[t]!) / levelOn(own, days[t - 1]!);
    const isAgreed = roundHalfAwayFromZero(values[t - 1]! * growth, decimals) === values[t]!;
    const weight = Math.log(isAgreed ? (1 - CHAIN_OTHERS) / CHAIN_AGREED : CHAIN_OTHERS / (1 - CHAIN_AGREED));
    support += weight;
    ofStretch = Math.max(0, ofStretch) + weight;
    most = Math.max(most, support, ofStretch - Math.log(days.length));
  }
  if (most < SUPPORT_LEAST) return null;
  const first = levelOn(own, days[0]!);
  const factor = agreement.low === 1 && agreement.high === 1 ? 1 : values[0]! / first;
  const chained = createChained(decimals, factor, days[0]!);
  const changed = changeLevels(own, chained.edits)!;
  const fit = { candidates: [chained], terms: changed.terms, own: changed };
  const after = compareLevels(changed, outside, unexplained);
  return after.reach > agreement.reach ? { ...fit, agreement: after } : null;
}

/** Returns the change of levels that continue from levels at a scale, rounded from a day on. */
export function createChained(decimals: number, scale: number, from: Day): Candidate {
  const shift = Math.round(Math.log10(scale));
  const isShifted = Math.abs(scale / Number(`1e${shift}`) - 1) <= PRECISION;
  return createConvention({
    subject: 'rounding',
    value: isShifted ? decimals + shift : decimals,
    words: `continues from the level rounded to ${isShifted ? decimals + shift : decimals} decimals`,
    edits: [
      {
        kind: 'levels',
        terms: isShifted ? { chained_level: decimals + shift } : { chained_level: decimals, chained_scale: scale },
        change: (levels, days) => {
          const result = levels.slice();
          let rounded = Number.NaN;
          for (let t = 0; t < levels.length; t++) {
            if (days[t]! < from) continue;
            rounded = roundHalfAwayFromZero(
              Number.isNaN(rounded) ? levels[t]! * scale : (rounded * levels[t]!) / levels[t - 1]!,
              decimals,
            );
            result[t] = rounded / scale;
          }
          return result;
        },
      },
    ],
  });
}

/** Range of a free value. */
interface ValueRange {
  readonly low: number;
  readonly high: number;
}

interface WeightedRange extends ValueRange {
  readonly weight: number;
}

/** Levels of a run with a free value, and how they depend on it. */
interface Course {
  readonly value: number;
  /** Logarithm of the outside over the own level on each day of the outside levels. */
  readonly errors: Float64Array;
  /** Derivative of the logarithm of the own level by the value. */
  readonly slopes: Float64Array;
}

/** Rounding of the outside levels. */
interface Rounding {
  /** Decimals of the levels of the run before the value acts; null if they are not rounded. */
  readonly inner: number | null;
  /** True if each level continues from the rounded previous one. */
  readonly isChained: boolean;
}

/** Sessions that a value, and each rounding with it, must explain at least. */
const SESSIONS_LEAST = 10;

/** Most decimals of a value of a whole run, and largest share of numbers in whose range there is one as short by chance. */
const DECIMALS_MAX = 4;
const CHANCE_MAX = 0.05;

/** Steps by which the fit of a value that does not act linearly is repeated. */
const REPEATS = 3;

/**
 * Returns the conventions with a rate that all levels together determine, also where some of them are wrong, where other
 * causes act, or where levels are rounded before the rate acts or after each session.
 */
export function listRateStarts(start: DifferenceNode, search: Search): ConventionStart[] {
  const { outside, known } = search;
  const { own, agreement } = start;
  if (agreement.reach >= outside.days.length) return [];
  const isSmall = own.days.length * own.rule.sm.identifiers.length <= CELLS_MAX;
  const site = createSite(start, outside.days[agreement.reach]!, search);
  const all = [...listConventions(site), ...listOtherFees(own.terms)].filter(({ subject }) => !known.has(subject));
  const candidates = all.filter(({ free }) => free?.isGradual === true);
  const fixed = all.filter(({ free, subject }) => free === undefined && OF_FIXED_RATES.has(subject));
  const before = countAgreed(own, outside);
  const roundFixed = (rate: Candidate): FoundRate[] =>
    (known.has('rounding') || outside.decimals === null ? [false] : [false, true]).flatMap(
      (isChained) => completeRate(start, { changes: [rate], decimals: -1, isChained }, outside) ?? [],
    );
  const isCheap = ({ edits }: Candidate): boolean => isSmall || attempt(() => changeLevels(own, edits)) !== null;
  const ofFixed = fixed.filter(isCheap).flatMap(roundFixed);
  const ofFree = candidates.filter(isCheap).flatMap((candidate) => {
    const roundings = known.has('rounding') ? [NOT_ROUNDED] : listRoundings(candidate, outside);
    return roundings.flatMap((rounding) => fitRate(start, candidate, { rounding, outside }) ?? []);
  });
  const found = [...ofFixed, ...ofFree];
  const most = Math.max(...found.map(({ count }) => count));
  // Of rates that explain nearly as many levels, the shortest one is no chance.
  const [best] = found
    .filter(({ count }) => count > before && count >= most - NEARLY * outside.days.length)
    .toSorted((a, b) => a.decimals - b.decimals || b.count - a.count);
  if (best === undefined) return [];
  const fits: Fit[] = [];
  let node = start;
  for (const change of best.changes) {
    const [fit] = runFrom(node, change, search);
    if (fit === undefined) return [];
    fits.push(fit);
    node = { ...node, own: fit.own, terms: fit.terms };
  }
  return [{ fits, rivals: [] }];
}

/** Subjects of conventions of fixed size that act as a rate. */
export const OF_FIXED_RATES: ReadonlySet<CauseSubject> = new Set(['fee', 'financing', 'day_count']);

/** Part of the levels in which two rates are equally good. */
const NEARLY = 0.01;

const NOT_ROUNDED: Rounding = { inner: null, isChained: false };

/** Decimals to which levels that a rate acts on are usually rounded. */
const USUAL_DECIMALS = 2;

/** Returns the roundings with which a rate is tried. Only a rate of the levels themselves acts on rounded levels. */
function listRoundings({ edits }: Candidate, { decimals }: OutsideLevels): Rounding[] {
  const isOfLevels = edits.every(({ kind }) => kind === 'levels');
  const inner = [...new Set([USUAL_DECIMALS, decimals ?? USUAL_DECIMALS])].filter(
    (one) => isOfLevels && one <= (decimals ?? Infinity),
  );
  return [null, ...inner].flatMap((one) =>
    (decimals === null ? [false] : [false, true]).map((isChained) => ({ inner: one, isChained })),
  );
}

interface RateInput {
  readonly rounding: Rounding;
  readonly outside: OutsideLevels;
}

interface FoundRate {
  /** Changes in their order. */
  readonly changes: readonly Candidate[];
  /** Number of sessions that they explain, less the least number for each change. */
  readonly count: number;
  /** Decimals of the rate; -1 for a convention of fixed size. */
  readonly decimals: number;
}

/** Finds the rate that most levels allow, if only one short number is in its range. */
function fitRate(start: DifferenceNode, candidate: Candidate, { rounding, outside }: RateInput): FoundRate | null {
  const { own } = start;
  const { create, guess, accepts } = candidate.free!;
  const run = (edits: readonly Edit[]): Evaluation | null =>
    attempt(() => changeLevels(own, edits) ?? evaluateChanged(own, edits));
  const { inner, isChained } = rounding;
  const isUnscaled = start.agreement.low === 1 && start.agreement.high === 1;
  /** Returns the rounding of the levels of the run with which the outside levels follow from a rate. */
  const roundWith = (rate: readonly Edit[]): Candidate[] => {
    const after = inner === null ? null : run(rate);
    if (inner === null || after === null) return [];
    const scale = (isChained ? findChainedScale : findInnerScale)(own, after, { inner, outside });
    return [createRounded(inner, scale, isUnscaled)];
  };
  const near = fitRange((value) => run(create(value)), guess, { accepts, rounding, outside });
  if (near === null) return null;
  const centre = (near.low + near.high) / 2;
  const first = roundWith(create(centre)).flatMap(({ edits }) => edits);
  const range =
    inner === null
      ? near
      : (fitRange((value) => run([...first, ...create(value)]), centre, {
          accepts,
          rounding: { ...rounding, inner: null },
          outside,
        }) ?? near);
  const short = findShortest(range, DECIMALS_MAX);
  if (short === null || (range.high - range.low) / computeUnit(short.decimals) > CHANCE_MAX) return null;
  if (!accepts(short.value) || Math.abs(short.value - guess) <= PRECISION * guess) return null;
  const rate = giveValue(candidate, short.value);
  const changes = [...roundWith(rate.edits), rate];
  return completeRate(start, { changes, decimals: short.decimals, isChained }, outside);
}

/** Counts the sessions that a rate explains, and adds the rounding of levels that continue from rounded ones. */
function completeRate(
  { own, agreement }: DifferenceNode,
  { changes, decimals, isChained }: Omit<FoundRate, 'count'> & Pick<Rounding, 'isChained'>,
  outside: OutsideLevels,
): FoundRate | null {
  const edits = changes.flatMap((one) => one.edits);
  const levels = attempt(() => changeLevels(own, edits) ?? evaluateChanged(own, edits));
  if (levels === null) return null;
  const isUnscaled = agreement.low === 1 && agreement.high === 1;
  const scale = isUnscaled ? 1 : outside.values[0]! / levelOn(levels, outside.days[0]!);
  const all = isChained ? [...changes, createChained(outside.decimals!, scale, outside.days[0]!)] : changes;
  const count = isChained ? countContinued(levels, outside) : countAgreed(levels, outside);
  return { changes: all, count: count - SESSIONS_LEAST * all.length, decimals };
}

interface RangeInput extends RateInput {
  readonly accepts: (value: number) => boolean;
}

/** Returns the range of values that most levels allow within their rounding. */
function fitRange(
  run: (value: number) => OwnLevels | null,
  guess: number,
  { accepts, rounding: { inner, isChained }, outside }: RangeInput,
): ValueRange | null {
  const ofLevels = outside.values.map((value) => computeTolerance(outside, value) / value);
  const ofInner = outside.values.map((value) => (inner === null ? 0 : computeUnit(inner) / 2 / value));
  const roundingAt = (t: number): number =>
    ofLevels[t]! + (isChained ? 0 : ofLevels[t - 1]!) + ofInner[t]! + ofInner[t - 1]!;
  let value = guess;
  let range: ValueRange | null = null;
  for (let k = 0; k < REPEATS; k++) {
    const course = readCourse(run, value, outside);
    const near = course === null ? null : fitReturns(course, roundingAt, isChained ? 0 : OTHERS);
    range =
      near === null || isChained
        ? near
        : fitSegments(
            course!,
            near,
            ofLevels.map((one, t) => one + ofInner[t]!),
          );
    if (range === null) return null;
    const centre = (range.low + range.high) / 2;
    if (!(centre > 0) || !accepts(centre)) return null;
    const isFound = Math.abs(centre - value) <= (range.high - range.low) / 4;
    value = centre;
    if (isFound) break;
  }
  return range;
}

/** Reads the levels of a run with a value and with one near it. Returns null if the run is refused. */
function readCourse(
  run: (value: number) => OwnLevels | null,
  value: number,
  { days, values }: OutsideLevels,
): Course | null {
  const step = value === 0 ? 0.01 : 0.01 * value;
  const [at, above] = [run(value), run(value + step)];
  if (at === null || above === null) return null;
  const levels = Float64Array.from(days, (day) => levelOn(at, day));
  return {
    value,
    errors: levels.map((level, t) => Math.log(values[t]! / level)),
    slopes: levels.map((level, t) => Math.log(levelOn(above, days[t]!) / level) / step),
  };
}

/** Part of the returns that may be of other causes, so that the range with most of them is not the one of the value. */
const OTHERS = 0.02;

/** Returns the range of values that most returns allow within their rounding. */
function fitReturns(
  { value, errors, slopes }: Course,
  roundingAt: (t: number) => number,
  fewer: number,
): ValueRange | null {
  const ranges: WeightedRange[] = [];
  for (let t = 1; t < errors.length; t++) {
    const slope = slopes[t]! - slopes[t - 1]!;
    if (!(Math.abs(slope) > 0)) continue;
    const [centre, width] = [(errors[t]! - errors[t - 1]!) / slope, roundingAt(t) / Math.abs(slope)];
    ranges.push({ low: value + centre - width, high: value + centre + width, weight: 1 });
  }
  return ranges.length < SESSIONS_LEAST ? null : findCommon(ranges, fewer * ranges.length);
}

/** Returns the range around the values in most ranges in which at most some fewer of them are. */
function findCommon(ranges: readonly WeightedRange[], fewer: number): ValueRange | null {
  const ends = ranges
    .flatMap(({ low, high, weight }) => [
      { at: low, by: weight },
      { at: high, by: -weight },
    ])
    .toSorted((a, b) => a.at - b.at || b.by - a.by);
  const counts: number[] = [];
  let count = 0;
  for (const { by } of ends) counts.push((count += by));
  const most = Math.max(...counts);
  let [from, to] = [counts.indexOf(most), counts.indexOf(most)];
  while (from > 0 && counts[from - 1]! >= most - fewer) from--;
  while (to + 2 < counts.length && counts[to + 1]! >= most - fewer) to++;
  return ends.length === 0 ? null : { low: ends[from]!.at, high: ends[to + 1]!.at };
}

/**
 * Returns the range of values within another one that most levels allow. Levels with one unknown scale are a segment: each
 * pair of them bounds the value. A level that agrees with no value in the range of its segment is left out, or begins the
 * next segment.
 * @cost O(levels x levels of the longest segment)
 */
function fitSegments({ value, errors, slopes }: Course, near: ValueRange, tolerances: Float64Array): ValueRange | null {
  const ranges: WeightedRange[] = [];
  const extend = ({ low, high }: ValueRange, members: readonly number[], t: number): ValueRange => {
    let [least, most] = [low, high];
    for (const s of members) {
      const slope = slopes[t]! - slopes[s]!;
      const [error, width] = [errors[t]! - errors[s]!, tolerances[t]! + tolerances[s]!];
      if (!(Math.abs(slope) > 0)) {
        if (Math.abs(error) > width) return { low: Infinity, high: -Infinity };
        continue;
      }
      least = Math.max(least, value + error / slope - width / Math.abs(slope));
      most = Math.min(most, value + error / slope + width / Math.abs(slope));
    }
    return { low: least, high: most };
  };
  let [members, range] = [[0], near];
  for (let t = 1; t < errors.length; t++) {
    const longer = extend(range, members, t);
    if (longer.low <= longer.high) {
      members.push(t);
      range = longer;
      continue;
    }
    const next = t + 1 < errors.length ? extend(range, members, t + 1) : longer;
    if (next.low <= next.high) continue;
    ranges.push({ ...range, weight: members.length });
    [members, range] = [[t], near];
  }
  return findCommon([...ranges, { ...range, weight: members.length }], 0);
}

/** Part of a rate within which it is searched with fewer digits. */
const SHORTER_PART = 0.1;

/** Returns a rate of a cause with fewer digits, if all levels that agree allow it. Returns null if there is none. */
export function findShorterRate(
  { own, agreement, unexplained: { breaks } }: DifferenceNode,
  { candidate, levels, isPaired }: ChosenCandidate,
  outside: OutsideLevels,
): Candidate | null {
  const { free, found, manner } = candidate;
  if (free?.isGradual !== true || found === undefined || levels === null || isPaired) return null;
  const { days, values } = outside;
  const tolerances = values.map((value) => computeTolerance(outside, value) / value);
  const ratio = { days: own.days, levels: levels.after.map((after, t) => after / levels.before[t]!) };
  const course: Course = {
    value: found,
    errors: values.map((value, t) => Math.log(value / levelOn(own, days[t]!))),
    slopes: values.map((_, t) => Math.log(levelOn(ratio, days[t]!)) / (found - (manner === 'added' ? 0 : free.guess))),
  };
  // Levels of a known scale agree as if one level before them were exact.
  const isKnown = agreement.low === 1 && agreement.high === 1 && breaks.length === 0;
  const lead = (all: Float64Array): Float64Array => (isKnown ? Float64Array.of(0, ...all) : all);
  const near = { low: found * (1 - SHORTER_PART), high: found * (1 + SHORTER_PART) };
  const range = fitSegments(
    { ...course, errors: lead(course.errors), slopes: lead(course.slopes) },
    near,
    lead(tolerances),
  );
  const short = range === null ? null : findShortest(range, countDecimals(found) - 1);
  return short === null || !free.accepts(short.value) ? null : giveValue(candidate, short.value);
}

interface ShortNumber {
  readonly value: number;
  readonly decimals: number;
}

/** Returns the number with the fewest decimals in a range. Returns null if it has too many, or if there are several. */
function findShortest({ low, high }: ValueRange, most: number): ShortNumber | null {
  for (let decimals = 0; decimals <= most; decimals++) {
    const scale = Number(`1e${decimals}`);
    const [first, last] = [Math.ceil(low * scale), Math.floor(high * scale)];
    if (first > last) continue;
    return first === last ? { value: roundHalfAwayFromZero(first / scale, decimals), decimals } : null;
  }
  return null;
}

/** Returns the number of levels that agree with one scale, or with another one from some levels on. Single ones are left out. */
function countAgreed(own: OwnLevels, outside: OutsideLevels): number {
  const { days, values } = outside;
  const read = (t: number): ValueRange => {
    const [level, tolerance] = [levelOn(own, days[t]!), computeTolerance(outside, values[t]!)];
    return { low: (values[t]! - tolerance) / level, high: (values[t]! + tolerance) / level };
  };
  const join = (a: ValueRange, b: ValueRange): ValueRange => ({
    low: Math.max(a.low, b.low),
    high: Math.min(a.high, b.high),
  });
  let [range, count] = [read(0), 1];
  for (let t = 1; t < days.length; t++) {
    const narrower = join(range, read(t));
    if (narrower.low <= narrower.high) {
      range = narrower;
      count++;
      continue;
    }
    const next = t + 1 < days.length ? join(range, read(t + 1)) : narrower;
    if (next.low > next.high) range = read(t);
  }
  return count;
}

/** Returns the number of levels that are the rounded product of the previous one and the return of a run. */
function countContinued(own: OwnLevels, { days, values, decimals }: OutsideLevels): number {
  let count = 1;
  for (let t = 1; t < days.length; t++) {
    const growth = levelOn(own, days[t]!) / levelOn(own, days[t - 1]!);
    if (roundHalfAwayFromZero(values[t - 1]! * growth, decimals!) === values[t]!) count++;
  }
  return count;
}

interface InnerInput {
  readonly inner: number;
  readonly outside: OutsideLevels;
}

/** Returns the scale of the levels of a run with which, rounded and then changed, most of them are the outside levels. */
function findInnerScale(own: OwnLevels, after: OwnLevels, { inner, outside }: InnerInput): number {
  const { days, values } = outside;
  const unit = computeUnit(inner);
  const ranges = Array.from(days, (day, t): WeightedRange => {
    const level = levelOn(own, day);
    const factor = levelOn(after, day) / level;
    const tolerance = computeTolerance(outside, values[t]!);
    const [least, most] = [(values[t]! - tolerance) / factor, (values[t]! + tolerance) / factor];
    const [first, last] = [Math.ceil(least / unit), Math.floor(most / unit)];
    return first > last
      ? { low: least / level, high: most / level, weight: 0 }
      : { low: ((first - 0.5) * unit) / level, high: ((last + 0.5) * unit) / level, weight: 1 };
  });
  const range = findCommon(ranges, 0)!;
  const isOne = range.low <= 1 && range.high >= 1;
  return isOne ? 1 : (range.low + range.high) / 2;
}

/** Scales that are tried within the rounding of the first level, and factor by which the range of each next trial is narrower. */
const SCALES = 64;
const NARROWER = 8;
const TRIALS = 3;

/** Most levels from which a scale is found. */
const SCALED_LEVELS = 1000;

/** Returns the scale with which most levels are the rounded product of the previous one and the return of rounded levels. */
function findChainedScale(own: OwnLevels, after: OwnLevels, { inner, outside }: InnerInput): number {
  const days = outside.days.subarray(0, SCALED_LEVELS);
  const { values, decimals } = outside;
  const levels = Float64Array.from(days, (day) => levelOn(own, day));
  const factors = levels.map((level, t) => levelOn(after, days[t]!) / level);
  const [unit, last] = [computeUnit(inner), computeUnit(decimals!)];
  const count = (scale: number): number => {
    const rounded = levels.map((level) => Math.round((level * scale) / unit));
    let agreed = 0;
    for (let t = 1; t < days.length; t++) {
      const growth = (rounded[t]! / rounded[t - 1]!) * (factors[t]! / factors[t - 1]!);
      if (Math.round((values[t - 1]! * growth) / last) === Math.round(values[t]! / last)) agreed++;
    }
    return agreed;
  };
  const first = values[0]! / levels[0]!;
  let best = Math.abs(first - 1) * values[0]! <= computeTolerance(outside, values[0]!) ? 1 : first;
  let most = count(best);
  let width = unit / values[0]!;
  for (let k = 0; k < TRIALS; k++, width /= NARROWER) {
    const centre = best;
    for (let j = -SCALES / 2; j <= SCALES / 2; j++) {
      const scale = centre + (j / SCALES) * width;
      const agreed = count(scale);
      if (agreed > most) [best, most] = [scale, agreed];
    }
  }
  return best;
}

/** Returns the change of levels that are rounded at a scale before other conventions act on them. */
function createRounded(decimals: number, scale: number, isUnscaled: boolean): Candidate {
  const divisor = isUnscaled ? 1 : scale;
  return createConvention({
    subject: 'rounding',
    value: decimals,
    words: `is computed from levels rounded to ${decimals} decimals`,
    edits: [
      {
        kind: 'levels',
        terms: scale === 1 ? { rounded_level: decimals } : { rounded_level: decimals, rounded_scale: scale },
        change: (levels) => levels.map((level) => roundHalfAwayFromZero(level * scale, decimals) / divisor),
      },
    ],
  });
}
