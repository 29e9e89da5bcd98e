import { findUpperMedian, roundHalfAwayFromZero } from '../base/numbers.js';
import type { Day } from '../base/time.js';
import type { Candidate } from './difference-candidates.js';
import { listConventions } from './difference-conventions.js';
import { isOfReviews } from './difference-pairs.js';
import type { DifferenceNode, Fit } from './difference-result.js';
import { attempt, type CauseSubject, changeLevels, evaluateChanged, type Evaluation } from './difference-terms.js';
import { createSite, reportSession, type Search } from './difference-trials.js';
import {
  compareLevels,
  computeTolerance,
  computeUnit,
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

/** Reviews that must support a convention of reviews: a change of one review is no convention. */
const REVIEWS_LEAST = 2;

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
    const isOfSessions = !fits.some(({ candidates: [one] }) => isOfReviews(one!));
    const isSeen = isOfSessions || countReviews(start.own, outside, moves) >= REVIEWS_LEAST;
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
  return groupEqual(supported, search);
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

/** Returns the number of reviews after which the returns support other levels. */
function countReviews({ rule: { sm, list } }: Evaluation, { days }: OutsideLevels, support: Float64Array): number {
  const sums = new Float64Array(list.length + 1);
  for (const [t, one] of support.entries()) {
    const session = sm.sessionAt(days[t]!);
    sums[list.findLastIndex((composition) => composition.session < session) + 1]! += one;
  }
  return sums.filter((sum) => sum >= SUPPORT_SESSION).length;
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
  let support = 0;
  for (let t = 1; t < days.length; t++) {
    const growth = levelOn(own, days[t]!) / levelOn(own, days[t - 1]!);
    const isAgreed = roundHalfAwayFromZero(values[t - 1]! * growth, decimals) === values[t]!;
    support += Math.log(isAgreed ? (1 - CHAIN_OTHERS) / CHAIN_AGREED : CHAIN_OTHERS / (1 - CHAIN_AGREED));
  }
  if (support < SUPPORT_LEAST) return null;
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
  return {
    subject: 'rounding',
    manner: 'value',
    identifier: null,
    date: null,
    through: null,
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
  };
}
