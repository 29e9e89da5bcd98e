import { formatDay, type Day } from '#domain/time/days.js';
import { ACTION_KINDS, ELECTIONS, type Adjustment, type CorporateAction } from '#domain/market/market-data.js';
import { findFirstAtLeast } from '#domain/numbers/search.js';
import type { MarketContent } from './market-content.js';
import { compareActions } from './action-rows.js';
import { ENDING_ACTIONS, GAP_SESSIONS_MAX } from './market-warnings.js';
import { JUMP_MAX } from '#domain/index-mathematics/unexplained-growth.js';
import { describeAction, findCloseBefore, type ActionWarning, type Prices } from './action-prices.js';
import { listActionSteps, listRenamedSteps, type ActionStep } from './action-steps.js';
import { findRelatedWarning } from './related-actions.js';

/**
 * Warns of implausible actions that can still be applied. These are: two endings or splits of one security on one day;
 * an announcement after the ex-date or election date; an ending before the last bar; cash of at least the previous
 * close; a subscription price above it; a final price far from it; a split that no close shows; shares of a security
 * without a price.
 * @param adjustment prices that include dividends do not show the size of dividends
 * @cost O(1) per action, plus the sessions on which its security has no bar
 */
export function findActionWarnings(content: MarketContent, adjustment: Adjustment): ActionWarning[] {
  const { identifiers, actions } = content;
  const prices: Prices = {
    content,
    adjustment,
    position: new Map(identifiers.map((name, n) => [name, n])),
    splits: groupBySecurity(adjustment === 'none' ? actions.filter(isSplit) : []),
    endings: groupBySecurity(actions.filter(({ type, status }) => ENDING_ACTIONS.has(type) && status !== 'cancelled')),
  };
  return [
    ...actions.flatMap((action) =>
      action.status === 'cancelled' ? [] : WARNING_CHECKS.flatMap((doubtOf) => doubtOf(action, prices) ?? []),
    ),
    ...[...listActionSteps(content, adjustment), ...listRenamedSteps(content, adjustment)].flatMap(
      (step) => findUnmovedClose(content, step) ?? [],
    ),
  ];
}

function groupBySecurity(actions: readonly CorporateAction[]): ReadonlyMap<string, readonly CorporateAction[]> {
  const results = new Map<string, CorporateAction[]>();
  for (const action of actions) {
    const ownCorporateActions = results.get(action.identifier);
    if (ownCorporateActions === undefined) results.set(action.identifier, [action]);
    else ownCorporateActions.push(action);
  }
  return results;
}

const isSplit = ({ type, status }: CorporateAction) => ACTION_KINDS[type] === 'ratio' && status !== 'cancelled';

const findDateWarning = (action: CorporateAction) =>
  findLateAnnouncement(action, { day: action.exDay, member: 'ex_date', words: (exDate) => `ex-date ${exDate}` });

const findElectionWarning = (action: CorporateAction) =>
  findLateAnnouncement(action, {
    day: action.electionDay,
    member: 'election_date',
    words: (elected) => `election_date ${elected}, so no holder can elect`,
  });

interface LaterDate {
  /** undefined if the action has no such date */
  readonly day: Day | undefined;
  readonly member: string;
  readonly words: (date: string) => string;
}

/** Reports an action whose announcement is after the announced event. */
function findLateAnnouncement(action: CorporateAction, { day, member, words }: LaterDate): ActionWarning | undefined {
  const { announcedDay } = action;
  if (announcedDay === null || day === undefined || announcedDay <= day) return undefined;
  const [announced, date] = [formatDay(announcedDay), formatDay(day)];
  return {
    action,
    code: 'ACTION_DATES',
    message: `${describeAction(action)} is announced on ${announced}, after its ${words(date)}.`,
    evidence: { announced, [member]: date },
  };
}

/** Types of actions that end a security for its holders. */
const ENDING_TYPES: ReadonlySet<string> = new Set(['DELISTING', 'ACQUISITION', 'MERGER']);

/** Number of sessions that are searched for later bars. If a security returns later, another check applies. */
const SEARCHED_SESSIONS = 20;

function findEndWarning(action: CorporateAction, { content, position }: Prices): ActionWarning | undefined {
  const { identifiers, dates, fields } = content;
  const n = position.get(action.identifier);
  if (!ENDING_TYPES.has(action.type) || n === undefined) return undefined;
  const close = fields.get('CLOSE')!;
  const first = findFirstAtLeast(dates, action.exDay) + GAP_SESSIONS_MAX;
  for (let t = first; t < Math.min(first + SEARCHED_SESSIONS, dates.length); t++) {
    if (Number.isNaN(close[t * identifiers.length + n]!)) continue;
    const [bar, exDate] = [formatDay(dates[t]!), formatDay(action.exDay)];
    return {
      action,
      code: 'ACTION_DATES',
      message: `${describeAction(action)} ends the security, but the store has a bar on ${bar}. Indices delete the security on ${exDate} and can select it again later.`,
      evidence: { ex_date: exDate, bar },
    };
  }
  return undefined;
}

function findSizeWarning(action: CorporateAction, prices: Prices): ActionWarning | undefined {
  const amount = action.type === 'RIGHTS_ISSUE' ? action.subscriptionPrice : action.value;
  const isPaid = ACTION_KINDS[action.type] === 'cash' && prices.adjustment !== 'total';
  const isEnd = action.type === 'ACQUISITION' || action.type === 'DELISTING';
  const isSkipped = amount === null || (isEnd ? action.isUnpriced : amount === 0);
  if (isSkipped || !(isPaid || isEnd || action.type === 'RIGHTS_ISSUE')) return undefined;
  const close = findCloseBefore(action.identifier, action.exDay, prices);
  if (close === undefined) return undefined;
  const { price, day } = close;
  const isDoubtful = isPaid
    ? amount >= price
    : isEnd
      ? amount > (1 + JUMP_MAX) * price || (action.type === 'ACQUISITION' && amount < (1 - JUMP_MAX) * price)
      : amount > price;
  if (!isDoubtful) return undefined;
  const problemText = isPaid
    ? `pays ${amount} per share, which is not less than the previous close,`
    : isEnd
      ? `pays ${amount} per share, which is far from the previous close,`
      : `has a subscription_price of ${amount}, which is above the previous close,`;
  return {
    action,
    code: 'ACTION_SIZE',
    message: `${describeAction(action)} ${problemText} ${price} on ${formatDay(day)}.`,
    evidence: { amount, close: price, close_date: formatDay(day) },
  };
}

/** Reports a split or cash that the close does not reflect. */
function findUnmovedClose({ dates }: MarketContent, step: ActionStep): ActionWarning | undefined {
  const { before, close, actions, from, to } = step;
  const action =
    actions.find(({ type }) => ACTION_KINDS[type] === 'ratio') ??
    actions.find(({ type }) => ACTION_KINDS[type] === 'cash');
  if (action === undefined || !step.isJump || step.isMoved) return undefined;
  const isRatio = ACTION_KINDS[action.type] === 'ratio';
  if (!isRatio && action.value >= before) return undefined; // `findSizeWarning` reports it.
  const terms = isRatio ? `has the ratio ${action.value}` : `pays ${action.value} per share`;
  return {
    action,
    code: 'ACTION_SIZE',
    message: `${describeAction(action)} ${terms}, but the close does not reflect it: ${before} on ${formatDay(dates[from]!)}, ${close} on ${formatDay(dates[to]!)}.`,
    evidence: {
      [isRatio ? 'ratio' : 'amount']: action.value,
      close_before: before,
      close,
      close_date: formatDay(dates[to]!),
    },
  };
}

/**
 * Reports several endings of one security on one day. Only one of them can be applied. In an offer, a holder chooses
 * between cash and shares.
 */
function findEndingConflict(action: CorporateAction, { endings }: Prices): ActionWarning | undefined {
  const { identifier, exDay } = action;
  if (!ENDING_ACTIONS.has(action.type)) return undefined;
  const otherCorporateActions = endings
    .get(identifier)!
    .filter((otherCorporateAction) => otherCorporateAction !== action && otherCorporateAction.exDay === exDay);
  const sameDay = [action, ...otherCorporateActions];
  const isOffer = sameDay.some(isElective) && sameDay.every(({ type }) => ELECTIONS.has(type));
  if (otherCorporateActions.length === 0 || isOffer || chooseAppliedEnding(sameDay) !== action) return undefined;
  const ignoredTerms = otherCorporateActions.map(formatTerms).join(', ');
  return {
    action,
    code: 'ACTION_CONFLICT',
    message: `${describeAction(action)} is applied: ${formatTerms(action)}. Other actions that end the security on that day are ignored: ${ignoredTerms}. Enter the cash of a merger in cash. For an offer with a choice, set election_date or election_default of one action.`,
    evidence: { ex_date: formatDay(exDay), applied: action.type, ignored: ignoredTerms },
  };
}

/**
 * Reports several splits of one security on one day. They are probably corrections of one ratio, but all of them are
 * applied.
 */
function findSplitConflict(action: CorporateAction, { splits }: Prices): ActionWarning | undefined {
  const { identifier, exDay, type } = action;
  if (type !== 'SPLIT') return undefined;
  const sameDay =
    splits
      .get(identifier)
      ?.filter((otherCorporateAction) => otherCorporateAction.type === type && otherCorporateAction.exDay === exDay) ??
    [];
  if (sameDay.length < 2 || sameDay[0] !== action) return undefined;
  const ratios = sameDay.map(({ value }) => value);
  const product = ratios.reduce((shares, ratio) => shares * ratio, 1);
  return {
    action,
    code: 'ACTION_CONFLICT',
    message: `${identifier} has ${ratios.length} splits on ${formatDay(exDay)}, with the ratios ${ratios.join(' and ')}. All are applied, with a combined ratio of ${product}. If one of them corrects another, remove the other or set its status to cancelled.`,
    evidence: { ex_date: formatDay(exDay), ratios: ratios.join(', '), product },
  };
}

const isElective = ({ electionDay, electionDefault }: CorporateAction) =>
  electionDay !== undefined || electionDefault !== undefined;

/** Priority of endings on one day, by type. */
const APPLIED_TYPES: readonly CorporateAction['type'][] = ['MERGER', 'ACQUISITION', 'DELISTING', 'TICKER_CHANGE'];

/**
 * Returns the ending of a day that is applied. An ending that states the payment is preferred. Among several of one
 * type, the last in the table is applied.
 */
function chooseAppliedEnding(endings: readonly CorporateAction[]): CorporateAction | undefined {
  const decisiveEndings = endings.filter(({ type, isUnpriced }) => type === 'TICKER_CHANGE' || !isUnpriced);
  return APPLIED_TYPES.flatMap(
    (type) =>
      (decisiveEndings.length > 0 ? decisiveEndings : endings)
        .filter((corporateAction) => corporateAction.type === type)
        .toSorted(compareActions)
        .at(-1) ?? [],
  )[0];
}

function formatTerms({ type, value, related, cash, isUnpriced }: CorporateAction): string {
  const cashTerms = cash === undefined ? '' : ` and ${cash} in cash`;
  if (type === 'MERGER') return `MERGER of ${value} shares of ${related}${cashTerms}`;
  if (type === 'TICKER_CHANGE') return `TICKER_CHANGE to ${related}`;
  return isUnpriced ? `${type} without a price` : `${type} at ${value}`;
}

const WARNING_CHECKS = [
  findEndingConflict,
  findSplitConflict,
  findDateWarning,
  findElectionWarning,
  findEndWarning,
  findSizeWarning,
  findRelatedWarning,
];
