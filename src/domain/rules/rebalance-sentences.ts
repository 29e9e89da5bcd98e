import { formatShare } from '../catalogue/sentence-numbers.js';
import type { IndexDocument } from '../documents/index-document.js';
import type { DateRule, PhaseSpec } from '../schedule/date-rule-spec.js';
import { countPhaseCloses } from '../schedule/phase.js';
import type { RebalanceSpec } from '../schedule/rebalance-spec.js';
import { bindRule, bindWeighting } from './bound-pipeline.js';

const MONTH_NAMES = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];
const WEEKDAY_NAMES = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday'];
const NTH_NAMES = ['first', 'second', 'third', 'fourth', 'last'];
const MONTHS_BY_FREQUENCY: Readonly<Record<string, readonly number[]>> = {
  quarterly: [3, 6, 9, 12],
  semi_annual: [6, 12],
  annual: [12],
};

/**
 * Describes when an index is rebalanced and how its weights take effect.
 * @param cause cause of these rebalances, which the first sentence states
 */
export function describeRebalance(rebalance: RebalanceSpec, cause?: string): string[] {
  const subject = cause === undefined ? 'It is' : `For ${cause} it is`;
  return [`${subject} ${describeFrequency(rebalance)}.`, ...describeDates(rebalance)];
}

/**
 * Describes the treatment of dates that are not sessions, the dates of a rebalance, and how its weights take effect.
 */
function describeDates(rebalance: RebalanceSpec): string[] {
  const { frequency, roll, weights_as: weightsAs, pricing_date: pricing } = rebalance;
  const rollSentence = {
    following: 'A date that is not a session moves to the next one.',
    preceding: 'A date that is not a session moves to the one before.',
    unadjusted: 'A date that is not a session stays, with the prices of the latest session before it.',
  }[roll];
  const pricingPhrase =
    pricing === undefined ? 'the session on which they are decided' : `the pricing date, ${describeRule(pricing)}`;
  const asShares =
    weightsAs === 'shares'
      ? `Weights become index shares at the closes of ${pricingPhrase}; until the shares take effect corporate actions adjust them, and prices move their weights.`
      : 'Weights hold exactly at the close of the session on which they take effect, regardless of price changes since the decision.';
  return [
    ...(frequency === 'none' || frequency === 'daily' ? [] : [rollSentence]),
    describeReference(rebalance),
    ...(rebalance.announcement ? [describeAnnouncement(rebalance.announcement)] : []),
    ...(rebalance.effective_lag === 0 && !rebalance.reference ? [] : [asShares]),
    ...(rebalance.phase ? [describePhase(rebalance.phase)] : []),
  ];
}

function describeAnnouncement(rule: DateRule): string {
  return `It is announced ${rule.rule === 'sessions_before' ? '' : 'on '}${describeRule(rule)}.`;
}

function describeReference({ effective_lag: lag, reference }: RebalanceSpec): string {
  if (reference !== undefined)
    return `Weights are decided on data up to the reference date, ${describeRule(reference)}, and earn returns from the session after the effective date.`;
  return lag === 0
    ? 'Weights are decided at the close of the session on which they take effect and earn returns from the next one.'
    : `Weights are decided ${formatSessions(lag)} before they take effect and earn returns from the session after that.`;
}

function describePhase(phase: PhaseSpec): string {
  const closes = countPhaseCloses(phase);
  const stepsText =
    phase.fractions === undefined
      ? `in ${closes} equal steps`
      : `in steps of ${phase.fractions.map((fraction) => formatShare(fraction)).join(', ')}`;
  return `The index shares move to the new ones ${stepsText}, one at each close from the effective date on.`;
}

/** Describes the date given by a rule. */
function describeRule(rule: DateRule): string {
  const { months_before: months = rule.rule === 'last_session' ? 1 : 0 } = rule;
  const beforeText =
    months === 0 ? 'the month' : months === 1 ? 'the month before that' : `the month ${months} months before that`;
  const monthPhrase = `of ${beforeText} of the effective date`;
  switch (rule.rule) {
    case 'sessions_before':
      return `${formatSessions(rule.sessions ?? 0)} before the effective date`;
    case 'last_session':
      return `the last session ${monthPhrase}`;
    case 'nth_weekday':
      return `the ${NTH_NAMES[rule.nth! - 1]} ${WEEKDAY_NAMES[rule.weekday!]} ${monthPhrase}`;
    case 'day_of_month':
      return `day ${rule.day} ${monthPhrase}`;
    case 'weekday_before':
      return `the last ${WEEKDAY_NAMES[rule.weekday!]} at least ${rule.weeks} ${rule.weeks === 1 ? 'week' : 'weeks'} before the effective date`;
  }
}

const formatSessions = (count: number): string => `${count} ${count === 1 ? 'session' : 'sessions'}`;

/** Describes the further reviews of an index and the effect of each review. */
export function describeReviews({ reviews = [] }: Pick<IndexDocument, 'reviews'>): string[] {
  if (reviews.length === 0) return [];
  return [
    ...reviews.flatMap(({ id, scope, schedule, selection, weighting }) => [
      `By the review ${id} it is ${describeFrequency(schedule)}: ${EFFECT_PHRASES[scope]}.`,
      ...describeDates(schedule).map((sentence) => `Review ${id}: ${sentence}`),
      ...(scope === 'membership' && selection
        ? selection.map((row) => `Review ${id}, rule ${row.id}: ${bindRule(row).sentence}`)
        : []),
      ...(scope !== 'shares' && weighting ? [`Review ${id}: ${bindWeighting(weighting).sentence}`] : []),
    ]),
    'Reviews of one date run in the order membership, weights, shares.',
  ];
}

const EFFECT_PHRASES = {
  membership: 'constituents are selected and weighted again',
  weights: 'current constituents are weighted again',
  shares: 'share counts and float are updated, and the factors of caps stay',
} as const;

function describeFrequency({ frequency, months, weekday, dates, ...anchor }: RebalanceSpec): string {
  switch (frequency) {
    case 'none':
      return 'composed on its base date and never rebalanced';
    case 'daily':
      return 'rebalanced on every session';
    case 'weekly':
      return `rebalanced every week on ${weekday === null ? 'the last session' : WEEKDAY_NAMES[weekday]}`;
    case 'custom':
      return `rebalanced on its base date${dates.length === 0 ? ' only' : ` and on ${dates.join(', ')}`}`;
    case 'monthly':
    case 'quarterly':
    case 'semi_annual':
    case 'annual': {
      const frequencyPhrase =
        frequency === 'annual' ? 'annually' : frequency === 'semi_annual' ? 'semi-annually' : frequency;
      const rebalanceMonths = months ?? MONTHS_BY_FREQUENCY[frequency];
      const monthsPhrase = rebalanceMonths === undefined ? 'every month' : formatMonths(rebalanceMonths);
      return `rebalanced ${frequencyPhrase} on ${describeAnchor({ weekday, ...anchor })} of ${monthsPhrase}`;
    }
  }
}

/** Formats months as a list, for example `March, June and September`. */
function formatMonths(months: readonly number[]): string {
  const names = months.map((month) => MONTH_NAMES[month - 1]!); // from 1 to 12
  return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}

function describeAnchor({
  anchor,
  nth,
  weekday,
  day,
}: Pick<RebalanceSpec, 'anchor' | 'nth' | 'weekday' | 'day'>): string {
  switch (anchor) {
    case 'first_session':
      return 'the first session';
    case 'last_session':
      return 'the last session';
    case 'third_friday':
      return 'the third Friday';
    case 'nth_weekday':
      return `the ${NTH_NAMES[nth! - 1]} ${WEEKDAY_NAMES[weekday!]}`;
    case 'day_of_month':
      return `day ${day}`;
  }
}
