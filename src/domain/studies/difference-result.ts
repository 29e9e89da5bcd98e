import { findFirstAtLeast, roundHalfAwayFromZero } from '../base/numbers.js';
import { type Day, formatDay } from '../base/time.js';
import { ACTION_KINDS, type ReturnVariant } from '../market/market-data.js';
import type { ChosenCandidate, DifferenceNode } from './difference-nodes.js';
import type { Candidate } from './difference-candidates.js';
import { type DifferenceParts, divideDifference, type OutsideComposition } from './difference-parts.js';
import { findSingleDays } from './difference-trials.js';
import {
  applyEdits,
  attempt,
  type CauseSubject,
  type ChangeView,
  describeEdits,
  type Edit,
  evaluateChanged,
  evaluateWhole,
  type Evaluation,
  isOfDocuments,
  readOutside,
} from './difference-terms.js';
import {
  compareLevels,
  computeTolerance,
  countEqualReturns,
  isEqualAt,
  levelOn,
  listErrors,
  listShownSessions,
  type OutsideLevels,
  type OwnLevels,
  type Unexplained,
} from './outside-levels.js';

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

/** Causes that explain a session only together, or one cause, with their joint effect. */
export interface DifferenceStep extends Pick<Cause, 'sentence' | 'sessions' | 'effect_bps'> {
  /** Positions of neighbouring causes. */
  readonly causes: readonly number[];
}

/** Session that no cause explains. */
export interface UnexplainedSession {
  readonly date: string;
  readonly difference_bps: number;
  /** Present if the levels before and after the session, or before and after it and a neighbour, agree. */
  readonly single?: true | undefined;
  /** Absent in a stored explanation of release 0.11.0, as `steps`, `outside` and `unmatched`. */
  readonly sentence?: string | undefined;
}

/** Name, number and dates of the levels from outside. */
export interface OutsideFacts {
  readonly name: string | null;
  readonly count: number;
  readonly first: string;
  readonly last: string;
}

/** Courses of a difference over the sessions. */
export const SHAPES = ['step', 'steps', 'drift', 'shift', 'factor', 'noise', 'currency', 'none'] as const;
export type Shape = (typeof SHAPES)[number];

export interface Difference {
  readonly outside?: OutsideFacts | undefined;
  readonly variant: ReturnVariant;
  readonly scale: number;
  readonly decimals: number | null;
  readonly sessions: {
    readonly common: number;
    readonly equal: number;
    readonly explained: number;
    readonly unexplained: readonly UnexplainedSession[];
    /** Levels from outside on no session of the run. */
    readonly unmatched?: number | undefined;
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
  readonly steps?: readonly DifferenceStep[] | undefined;
  readonly complete: boolean;
  readonly fewest: number | null;
  readonly reproduced: boolean;
  /** Differences that remain if no cause, the first, the first two and so on are removed. */
  readonly remaining: { readonly dates: readonly string[]; readonly bps: readonly (readonly number[])[] };
  /** Null without constituents from outside. */
  readonly parts: DifferenceParts | null;
}

/** Explanation as a report of a run shows it. */
export interface ShownDifference extends Difference {
  /** False for the explanation of another run of the same index. */
  readonly isOfRun: boolean;
}

interface ResultInput {
  readonly outside: OutsideLevels;
  /** True if smaller sets of causes were not all excluded. */
  readonly isBounded: boolean;
  readonly compositions: readonly OutsideComposition[];
  /** Number of levels from outside on no session of the run. */
  readonly unmatched: number;
  /** Called before each run; throws to cancel. */
  readonly report: () => void;
}

/** Describes the explanation of a difference that a search found. */
export function createResult(node: DifferenceNode, start: DifferenceNode, input: ResultInput): Difference {
  const { outside, isBounded, compositions, unmatched, report } = input;
  const scale = findScale(start, outside, node);
  const choices = restoreDates(node.chosen, start).toSorted(
    (a, b) => (a.candidate.date ?? -Infinity) - (b.candidate.date ?? -Infinity),
  );
  const edits = choices.flatMap(({ candidate }) => candidate.edits);
  const final = attempt(() => evaluateChanged(start.own, edits)) ?? node.own;
  const errors = listErrors(start.own, outside, scale);
  const explainedErrors = listErrors(final, outside, scale);
  const unexplained = [...outside.days.entries()].filter(([t]) => !isEqualAt(explainedErrors, t, outside));
  const largest = errors.reduce((best, error, t) => (Math.abs(error) > Math.abs(errors[best]!) ? t : best), 0);
  const terms: CauseInput = { choices, start, final, outside, unexplained: node.unexplained, scale };
  const causes = choices.map((choice, k) => {
    report();
    return createCause(choice, k, terms);
  });
  const reproduced = unexplained.length === 0;
  // A stated currency is a cause although other differences hide its sessions.
  const idle = reproduced ? -1 : causes.findIndex(({ subject, sessions }) => subject !== 'currency' && sessions === 0);
  if (idle >= 0) {
    const chosen = node.chosen.filter(({ candidate }) => candidate.edits !== choices[idle]!.candidate.edits);
    return createResult({ ...node, chosen }, start, input);
  }
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
        outside,
        unexplained.map(([, day]) => day),
      ),
      unmatched,
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
    steps: groupChoices(choices).map((members) => {
      report();
      return createStep(members, causes, terms);
    }),
    complete: reproduced,
    fewest: reproduced && !isBounded ? causes.length : null,
    reproduced,
    remaining: listRemaining(choices, { errors, explainedErrors, own: start.own, outside }),
    parts:
      compositions.length === 0
        ? null
        : divideDifference({
            own: start.own,
            compositions,
            last: outside.days.at(-1)!,
            total: errors.at(-1)! * 10_000,
            causes,
          }),
  };
}

/** Returns causes, and their rivals, whose dates are those of the reviews of the run where another cause moves a review. */
function restoreDates(chosen: DifferenceNode['chosen'], { own }: DifferenceNode): DifferenceNode['chosen'] {
  const { sessions } = own.rule.sm;
  const moved = new Map(
    chosen.flatMap(({ candidate: { subject, manner, date } }) => {
      const by = manner === 'early' ? -1 : manner === 'late' ? 1 : 0;
      return subject === 'rebalance' && by !== 0 && date !== null
        ? [[sessions[sessions.indexOf(date) + by]!, date]]
        : [];
    }),
  );
  if (moved.size === 0) return chosen;
  const restore = (candidate: Candidate): Candidate => {
    const { review, subject, date, through } = candidate;
    if (review === undefined || subject === 'shares') return candidate; // the date of a share change is no review
    const read = (day: Day | null): Day | null => (day === null ? null : (moved.get(day) ?? day));
    return { ...candidate, date: read(date), through: read(through) };
  };
  return chosen.map((choice) => ({
    ...choice,
    candidate: restore(choice.candidate),
    listRivals: () => choice.listRivals().map((fit) => ({ ...fit, candidates: fit.candidates.map(restore) })),
  }));
}

interface RemainingInput {
  readonly errors: Float64Array;
  readonly explainedErrors: Float64Array;
  readonly own: OwnLevels;
  readonly outside: OutsideLevels;
}

/** Maximum number of sessions of the differences that remain. */
const REMAINING_MAX = 1000;

/** Returns the differences after each cause in turn, by the ratios of the levels that the search computed. */
function listRemaining(
  choices: readonly ChosenCandidate[],
  { errors, explainedErrors, own, outside }: RemainingInput,
): Difference['remaining'] {
  const shown = listShownSessions(errors, REMAINING_MAX);
  const positions = shown.map((t) => findFirstAtLeast(own.days, outside.days[t]!));
  const ratios = shown.map((t) => 1 + errors[t]!);
  const steps = choices.slice(0, -1).map(({ levels }) => {
    positions.forEach((at, k) => {
      if (levels !== null) ratios[k]! /= levels.after[at]! / levels.before[at]!;
    });
    return ratios.map((ratio) => (ratio - 1) * 10_000);
  });
  const toBps = (values: Float64Array): number[] => shown.map((t) => values[t]! * 10_000);
  return {
    dates: shown.map((t) => formatDay(outside.days[t]!)),
    bps: [toBps(errors), ...steps, ...(choices.length === 0 ? [] : [toBps(explainedErrors)])],
  };
}

/** Returns the scale of the outside levels. A scale that is not 1 is fitted over all sessions that agree. */
function findScale(
  start: DifferenceNode,
  outside: OutsideLevels,
  { agreement, unexplained, own }: DifferenceNode,
): number {
  const first = levelOn(start.own, outside.days[0]!);
  const isEqual = Math.abs(first - outside.values[0]!) <= computeTolerance(outside, outside.values[0]!);
  if (isEqual && outside.isScaled !== true) return 1;
  const { low, high } =
    unexplained.breaks.length === 0 ? agreement : compareLevels(own, outside, { ...unexplained, breaks: [] });
  if (!(low > 0 && Number.isFinite(high))) return outside.values[0]! / first;
  for (let d = 0; d <= 12; d++) {
    const short = roundHalfAwayFromZero((low + high) / 2, d);
    if (short >= low && short <= high) return short;
  }
  return (low + high) / 2;
}

/** Returns the sessions whose returns no cause explains, with the size of the difference. */
function listUnexplained(
  node: DifferenceNode,
  final: OwnLevels,
  outside: OutsideLevels,
  days: readonly Day[],
): UnexplainedSession[] {
  const { breaks, skipped, noise } = node.unexplained;
  const stated = new Set([...breaks, ...skipped]);
  const listed = days.filter((day) => stated.has(day));
  const single = findSingleDays(node.unexplained, outside.days);
  return (listed.length === 0 ? days : listed).map((day) => {
    const t = outside.days.indexOf(day);
    const isStep = breaks.includes(day) && t > 0;
    const ratio = (at: number): number => outside.values[at]! / levelOn(final, outside.days[at]!);
    const base = isStep ? ratio(t - 1) : findScale(node, outside, node);
    const again = single.get(day);
    const kind = isStep ? 'step' : noise.includes(day) ? 'noise' : 'other';
    return {
      date: formatDay(day),
      difference_bps: (ratio(t) / base - 1) * 10_000,
      ...(again === undefined ? {} : { single: true }),
      sentence:
        again === undefined
          ? UNEXPLAINED_SENTENCES[kind]
          : describeSingle(again === outside.days[t + 1] ? 'the next session' : formatDay(again)),
    };
  });
}

const describeSingle = (next: string): string =>
  `The levels agree again on ${next}: the outside level of this session, or a price of the run on it, is wrong.`;

const UNEXPLAINED_SENTENCES = {
  step: 'No change explains the step. Later sessions are compared from the new level on.',
  noise: 'A unit of the last digit: no cause is searched.',
  other: 'No change explains the difference.',
} as const;

interface CauseInput {
  readonly choices: readonly ChosenCandidate[];
  readonly start: DifferenceNode;
  /** Run with all changes. */
  readonly final: Evaluation;
  readonly outside: OutsideLevels;
  readonly unexplained: Unexplained;
  readonly scale: number;
}

/** Returns the number of sessions whose levels agree, each with the scale since the last step without an explanation. */
function countAgreed(
  own: OwnLevels,
  outside: OutsideLevels,
  { scale, unexplained: { breaks } }: Pick<CauseInput, 'scale' | 'unexplained'>,
): number {
  let [factor, margin, count] = [scale, 1.000001, 0];
  for (const [t, day] of outside.days.entries()) {
    const [level, value] = [levelOn(own, day), outside.values[t]!];
    if (breaks.includes(day)) [factor, margin] = [value / level, 2]; // its first level is rounded too
    if (Math.abs(value - level * factor) <= margin * computeTolerance(outside, value)) count++;
  }
  return count;
}

/** Maximum number of rivals of a cause that are run with all other causes. */
const RIVAL_RUNS_MAX = 8;

/** Maximum number of ties with another value; the number of the others is stated. */
const VALUES_MAX = 5;

/**
 * Describes a cause. The levels without it, and with a rival, follow from the ratio of the levels that the search
 * computed: no run is needed for them.
 */
function createCause(choice: ChosenCandidate, k: number, input: CauseInput): Cause {
  const { choices, start, final, outside, scale } = input;
  const { candidate, listRivals, isPaired } = choice;
  const levels = isPaired ? null : choice.levels;
  const listEdits = (some: readonly ChosenCandidate[]): Edit[] => some.flatMap((one) => one.candidate.edits);
  const before = applyEdits(start.terms, listEdits(choices.slice(0, k)).filter(isOfDocuments));
  const countEqual = (own: OwnLevels | null): number => (own === null ? 0 : countAgreed(own, outside, input));
  // A convention that acts before the first outside level changes the scale.
  const first = final.days.indexOf(outside.days[0]!);
  const isScaled = scale !== 1;
  const replace = (other: Float64Array): OwnLevels => {
    const factor = isScaled ? levels!.after[first]! / other[first]! : 1;
    return {
      days: final.days,
      levels: final.levels.map((level, t) => level * factor * (other[t]! / levels!.after[t]!)),
    };
  };
  const alone =
    levels?.before === start.own.levels
      ? { days: start.own.days, levels: levels.after }
      : evaluateAlone([choice], input);
  // A rounding within levels that are rounded again is no ratio of them.
  const isRounded = candidate.subject === 'rounding' && candidate.edits.every(({ kind }) => kind === 'levels');
  const without =
    levels === null
      ? attempt(() => evaluateChanged(start.own, listEdits(choices.toSpliced(k, 1))))
      : isRounded
        ? leaveReading(final, candidate.edits)
        : replace(levels.before);
  const equal = countEqual(final);
  // Two changes of reviews act on each other: the ratio of the levels is then another one.
  const isOfReview = ({ date, review }: Candidate): boolean => date === null || review !== undefined;
  const hasReviews = choices.some((one) => one !== choice && one.candidate.review !== undefined);
  let runs = hasReviews ? RIVAL_RUNS_MAX : 0;
  const runWith = ([rival]: readonly Candidate[]): OwnLevels | null =>
    isOfReview(rival!) && runs-- > 0
      ? attempt(() => evaluateChanged(start.own, listEdits(choices.with(k, { ...choice, candidate: rival! }))))
      : null;
  const rivals = listRivals()
    .filter(
      ({ own, candidates }) => countEqual(replace(own.levels)) >= equal || countEqual(runWith(candidates)) >= equal,
    )
    .map((rival) => rival.candidates[0]!);
  const values = rivals.filter(({ free }) => free !== undefined);
  const ties = [...rivals.filter(({ free }) => free === undefined), ...values.slice(0, VALUES_MAX)];
  const others = rivals.length - ties.length;
  const name = describe(candidate);
  return {
    ...name,
    ...(others === 0
      ? {}
      : { sentence: `${name.sentence} Another ${others} values explain the sessions equally well.` }),
    through: candidate.through === null ? null : formatDay(candidate.through),
    change: describeEdits(before, candidate.edits),
    sessions: Math.max(0, equal - countEqual(without)),
    effect_bps: measureEffect(alone, input),
    ties: ties.map(describe),
  };
}

/** Returns the run with some changes and no others; null if there is none. */
const evaluateAlone = (some: readonly ChosenCandidate[], { start, outside }: CauseInput): OwnLevels | null =>
  attempt(() => {
    const { sm } = start.own.compositions;
    const first = Math.min(
      ...some.map(({ candidate: { date }, position }) =>
        sm.sessionAt(Math.min(date ?? outside.days[position]!, outside.days[position]!)),
      ),
    );
    return evaluateWhole(
      start.own,
      some.map(({ candidate }) => candidate),
      first,
    );
  });

/** Returns the levels of a run without some of its changes of levels. */
const leaveReading = ({ terms: { reading }, raw, days }: Evaluation, edits: readonly Edit[]): OwnLevels => ({
  days,
  levels: readOutside({ reading: reading.filter((one) => !edits.includes(one)) }, raw, days),
});

/** Returns the effect of changes on the last common level, in basis points. */
function measureEffect(alone: OwnLevels | null, { start, outside }: CauseInput): number {
  const last = outside.days.at(-1)!;
  return alone === null ? 0 : (levelOn(alone, last) / levelOn(start.own, last) - 1) * 10_000;
}

/**
 * Groups the positions of neighbouring changes that only together explain a session: those that one search of the session
 * found, and constituents that replace each other on a date.
 */
function groupChoices(choices: readonly ChosenCandidate[]): number[][] {
  const groups: number[][] = [];
  for (const [k, choice] of choices.entries()) {
    const group = groups.at(-1);
    const isMember = group?.some((j) => isPair(choices[j]!, choice)) === true;
    if (isMember) group!.push(k);
    else groups.push([k]);
  }
  return groups;
}

function isPair(one: ChosenCandidate, other: ChosenCandidate): boolean {
  if (one.isPaired && other.isPaired && one.position === other.position) return true;
  const [first, second] = [one.candidate, other.candidate];
  return isExchange([first, second]) && first.date === second.date;
}

const isExchange = (changes: readonly Candidate[]): boolean =>
  changes.every(({ subject }) => subject === 'constituent') && new Set(changes.map(({ manner }) => manner)).size > 1;

function createStep(members: readonly number[], causes: readonly Cause[], input: CauseInput): DifferenceStep {
  const { choices, start, final, outside } = input;
  const [{ sentence, sessions, effect_bps: effect }] = members.map((k) => causes[k]!) as [Cause];
  if (members.length === 1) return { causes: members, sentence, sessions, effect_bps: effect };
  const others = choices.filter((_, k) => !members.includes(k)).flatMap(({ candidate }) => candidate.edits);
  const without = attempt(() => evaluateChanged(start.own, others));
  const some = members.map((k) => choices[k]!);
  const equal = countAgreed(final, outside, input);
  return {
    causes: members,
    sentence: describeTogether(some.map(({ candidate }) => candidate)),
    sessions: Math.max(0, equal - (without === null ? 0 : countAgreed(without, outside, input))),
    effect_bps: measureEffect(evaluateAlone(some, input), input),
  };
}

function describeTogether(changes: readonly Candidate[]): string {
  const [first] = changes as [Candidate];
  const list = (manner: Candidate['manner']): string =>
    changes.flatMap((one) => (one.manner === manner ? [one.identifier] : [])).join(', ');
  const isOneState = changes.every(({ date, through }) => date === first.date && through === first.through);
  return isExchange(changes) && isOneState
    ? `The outside level held ${list('added')} instead of ${list('ignored')} ${describeTime(first)}.`
    : changes.map((one) => describe(one).sentence).join(' ');
}

function describe(candidate: Candidate): CauseName {
  const { subject, manner, identifier, date, value, words } = candidate;
  const size = manner === 'value' || manner === 'added' ? describeValue(candidate) : null;
  return {
    subject,
    manner,
    identifier,
    date: date === null ? null : formatDay(date),
    value,
    sentence: `The outside level ${words} ${describeTime(candidate)}${size === null ? '' : ` (${size})`}.`,
  };
}

/** Subjects whose change lasts from its date on; the others happen on it. */
const LASTING: ReadonlySet<CauseSubject> = new Set<CauseSubject>([
  'constituent',
  'scale',
  'pricing',
  'cap',
  'rounding',
  'variant',
  'tax',
  'reinvestment',
  'currency',
  'calendar',
  'fee',
  'financing',
  'day_count',
]);

function describeTime({ subject, date, through }: Candidate): string {
  if (date === null) return 'from the start';
  if (through === date || (through === null && !LASTING.has(subject))) return `on ${formatDay(date)}`;
  return `from ${formatDay(date)}${through === null ? '' : ` to ${formatDay(through)}`}`;
}

/** Returns a value with its unit; null if the words of the change already have it. */
function describeValue({ subject, value, words, edits: [edit] }: Candidate): string | null {
  if (value === null) return null;
  const write = (factor = 1): string => String(Number((factor * value).toPrecision(8)));
  if (edit?.kind === 'action') {
    const { type, subscriptionPrice } = (edit.after ?? edit.before)!; // an action is removed, added or changed
    if (type === 'RIGHTS_ISSUE' && value === subscriptionPrice) return `subscription price ${write()} per share`;
    return ACTION_KINDS[type] === 'cash' || type === 'ACQUISITION' || type === 'DELISTING'
      ? `${write()} per share`
      : `ratio ${write()}`;
  }
  switch (subject) {
    case 'fee':
      return words.endsWith('points') ? `${write()} points per year` : `${write(100)} % per year`;
    case 'financing':
      return `${write(100)} % per year`;
    case 'tax':
    case 'cap':
      return `${write(100)} %`;
    case 'currency':
      return `rate ${write()}`;
    case 'scale':
      return `factor ${write()}`;
    case 'price':
      return `${write()} per share`;
    case 'pricing':
    case 'rounding':
    case 'day_count':
      return null;
    default:
      return write();
  }
}

interface ShapeInput {
  readonly scale: number;
  readonly own: OwnLevels;
  readonly isCurrency: boolean;
}

/** Describes the course of the differences. */
function findShapes(errors: Float64Array, outside: OutsideLevels, { scale, own, isCurrency }: ShapeInput): Shape[] {
  // A rounded base value is no factor.
  const isRounded = Math.abs(scale - 1) * own.levels[0]! <= computeTolerance(outside, own.levels[0]!);
  const shapes: Shape[] = isRounded ? [] : ['factor'];
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
