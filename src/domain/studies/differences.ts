import { roundHalfAwayFromZero } from '../base/numbers.js';
import { Refusal } from '../base/refusals.js';
import { type Day, formatDay, parseValidDay } from '../base/time.js';
import { type MarketData, RETURN_VARIANTS, type ReturnVariant } from '../market/market-data.js';
import { BeforeMarketError } from '../market/session-market.js';
import { type Candidate, listConventions, listLocalCandidates } from './difference-candidates.js';
import {
  applyEdits,
  changeDocument,
  type ChangeView,
  describeEdits,
  type Edit,
  evaluate,
  type Evaluation,
  findRuleId,
  openWindow,
  type RunTerms,
  type Subject,
  type Window,
} from './difference-terms.js';

/** Levels from outside, on ascending days. */
export interface OutsideLevels {
  readonly days: Int32Array;
  readonly values: Float64Array;
  /** Decimals to which they are rounded; null if they are not rounded. */
  readonly decimals: number | null;
}

export interface DifferenceInput {
  readonly terms: Omit<RunTerms, 'variant' | 'reading'>;
  readonly outside: Pick<OutsideLevels, 'days' | 'values'>;
  /** Null: found from the values. */
  readonly decimals: number | null;
  readonly variant: ReturnVariant | null;
  /** Currency of the outside levels; null if it is unknown. */
  readonly currency: string | null;
  /** Variant of the document. */
  readonly ownVariant: ReturnVariant;
  readonly causesMax: number;
  readonly known: readonly Subject[];
  /** Reports progress from 0 to 1; throws to cancel the search. */
  readonly report: (fraction: number, message: string) => void;
}

export interface CauseName extends Pick<Candidate, 'subject' | 'manner' | 'identifier' | 'value'> {
  readonly date: string | null;
  readonly sentence: string;
}

export interface Cause extends CauseName {
  readonly through: string | null;
  readonly change: ChangeView;
  readonly sessions: number;
  readonly effect_bps: number;
  readonly ties: readonly CauseName[];
}

/** Courses of a difference over the sessions. */
export const SHAPES = ['step', 'steps', 'drift', 'shift', 'factor', 'noise', 'currency', 'none'] as const;
export type Shape = (typeof SHAPES)[number];

/** Maximum number of outside levels: 80 years of sessions. */
export const LEVELS_MAX = 20_000;

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
  readonly known: readonly Subject[];
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

export interface Difference {
  readonly variant: ReturnVariant;
  readonly scale: number;
  readonly decimals: number | null;
  readonly sessions: {
    readonly common: number;
    readonly equal: number;
    readonly explained: number;
    readonly unexplained: readonly { readonly date: string; readonly difference_bps: number }[];
  };
  readonly largest: {
    readonly date: string;
    readonly own: number;
    readonly outside: number;
    readonly difference_bps: number;
  };
  readonly mean_absolute_bps: number;
  readonly shapes: readonly Shape[];
  readonly causes: readonly Cause[];
  readonly complete: boolean;
  readonly fewest: number | null;
  readonly reproduced: boolean;
}

/** Maximum number of decimals of a rounded level. */
const DECIMALS_MAX = 9;

/** Relative error of levels that two programs compute in full precision. */
const PRECISION = 1e-11;

/** Returns the decimals to which values are rounded. Returns null if they are not rounded. */
export function findDecimals(values: Float64Array): number | null {
  for (let decimals = 0; decimals <= DECIMALS_MAX; decimals++)
    if (values.every((value) => roundHalfAwayFromZero(value, decimals) === value)) return decimals;
  return null;
}

const computeUnit = (decimals: number): number => Number(`1e-${decimals}`);

/** Returns half a unit of the last digit of an outside level, with the error of the computation. */
function computeTolerance({ decimals }: Pick<OutsideLevels, 'decimals'>, value: number): number {
  return (
    (decimals === null ? 0 : 0.5 * computeUnit(decimals)) + PRECISION * Math.abs(value) * (decimals === null ? 10 : 1)
  );
}

/** Sessions that no cause explains. */
interface Unexplained {
  /** First days of levels with another, unknown scale. */
  readonly breaks: readonly Day[];
  /** Single days whose levels are left out. */
  readonly skipped: readonly Day[];
}

const NOTHING: Unexplained = { breaks: [], skipped: [] };

/** Agreement of the levels of a run with those from outside. */
interface Agreement {
  /** Position in the outside levels of the first difference; their number if there is none. */
  readonly reach: number;
  /** Range of scales that fit every session before it. */
  readonly low: number;
  readonly high: number;
}

type OwnLevels = Pick<Evaluation, 'days' | 'levels'>;

/**
 * Compares levels up to the first difference. Levels that begin equal have the scale 1; otherwise the scale is in the
 * range that fits all sessions within their rounding.
 */
function compareLevels(own: OwnLevels, outside: OutsideLevels, { breaks, skipped }: Unexplained): Agreement {
  const state = { low: 0, high: Number.POSITIVE_INFINITY, isFirst: true };
  let s = 0;
  for (let t = 0; t < outside.days.length; t++) {
    const day = outside.days[t]!;
    while (s < own.days.length && own.days[s]! < day) s++;
    if (own.days[s] !== day) {
      if (s >= own.days.length) return { reach: t, low: state.low, high: state.high };
      continue;
    }
    if (breaks.includes(day)) Object.assign(state, { low: 0, high: Number.POSITIVE_INFINITY });
    if (skipped.includes(day)) continue;
    const [level, value] = [own.levels[s]!, outside.values[t]!];
    const tolerance = computeTolerance(outside, value);
    if (state.isFirst && Math.abs(level - value) <= tolerance) Object.assign(state, { low: 1, high: 1 });
    state.isFirst = false;
    const slack = 1e-15;
    const low = Math.max(state.low, (value - tolerance) / level);
    const high = Math.min(state.high, (value + tolerance) / level);
    if (!(low <= high * (1 + slack))) return { reach: t, low: state.low, high: state.high };
    Object.assign(state, state.low === 1 && state.high === 1 ? {} : { low, high });
  }
  return { reach: outside.days.length, low: state.low, high: state.high };
}

/** Returns the level of a run on a day; NaN if it has none. */
function levelOn({ days, levels }: OwnLevels, day: Day): number {
  let [low, high] = [0, days.length - 1];
  while (low <= high) {
    const middle = (low + high) >> 1;
    const found = days[middle]!;
    if (found === day) return levels[middle]!;
    if (found < day) low = middle + 1;
    else high = middle - 1;
  }
  return Number.NaN;
}

/** State of the search: a run with some changes. */
interface Node {
  readonly terms: RunTerms;
  readonly own: Evaluation;
  readonly chosen: readonly Choice[];
  readonly unexplained: Unexplained;
  readonly agreement: Agreement;
}

/** Change that explains a session, with the others that explain it as well. */
interface Choice {
  readonly candidate: Candidate;
  /** Position of the first session that it explains. */
  readonly position: number;
  /** Candidates that agree with the outside level at least as long. */
  readonly rivals: readonly Candidate[];
}

interface Fit {
  readonly candidates: readonly Candidate[];
  readonly terms: RunTerms;
  readonly own: Evaluation;
  readonly agreement: Agreement;
}

/** Maximum number of states whose candidates are computed. */
const EXPANSIONS_MAX = 16;

/** Maximum number of candidates of a state that are followed. */
const BRANCHES_MAX = 4;

/** Number of sessions after a difference with which a candidate must agree before the whole run is computed. */
const AHEAD = 2;

/** Maximum number of pairs of changes of one session that are computed. */
const PAIRS_MAX = 40;

/** Maximum number of rivals that are computed with all other causes. */
const RIVALS_MAX = 40;

interface Search {
  readonly outside: OutsideLevels;
  readonly known: ReadonlySet<Subject>;
  readonly causesMax: number;
  readonly report: DifferenceInput['report'];
  expansions: number;
  best: Node | null;
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
  descend(convertNode(start, input.currency, search), search);
  return createResult(search.best ?? start, start, { search });
}

/** Returns the state in the stated currency of the outside levels, as its first cause if the index has another one. */
function convertNode(start: Node, currency: string | null, { outside }: Search): Node {
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
  const terms = applyEdits(start.terms, candidate.edits);
  const converted = evaluate(terms); // a missing exchange rate is refused
  const agreement = compareLevels(converted, outside, NOTHING);
  return createChild(start, { candidates: [candidate], terms, own: converted, agreement }, []);
}

function openSearch(input: DifferenceInput): { readonly node: Node; readonly search: Search } {
  const decimals = input.decimals ?? findDecimals(input.outside.values);
  const variants = input.variant === null ? RETURN_VARIANTS : [input.variant];
  const evaluated = variants.flatMap((variant) => {
    const own = attempt(() => evaluate({ ...input.terms, variant, reading: [] }));
    return own === null ? [] : [{ variant, own }];
  });
  if (evaluated.length === 0) evaluate({ ...input.terms, variant: variants[0]!, reading: [] }); // states the refusal
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
      expansions: 0,
      best: null,
      isBounded: false,
    },
  };
}

function selectCommon({ days, values, decimals }: OutsideLevels, own: OwnLevels): OutsideLevels {
  const isCommon = (day: Day): boolean => levelOn(own, day) > 0;
  return {
    days: days.filter(isCommon),
    values: values.filter((value, t) => isCommon(days[t]!) && value > 0),
    decimals,
  };
}

/** Returns the number of sessions whose returns agree within rounding. */
function countEqualReturns(own: OwnLevels, outside: OutsideLevels): number {
  let count = 0;
  for (let t = 1; t < outside.days.length; t++) {
    const [before, value] = [outside.values[t - 1]!, outside.values[t]!];
    const growth = levelOn(own, outside.days[t]!) / levelOn(own, outside.days[t - 1]!);
    const tolerance =
      computeTolerance(outside, value) / before + (computeTolerance(outside, before) * value) / (before * before);
    if (Math.abs(value / before - growth) <= tolerance) count++;
  }
  return count;
}

/** Computes a result. Returns null if it is refused, because a change can make a document or a market invalid. */
function attempt<T>(compute: () => T): T | null {
  try {
    return compute();
  } catch (error) {
    if (error instanceof Refusal || error instanceof BeforeMarketError) return null;
    if (error instanceof Error && error.name === 'ZodError') return null;
    throw error;
  }
}

const isSolved = ({ agreement }: Node, { outside }: Search): boolean => agreement.reach >= outside.days.length;

const countUnexplained = ({ unexplained }: Node): number => unexplained.breaks.length + unexplained.skipped.length;

/** Returns true if a state is better than another: fewer unexplained sessions, then fewer causes. */
function isBetter(node: Node, other: Node | null): boolean {
  if (other === null) return true;
  const [own, others] = [countUnexplained(node), countUnexplained(other)];
  return own < others || (own === others && node.chosen.length < other.chosen.length);
}

/** Returns a state whose first difference is not on a session that is left out. */
const extendNode = (node: Node, { outside }: Search): Node => ({
  ...node,
  agreement: compareLevels(node.own, outside, node.unexplained),
});

function descend(node: Node, search: Search): void {
  if (isSolved(node, search)) {
    if (isBetter(node, search.best)) search.best = node;
    return;
  }
  if (!canImprove(node, search)) return;
  if (search.expansions >= EXPANSIONS_MAX || node.chosen.length >= search.causesMax) {
    search.isBounded = true;
    if (search.best === null) descendWithout(node, search, true);
    return;
  }
  search.expansions++;
  search.report(
    0.9 * Math.min(1, node.agreement.reach / search.outside.days.length),
    `explaining the session ${formatDay(search.outside.days[node.agreement.reach]!)}`,
  );
  const fits = listFits(node, search);
  if (fits.length > BRANCHES_MAX) search.isBounded = true;
  for (const fit of fits.slice(0, BRANCHES_MAX)) {
    const rivals = fits.filter(
      (one) => one !== fit && one.agreement.reach >= fit.agreement.reach && one.candidates.length === 1,
    );
    descend(createChild(node, fit, rivals), search);
  }
  if (fits.length === 0) descendWithout(node, search, false);
}

function createChild(node: Node, { candidates, terms, own, agreement }: Fit, rivals: readonly Fit[]): Node {
  const position = node.agreement.reach;
  return {
    ...node,
    terms,
    own,
    agreement,
    chosen: [
      ...node.chosen,
      ...candidates.map((candidate) => ({
        candidate,
        position,
        rivals: candidates.length === 1 ? rivals.map((rival) => rival.candidates[0]!) : [],
      })),
    ],
  };
}

/** Returns true if a state can still lead to a better one than the best so far. */
function canImprove(node: Node, { best }: Search): boolean {
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
function descendWithout(node: Node, search: Search, isLast: boolean): void {
  let current = leaveUnexplained(node, search);
  if (isLast) while (!isSolved(current, search)) current = leaveUnexplained(current, search);
  descend(current, search);
}

function leaveUnexplained(current: Node, search: Search): Node {
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

/** Returns the state in which the outside levels have another scale from a difference on, if it is a round number. */
function findScaleChange(node: Node, { outside }: Search): Node | null {
  const { reach, low, high } = node.agreement;
  const day = outside.days[reach]!;
  const { breaks, skipped } = node.unexplained;
  const later = compareLevels(node.own, outside, { breaks: [...breaks, day], skipped });
  if (later.reach < reach + SCALE_SESSIONS || !Number.isFinite(high)) return null;
  const before = (low + high) / 2;
  const [from, to] = [later.low / before, later.high / before];
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
  const own = evaluate(terms);
  const agreement = compareLevels(own, outside, node.unexplained);
  return agreement.reach > reach ? createChild(node, { candidates: [candidate], terms, own, agreement }, []) : null;
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
  /** True if a free value is a number with the usual decimals, which levels of this precision hardly give by chance. */
  readonly isConclusive?: boolean;
}

/** Returns the changes that explain a session, the best first. */
function listFits(node: Node, search: Search): Fit[] {
  const { outside } = search;
  const { agreement } = node;
  const day = outside.days[agreement.reach]!;
  const session = node.own.compositions.sm.sessionAt(day);
  const site = { own: node.own, session: findRuleSession(node, day, session) };
  const candidates = [...listLocalCandidates(site), ...listConventions(site)].filter(
    ({ subject }) => !search.known.has(subject),
  );
  const isPossible = createFilter(node, search);
  const tried = candidates.filter(isPossible).flatMap((candidate, k) => {
    if (k % 16 === 0)
      search.report(
        0.9 * Math.min(1, agreement.reach / outside.days.length),
        `explaining the session ${formatDay(day)}`,
      );
    return tryCandidate(node, candidate, search);
  });
  const fits = tried.filter((one) => one.agreement.reach > agreement.reach);
  const result = removeDuplicates(fits.toSorted((a, b) => b.agreement.reach - a.agreement.reach || rank(a) - rank(b)));
  const isWeak = result.length === 0 || result[0]!.agreement.reach <= agreement.reach + 1;
  return isWeak
    ? [...listPairs(node, tried, search), ...result].toSorted(
        (a, b) => b.agreement.reach - a.agreement.reach || rank(a) - rank(b),
      )
    : result;
}

/** Factor within which the estimated effect of a change must be that of the difference, in addition to rounding. */
const ESTIMATE_FACTOR = 3;

/**
 * Returns a function that excludes changes of prices, members and share counts whose effect cannot have the size of a
 * difference. It is estimated from the weight of the security and its return in excess of the index.
 */
function createFilter(node: Node, { outside }: Search): (candidate: Candidate) => boolean {
  const { reach, low, high } = node.agreement;
  const day = outside.days[reach]!;
  const [value, level] = [outside.values[reach]!, levelOn(node.own, day)];
  const scale = Number.isFinite(high) ? (low + high) / 2 : value / level;
  const needed = Math.abs(value / (level * scale) - 1);
  const tolerance = (2 * computeTolerance(outside, value)) / value;
  const estimate = createEstimate(node, day, tolerance);
  return (candidate) => {
    const size = estimate(candidate);
    return size === null || (size > 0 && size * ESTIMATE_FACTOR + tolerance >= needed);
  };
}

/** Excess of an estimated earlier effect over rounding that excludes a change. */
const PRIOR_FACTOR = 8;

/** Largest exposure of an overlay to the index beneath it that the estimate allows. */
const EXPOSURE = 4;

function createEstimate(node: Node, day: Day, tolerance: number): (candidate: Candidate) => number | null {
  const ruleId = findRuleId(node.terms);
  const { list, sm } = node.own.composer.compositions(ruleId);
  const session = sm.sessionAt(day);
  const exposure = ruleId === node.terms.indexId ? 1 : EXPOSURE;
  return ({ subject, manner, identifier, date, value, edits: [edit] }) => {
    if (identifier === null || date === null || edit === undefined) return null;
    const column = sm.columnOf(identifier);
    if (subject === 'price' && manner === 'carried' && edit.kind === 'bars') {
      const weight = Math.max(...list.map((one) => one.weights[one.columns.indexOf(column)] ?? 0));
      const price = sm.closeAt(sm.sessionAt(date), column);
      return exposure * 2 * weight * Math.abs(value! / price - 1);
    }
    if (subject !== 'constituent') return null;
    const start = sm.sessionAt(date);
    const composition = list.findLast((one) => one.session <= start);
    const weight = composition?.weights[composition.columns.indexOf(column)] ?? 0.5;
    const growth = sm.carriedClose(session, column) / sm.carriedClose(start, column);
    const index = levelOn(node.own, day) / levelOn(node.own, sm.sessions[start]!);
    const price = sm.carriedClose(start, column);
    const least =
      exposure === 1
        ? 0.5 * (composition?.weights[composition.columns.indexOf(column)] ?? 0.1 / (composition?.columns.length ?? 1))
        : 0;
    // The levels agree before the difference, so that a security that has already moved cannot be its cause.
    for (let before = start + 1; before < session; before++) {
      const moved =
        sm.carriedClose(before, column) / price -
        levelOn(node.own, sm.sessions[before]!) / levelOn(node.own, sm.sessions[start]!);
      if (least * Math.abs(moved) > PRIOR_FACTOR * tolerance) return 0;
    }
    const spread = Math.abs(growth - index) + (exposure === 1 ? 0 : Math.abs(index - 1)) + 0.02;
    return Number.isNaN(spread) ? null : exposure * weight * spread;
  };
}

function findRuleSession({ own, terms }: Node, day: Day, session: number): number {
  const ruleId = findRuleId(terms);
  return ruleId === terms.indexId ? session : own.composer.market(ruleId).sessionAt(day);
}

/** Order of equally good changes: events, reviews, prices, and conventions of the whole run. */
const RANKS: Partial<Record<Subject, number>> = { rebalance: 1, shares: 2, constituent: 3, price: 4, rounding: 7 };

function rank({ candidates }: Fit): number {
  const [{ subject, date, free }] = candidates as [Candidate];
  return 10 * (candidates.length - 1) + (RANKS[subject] ?? (date === null ? 6 : 0)) + (free === undefined ? 0 : 0.5);
}

const toName = ({ subject, manner, identifier, date }: Candidate): string =>
  `${subject} ${manner} ${identifier ?? ''} ${date ?? ''}`;

function removeDuplicates(fits: readonly Fit[]): Fit[] {
  const names = new Set<string>();
  return fits.filter(({ candidates }) => {
    const name = candidates.map(toName).join();
    return names.has(name) ? false : (names.add(name), true);
  });
}

/** Largest width of the range of a free value, in units of its last decimal, in which such a number is no chance. */
const CONCLUSIVE_WIDTH = 0.05;

/** Sessions that a change with a free value must explain. */
const EVIDENCE_SESSIONS = 4;

/** Runs a candidate: first up to a few sessions after the difference, then to the end. */
function tryCandidate(node: Node, candidate: Candidate, search: Search): Tried[] {
  const direct = candidate.free === undefined ? tryEdits(node, candidate, search) : solveFree(node, candidate, search);
  if (direct === null) return [];
  // A free value fits its own session by construction: evidence are later sessions, or a number with the usual decimals.
  const least = Math.min(node.agreement.reach + EVIDENCE_SESSIONS, search.outside.days.length);
  if (candidate.free !== undefined && direct.isConclusive !== true && direct.agreement.reach < least) return [];
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

function tryEdits(node: Node, candidate: Candidate, search: Search): Tried | null {
  return tryAll(node, [candidate], search);
}

function tryAll(node: Node, candidates: readonly Candidate[], search: Search): Tried | null {
  const { outside } = search;
  const { reach } = node.agreement;
  const day = outside.days[reach]!;
  const edits = candidates.flatMap((candidate) => candidate.edits);
  if (isRefutedEarly(node, candidates, search)) return null;
  const part = attempt(() => evaluatePart(node, edits, search));
  if (part === null) return null;
  const effect = levelOn(part, day) / levelOn(node.own, day);
  if (effect === 1 || Number.isNaN(effect)) return null;
  const agreement = comparePart(node, part, search);
  const tried = { candidates, terms: node.terms, effect };
  if (agreement.reach <= reach) return { ...tried, own: node.own, agreement };
  const terms = attempt(() => applyEdits(node.terms, edits));
  const own = terms && attempt(() => evaluate(terms));
  return terms === null || own === null
    ? null
    : { ...tried, terms, own, agreement: compareLevels(own, outside, node.unexplained) };
}

/** Sessions of the first check of a convention, which changes the levels from the start. */
const EARLY_SESSIONS = 45;

/** Returns true if a convention changes levels that agree. */
function isRefutedEarly(node: Node, [candidate]: readonly Candidate[], { outside }: Search): boolean {
  const { reach } = node.agreement;
  if (candidate!.date !== null || candidate!.free !== undefined || reach < 2 * EARLY_SESSIONS) return false;
  const part = attempt(() => evaluate(applyEdits(node.terms, candidate!.edits), outside.days[EARLY_SESSIONS]!));
  return part === null || compareLevels(part, outside, node.unexplained).reach <= EARLY_SESSIONS;
}

/** Computes the levels up to a few sessions after a difference: from the sessions before it where that is possible. */
function evaluatePart(node: Node, edits: readonly Edit[], { outside }: Search): OwnLevels {
  const { reach } = node.agreement;
  const until = outside.days[Math.min(reach + AHEAD, outside.days.length - 1)]!;
  const { sm } = node.own.compositions;
  const session = sm.sessionAt(outside.days[reach]!);
  if (!windows.has(node.own)) windows.set(node.own, openWindow(node.own, session - WINDOW_SESSIONS));
  const window = windows.get(node.own)!;
  return window?.run(edits, sm.sessionAt(until)) ?? evaluate(applyEdits(node.terms, edits), until);
}

const windows = new WeakMap<Evaluation, Window | null>();

/** Sessions from the state of the book to a difference. */
const WINDOW_SESSIONS = 8;

/** Compares levels of a part of the sessions: those before it are those of the state itself. */
function comparePart(node: Node, part: OwnLevels, { outside }: Search): Agreement {
  const first = node.own.days.indexOf(part.days[0]!);
  if (first <= 0) return compareLevels(part, outside, node.unexplained);
  const levels = new Float64Array(first + part.levels.length);
  levels.set(node.own.levels.subarray(0, first));
  levels.set(part.levels, first);
  return compareLevels({ days: node.own.days.subarray(0, levels.length), levels }, outside, node.unexplained);
}

/** Sessions after a difference from which a value that acts on every session is found. */
const GRADUAL_SESSIONS = [0, 5, 20, 60, 250];

/** Finds the number of a candidate with which the outside level agrees, as a number with few decimals. */
function solveFree(node: Node, candidate: Candidate, search: Search): Tried | null {
  const { outside } = search;
  const { reach, low, high } = node.agreement;
  const { guess, create, decimals, accepts, isGradual } = candidate.free!;
  const targets = isGradual
    ? GRADUAL_SESSIONS.map((after) => Math.min(reach + after, outside.days.length - 1))
    : [reach];
  let best: Tried | null = null;
  const scale = Number.isFinite(high) ? (low + high) / 2 : 1;
  const step = guess === 0 ? 0.01 : 0.1 * guess;
  for (const target of new Set(targets)) {
    const day = outside.days[target]!;
    const run = (value: number): number => {
      const own = attempt(() =>
        target === reach
          ? evaluatePart(node, create(value), search)
          : evaluate(applyEdits(node.terms, create(value)), day),
      );
      return own === null ? Number.NaN : levelOn(own, day) * scale;
    };
    const wanted = outside.values[target]!;
    let [a, b] = [guess, guess + step];
    let [fa, fb] = [levelOn(node.own, day) * scale - wanted, run(b) - wanted];
    if (candidate.manner === 'added' || candidate.subject === 'price') fa = run(a) - wanted;
    const slope = (fb - fa) / (b - a);
    if (!(Math.abs(slope) > 0)) return null;
    for (let k = 0; k < 3 && Math.abs(fb) > PRECISION * wanted && fb !== fa; k++) {
      const next = b - (fb * (b - a)) / (fb - fa);
      [a, fa] = [b, fb];
      b = next;
      if (!Number.isFinite(b)) return best;
      fb = run(b) - wanted;
    }
    const width = computeTolerance(outside, wanted) / Math.abs(slope);
    for (const value of listShortNumbers(b, width, decimals)) {
      if (!accepts(value)) continue;
      const edits = create(value);
      const stated = candidate.value === null ? value : (candidate.value / guess) * value;
      const result = tryEdits(node, { ...candidate, edits, value: guess === 0 ? value : stated }, search);
      const isConclusive =
        value === roundHalfAwayFromZero(b, decimals) && width < CONCLUSIVE_WIDTH * computeUnit(decimals);
      if (result !== null && (best === null || result.agreement.reach > best.agreement.reach))
        best = { ...result, isConclusive };
      if (result !== null && result.agreement.reach >= outside.days.length) return best;
    }
  }
  return best;
}

/** Returns numbers near a value: with the usual decimals, with the fewest decimals within a width, and the value itself. */
function listShortNumbers(value: number, width: number, decimals: number): number[] {
  const numbers = [roundHalfAwayFromZero(value, decimals)];
  for (let d = 0; d <= 8; d++) {
    const short = roundHalfAwayFromZero(value, d);
    if (Math.abs(short - value) > width * 1.01) continue;
    numbers.push(short);
    break;
  }
  return [...new Set([...numbers, value])];
}

/** Returns pairs of changes of one session that explain it together. */
function listPairs(node: Node, tried: readonly Tried[], search: Search): Fit[] {
  const { outside } = search;
  const { reach, low, high } = node.agreement;
  const day = outside.days[reach]!;
  const value = outside.values[reach]!;
  const own = levelOn(node.own, day);
  const tolerance = computeTolerance(outside, value) / own;
  const scale = Number.isFinite(high) ? (low + high) / 2 : value / own;
  const wanted = value / own / scale;
  const local = tried.filter(
    ({ candidates: [one], effect }) => one!.date !== null && Math.abs(effect - 1) > tolerance / 2,
  );
  const pairs: { readonly pair: readonly [Tried, Tried]; readonly error: number }[] = [];
  for (let i = 0; i < local.length; i++)
    for (let j = i + 1; j < local.length; j++) {
      const [a, b] = [local[i]!, local[j]!];
      if (isSameObject(a.candidates[0]!, b.candidates[0]!)) continue;
      const moves = Math.abs((a.effect - 1) * (b.effect - 1));
      const error = Math.abs(a.effect * b.effect - wanted);
      if (error <= 2 * tolerance + 2 * moves + 1e-9) pairs.push({ pair: [a, b], error });
    }
  return pairs
    .toSorted((a, b) => a.error - b.error)
    .slice(0, PAIRS_MAX)
    .flatMap(({ pair: [a, b] }) => {
      const result = tryAll(node, [a.candidates[0]!, b.candidates[0]!], search);
      return result !== null && result.agreement.reach > reach ? [result] : [];
    });
}

/** Returns true for two changes of the same event, price or review, which exclude each other. */
const isSameObject = (a: Candidate, b: Candidate): boolean =>
  a.subject === b.subject && a.identifier === b.identifier && a.date === b.date;

function createResult(node: Node, start: Node, { search }: { readonly search: Search }): Difference {
  const { outside } = search;
  const scale = findScale(start, outside, node);
  const choices = node.chosen.toSorted((a, b) => (a.candidate.date ?? -Infinity) - (b.candidate.date ?? -Infinity));
  const edits = choices.map(({ candidate }) => candidate.edits);
  const final = attempt(() => evaluate(applyAll(start.terms, edits))) ?? node.own;
  const errors = listErrors(start.own, outside, scale);
  const explainedErrors = listErrors(final, outside, scale);
  const unexplained = [...outside.days.entries()].filter(([t]) => !isEqualAt(explainedErrors, t, outside));
  const largest = errors.reduce((best, error, t) => (Math.abs(error) > Math.abs(errors[best]!) ? t : best), 0);
  const causes = choices.map((choice, k) => createCause(choice, k, { choices, start, search, scale }));
  const reproduced = unexplained.length === 0;
  return {
    variant: start.terms.variant,
    scale,
    decimals: outside.decimals,
    sessions: {
      common: outside.days.length,
      equal: errors.filter((_, t) => isEqualAt(errors, t, outside)).length,
      explained: outside.days.length - unexplained.length,
      unexplained: listUnexplained(
        node,
        final,
        search,
        unexplained.map(([, day]) => day),
      ),
    },
    largest: {
      date: formatDay(outside.days[largest]!),
      own: levelOn(start.own, outside.days[largest]!) * scale,
      outside: outside.values[largest]!,
      difference_bps: errors[largest]! * 10_000,
    },
    mean_absolute_bps: (10_000 * errors.reduce((sum, error) => sum + Math.abs(error), 0)) / errors.length,
    shapes: findShapes(errors, outside, {
      scale,
      own: start.own,
      isCurrency: causes.some(({ subject }) => subject === 'currency'),
    }),
    causes,
    complete: reproduced,
    fewest: reproduced && !search.isBounded ? causes.length : null,
    reproduced,
  };
}

const applyAll = (terms: RunTerms, edits: readonly (readonly Edit[])[]): RunTerms =>
  edits.reduce((changed, one) => applyEdits(changed, one), terms);

/** Returns the scale of the outside levels. A scale that is not 1 is fitted over all sessions that agree. */
function findScale(start: Node, outside: OutsideLevels, { agreement, unexplained }: Node): number {
  const first = levelOn(start.own, outside.days[0]!);
  if (Math.abs(first - outside.values[0]!) <= computeTolerance(outside, outside.values[0]!)) return 1;
  const { low, high } = unexplained.breaks.length === 0 ? agreement : start.agreement;
  if (!(low > 0 && Number.isFinite(high))) return outside.values[0]! / first;
  for (let d = 0; d <= 12; d++) {
    const short = roundHalfAwayFromZero((low + high) / 2, d);
    if (short >= low && short <= high) return short;
  }
  return (low + high) / 2;
}

/** Returns outside / own - 1 on every common session. */
function listErrors(own: OwnLevels, { days, values }: OutsideLevels, scale: number): Float64Array {
  return Float64Array.from(days, (day, t) => values[t]! / (levelOn(own, day) * scale) - 1);
}

const isEqualAt = (errors: Float64Array, t: number, outside: OutsideLevels): boolean =>
  Math.abs(errors[t]!) <= (1.000001 * computeTolerance(outside, outside.values[t]!)) / outside.values[t]!;

/** Returns the sessions whose returns no cause explains, with the size of the difference. */
function listUnexplained(
  node: Node,
  final: OwnLevels,
  { outside }: Search,
  days: readonly Day[],
): Difference['sessions']['unexplained'] {
  const { breaks, skipped } = node.unexplained;
  const stated = new Set([...breaks, ...skipped]);
  const listed = days.filter((day) => stated.has(day));
  return (listed.length === 0 ? days : listed).map((day) => {
    const t = outside.days.indexOf(day);
    const isStep = breaks.includes(day) && t > 0;
    const ratio = (at: number): number => outside.values[at]! / levelOn(final, outside.days[at]!);
    const base = isStep ? ratio(t - 1) : findScale(node, outside, node);
    return { date: formatDay(day), difference_bps: (ratio(t) / base - 1) * 10_000 };
  });
}

interface CauseInput {
  readonly choices: readonly Choice[];
  readonly start: Node;
  readonly search: Search;
  readonly scale: number;
}

function createCause({ candidate, rivals }: Choice, k: number, { choices, start, search, scale }: CauseInput): Cause {
  const { outside } = search;
  const edits = choices.map((choice) => choice.candidate.edits);
  const before = applyAll(start.terms, edits.slice(0, k));
  const alone = attempt(() => evaluate(applyEdits(start.terms, candidate.edits)));
  const without = attempt(() => evaluate(applyAll(start.terms, edits.toSpliced(k, 1))));
  const all = attempt(() => evaluate(applyAll(start.terms, edits)));
  const last = outside.days.at(-1)!;
  const countEqual = (own: OwnLevels | null): number => {
    if (own === null) return 0;
    const errors = listErrors(own, outside, scale);
    return errors.filter((_, t) => isEqualAt(errors, t, outside)).length;
  };
  const equal = countEqual(all);
  const ties = rivals.slice(0, RIVALS_MAX).filter((rival) => {
    const own = attempt(() => evaluate(applyAll(start.terms, edits.with(k, rival.edits))));
    return countEqual(own) >= equal;
  });
  return {
    ...describe(candidate),
    through: candidate.through === null ? null : formatDay(candidate.through),
    change: describeEdits(before, candidate.edits),
    sessions: Math.max(0, equal - countEqual(without)),
    effect_bps: alone === null ? 0 : (levelOn(alone, last) / levelOn(start.own, last) - 1) * 10_000,
    ties: ties.map(describe),
  };
}

function describe({ subject, manner, identifier, date, value, words }: Candidate): CauseName {
  const when = date === null ? 'from the start' : `on ${formatDay(date)}`;
  return {
    subject,
    manner,
    identifier,
    date: date === null ? null : formatDay(date),
    value,
    sentence: `The outside level ${words} ${when}${manner === 'value' && value !== null ? ` (${Number(value.toPrecision(8))})` : ''}.`,
  };
}

/** Describes the course of the differences. */
function findShapes(
  errors: Float64Array,
  outside: OutsideLevels,
  { scale, own, isCurrency }: { readonly scale: number; readonly own: OwnLevels; readonly isCurrency: boolean },
): Shape[] {
  const shapes: Shape[] = scale === 1 ? [] : ['factor'];
  if (errors.every((_, t) => isEqualAt(errors, t, outside))) return [...shapes, 'none'];
  const tolerances = errors.map((_, t) => computeTolerance(outside, outside.values[t]!) / outside.values[t]!);
  const steps = [...errors.keys()].filter(
    (t) => t > 0 && Math.abs(errors[t]! - errors[t - 1]!) > tolerances[t]! + tolerances[t - 1]!,
  );
  if (steps.length === 0)
    return [...shapes, errors.every((error, t) => Math.abs(error) <= 2 * tolerances[t]!) ? 'noise' : 'drift'];
  if (isCurrency) shapes.push('currency');
  if (steps.length === 1) return [...shapes, 'step'];
  const shifted = [-1, 1].some((by) => {
    const moved = own.levels.map((level, t) => own.levels[t + by] ?? level);
    return countEqualReturns({ days: own.days, levels: moved }, outside) > 0.9 * (errors.length - 2);
  });
  if (shifted) return [...shapes, 'shift'];
  return [...shapes, steps.length > errors.length / 2 ? 'drift' : 'steps'];
}
