import { roundHalfAwayFromZero } from '../base/numbers.js';
import { Refusal } from '../base/refusals.js';
import { type Day, formatDay, parseValidDay } from '../base/time.js';
import type { Composer } from '../books/compositions.js';
import { type MarketData, RETURN_VARIANTS, type ReturnVariant } from '../market/market-data.js';
import {
  type Candidate,
  createRuleSite,
  listLocalCandidates,
  listUnlistedCandidates,
} from './difference-candidates.js';
import { BOTH_DAY_COUNTS, listConventions, listConversions } from './difference-conventions.js';
import { createEstimate, ESTIMATE_ERROR } from './difference-estimates.js';
import type { OutsideComposition } from './difference-parts.js';
import {
  listHolidaySets,
  listLocalSets,
  isOfReviews,
  listFreePairs,
  listFixedPairs,
  listConventionPairs,
  listRetypedPairs,
  measureConventions,
} from './difference-sets.js';
import {
  type ConventionStart,
  createSupport,
  findChained,
  findShorterRate,
  isOfMany,
  isOfSeveral,
  listConventionsAt,
  listRateStarts,
  listStarts,
  OF_FIXED_RATES,
  runFrom,
} from './difference-starts.js';
import {
  type ChosenCandidate,
  createChild,
  createRivals,
  type DifferenceNode,
  type Fit,
  NO_RIVALS,
} from './difference-nodes.js';
import { createResult, type Difference } from './difference-result.js';
import {
  applyEdits,
  attempt,
  type CandidateTerms,
  type CauseSubject,
  changeLevels,
  evaluateChanged,
  evaluateTerms,
  type Evaluation,
  findRuleId,
} from './difference-terms.js';
import {
  agreesUpTo,
  AHEAD,
  CHANCE,
  complete,
  countAhead,
  countEvidence,
  countUnexplained,
  createSite,
  expectByChance,
  findEvidence,
  findRuleSession,
  findSingleDays,
  giveValue,
  isLargeFor,
  isLastingScale,
  isPassing,
  OPENED,
  prolong,
  reportSession,
  type Search,
  SEARCHED,
  seek,
  settle,
  type Tried,
  tryCandidate,
} from './difference-trials.js';
import {
  compareLevels,
  computeTolerance,
  computeUnit,
  countDecimals,
  countEqualReturns,
  findDecimals,
  fitScale,
  haveEqualLevels,
  levelOn,
  NOTHING,
  type OutsideLevels,
  type OwnLevels,
  readFloat32,
  selectCommon,
} from './outside-levels.js';

export interface DifferenceInput {
  readonly terms: Omit<CandidateTerms, 'variant' | 'reading'>;
  readonly outside: Pick<OutsideLevels, 'days' | 'values'>;
  /** Null: found from the values. */
  readonly decimals: number | null;
  readonly variant: ReturnVariant | null;
  /** Currency of the outside levels; null if it is unknown. */
  readonly currency: string | null;
  /** Variant of the document. */
  readonly ownVariant: ReturnVariant;
  readonly causesMax: number;
  /** Subjects that are known to agree. */
  readonly known: readonly CauseSubject[];
  /** Constituents of the outside level on some dates. */
  readonly compositions?: readonly OutsideComposition[];
  /** Reports progress from 0 to 1; throws to cancel the search. */
  readonly report: (fraction: number, message: string) => void;
}

/** Question of a job: the outside levels, or the series that has them, and their terms. */
export interface DifferenceQuestion {
  readonly name?: string | undefined;
  readonly levels?: readonly { readonly date: string; readonly value: number }[] | undefined;
  readonly series?: string | undefined;
  readonly variant: ReturnVariant | null;
  readonly currency: string | null;
  readonly decimals: number | null;
  readonly start: string | null;
  readonly end: string | null;
  readonly causes_max: number;
  readonly known: readonly CauseSubject[];
  readonly compositions?: readonly OutsideComposition[] | undefined;
}

/**
 * Reads the outside levels of a question from it or from a market, ascending.
 * @throws Refusal VALIDATION_FAILED for an unknown series
 */
export function readOutsideLevels(
  { levels, series, start, end }: DifferenceQuestion,
  market: Pick<MarketData, 'series' | 'identifiers' | 'dates' | 'fields'>,
): Pick<OutsideLevels, 'days' | 'values'> {
  const all =
    levels === undefined
      ? readSeriesLevels(series!, market) // a question has levels or a series
      : levels.map(({ date, value }) => [parseValidDay(date), value] as const);
  const [from, to] = [start === null ? -Infinity : parseValidDay(start), end === null ? Infinity : parseValidDay(end)];
  const used = all.filter(([day, value]) => day >= from && day <= to && value > 0).toSorted(([a], [b]) => a - b);
  return {
    days: Int32Array.from(used, ([day]) => day),
    values: readFloat32(Float64Array.from(used, ([, value]) => value)),
  };
}

function readSeriesLevels(
  name: string,
  { series, identifiers, dates, fields }: Pick<MarketData, 'series' | 'identifiers' | 'dates' | 'fields'>,
): (readonly [Day, number])[] {
  const own = series?.get(name);
  if (own !== undefined) return Array.from(own.days, (day, t) => [day, own.closes[t]!]);
  const column = identifiers.indexOf(name);
  if (column < 0)
    throw new Refusal('VALIDATION_FAILED', `The store of the run has no series and no security ${name}.`, {
      series: name,
    });
  const close = fields.get('CLOSE')!;
  return Array.from(dates, (day, row) => [day, close[row * identifiers.length + column]!]);
}

/** Maximum number of states whose candidates are computed. */
const EXPANSIONS_MAX = 16;

/** Maximum number of steps without an explanation after which causes are searched. */
const BREAKS_MAX = 6;

/** Maximum number of changes that a search runs; the sessions that are left then stay without an explanation. */
const RUNS_MAX = 8000;

/** Maximum number of candidates of a state that are followed. */
const BRANCHES_MAX = 4;

/** Maximum number of rivals that are compared with all other causes, and of those whose run is not known yet. */
const RIVALS_MAX = 40;

const NEW_RIVALS_MAX = 10;

/**
 * Explains the differences between a run and levels from outside. The search follows the sessions: each first difference
 * is explained by every single change that makes its session, and all sessions before it, agree within rounding; of
 * these the change is preferred after which the levels agree longest. Other orders are searched for smaller sets.
 * @throws Refusal VALIDATION_FAILED with fewer than two common sessions
 */
export function explainDifference(input: DifferenceInput): Difference {
  const { node, others, search } = openSearch(input);
  let found = explainVariant(node, input.currency, search);
  // A variant that is not stated is found; it is no cause.
  const { variant } = found.best.terms;
  const isCause = variant !== found.start.terms.variant;
  if (isCause) search.known.add('variant');
  for (const other of others) {
    const isOwn = other.terms.variant === input.ownVariant && found.best.chosen.length > 0;
    if (isCause ? other.terms.variant !== variant : !isOwn) continue;
    const again = explainVariant(other, input.currency, search);
    if (isCause || !isBetter(found.best, again.best)) found = again;
  }
  const { outside, isBounded } = search;
  return createResult(found.best, found.start, {
    outside,
    isBounded,
    compositions: input.compositions ?? [],
    unmatched: input.outside.days.length - outside.days.length,
    report: () => input.report(SEARCHED, 'describing the causes'),
  });
}

interface Explained {
  readonly start: DifferenceNode;
  readonly best: DifferenceNode;
}

/** Maximum number of times that conventions are added to those from which causes are searched. */
const START_ROUNDS = 2;

/** Sessions over those that agree first, below which a first cause is seen without conventions. */
const VISIBLE_PART = 4;

/** Searches the causes from the run in one variant. */
function explainVariant(start: DifferenceNode, currency: string | null, search: Search): Explained {
  search.refuted.clear();
  const converted = convertNode(start, currency, search);
  let first = converted;
  let best: DifferenceNode | null = null;
  const waiting: Unrefuted[] = [];
  const keep = (found: DifferenceNode, from: DifferenceNode): void => {
    if (isDoubtful(found, from, search)) return;
    if (best === null || explainsMore(found, best)) [first, best] = [from, found];
  };
  const follow = (starts: readonly DifferenceNode[]): boolean => {
    const before = best;
    for (const from of starts) {
      if (from === converted && best !== null && countUnexplained(best) === 0) continue;
      keep(explainCertainly(from, search, { other: best, waiting }), from);
    }
    return best !== before;
  };
  // Where hardly any return agrees, and no long beginning does, conventions come first.
  const { length } = search.outside.days;
  const isHidden =
    2 * countEqualReturns(converted.own, search.outside) < length && VISIBLE_PART * converted.agreement.reach < length;
  follow([...(isHidden ? listOtherStarts(converted, null, search) : []), converted]);
  for (let k = 0; k < START_ROUNDS && countUnexplained(best!) > 0; k++)
    if (!follow(listOtherStarts(first, best, search).filter(({ own }) => own !== first.own))) break;
  if (countLeft(best!) > 0) follow(createStarts(first, listRateStarts(first, search)));
  for (const { start: from, found } of waiting) {
    if (countLeft(best!) === 0) break;
    search.contradicted.clear();
    keep(refute(found, from, search), from);
  }
  follow(listRepeated(converted, best!, search));
  const needed = dropDayCount(removeSuperfluous(best!, converted, search), converted, search);
  return { start, best: shortenRates(needed, converted, search) };
}

/** Returns the number of sessions without an explanation. Small differences of many sessions are those of another rounding. */
const countLeft = ({ unexplained }: DifferenceNode): number =>
  unexplained.breaks.length +
  unexplained.skipped.length +
  (unexplained.noise.length < ROUNDED_SESSIONS ? 0 : unexplained.noise.length);

const explainsMore = (node: DifferenceNode, other: DifferenceNode): boolean =>
  countLeft(node) < countLeft(other) || isBetter(node, other);

/** Returns true if sessions stay unexplained after a convention of reviews: another change of the reviews may be the cause. */
const isDoubtful = ({ unexplained }: DifferenceNode, { chosen, own }: DifferenceNode, { outside }: Search): boolean =>
  unexplained.breaks.length > 0 && chosen.some((one) => isOfReviews(one.candidate) && !isOfMany(one, own, outside));

interface Unrefuted {
  readonly start: DifferenceNode;
  readonly found: DifferenceNode;
}

/**
 * Searches from a state on, and again without the changes that are contradicted, unless another state is as good. After a
 * long search, this waits until conventions from which others begin have been tried.
 */
function explainCertainly(
  start: DifferenceNode,
  search: Search,
  { other, waiting }: { readonly other: DifferenceNode | null; readonly waiting: Unrefuted[] },
): DifferenceNode {
  search.contradicted.clear();
  const begin = search.runs;
  const found = explain(start, search);
  if (other !== null && !explainsMore(found, other)) return found;
  if (search.runs - begin < REFUTED_RUNS) return refute(found, start, search);
  waiting.push({ start, found });
  return removeContradicted(found, start, search);
}

/** Searches again without the changes that are contradicted. */
function refute(found: DifferenceNode, start: DifferenceNode, search: Search): DifferenceNode {
  let best = found;
  for (let k = 0; k < REFUTATIONS_MAX && search.runs < RUNS_MAX; k++) {
    const contradicted = listContradicted(best, start, search);
    if (contradicted.length === 0) break;
    for (const { candidate, rivals } of contradicted)
      for (const one of [candidate, ...rivals])
        // The event itself can do the same as a convention on one event.
        if (candidate.types === undefined || one.types !== undefined) search.contradicted.add(toKey(one));
    best = explain(start, search);
  }
  return removeContradicted(best, start, search);
}

/** Returns the states after conventions without which no other cause can be seen. */
const listOtherStarts = (start: DifferenceNode, best: DifferenceNode | null, search: Search): DifferenceNode[] =>
  createStarts(start, listStarts(start, best, search));

const createStarts = (start: DifferenceNode, starts: readonly ConventionStart[]): DifferenceNode[] =>
  starts.map(({ fits, rivals }) =>
    fits.reduce(
      (node, fit, k) =>
        createChild(node, fit, {
          ...createRivals(k === 0 ? rivals : []),
          isCertain: true,
        }),
      start,
    ),
  );

/** Returns the states after a convention that does at every event what several causes do at one event each. */
function listRepeated(start: DifferenceNode, { chosen }: DifferenceNode, search: Search): DifferenceNode[] {
  const isSame = ({ candidate: one }: ChosenCandidate, { subject, manner }: Candidate): boolean =>
    one.date !== null && one.subject === subject && one.manner === manner && one.edits[0]?.kind === 'action';
  return chosen.flatMap((cause, k) => {
    const isFirst = chosen.findIndex((one) => isSame(one, cause.candidate)) === k;
    if (!isFirst || chosen.filter((one) => isSame(one, cause.candidate)).length < 2) return [];
    return listConventionsAt(start, cause.position, search)
      .filter((one) => isSame(cause, one))
      .flatMap((one) => runFrom(start, one, search))
      .map((fit) => createChild(start, fit, { ...NO_RIVALS, isCertain: true }));
  });
}

/** Maximum number of searches without the changes that an earlier one contradicts. */
const REFUTATIONS_MAX = 3;

/** Number of runs of a search after which other conventions are tried before it is repeated. */
const REFUTED_RUNS = 2000;

/** Searches from a state on. Returns the best state that is found. */
function explain(start: DifferenceNode, search: Search): DifferenceNode {
  search.expansions = 0;
  search.best = null;
  descend(start, search);
  return search.best ?? start;
}

/**
 * Returns the changes with a session without an explanation within few sessions before or after them, and those that
 * explain a session by chance where causes are left that are not known, or together with the next cause if it begins at
 * once. The changes of the start are not contradicted.
 */
function listContradicted(node: DifferenceNode, start: DifferenceNode, { outside }: Search): ChosenCandidate[] {
  const { chosen, unexplained, own } = node;
  const { days } = outside;
  const others = new Set(chosen.map((one) => days[one.position]!));
  const single = findSingleDays(unexplained, days);
  const left = new Set([...unexplained.breaks, ...unexplained.skipped]);
  const passing = unexplained.skipped.filter((day) => !single.has(day)).length;
  const acted = chosen.map((cause) => ({ ratios: readRatios(cause, own, outside), others, left }));
  const expected = chosen.map((cause, k) => cause.expected * computeWholeChance(cause, acted[k]!, outside));
  const isOfChance = (k: number): boolean =>
    chosen.some(
      ({ position, candidate: { subject } }, j) =>
        position > chosen[k]!.position &&
        position <= chosen[k]!.position + AHEAD &&
        expected[k]! * (subject === 'scale' ? 1 : Math.min(1, expected[j]!)) >= CHANCE,
    );
  return chosen.filter(({ position, candidate, isCertain }, k) => {
    const { subject, date, free, value } = candidate;
    // A difference that ends is no sign of an unknown cause of one that lasts.
    // A wrong level on an ex-date leaves one that lasts, but within the rounding.
    const unknownDays = isRounded(position, acted[k]!.ratios, outside)
      ? unexplained.skipped.length
      : isPassing(candidate)
        ? passing
        : 0;
    const unknown = unexplained.breaks.length + unknownDays;
    const isNearLeft = days
      .subarray(Math.max(0, position - AHEAD), position + 1 + AHEAD)
      .some((day) => left.has(day) && !(single.has(day) && isLasting(chosen[k]!, day, acted[k]!.ratios, outside)));
    if (k < start.chosen.length) return false;
    // A small change of scale next to sessions without an explanation can be another cause of them.
    if (subject === 'scale') return isNearLeft && Math.abs(Math.log(value!)) < SCALE_LOG;
    return (
      expected[k]! * unknown >= CHANCE ||
      (expected[k]! > 1 && free !== undefined && date === null) ||
      (unknown > 0 && isOfReviews(candidate) && !isOfMany(chosen[k]!, own, outside)) ||
      isRefutedLater(chosen[k]!, node, acted[k]!, outside) ||
      isOfChance(k) ||
      (!isCertain && isNearLeft)
    );
  });
}

/** Returns the ratios of the levels after and before a change on the days of the outside levels; null if they are not known. */
const readRatios = ({ levels }: ChosenCandidate, own: OwnLevels, { days }: OutsideLevels): Float64Array | null =>
  levels === null
    ? null
    : Float64Array.from(
        days,
        (day) =>
          levelOn({ days: own.days, levels: levels.after }, day) /
          levelOn({ days: own.days, levels: levels.before }, day),
      );

/** Returns true if the effect of a change lasts beyond a later day: a single wrong level on it does not contradict the change. */
function isLasting(
  { position }: ChosenCandidate,
  day: Day,
  ratios: Float64Array | null,
  outside: OutsideLevels,
): boolean {
  const after = outside.days.indexOf(day) + 1;
  if (ratios === null || after <= position + 1 || after >= ratios.length) return false;
  return Math.abs(ratios[after]! / (ratios[position - 1] ?? 1) - 1) > computeRounding(outside, after);
}

interface Acted {
  readonly ratios: Float64Array | null;
  /** Days without an explanation. */
  readonly left: ReadonlySet<Day>;
  /** Days on which causes begin. */
  readonly others: ReadonlySet<Day>;
}

/** Returns the relative rounding of the ratio of two levels. */
const computeRounding = (outside: OutsideLevels, t: number): number =>
  (4 * computeTolerance(outside, outside.values[t]!)) / outside.values[t]!;

/** Returns true if the effect of a change on its session is within the rounding of the levels. */
const isRounded = (position: number, ratios: Float64Array | null, outside: OutsideLevels): boolean =>
  ratios !== null &&
  Math.abs(ratios[position]! / (ratios[position - 1] ?? 1) - 1) <= computeRounding(outside, position);

/** Returns true for a convention that makes no more returns agree than it ends the agreement of, or acts on one event. */
function isRefutedLater(
  { candidate }: ChosenCandidate,
  { own, unexplained }: DifferenceNode,
  { ratios, left }: Omit<Acted, 'others'>,
  outside: OutsideLevels,
): boolean {
  if (candidate.date !== null || ratios === null || left.size === 0) return false;
  const without = Float64Array.from(outside.days, (day, t) => levelOn(own, day) / ratios[t]!);
  const isOfRate = candidate.free?.isGradual === true || OF_FIXED_RATES.has(candidate.subject);
  const moves = createSupport({ days: outside.days, levels: without }, outside, !isOfRate)(own);
  const isAlone =
    candidate.types !== undefined && unexplained.breaks.length > 0 && !isOfSeveral(own, candidate, { moves, outside });
  return isAlone || moves.reduce((sum, one) => sum + one, 0) <= 0;
}

/**
 * Returns the probability that a convention, or a change of a review, agrees with the later levels by chance: the product
 * of their rounding over each larger move of the levels that it makes. A move at another cause, or at a session without an
 * explanation, is no evidence.
 */
function computeWholeChance(
  { candidate: { date, review }, position }: ChosenCandidate,
  { ratios, left, others }: Acted,
  outside: OutsideLevels,
): number {
  if (ratios === null || (date !== null && review === undefined)) return 1;
  let chance = 1;
  let previous = ratios[position]!;
  for (let t = position + 1; t < ratios.length; t++) {
    const day = outside.days[t]!;
    const move = Math.abs(ratios[t]! / previous - 1);
    const isOpen = left.has(day) || others.has(day);
    if (!isOpen && move <= computeRounding(outside, t)) continue;
    if (!isOpen) chance *= computeRounding(outside, t) / move;
    previous = ratios[t]!;
  }
  return chance;
}

/** Leaves the sessions from the first contradicted cause on unexplained. */
function removeContradicted(best: DifferenceNode, start: DifferenceNode, search: Search): DifferenceNode {
  const [contradicted] = listContradicted(best, start, search);
  if (contradicted === undefined) return best;
  search.contradicted.add(toKey(contradicted.candidate));
  const kept = best.chosen.slice(start.chosen.length, best.chosen.indexOf(contradicted));
  let current = repeatChoices(start, kept, search);
  if (current === null) return start;
  while (!isSolved(current, search)) current = leaveUnexplained(current, search);
  return removeContradicted(current, start, search);
}

/** Sessions before its date on which a cause can begin to act: an event that is moved. */
const BEFORE = 1;

/**
 * Removes the causes without which every session is explained as well: a later cause that also acts on their sessions, or
 * another one of the same session, can make them superfluous. The others follow one another from the start again.
 */
function removeSuperfluous(best: DifferenceNode, start: DifferenceNode, search: Search): DifferenceNode {
  const { outside } = search;
  const first = start.chosen.length;
  for (let k = first; k < best.chosen.length; k++) {
    const { position, isPaired } = best.chosen[k]!;
    const isCovered = best.chosen
      .slice(k + 1)
      .some(
        ({ candidate: { date } }) =>
          date === null || date <= outside.days[Math.min(position + BEFORE, outside.days.length - 1)]!,
      );
    if (!isCovered && !isPaired) continue;
    const others = best.chosen.toSpliced(k, 1).slice(first);
    search.report(SEARCHED, 'checking that each cause is needed');
    const without = attempt(() =>
      evaluateChanged(
        start.own,
        others.flatMap(({ candidate }) => candidate.edits),
      ),
    );
    if (without === null || compareLevels(without, outside, best.unexplained).reach < outside.days.length) continue;
    search.isBounded = true; // the search has missed this smaller set
    const chain = repeatChoices({ ...start, unexplained: best.unexplained }, others, search);
    if (chain !== null) return removeSuperfluous(chain, start, search);
  }
  return best;
}

/** Significant digits of a rate after another day count, and decimals by which it must be shorter than the rate with it. */
const RATE_DIGITS = 6;
const DECIMALS_FEWER = 3;

/** Removes a day count that only makes a short fee a long number. */
function dropDayCount(best: DifferenceNode, start: DifferenceNode, search: Search): DifferenceNode {
  const choices = best.chosen.slice(start.chosen.length);
  const basis = choices.find(({ candidate }) => candidate.subject === 'day_count')?.candidate.value;
  if (basis == null) return best;
  const rest = choices.flatMap((choice) => {
    const { candidate } = choice;
    if (candidate.subject === 'day_count') return [];
    const { found, free, subject } = candidate;
    if (subject !== 'fee' || free?.isGradual !== true || found === undefined) return [choice];
    const fee = Number(((found * (BOTH_DAY_COUNTS - basis)) / basis).toPrecision(RATE_DIGITS));
    const isShorter = countDecimals(fee) + DECIMALS_FEWER <= countDecimals(found);
    return isShorter ? [{ ...choice, candidate: giveValue(candidate, fee) }] : [];
  });
  if (rest.length !== choices.length - 1) return best;
  const node = repeatChoices({ ...start, unexplained: best.unexplained }, rest, search);
  return node !== null && isSolved(node, search) ? node : best;
}

/** Gives each rate the fewest digits with which all levels agree. */
function shortenRates(best: DifferenceNode, start: DifferenceNode, search: Search): DifferenceNode {
  for (const [k, choice] of best.chosen.entries()) {
    const shorter = k < start.chosen.length ? null : findShorterRate(best, choice, search.outside);
    if (shorter === null) continue;
    const choices = best.chosen.with(k, { ...choice, candidate: shorter }).slice(start.chosen.length);
    const node = repeatChoices({ ...start, unexplained: best.unexplained }, choices, search);
    if (node !== null && isSolved(node, search)) return shortenRates(node, start, search);
  }
  return best;
}

/** Returns the state after causes in their order. Returns null if a run is refused. */
function repeatChoices(
  start: DifferenceNode,
  choices: DifferenceNode['chosen'],
  search: Search,
): DifferenceNode | null {
  let node = start;
  for (let k = 0, count = 1; k < choices.length; k += count) {
    const { position, isPaired, rivals, listRivals, isCertain, expected } = choices[k]!;
    const next = choices.findIndex((one, j) => j > k && !(isPaired && one.isPaired && one.position === position));
    count = (next < 0 ? choices.length : next) - k;
    const candidates = choices.slice(k, k + count).map(({ candidate }) => candidate);
    const before = node;
    const repeat = (changes: readonly Candidate[]): Fit | null => {
      reportSession(before, search);
      const own = attempt(() =>
        evaluateChanged(
          before.own,
          changes.flatMap(({ edits }) => edits),
        ),
      );
      return own === null
        ? null
        : {
            candidates: changes,
            terms: own.terms,
            own,
            agreement: compareLevels(own, search.outside, before.unexplained),
          };
    };
    const fit = repeat(candidates);
    if (fit === null) return null;
    node = createChild(before, fit, {
      rivals,
      isCertain,
      expected,
      listRivals: () => listRivals().flatMap((rival) => repeat(rival.candidates) ?? []),
    });
  }
  return node;
}

/** Returns the state in the stated currency of the outside levels, as its first cause if the index has another one. */
function convertNode(start: DifferenceNode, currency: string | null, search: Search): DifferenceNode {
  const ruleId = findRuleId(start.terms);
  const own = start.terms.documents[ruleId]!.currency;
  if (currency === null || currency === own) return start;
  const [best] = listConversions(start.own, currency)
    .flatMap((candidate) => runFrom(start, candidate, search))
    .map((fit) => ({ ...fit, count: countEqualReturns(fit.own, search.outside) }))
    .toSorted((a, b) => b.count - a.count);
  const isOther = best?.own.levels.some((level, t) => level !== start.own.levels[t]) === true;
  return isOther ? createChild(start, best) : start;
}

interface Opened {
  /** State with the variant that has most returns in common with the outside levels. */
  readonly node: DifferenceNode;
  /** States with the other possible variants. */
  readonly others: readonly DifferenceNode[];
  readonly search: Search;
}

/** Number of levels that do not all end in zeros by chance. */
const ROUNDED_LEVELS = 20;

/** Returns the stated decimals, or fewer if all of many levels have fewer: levels that are rounded again. */
function chooseDecimals({
  decimals,
  outside: { values },
}: Pick<DifferenceInput, 'decimals' | 'outside'>): number | null {
  const found = findDecimals(values);
  if (decimals === null || found === null) return decimals ?? found;
  return values.length < ROUNDED_LEVELS ? decimals : Math.min(decimals, found);
}

function openSearch(input: DifferenceInput): Opened {
  const decimals = chooseDecimals(input);
  const variants = input.variant === null ? RETURN_VARIANTS : [input.variant];
  let composer: Composer | undefined;
  const evaluated = variants.flatMap((variant, k) => {
    input.report((OPENED * k) / variants.length, `computing the ${variant} return`);
    const own = attempt(() => evaluateTerms({ ...input.terms, variant, reading: [] }, { composer }));
    composer = own?.composer ?? composer;
    return own === null ? [] : [{ variant, own }];
  });
  if (evaluated.length === 0) evaluateTerms({ ...input.terms, variant: variants[0]!, reading: [] }); // states the refusal
  const common = selectCommon({ ...input.outside, decimals }, evaluated[0]!.own);
  if (common.days.length < 2)
    throw new Refusal(
      'VALIDATION_FAILED',
      `The levels and the run have ${common.days.length} common ${common.days.length === 1 ? 'session' : 'sessions'}; a comparison needs at least 2.`,
    );
  const counts = evaluated.map(({ own }) => countEqualReturns(own, common));
  const best = Math.max(...counts);
  const chosen =
    evaluated.find(({ variant }, k) => counts[k] === best && variant === input.ownVariant) ??
    evaluated[counts.indexOf(best)]!;
  const outside = fitScale(common, chosen.own);
  const create = ({ own }: { readonly own: Evaluation }): DifferenceNode => ({
    terms: own.terms,
    own,
    chosen: [],
    unexplained: NOTHING,
    agreement: compareLevels(own, outside, NOTHING),
  });
  return {
    node: create(chosen),
    others: evaluated.filter((one) => one !== chosen).map(create),
    search: {
      outside,
      known: new Set(input.known),
      causesMax: input.causesMax,
      report: input.report,
      refuted: new Set(),
      contradicted: new Set(),
      expansions: 0,
      runs: 0,
      best: null,
      isBounded: false,
    },
  };
}

const isSolved = ({ agreement }: DifferenceNode, { outside }: Search): boolean =>
  agreement.reach >= outside.days.length;

/** Returns true if a state is better than another: fewer unexplained sessions, then fewer causes. */
function isBetter(node: DifferenceNode, other: DifferenceNode | null): boolean {
  if (other === null) return true;
  const [own, others] = [countUnexplained(node), countUnexplained(other)];
  return own < others || (own === others && node.chosen.length < other.chosen.length);
}

/** Returns a state whose first difference is not on a session that is left out. */
const extendNode = (node: DifferenceNode, { outside }: Search): DifferenceNode => ({
  ...node,
  agreement: compareLevels(node.own, outside, node.unexplained),
});

function descend(node: DifferenceNode, search: Search): void {
  if (isSolved(node, search)) {
    if (isBetter(node, search.best)) search.best = node;
    const again = reopen(node, search);
    if (again !== null) descend(again, search);
    return;
  }
  if (!canImprove(node, search)) return;
  const chained = findChained(node, search);
  if (chained !== null) {
    descend(createChild(node, chained, { ...NO_RIVALS, isCertain: true }), search);
    return;
  }
  const noise = listNoise(node, search);
  if (noise.length > 0) {
    const unexplained = { ...node.unexplained, noise: [...node.unexplained.noise, ...noise] };
    descend(findRounding(node, noise, search) ?? extendNode({ ...node, unexplained }, search), search);
    return;
  }
  const isLost = node.unexplained.breaks.length >= BREAKS_MAX || search.runs >= RUNS_MAX;
  if (search.expansions >= EXPANSIONS_MAX || node.chosen.length >= search.causesMax || isLost) {
    search.isBounded = true;
    if (search.best === null) descendWithout(node, search, true);
    return;
  }
  search.expansions++;
  const scaled = findScaleChange(node, search, true);
  if (scaled !== null) {
    descend(scaled, search);
    return;
  }
  const repeated = findRepeatedLevel(node, search);
  if (repeated !== null) {
    descend(repeated, search);
    return;
  }
  const fits = listFits(node, search).flatMap((fit, k) => (k < BRANCHES_MAX ? prolong(node, fit, search) : [fit]));
  if (fits.length > BRANCHES_MAX) search.isBounded = true;
  const followed = fits.slice(0, BRANCHES_MAX).flatMap((fit) => {
    const whole = complete(node, fit, search);
    return whole === null ? [] : [{ fit, whole }];
  });
  for (const [k, { fit, whole }] of followed.entries()) {
    // A change with the same levels leaves the same remainder.
    const isSolvedBefore = search.best !== null && countUnexplained(search.best) === 0;
    if (isSolvedBefore && followed.slice(0, k).some((one) => haveEqualLevels(one.whole.own, whole.own, search.outside)))
      continue;
    const rivals = fits.filter(
      (one) => one !== fit && one.agreement.reach >= fit.agreement.reach && one.candidates.length === 1,
    );
    const child = createChild(node, whole, {
      rivals: rivals.map(({ candidates: [candidate] }) => candidate!),
      listRivals: () => listRuns(node, rivals, search),
      isCertain: fit.isCertain === true && fit.candidates[0]!.free === undefined,
      expected: fit.expected ?? 0,
    });
    descend(whole.candidates.some(({ date }) => date === null) ? explainAgain(child, search) : child, search);
  }
  if (followed.length > 0) return;
  for (const near of [findNearScale(node, search), findNearSplit(node, search)])
    if (near !== null) descend(near, search);
  if (canImprove(node, search)) descendWithout(node, search, false);
}

/** Returns the runs of changes. Computes only some of those that are not known. */
function listRuns(node: DifferenceNode, rivals: readonly Tried[], search: Search): Fit[] {
  const unknown = rivals.filter(({ brief }) => brief !== undefined).slice(0, NEW_RIVALS_MAX);
  return rivals
    .filter((one) => one.brief === undefined || unknown.includes(one))
    .slice(0, RIVALS_MAX)
    .flatMap((one) => complete(node, one, search) ?? []);
}

/** Returns a state whose sessions without an explanation are searched again, because a new cause acts on all sessions. */
function explainAgain(node: DifferenceNode, search: Search): DifferenceNode {
  return countUnexplained(node) === 0 ? node : extendNode({ ...node, unexplained: NOTHING }, search);
}

/**
 * Returns the state whose first step without an explanation is searched again, if a later cause was found since: it makes
 * more sessions evidence for the cause of the step.
 */
function reopen({ isReopened, ...node }: DifferenceNode, search: Search): DifferenceNode | null {
  const [first] = node.unexplained.breaks;
  const last = node.chosen.at(-1);
  if (isReopened === true || first === undefined || last === undefined) return null;
  if (search.outside.days[last.position]! <= first) return null;
  return extendNode({ ...node, unexplained: NOTHING, isReopened: true }, search);
}

/** Returns true if a state can still lead to a better one than the best so far. */
function canImprove(node: DifferenceNode, { best }: Search): boolean {
  if (best === null) return true;
  const [own, others] = [countUnexplained(node), countUnexplained(best)];
  return own < others || (own === others && node.chosen.length + 1 < best.chosen.length);
}

/** Size of a difference in units of the last digit up to which levels that are rounded otherwise differ. */
const NOISE_UNITS = 1;

/** Sessions before a step that are noise, and sessions that agree after the last small difference where a larger one follows. */
const NOISE_SESSIONS = 20;
const NOISE_PAUSE = 3;

/** Sessions of small differences from which another rounding is searched. */
const ROUNDED_SESSIONS = 10;

/**
 * Returns the sessions from a difference on whose levels differ by at most one unit of the last digit, up to the next
 * larger difference. They are none if they grow to it.
 */
function listNoise(node: DifferenceNode, { outside }: Search): Day[] {
  const { own, agreement } = node;
  const { reach, low, high } = agreement;
  if (outside.decimals === null || !Number.isFinite(high)) return [];
  const unit = NOISE_UNITS * computeUnit(outside.decimals);
  const scale = (low + high) / 2;
  const noise: number[] = [];
  const measure = (at: number): number => outside.values[at]! - levelOn(own, outside.days[at]!) * scale;
  let t = reach;
  for (; t < outside.days.length; t++) {
    const size = Math.abs(measure(t)) - computeTolerance(outside, outside.values[t]!);
    if (size > unit) break;
    if (size > 0 || t === reach) noise.push(t);
  }
  if (noise.length === 0 || isStepOf(node, noise, outside)) return [];
  const isStep = t - reach >= NOISE_SESSIONS && Math.abs(measure(t) - measure(t - 1)) > 2 * unit;
  const isEnded = t >= outside.days.length || isStep || t - noise.at(-1)! > NOISE_PAUSE;
  return isEnded ? noise.map((at) => outside.days[at]!) : [];
}

/** Small differences that a step makes at least, because each level with it can also agree. */
const STEP_SESSIONS = 5;

/** Returns true if small differences are those of one step of the level, after which all levels agree. */
function isStepOf(node: DifferenceNode, noise: readonly number[], outside: OutsideLevels): boolean {
  if (noise.length < STEP_SESSIONS) return false;
  const { breaks, ...others } = node.unexplained;
  const later = compareLevels(node.own, outside, { ...others, breaks: [...breaks, outside.days[noise[0]!]!] });
  return later.reach > noise.at(-1)! && (later.low > node.agreement.high || later.high < node.agreement.low);
}

/** Returns the state with another rounding that makes all small differences of the sessions to the end. */
function findRounding(node: DifferenceNode, noise: readonly Day[], search: Search): DifferenceNode | null {
  if (noise.length < ROUNDED_SESSIONS) return null;
  const [fit] = listConventionsAt(node, node.agreement.reach, search)
    .filter(({ subject }) => subject === 'rounding')
    .flatMap((one) => runFrom(node, one, search))
    .filter(({ agreement }) => agreement.reach > search.outside.days.indexOf(noise.at(-1)!));
  return fit === undefined ? null : createChild(node, fit, { ...NO_RIVALS, isCertain: true });
}

/** Maximum number of sessions that are left out before the levels agree again. */
const SKIPPED_MAX = 5;

/**
 * Leaves one session unexplained if later levels agree, and otherwise changes the scale from it on. If no cause may
 * follow, repeats this to the end of the window.
 */
function descendWithout(node: DifferenceNode, search: Search, isLast: boolean): void {
  let current = leaveUnexplained(node, search);
  if (isLast) while (!isSolved(current, search)) current = leaveUnexplained(current, search);
  descend(current, search);
}

function leaveUnexplained(current: DifferenceNode, search: Search): DifferenceNode {
  const { outside } = search;
  const { breaks, skipped, noise } = current.unexplained;
  const at = current.agreement.reach;
  const broken = { breaks: [...breaks, outside.days[at]!], skipped, noise };
  const step = { ...current, unexplained: broken, agreement: compareLevels(current.own, outside, broken) };
  for (let count = 1; count <= SKIPPED_MAX; count++) {
    const days = [...outside.days.subarray(at, at + count)];
    const unexplained = { breaks, skipped: [...skipped, ...days], noise };
    const agreement = compareLevels(current.own, outside, unexplained);
    if (agreement.reach > at + count || agreement.reach >= outside.days.length)
      // Levels that differ here and there by nearly the rounding are one small step.
      return agreement.reach >= step.agreement.reach ? { ...current, unexplained, agreement } : step;
  }
  const rescaled = current.chosen.length < search.causesMax ? findScaleChange(current, search) : null;
  return rescaled ?? step;
}

/** Size of the return of a session, in units of the rounding, from which an equal level is no chance. */
const REPEATED_UNITS = 20;

/**
 * Returns the state in which the outside level of a session is that of the previous session, and null otherwise. The first
 * level of a series whose dates are moved is also there twice, and two levels can be equal by chance: the levels before and
 * after it must agree.
 */
function findRepeatedLevel(node: DifferenceNode, { outside, known }: Search): DifferenceNode | null {
  const { reach } = node.agreement;
  const [before, day] = [outside.days[reach - 1], outside.days[reach]!];
  const value = outside.values[reach]!;
  if (reach < 2 || before === undefined || value !== outside.values[reach - 1] || known.has('price')) return null;
  const move = Math.abs(levelOn(node.own, day) / levelOn(node.own, before) - 1) * value;
  if (move < 2 * REPEATED_UNITS * computeTolerance(outside, value)) return null;
  const { breaks, skipped, noise } = node.unexplained;
  let end = reach + 1;
  while (outside.values[end] === value) end++;
  const without = { breaks, noise, skipped: [...skipped, ...outside.days.subarray(reach, end)] };
  const isClosed = end < outside.days.length && compareLevels(node.own, outside, without).reach > end;
  if (!isClosed || [...breaks, ...skipped, ...noise].includes(before)) return null;
  const candidate: Candidate = {
    subject: 'price',
    manner: 'carried',
    identifier: null,
    date: day,
    through: day,
    value,
    words: 'repeats the level of the previous session',
    edits: [
      {
        kind: 'levels',
        terms: { repeated_level: formatDay(day) },
        change: (levels, days) => levels.map((own, t) => (days[t] === day ? levels[days.indexOf(before)]! : own)),
      },
    ],
  };
  const own = changeLevels(node.own, candidate.edits)!;
  const agreement = compareLevels(own, outside, node.unexplained);
  if (agreement.reach <= reach) return null;
  const fit = { candidates: [candidate], terms: own.terms, own, agreement };
  return createChild(node, fit, { ...createRivals(listUnmoved(node, fit)), isCertain: true });
}

/** Largest width of the range of a scale in units of its last decimal: a number in it is then hardly there by chance. */
const SCALE_WIDTH = 0.02;

/** Most decimals of a scale. */
const SCALE_DECIMALS = 4;

/** Sessions that must agree after a change of scale. */
const SCALE_SESSIONS = 3;

/** Logarithm of a change of scale that nothing else makes on one session. */
const SCALE_LOG = 0.4;

/** Returns the state in which the outside levels have another scale from a difference on, if it is a round number. */
function findScaleChange(
  node: DifferenceNode,
  { outside, contradicted }: Search,
  isOnlyLarge = false,
): DifferenceNode | null {
  const { reach, low, high } = node.agreement;
  const day = outside.days[reach]!;
  const { breaks } = node.unexplained;
  const later = compareLevels(node.own, outside, { ...node.unexplained, breaks: [...breaks, day] });
  if (!Number.isFinite(high)) return null;
  const [from, to] = [later.low / high, later.high / low];
  const isLarge = Math.abs(Math.log(from)) > SCALE_LOG;
  if (later.reach < reach + (isLarge && !isOnlyLarge ? 1 : SCALE_SESSIONS) || (isOnlyLarge && !isLarge)) return null;
  if (isLarge && !isLastingScale(node, from, outside)) return null;
  // A scale is a number with few decimals or the inverse of an integer.
  const value = findRoundNumber(from, to, SCALE_DECIMALS) ?? invert(findRoundNumber(1 / to, 1 / from, 0));
  const rescaled = value === null ? null : changeScale(node, value, outside);
  if (rescaled === null || contradicted.has(toKey(rescaled.chosen.at(-1)!.candidate))) return null;
  return rescaled.agreement.reach > reach ? rescaled : null;
}

/** Changes of scale that are tried where something else happens on their session, and the largest logarithm of the rest. */
const SCALES = [1000, 100, 10, 2, 0.5, 0.1, 0.01, 0.001];
const SCALE_REST = 0.25;

/** Returns the state after a usual change of scale that leaves a small difference on its session. */
function findNearScale(node: DifferenceNode, search: Search): DifferenceNode | null {
  const { reach, high } = node.agreement;
  if (!Number.isFinite(high) || node.chosen.some((one) => one.candidate.subject === 'scale' && one.position === reach))
    return null;
  const { needed } = seek(node, search, 1);
  const ratio = 1 + needed[0]!.difference;
  const value = SCALES.find((scale) => Math.abs(Math.log(ratio / scale)) < SCALE_REST);
  const isScale = value !== undefined && isLastingScale(node, value, search.outside);
  return isScale ? changeScale(node, value, search.outside) : null;
}

/** Largest part of a difference that a split leaves which the price of its security shows. */
const SPLIT_REST = 0.05;

/** Returns the state after a split that the store lacks, if it leaves only a small part of a difference on its session. */
function findNearSplit(node: DifferenceNode, search: Search): DifferenceNode | null {
  const { outside, known } = search;
  const [day, before] = [0, -1].map((by) => outside.days[node.agreement.reach + by]);
  if (known.has('split') || before === undefined) return null;
  const grow = (own: OwnLevels): number => Math.log(levelOn(own, day!) / levelOn(own, before));
  const wanted = Math.log(outside.values[node.agreement.reach]! / outside.values[node.agreement.reach - 1]!);
  const size = Math.abs(wanted - grow(node.own));
  return (
    listUnlistedCandidates(createRuleSite(createSite(node, day!, search)))
      .filter(({ subject, free }) => subject === 'split' && free === undefined)
      .flatMap((candidate) => runFrom(node, candidate, search))
      .filter(({ own }) => Math.abs(wanted - grow(own)) < SPLIT_REST * size)
      .map((fit) => createChild(node, fit, { ...NO_RIVALS, isCertain: true }))[0] ?? null
  );
}

/** Returns the state after a change of scale from a difference on. It is tied with one from a session before without a level. */
function changeScale(node: DifferenceNode, value: number, outside: OutsideLevels): DifferenceNode {
  const { reach } = node.agreement;
  const create = (day: Day): Fit => {
    const candidate: Candidate = {
      subject: 'scale',
      manner: 'value',
      identifier: null,
      date: day,
      through: null,
      value,
      words: 'has another scale',
      edits: [
        {
          kind: 'levels',
          terms: { scale: value, from: formatDay(day) },
          change: (levels, days) => levels.map((level, t) => (days[t]! >= day ? level * value : level)),
        },
      ],
    };
    const terms = applyEdits(node.terms, candidate.edits);
    const own = changeLevels(node.own, candidate.edits)!;
    return { candidates: [candidate], terms, own, agreement: compareLevels(own, outside, node.unexplained) };
  };
  const [before, day] = [outside.days[reach - 1] ?? -Infinity, outside.days[reach]!];
  const fit = create(day);
  const rivals = [...node.own.days].filter((one) => one > before && one < day).map(create);
  rivals.push(...listUnmoved(node, fit));
  return createChild(node, fit, createRivals(rivals));
}

/** Returns the change of a level with the date that it has where the dates of all levels were moved after it. */
function listUnmoved(node: DifferenceNode, fit: Fit): Fit[] {
  const { sm } = node.own.compositions;
  const [{ date, through, ...candidate }] = fit.candidates as [Candidate];
  const unmoved = sm.sessions[findRuleSession(node, date!, sm.sessionAt(date!))]!;
  if (node.terms.reading.length === 0 || unmoved === date) return [];
  return [{ ...fit, candidates: [{ ...candidate, date: unmoved, through: through === null ? null : unmoved }] }];
}

const invert = (value: number | null): number | null => (value === null ? null : 1 / value);

/** Returns a number with few decimals in a range that is narrow for it. Returns null if there is none. */
function findRoundNumber(from: number, to: number, most: number): number | null {
  for (let decimals = 0; decimals <= most; decimals++) {
    const value = roundHalfAwayFromZero((from + to) / 2, decimals);
    if (value > 0 && value >= from && value <= to && to - from < SCALE_WIDTH * computeUnit(decimals)) return value;
  }
  return null;
}

/** Returns the changes that explain a session, the best first. */
function listFits(node: DifferenceNode, search: Search): Tried[] {
  const { outside } = search;
  const { agreement } = node;
  const site = createSite(node, outside.days[agreement.reach]!, search);
  const candidates = [...listLocalCandidates(site), ...listConventions(site)].filter(
    (one) => !search.known.has(one.subject) && !search.contradicted.has(toKey(one)),
  );
  const { likely, others } = orderCandidates(node, candidates, search);
  const tryEach = (ordered: readonly Candidate[]): Tried[] =>
    ordered.flatMap((candidate) => tryCandidate(node, candidate, search));
  const least = findEvidence(node, search);
  const selectFits = (all: readonly Tried[]): Tried[] => {
    const isCertain = isLargeFor(node, all.length, search);
    const fits = all
      .filter((one) => one.agreement.reach > agreement.reach)
      .map((fit) => ({ ...fit, isCertain, expected: expectByChance(node, fit, { candidates, all }, search) }))
      .filter((fit) => !isLongByChance(fit))
      .filter((fit) => agreesUpTo(node, fit, 1 + Math.min(least, agreement.reach + countEvidence(node, fit)), search));
    return removeDuplicates(sortFits(fits));
  };
  const isWeak = (fits: readonly Fit[]): boolean =>
    fits.length === 0 || fits[0]!.agreement.reach <= agreement.reach + 1;
  // A free value is searched only where no change of fixed size explains the following sessions as well.
  const tried = settle(node, tryEach(likely.filter(({ free }) => free === undefined)), search);
  const isAgreed = !isWeak(selectFits(tried));
  // A bad print or a missing bar is as likely as another change if a usual price makes the levels agree.
  const isFree = ({ free, subject }: Candidate): boolean => free !== undefined && (!isAgreed || subject === 'price');
  tried.push(...tryEach(likely.filter(isFree)).filter(({ isUsual }) => !isAgreed || isUsual !== false));
  const agreed = selectFits(tried);
  if (!isWeak(agreed)) {
    const [{ candidates: first, expected, isUsual }] = agreed as [Tried];
    // Another change of the review can do the same, or one of fixed size what a value does by chance, or a long number.
    const rivals = others.filter(({ review }) => first[0]!.review !== undefined && review !== undefined);
    const isChance = first[0]!.free !== undefined && (expected! >= CHANCE || isUsual === false);
    const more = isChance ? others.slice(0, UNLIKELY_MAX) : rivals.slice(0, REVIEW_RIVALS_MAX);
    return more.length === 0 ? agreed : selectFits([...tried, ...settle(node, tryEach(more), search)]);
  }
  if (others.length > UNLIKELY_MAX) search.isBounded = true;
  tried.push(...settle(node, tryEach(others.slice(0, UNLIKELY_MAX)), search));
  const result = selectFits(tried);
  if (!isWeak(result)) return result;
  const ofReviews = tried.some(({ candidates: [one] }) => one!.review !== undefined)
    ? measureConventions(node, candidates, search)
    : [];
  const events = others.slice(UNLIKELY_MAX).filter(({ edits: [edit], free }) => edit?.kind === 'action' && !free);
  const withEvents = [...tried, ...tryEach(events.slice(0, EVENTS_MAX))];
  const pairs = [
    ...listHolidaySets(node, candidates, search),
    ...listLocalSets(node, { tried: withEvents, candidates }, search),
    ...listFixedPairs(node, [...tried, ...ofReviews], search),
    ...listRetypedPairs(node, candidates, search),
    ...listConventionPairs(node, candidates, search),
    ...listFreePairs(node, { candidates, tried }, search),
  ];
  return sortFits([...pairs, ...result]);
}

/** Returns true for an event with a value of more decimals than usual, as one of several changes of the session has by chance. */
const isLongByChance = ({ candidates: [one], isUsual, expected }: Tried): boolean =>
  isUsual === false && one!.edits[0]?.kind === 'action' && expected! >= CHANCE;

/** Maximum number of unlikely changes of reviews that are compared with one that explains a session. */
const REVIEW_RIVALS_MAX = 20;

/** Maximum number of changes that are computed although their estimated effect is not that of the difference. */
const UNLIKELY_MAX = 160;

/** Maximum number of changes of events that are also computed for sets of changes. */
const EVENTS_MAX = 240;

/**
 * Orders changes by what the book shows of their effect before any run: first those whose estimate fits the difference
 * and those without an estimate, then the others, the best fit first. Excludes those that cannot act on the session.
 */
function orderCandidates(
  node: DifferenceNode,
  candidates: readonly Candidate[],
  search: Search,
): { readonly likely: Candidate[]; readonly others: Candidate[] } {
  const estimate = createEstimate(node.own, seek(node, search, countAhead(node, search)));
  const estimated = candidates.map((candidate) => ({ candidate, error: estimate(candidate) ?? 0 }));
  return {
    likely: estimated.filter(({ error }) => error <= ESTIMATE_ERROR).map(({ candidate }) => candidate),
    others: estimated
      .filter(({ error }) => error > ESTIMATE_ERROR && error < Infinity)
      .toSorted((a, b) => a.error - b.error)
      .map(({ candidate }) => candidate),
  };
}

const sortFits = <T extends Fit>(fits: readonly T[]): T[] =>
  fits.toSorted((a, b) => b.agreement.reach - a.agreement.reach || rank(a) - rank(b));

/** Order of equally good changes: events, reviews, prices, and conventions of the whole run. */
const RANKS: Partial<Record<CauseSubject, number>> = { rebalance: 1, shares: 2, constituent: 3, price: 4, rounding: 7 };

function rank({ candidates, isUsual, isCertain }: Fit & Pick<Tried, 'isUsual' | 'isCertain'>): number {
  const [{ subject, date }] = candidates as [Candidate];
  const free = candidates.find((one) => one.free !== undefined);
  // The market gives a reason for a free price: a bad print, or no price. A change of fixed size is no chance if it is large.
  const ofPrice = isCertain === true ? 0.5 : -0.5;
  const ofValue = free === undefined ? 0 : (free.subject === 'price' ? ofPrice : 0.5) + (isUsual === false ? 0.2 : 0);
  const ofRate = subject === 'currency' && date !== null ? RANKS.price! + 0.1 : undefined;
  return 10 * (candidates.length - 1) + (ofRate ?? RANKS[subject] ?? (date === null ? 6 : 0)) + ofValue;
}

/** Returns a key of a change by its name and what it does. */
const toKey = (candidate: Candidate): string => `${toName(candidate)} ${candidate.words}`;

const toName = ({ subject, manner, identifier, date, through }: Candidate): string =>
  `${subject} ${manner} ${identifier ?? ''} ${date ?? ''} ${subject === 'constituent' ? (through ?? '') : ''}`;

/** Removes changes of one name, of which the first is the best. Conventions of one name are different changes. */
function removeDuplicates(fits: readonly Tried[]): Tried[] {
  const names = new Set<string>();
  return fits.filter(({ candidates }) => {
    const name = candidates
      .map((one) => (one.date === null && one.free === undefined ? toKey(one) : toName(one)))
      .join();
    return names.has(name) ? false : (names.add(name), true);
  });
}
