import type { RebalanceSpec } from '../schedule/rebalance-spec.js';

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

/** When an index is rebalanced, and how its weights take effect. */
export function rebalanceSentences(rebalance: RebalanceSpec): string[] {
  const { frequency, roll, effective_lag, weights_as: weightsAs } = rebalance;
  const landing = {
    following: 'A date that is not a session moves to the next one.',
    preceding: 'A date that is not a session moves to the one before.',
    unadjusted: 'A date that is not a session stays, with the prices of the latest session before it.',
  }[roll];
  const lag =
    effective_lag === 0
      ? 'Weights are decided at the close of the session on which they take effect and earn returns from the next one.'
      : `Weights are decided ${effective_lag} ${effective_lag === 1 ? 'session' : 'sessions'} before they take effect and earn returns from the session after that.`;
  const asShares =
    weightsAs === 'shares'
      ? 'Weights become index shares at the closes of the session on which they are decided; until the shares take effect corporate actions adjust them, and prices move their weights.'
      : 'Weights hold exactly at the close of the session on which they take effect, whatever prices did since they were decided.';
  return [
    whenText(rebalance),
    ...(frequency === 'none' || frequency === 'daily' ? [] : [landing]),
    lag,
    ...(effective_lag === 0 ? [] : [asShares]),
  ];
}

function whenText({ frequency, months, weekday, dates, ...anchor }: RebalanceSpec): string {
  switch (frequency) {
    case 'none':
      return 'It is composed on its base date and never rebalanced.';
    case 'daily':
      return 'It is rebalanced on every session.';
    case 'weekly':
      return `It is rebalanced every week on ${weekday === null ? 'the last session' : WEEKDAY_NAMES[weekday]}.`;
    case 'custom':
      return `It is rebalanced on its base date${dates.length === 0 ? ' only' : ` and on ${dates.join(', ')}`}.`;
    case 'monthly':
    case 'quarterly':
    case 'semi_annual':
    case 'annual': {
      const wanted = months ?? MONTHS_BY_FREQUENCY[frequency];
      const of = wanted === undefined ? 'every month' : wanted.map((month) => MONTH_NAMES[month - 1]).join(', ');
      return `It is rebalanced (${frequency.replace('_', '-')}) on ${anchorText({ weekday, ...anchor })} of ${of}.`;
    }
  }
}

function anchorText({ anchor, nth, weekday, day }: Pick<RebalanceSpec, 'anchor' | 'nth' | 'weekday' | 'day'>): string {
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
