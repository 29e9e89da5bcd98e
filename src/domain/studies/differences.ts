import { findFirstAtLeast, findLastAtMost, roundHalfAwayFromZero } from '../base/numbers.js';
import { Refusal } from '../base/refusals.js';
import { type Day, formatDay, parseValidDay } from '../base/time.js';
import type { Composer } from '../books/compositions.js';
import { ACTION_KINDS, type MarketData, RETURN_VARIANTS, type ReturnVariant } from '../market/market-data.js';
import { type Candidate, type FreeValue, listConventions, listLocalCandidates } from './difference-candidates.js';
import { createEstimate, ESTIMATE_ERROR, type Sought } from './difference-estimates.js';
import type { OutsideComposition } from './difference-parts.js';
import {
  type ChosenCandidate,
  createResult,
  type Difference,
  type DifferenceNode,
  type Fit,
} from './difference-result.js';
import {
  applyEdits,
  attempt,
  changeDocument,
  changeLevels,
  type Edit,
  evaluateTerms,
  evaluateChanged,
  evaluateWhole,
  findBegin,
  findRuleId,
  findState,
  findWindow,
  listReviewsOf,
  REVIEW_SESSIONS,
  runInWindow,
  type CandidateTerms,
  type CauseSubject,
  WINDOW_SESSIONS,
} from './difference-terms.js';
import {
  type Agreement,
  compareLevels,
  computeTolerance,
  computeUnit,
  countEqualReturns,
  findDecimals,
  levelOn,
  NOTHING,
  type OutsideLevels,
  type OwnLevels,
  PRECISION,
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
  return { days: Int32Array.from(used, ([day]) => day), values: Float64Array.from(used, ([, value]) => value) };
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

/** Maximum number of candidates of a state that are followed. */
const BRANCHES_MAX = 4;

/** Number of sessions after a difference above the rounding with which a candidate must agree first. */
const AHEAD = 2;

/** Maximum number of pairs of changes of one session that are computed. */
const PAIRS_MAX = 60;

/** Maximum number of rivals that are compared with all other causes, and of those whose run is not known yet. */
const RIVALS_MAX = 40;
const NEW_RIVALS_MAX = 10;

/** Part of the progress after the first runs, and before the causes are described. */
const [OPENED, SEARCHED] = [0.05, 0.95];

/** Reports the session that is explained. Called before each run, so that a cancelled search ends within one run. */
function reportSession({ agreement: { reach } }: DifferenceNode, { report, outside: { days } }: Search): void {
  const fraction = OPENED + (SEARCHED - OPENED) * (reach / days.length);
  report(fraction, `explaining the session ${formatDay(days[Math.min(reach, days.length - 1)]!)}`);
}

interface Search {
  readonly outside: OutsideLevels;
  readonly known: ReadonlySet<CauseSubject>;
  readonly causesMax: number;
  readonly report: DifferenceInput['report'];
  /** Conventions that change levels that agree. */
  readonly refuted: Set<string>;
  /** Changes that later levels contradict. */
  readonly contradicted: Set<string>;
  expansions: number;
  best: DifferenceNode | null;
  isBounded: boolean;
}

/**
 * Explains the differences between a run and levels from outside. The search follows the sessions: each first difference
 * is explained by every single change that makes its session, and all sessions before it, agree within rounding; of
 * these the change is preferred after which the levels agree longest. Other orders are searched for smaller sets.
 * @throws Refusal VALIDATION_FAILED with fewer than two common sessions
 */
export function explainDifference(input: DifferenceInput): Difference {
  const root = openSearch(input);
  const { search } = root;
  const start = extendNode(root.node, search);
  const converted = convertNode(start, input.currency, search);
  let best = explain(converted, search);
  for (let k = 0; k < REFUTATIONS_MAX; k++) {
    const contradicted = listContradicted(best, search);
    if (contradicted.length === 0) break;
    for (const candidate of contradicted.flatMap((one) => [one.candidate, ...one.rivals]))
      search.contradicted.add(toKey(candidate));
    best = explain(converted, search);
  }
  best = removeContradicted(best, converted, search);
  best = removeSuperfluous(best, converted, search);
  const { outside, isBounded } = search;
  return createResult(best, start, {
    outside,
    isBounded,
    compositions: input.compositions ?? [],
    report: () => input.report(SEARCHED, 'describing the causes'),
  });
}

/** Maximum number of searches without the changes that an earlier one contradicts. */
const REFUTATIONS_MAX = 3;

/** Searches from a state on. Returns the best state that is found. */
function explain(start: DifferenceNode, search: Search): DifferenceNode {
  search.expansions = 0;
  search.best = null;
  descend(start, search);
  return search.best ?? start;
}

/** Returns the changes after which the levels differ again within few sessions without an explanation. */
function listContradicted({ chosen, unexplained }: DifferenceNode, { outside: { days } }: Search): ChosenCandidate[] {
  const left = new Set([...unexplained.breaks, ...unexplained.skipped]);
  return chosen.filter(
    ({ position, candidate, isCertain }) =>
      candidate.subject !== 'scale' &&
      !isCertain &&
      days.subarray(position + 1, position + 1 + AHEAD).some((day) => left.has(day)),
  );
}

/** Leaves the sessions from the first contradicted cause on unexplained. */
function removeContradicted(best: DifferenceNode, start: DifferenceNode, search: Search): DifferenceNode {
  const [contradicted] = listContradicted(best, search);
  if (contradicted === undefined) return best;
  const kept = best.chosen.slice(start.chosen.length, best.chosen.indexOf(contradicted));
  let current = repeatChoices(start, kept, search);
  if (current === null) return start;
  while (!isSolved(current, search)) current = leaveUnexplained(current, search);
  return removeContradicted(current, start, search);
}

/** Sessions before its date on which a cause can begin to act: an event that is moved. */
const BEFORE = 1;

/**
 * Removes the causes without which every session is explained as well: a later cause that also acts on their sessions can
 * make them superfluous. The others follow one another from the start again.
 */
function removeSuperfluous(best: DifferenceNode, start: DifferenceNode, search: Search): DifferenceNode {
  const { outside } = search;
  const first = start.chosen.length;
  for (let k = first; k < best.chosen.length; k++) {
    const { position } = best.chosen[k]!;
    const isCovered = best.chosen
      .slice(k + 1)
      .some(
        ({ candidate: { date } }) =>
          date === null || date <= outside.days[Math.min(position + BEFORE, outside.days.length - 1)]!,
      );
    if (!isCovered) continue;
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

/** Returns the state after causes in their order. Returns null if a run is refused. */
function repeatChoices(
  start: DifferenceNode,
  choices: DifferenceNode['chosen'],
  search: Search,
): DifferenceNode | null {
  let node = start;
  for (let k = 0, count = 1; k < choices.length; k += count) {
    const { position, isPaired, rivals, listRivals, isCertain } = choices[k]!;
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
      listRivals: () => listRivals().flatMap((rival) => repeat(rival.candidates) ?? []),
    });
  }
  return node;
}

/** Returns the state in the stated currency of the outside levels, as its first cause if the index has another one. */
function convertNode(start: DifferenceNode, currency: string | null, { outside }: Search): DifferenceNode {
  const ruleId = findRuleId(start.terms);
  const own = start.terms.documents[ruleId]!.currency;
  if (currency === null || currency === own) return start;
  const candidate: Candidate = {
    subject: 'currency',
    manner: 'value',
    identifier: currency,
    date: null,
    through: null,
    value: null,
    words: `is in ${currency}`,
    edits: [changeDocument(ruleId, (document) => ({ ...document, currency }))],
  };
  const converted = evaluateChanged(start.own, candidate.edits); // a missing exchange rate is refused
  if (converted.levels.every((level, t) => level === start.own.levels[t]))
    throw new Refusal(
      'VALIDATION_FAILED',
      `currency is ${currency}, but the levels of the index are the same in ${currency} and ${own}: the store has no currencies of its securities. Use ${own} or null.`,
    );
  const agreement = compareLevels(converted, outside, NOTHING);
  return createChild(start, { candidates: [candidate], terms: converted.terms, own: converted, agreement });
}

function openSearch(input: DifferenceInput): { readonly node: DifferenceNode; readonly search: Search } {
  const decimals = input.decimals ?? findDecimals(input.outside.values);
  const variants = input.variant === null ? RETURN_VARIANTS : [input.variant];
  let composer: Composer | undefined;
  const evaluated = variants.flatMap((variant, k) => {
    input.report((OPENED * k) / variants.length, `computing the ${variant} return`);
    const own = attempt(() => evaluateTerms({ ...input.terms, variant, reading: [] }, { composer }));
    composer = own?.composer ?? composer;
    return own === null ? [] : [{ variant, own }];
  });
  if (evaluated.length === 0) evaluateTerms({ ...input.terms, variant: variants[0]!, reading: [] }); // states the refusal
  const outside = selectCommon({ ...input.outside, decimals }, evaluated[0]!.own);
  if (outside.days.length < 2)
    throw new Refusal(
      'VALIDATION_FAILED',
      `The levels and the run have ${outside.days.length} common ${outside.days.length === 1 ? 'session' : 'sessions'}; a comparison needs at least 2.`,
    );
  const counts = evaluated.map(({ own }) => countEqualReturns(own, outside));
  const best = Math.max(...counts);
  const chosen =
    evaluated.find(({ variant }, k) => counts[k] === best && variant === input.ownVariant) ??
    evaluated[counts.indexOf(best)]!;
  const { own } = chosen;
  return {
    node: {
      terms: own.terms,
      own,
      chosen: [],
      unexplained: NOTHING,
      agreement: compareLevels(own, outside, NOTHING),
    },
    search: {
      outside,
      known: new Set(input.known),
      causesMax: input.causesMax,
      report: input.report,
      refuted: new Set(),
      contradicted: new Set(),
      expansions: 0,
      best: null,
      isBounded: false,
    },
  };
}

const isSolved = ({ agreement }: DifferenceNode, { outside }: Search): boolean =>
  agreement.reach >= outside.days.length;

const countUnexplained = ({ unexplained }: DifferenceNode): number =>
  unexplained.breaks.length + unexplained.skipped.length;

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
    return;
  }
  if (!canImprove(node, search)) return;
  const isLost = node.unexplained.breaks.length >= BREAKS_MAX;
  if (search.expansions >= EXPANSIONS_MAX || node.chosen.length >= search.causesMax || isLost) {
    search.isBounded = true;
    if (search.best === null) descendWithout(node, search, true);
    return;
  }
  search.expansions++;
  const fits = listFits(node, search);
  if (fits.length > BRANCHES_MAX) search.isBounded = true;
  const followed = fits.slice(0, BRANCHES_MAX).flatMap((fit) => {
    const whole = complete(node, fit, search);
    return whole === null ? [] : [{ fit, whole }];
  });
  for (const [k, { fit, whole }] of followed.entries()) {
    // A change with the same levels leaves the same remainder.
    const isSolvedBefore = search.best !== null && countUnexplained(search.best) === 0;
    if (isSolvedBefore && followed.slice(0, k).some((one) => haveEqualLevels(one.whole.own, whole.own, search)))
      continue;
    const rivals = fits.filter(
      (one) => one !== fit && one.agreement.reach >= fit.agreement.reach && one.candidates.length === 1,
    );
    const child = createChild(node, whole, {
      rivals: rivals.map(({ candidates: [candidate] }) => candidate!),
      listRivals: () => listRuns(node, rivals, search),
      isCertain: fit.isCertain === true && fit.candidates[0]!.free === undefined,
    });
    descend(whole.candidates.some(({ date }) => date === null) ? explainAgain(child, search) : child, search);
  }
  if (followed.length === 0) descendWithout(node, search, false);
}

/** Returns true if the levels of two runs agree within the rounding of the outside levels. */
const haveEqualLevels = (a: OwnLevels, b: OwnLevels, { outside }: Search): boolean =>
  outside.days.every((day, t) => {
    const tolerance = (2 * computeTolerance(outside, outside.values[t]!)) / outside.values[t]!;
    return Math.abs(levelOn(a, day) / levelOn(b, day) - 1) <= tolerance;
  });

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

type Rivals = Pick<ChosenCandidate, 'rivals' | 'listRivals' | 'isCertain'>;

const NO_RIVALS: Rivals = { rivals: [], listRivals: () => [], isCertain: false };

function createChild(
  node: DifferenceNode,
  { candidates, terms, own, agreement }: Fit,
  ofSession: Rivals = NO_RIVALS,
): DifferenceNode {
  const position = node.agreement.reach;
  return {
    ...node,
    terms,
    own,
    agreement,
    chosen: [
      ...node.chosen,
      ...candidates.map((candidate, k) => ({
        candidate,
        position,
        ...(candidates.length === 1 ? ofSession : NO_RIVALS),
        // Changes of one session that explain it together have one ratio of levels.
        levels: k === 0 ? { before: node.own.levels, after: own.levels } : null,
        isPaired: candidates.length > 1,
      })),
    ],
  };
}

/** Returns true if a state can still lead to a better one than the best so far. */
function canImprove(node: DifferenceNode, { best }: Search): boolean {
  if (best === null) return true;
  const [own, others] = [countUnexplained(node), countUnexplained(best)];
  return own < others || (own === others && node.chosen.length + 1 < best.chosen.length);
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
  const { breaks, skipped } = current.unexplained;
  const at = current.agreement.reach;
  for (let count = 1; count <= SKIPPED_MAX; count++) {
    const days = [...outside.days.subarray(at, at + count)];
    const unexplained = { breaks, skipped: [...skipped, ...days] };
    const agreement = compareLevels(current.own, outside, unexplained);
    if (agreement.reach > at + count || agreement.reach >= outside.days.length)
      return { ...current, unexplained, agreement };
  }
  const rescaled = current.chosen.length < search.causesMax ? findScaleChange(current, search) : null;
  if (rescaled !== null) return rescaled;
  const unexplained = { breaks: [...breaks, outside.days[at]!], skipped };
  return { ...current, unexplained, agreement: compareLevels(current.own, outside, unexplained) };
}

/** Largest width of the range of a scale in units of its last decimal: a number in it is then hardly there by chance. */
const SCALE_WIDTH = 0.02;

/** Sessions that must agree after a change of scale. */
const SCALE_SESSIONS = 3;

/** Logarithm of a change of scale that nothing else makes on one session. */
const SCALE_LOG = 0.4;

/** Returns the state in which the outside levels have another scale from a difference on, if it is a round number. */
function findScaleChange(node: DifferenceNode, { outside }: Search): DifferenceNode | null {
  const { reach, low, high } = node.agreement;
  const day = outside.days[reach]!;
  const { breaks, skipped } = node.unexplained;
  const later = compareLevels(node.own, outside, { breaks: [...breaks, day], skipped });
  if (!Number.isFinite(high)) return null;
  const [from, to] = [later.low / high, later.high / low];
  const isLarge = Math.abs(Math.log(from)) > SCALE_LOG;
  if (later.reach < reach + (isLarge ? 1 : SCALE_SESSIONS)) return null;
  const value = findRoundNumber(from, to) ?? invert(findRoundNumber(1 / to, 1 / from));
  if (value === null) return null;
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
  const agreement = compareLevels(own, outside, node.unexplained);
  return agreement.reach > reach ? createChild(node, { candidates: [candidate], terms, own, agreement }) : null;
}

const invert = (value: number | null): number | null => (value === null ? null : 1 / value);

/** Returns a number with few decimals in a range that is narrow for it. Returns null if there is none. */
function findRoundNumber(from: number, to: number): number | null {
  for (let decimals = 0; decimals <= 4; decimals++) {
    const value = roundHalfAwayFromZero((from + to) / 2, decimals);
    if (value > 0 && value >= from && value <= to && to - from < SCALE_WIDTH * computeUnit(decimals)) return value;
  }
  return null;
}

interface Tried extends Fit {
  /** Ratio of the changed to the own level on the session of the difference. */
  readonly effect: number;
  /** Ratios of the levels on this session and the next ones. */
  readonly effects: readonly number[];
  /** Changes whose run is known only for a few sessions after the difference. */
  readonly brief?: readonly Edit[] | undefined;
  /** False if a free value is no number with the usual decimals. */
  readonly isUsual?: boolean;
  /** Share of numbers in whose range by rounding there is one with the usual decimals. */
  readonly chance?: number;
  /** True if a free value is a short number, which levels of this precision hardly give by chance. */
  readonly isConclusive?: boolean;
  /** True if hardly any change of fixed size has the size of the difference by chance. */
  readonly isCertain?: boolean;
  /** True if the returns of several sessions after the difference agree only with this value. */
  readonly isConfirmed?: boolean;
}

/** Size of a difference in units of rounding that some change has by chance. */
const FAINT = 20;

/** Sessions that a change must explain if some change has the size of the difference by chance. */
const FAINT_SESSIONS = 20;

/** Returns true for an event that is moved by a session: few of them are possible on a session, and their effect ends. */
const isMoved = ({ unexplained }: DifferenceNode, { manner, edits }: Candidate): boolean =>
  unexplained.breaks.length === 0 && (manner === 'early' || manner === 'late') && edits[0]?.kind === 'action';

/** Size of a difference in units of rounding up to which two of many changes explain it by chance. */
const PAIR_FAINT = 500;

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
function isLargeFor(node: DifferenceNode, count: number, search: Search): boolean {
  const { needed, tolerance } = seek(node, search, 1);
  return Math.abs(needed[0]!.difference) > CERTAIN * count * tolerance;
}

/**
 * Returns the number of sessions after a difference with which a candidate must agree before the whole run is computed:
 * all that are its evidence if the difference is near the rounding.
 */
const countAhead = (node: DifferenceNode, search: Search): number =>
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
 * near the rounding, or after a session without an explanation, because the weights may then be others.
 */
function findEvidence(node: DifferenceNode, search: Search): number {
  const { reach } = node.agreement;
  const count = isFaint(node, search) ? countFaint(node, search) : countUnexplained(node) > 0 ? EVIDENCE_SESSIONS : 0;
  return Math.min(reach + count, search.outside.days.length - 1);
}

/** Returns the changes that explain a session, the best first. */
function listFits(node: DifferenceNode, search: Search): Tried[] {
  const { outside } = search;
  const { agreement } = node;
  const day = outside.days[agreement.reach]!;
  const { sm } = node.own.compositions;
  const session = sm.sessionAt(day);
  const begin = sm.sessionAt(outside.days[0]!);
  const site = { own: node.own, session: findRuleSession(node, day, session), begin };
  const candidates = [...listLocalCandidates(site), ...listConventions(site)].filter(
    (one) => !search.known.has(one.subject) && !search.contradicted.has(toKey(one)),
  );
  const { likely, others } = orderCandidates(node, candidates, search);
  const tryEach = (ordered: readonly Candidate[]): Tried[] =>
    ordered.flatMap((candidate) => tryCandidate(node, candidate, search));
  const least = findEvidence(node, search);
  const selectFits = (all: readonly Tried[]): Tried[] => {
    const isCertain = isLargeFor(node, all.length, search);
    const fits = all.filter(
      ({ candidates: [one], agreement: { reach } }) =>
        reach > (isMoved(node, one!) ? Math.min(least, agreement.reach + 1) : least),
    );
    return removeDuplicates(sortFits(fits.map((fit) => ({ ...fit, isCertain }))));
  };
  const isWeak = (fits: readonly Fit[]): boolean =>
    fits.length === 0 || fits[0]!.agreement.reach <= agreement.reach + 1;
  // A free value is searched only where no change of fixed size explains the following sessions as well.
  const tried = settle(node, tryEach(likely.filter(({ free }) => free === undefined)), search);
  const isAgreed = !isWeak(selectFits(tried));
  // A bad print or a missing bar is as likely as another change if a usual price makes the levels agree.
  const isFree = ({ free, subject }: Candidate): boolean => free !== undefined && (!isAgreed || subject === 'price');
  tried.push(...tryEach(likely.filter(isFree)).filter(({ isUsual }) => !isAgreed || isUsual !== false));
  if (!isWeak(selectFits(tried))) return selectFits(tried);
  if (others.length > UNLIKELY_MAX) search.isBounded = true;
  tried.push(...settle(node, tryEach(others.slice(0, UNLIKELY_MAX)), search));
  const result = selectFits(tried);
  if (!isWeak(result)) return result;
  const ofReviews = tried.some(({ candidates: [one] }) => one!.review !== undefined)
    ? measureConventions(node, candidates, search)
    : [];
  const pairs = [
    ...listPairs(node, [...tried, ...ofReviews], search),
    ...listRetypedPairs(node, candidates, search),
    ...listFreePairs(node, { candidates, tried }, search),
  ];
  return sortFits([...pairs, ...result]);
}

/** Maximum number of changes that are computed although their estimated effect is not that of the difference. */
const UNLIKELY_MAX = 160;

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

/** Returns the difference of a state on its first session and the following ones. */
function seek(node: DifferenceNode, { outside }: Search, count: number = AHEAD): Sought {
  const { reach, low, high } = node.agreement;
  const { sm } = node.own.compositions;
  const value = outside.values[reach]!;
  const scale = Number.isFinite(high) ? (low + high) / 2 : value / levelOn(node.own, outside.days[reach]!);
  const before = outside.days[reach - 1];
  return {
    previous: before === undefined ? -1 : findRuleSession(node, before, sm.sessionAt(before)),
    session: findRuleSession(node, outside.days[reach]!, sm.sessionAt(outside.days[reach]!)),
    tolerance: (2 * computeTolerance(outside, value)) / value,
    needed: Array.from(outside.days.subarray(reach, reach + count), (day, k) => ({
      session: findRuleSession(node, day, sm.sessionAt(day)),
      difference: outside.values[reach + k]! / (levelOn(node.own, day) * scale) - 1,
    })),
  };
}

function findRuleSession({ own, terms }: DifferenceNode, day: Day, session: number): number {
  const shift = terms.reading.reduce((sum, { terms: { shifted_sessions: by } }) => sum + Number(by ?? 0), 0);
  return (findRuleId(terms) === terms.indexId ? session : own.rule.sm.sessionAt(day)) - shift;
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

/** Largest width of the range of a free value, in units of its last decimal, in which such a number is no chance. */
const CONCLUSIVE_WIDTH = 0.05;

/** Sessions that a change with a free value must explain. */
const EVIDENCE_SESSIONS = 4;

/** Runs a candidate: first up to a few sessions after the difference, then to the end. */
function tryCandidate(node: DifferenceNode, candidate: Candidate, search: Search): Tried[] {
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

function tryEdits(node: DifferenceNode, candidate: Candidate, search: Search): Tried | null {
  return tryAll(node, [candidate], search);
}

function tryAll(node: DifferenceNode, candidates: readonly Candidate[], search: Search): Tried | null {
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
  const first = candidates[0]!.date === null ? measure(outside.days[findAnchor(node, search)]!) : 1;
  const effect = measure(day) / first;
  if (effect === 1 || Number.isNaN(effect)) return null;
  const agreement = comparePart(node, part, search);
  const effects = listAhead(node, search).map((one) => measure(one) / first);
  const tried = { candidates, terms: node.terms, effect, effects, own: node.own, agreement };
  return agreement.reach <= reach ? tried : { ...tried, brief: edits };
}

/** Computes the whole run of changes that agree on the session of the difference. Returns null if it is refused. */
function complete(node: DifferenceNode, { brief, ...tried }: Tried, search: Search): Tried | null {
  const { outside } = search;
  if (brief === undefined) return tried;
  reportSession(node, search);
  const own = attempt(() => evaluateWhole(node.own, tried.candidates, findSession(node, outside)));
  return own === null
    ? null
    : { ...tried, terms: own.terms, own, agreement: compareLevels(own, outside, node.unexplained) };
}

/** Returns the session of the first difference of a state. */
const findSession = ({ own, agreement: { reach } }: DifferenceNode, { days }: OutsideLevels): number =>
  own.compositions.sm.sessionAt(days[reach]!);

/** Returns true if a change agrees on the sessions after the difference that are computed first. */
const agreesAhead = (node: DifferenceNode, { agreement }: Tried, search: Search): boolean =>
  agreement.reach > Math.min(node.agreement.reach + countAhead(node, search), search.outside.days.length - 1);

/**
 * Computes whole runs of the changes that agree ahead. If there are any, the others that last agree no longer than before.
 */
function settle(node: DifferenceNode, tried: readonly Tried[], search: Search): Tried[] {
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
  const { date, free, edits, words, value } = candidate!;
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
    const isIdle = CONTINUOUS.has(candidate!.subject) && part?.levels.every((level, t) => level === node.own.levels[t]);
    if (isPossible && !(isIdle && hasPaid(node, outside.days[count]!))) continue;
    if (isLocal) refuted.add(key);
    return true;
  }
  return false;
}

/** Subjects of conventions that act on every dividend or rate: without an effect at first they have none later. */
const CONTINUOUS: ReadonlySet<CauseSubject> = new Set(['variant', 'reinvestment', 'tax', 'currency']);

/** Returns true if a security of the index has paid a dividend up to a day. */
function hasPaid({ own: { rule } }: DifferenceNode, until: Day): boolean {
  const { sm, first, list } = rule;
  const held = new Set(list[0]?.columns);
  return sm.actions.all
    .slice(sm.actions.starts[first + 1], sm.actions.starts[sm.sessionAt(until) + 1])
    .some(({ action, column }) => held.has(column) && ACTION_KINDS[action.type] === 'cash');
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
const runFromSession = (
  { own }: DifferenceNode,
  edits: readonly Edit[],
  { from, to }: { readonly from: number; readonly to: number },
): OwnLevels | null => attempt(() => runInWindow(() => findWindow(own, from)?.run(edits, to) ?? null));

/** Returns the session before the review that is near a session. Returns null if there is none. */
function findReviewBegin({ own }: DifferenceNode, session: number): number | null {
  const last = own.rule.list.findLast((one) => one.session <= session);
  return last === undefined || last.session < session - WINDOW_SESSIONS
    ? null
    : Math.min(session - WINDOW_SESSIONS, last.decision - REVIEW_SESSIONS);
}

/** Measures the effects of conventions of reviews, each of which can explain a difference together with a change of the review. */
function measureConventions(node: DifferenceNode, candidates: readonly Candidate[], search: Search): Tried[] {
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

/** Computes the levels up to a few sessions after a difference: from the sessions before it where that is possible. */
function evaluatePart(
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
function solveFree(node: DifferenceNode, candidate: Candidate, search: Search): Tried | null {
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
    const { value: centre, width } =
      target === reach && outside.decimals !== null
        ? narrow(near, { runLevels, step: Math.max(step, 4 * near.width), from: reach, scale }, search)
        : near;
    for (const value of listShortNumbers(centre, width, { decimals, guess })) {
      if (!accepts(value)) continue;
      const edits = create(value);
      const stated = candidate.value === null ? value : (candidate.value / guess) * value;
      const changed = { ...candidate, edits, value: guess === 0 ? value : stated };
      const brief = tryBriefly(node, [changed], search);
      if (brief === null) continue;
      // Of values with equal levels after the session, the first is kept.
      const isAhead = agreesAhead(node, brief, search);
      if (isAhead && best !== null && !isReviewed && haveEqualEffects(best, brief, tolerance / wanted)) continue;
      const result = isAhead ? complete(node, brief, search) : brief;
      if (result !== null && (best === null || result.agreement.reach > best.agreement.reach))
        best = {
          ...result,
          isUsual: decimals >= UNUSUAL_DECIMALS || value === roundHalfAwayFromZero(value, decimals),
          isConclusive: isShort(value, { width, decimals, guess }),
          chance: (2 * width) / computeUnit(decimals),
          isConfirmed: isGradual || isConfirmed({ value, guess, runLevels, from: reach }, search),
        };
      if (result !== null && result.agreement.reach >= outside.days.length) return best;
    }
  }
  return best;
}

/** Decimals of a number that is not rounded. */
const UNUSUAL_DECIMALS = 6;

/** Returns true for a number with the usual decimals, or in a short ratio to the guess, in a range that is narrow for it. */
function isShort(
  value: number,
  { width, decimals, guess }: { readonly width: number; readonly decimals: number; readonly guess: number },
): boolean {
  const isRound = (one: number, places: number, range: number): boolean =>
    Math.abs(one - roundHalfAwayFromZero(one, places)) <= PRECISION * one &&
    range < CONCLUSIVE_WIDTH * computeUnit(places);
  return isRound(value, decimals, width) || (guess > 0 && isRound(value / guess, RATIO_DECIMALS, width / guess));
}

/** Decimals of the ratio of another value to that of an event: a tax or a factor. */
const RATIO_DECIMALS = 2;

/** Sessions whose returns must agree with a value that is no short number. One unknown number needs more than one. */
const CONFIRMATIONS = 2;

/** Part of the rounding in which levels are equal. */
const EQUAL_PART = 0.01;

/** Returns true if two changes of a session have equal effects on the next ones. */
const haveEqualEffects = (a: Tried, b: Tried, tolerance: number): boolean =>
  a.effects.length > 1 &&
  a.effects.slice(1).every((effect, k) => Math.abs(effect - b.effects[k + 1]!) <= EQUAL_PART * tolerance + PRECISION);

interface FoundValue {
  readonly value: number;
  readonly guess: number;
  readonly runLevels: (value: number) => OwnLevels | null;
  /** Position of the first session. */
  readonly from: number;
}

/** Returns true if the value acts on the returns of further sessions, so that their agreement is evidence for it. */
function isConfirmed({ value, guess, runLevels, from }: FoundValue, { outside }: Pick<Search, 'outside'>): boolean {
  const [at, other] = [runLevels(value), runLevels(guess)];
  if (at === null || other === null) return false;
  let count = 0;
  for (let t = from + 1; t < outside.days.length && count < CONFIRMATIONS; t++) {
    const [before, day] = [outside.days[t - 1]!, outside.days[t]!];
    const [ratio, previous] = [day, before].map((one) => levelOn(at, one) / levelOn(other, one)) as [number, number];
    if (Number.isNaN(ratio)) break;
    const tolerance = (4 * computeTolerance(outside, outside.values[t]!)) / outside.values[t]!;
    if (Math.abs(ratio / previous - 1) > tolerance) count++;
  }
  return count >= CONFIRMATIONS;
}

/** Returns the position of the first session that has the scale of the session of the difference. */
function findAnchor(
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
 * Returns numbers near a value: with the usual decimals, with the fewest decimals within a width, in a short ratio to the
 * guess, and the value itself.
 */
function listShortNumbers(
  value: number,
  width: number,
  { decimals, guess }: Pick<FreeValue, 'decimals' | 'guess'>,
): number[] {
  const numbers = [roundHalfAwayFromZero(value, decimals)];
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

/** Largest error of the product of two effects on one review, relative to the smaller one. */
const REVIEW_ERROR = 0.2;

/** Largest error of the product of the effects of a change and of a convention on one review. */
const CONVENTION_ERROR = 1.2;

/** Largest error of the product of two effects on one session, in units of the product of the effects. */
const INTERACTION = 5;

/** Returns pairs of changes of one session that explain it together. */
function listPairs(node: DifferenceNode, tried: readonly Tried[], search: Search): Tried[] {
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
function listRetypedPairs(node: DifferenceNode, candidates: readonly Candidate[], search: Search): Tried[] {
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

/** Largest expected number of values with the usual decimals that changes combined with a free value give by chance. */
const CHANCE = 0.05;

interface FreePairs {
  readonly candidates: readonly Candidate[];
  readonly tried: readonly Tried[];
}

/**
 * Returns pairs of a free value and a change of fixed size. A value that acts on every session needs many sessions as
 * evidence, a price or an amount a number with the usual decimals in a range that is narrow for all changes.
 */
function listFreePairs(node: DifferenceNode, { candidates, tried }: FreePairs, search: Search): Tried[] {
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

/** Returns the day of the difference and the days after it that are computed first. */
const listAhead = ({ agreement: { reach } }: DifferenceNode, { outside }: Pick<Search, 'outside'>): Day[] => [
  ...outside.days.subarray(reach, reach + AHEAD + 1),
];

/** Returns true for two changes of the same event, price or review, which exclude each other. */
const isSameObject = (a: Candidate, b: Candidate): boolean =>
  a.subject === b.subject && a.identifier === b.identifier && a.date === b.date;
