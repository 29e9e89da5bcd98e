import { type Finding, type FindingCode, keepSmallValue, sortFindings } from '#domain/base/findings.js';
import { findFirstAtLeast } from '#domain/base/numbers.js';
import { type Day, formatDay, SATURDAY, toWeekday } from '#domain/base/time.js';
import type { Calendars } from '#domain/calendars/calendar.js';
import {
  ACTION_KINDS,
  type Adjustment,
  type CorporateAction,
  ELECTIONS,
  readReference,
} from '#domain/market/market-data.js';
import { JUMP_MAX } from '#domain/market/growth.js';
import { compareActions, groupBySecurity } from '../content/action-rows.js';
import type { MarketContent } from '../content/market-content.js';
import { createProblems, type DataProblem, type Problems } from '../tables/problems.js';
import {
  type ActionStep,
  ENDING_ACTIONS,
  findPartialDates,
  findUnknownCurrencies,
  GAP_SESSIONS_MAX,
  listActionSteps,
  listRenamedSteps,
  warnOfFutureDays,
  warnOfMarket,
  warnOfMissingDays,
  warnOfSessions,
  warnOfSimilarIdentifiers,
} from './market-warnings.js';

/** An implausible statement of an action. */
interface ActionWarning {
  readonly action: CorporateAction;
  readonly code: Extract<FindingCode, 'ACTION_CONFLICT' | 'ACTION_DATES' | 'ACTION_SIZE' | 'ACTION_WITHOUT_PRICE'>;
  readonly message: string;
  /** Figures or dates that support the warning. */
  readonly evidence: Readonly<Record<string, number | string>>;
}

/** Prices and actions by security. */
interface Prices {
  readonly content: MarketContent;
  readonly adjustment: Adjustment;
  readonly position: ReadonlyMap<string, number>;
  /** Splits by security, if earlier prices do not include them. */
  readonly splits: ReadonlyMap<string, readonly CorporateAction[]>;
  /** Actions that end a security, by security. */
  readonly endings: ReadonlyMap<string, readonly CorporateAction[]>;
}

interface Close {
  readonly day: Day;
  readonly price: number;
}

const describeAction = ({ type, identifier, exDay }: CorporateAction) =>
  `The ${type} of ${identifier} on ${formatDay(exDay)}`;

/** Returns the day of the first bar of a security on or after a day. Returns undefined if there is none. */
function findBarFrom(identifier: string, day: Day, { content, position }: Prices): Day | undefined {
  const { identifiers, dates, fields } = content;
  const n = position.get(identifier)!; // callers have checked that the store has the security
  const close = fields.get('CLOSE')!;
  let t = findFirstAtLeast(dates, day);
  while (t < dates.length && Number.isNaN(close[t * identifiers.length + n]!)) t++;
  return dates[t];
}

/**
 * Returns the last close of a security before a day, on the share basis of that day. Returns undefined if there is
 * none.
 */
function findCloseBefore(identifier: string, day: Day, { content, position, splits }: Prices): Close | undefined {
  const { identifiers, dates, fields } = content;
  const n = position.get(identifier);
  if (n === undefined) return undefined;
  const close = fields.get('CLOSE')!;
  let t = findFirstAtLeast(dates, day) - 1;
  while (t >= 0 && Number.isNaN(close[t * identifiers.length + n]!)) t--;
  if (t < 0) return undefined;
  const bar = dates[t]!;
  const laterSplits = splits.get(identifier)?.filter(({ exDay }) => exDay > bar && exDay <= day) ?? [];
  return {
    day: bar,
    price: laterSplits.reduce((price, { value }) => price / value, close[t * identifiers.length + n]!),
  };
}

/** Effects on an index of actions whose other security has no price. */
const EFFECTS_WITHOUT_PRICE: Readonly<Partial<Record<CorporateAction['type'], string>>> = {
  MERGER: 'The last close is paid instead',
  SPIN_OFF: 'The shares have no value',
  TICKER_CHANGE: 'The change is not applied',
};

/** Reports an action on the shares or the code of another security whose prices contradict it. */
function findRelatedWarning(action: CorporateAction, prices: Prices): ActionWarning | undefined {
  const { type, identifier, related, value, exDay } = action;
  const effect = EFFECTS_WITHOUT_PRICE[type];
  const { dates } = prices.content;
  const session = findFirstAtLeast(dates, exDay);
  // The prices of an announced action are not known yet.
  if (effect === undefined || session === dates.length) return undefined;
  const createPriceWarning = (why: string, consequence: string = effect): ActionWarning => ({
    action,
    code: 'ACTION_WITHOUT_PRICE',
    message: `${describeAction(action)} ${type === 'TICKER_CHANGE' ? 'is a change' : `pays ${value} shares per share`} ${why}. ${consequence}.`,
    evidence: { ratio: value, ...(related === null ? {} : { related }) },
  });
  const of = type === 'TICKER_CHANGE' ? 'to' : 'of';
  if (related === null) return createPriceWarning('and has no related identifier');
  if (related === identifier) return createPriceWarning(`${of} itself`);
  if (!prices.position.has(related)) return createPriceWarning(`${of} ${related}, which has no bar in the store`);
  if (type === 'TICKER_CHANGE') return findReusedCode(action, prices, createPriceWarning);
  const ending = prices.endings.get(related)?.findLast((one) => one.exDay < exDay);
  if (ending !== undefined && findBarFrom(related, ending.exDay, prices) === undefined)
    return createPriceWarning(`of ${related}, which ended on ${formatDay(ending.exDay)}`);
  const otherClose = findCloseBefore(related, dates[session]! + 1, prices);
  if (otherClose === undefined)
    return createPriceWarning(
      `of ${related}, which has no bar before ${formatFirstBar(related, exDay, prices)}`,
      LATE_EFFECTS[type],
    );
  // The store has no bar between the ex-date and the first bar, and does not show whether there was a session.
  if (findCloseBefore(related, dates[session]!, prices) === undefined && hasWeekday(exDay, dates[session]!))
    return createPriceWarning(
      `of ${related}, which has no bar before ${formatDay(dates[session]!)}`,
      `If there is a session before that day: ${lowerFirst(LATE_EFFECTS[type] ?? effect)}`,
    );
  return type === 'SPIN_OFF' ? undefined : findMergerSize(action, otherClose, prices);
}

/** Effects on an index of actions whose other security has its first bar after the session of the action. */
const LATE_EFFECTS: typeof EFFECTS_WITHOUT_PRICE = {
  SPIN_OFF: 'The shares have no value until then, and none at all if more sessions pass than max_stale_sessions allows',
};

const lowerFirst = (text: string) => text.charAt(0).toLowerCase() + text.slice(1);

/** Returns true if there is a day from Monday to Friday from one day until the day before another. */
function hasWeekday(from: Day, to: Day): boolean {
  for (let day = from; day < Math.min(to, from + 3); day++) if (toWeekday(day) < SATURDAY) return true;
  return false;
}

/** Reports bars of the old code on or after the ex-date of a change of ticker. */
function findReusedCode(
  action: CorporateAction,
  prices: Prices,
  createPriceWarning: (why: string) => ActionWarning,
): ActionWarning | undefined {
  const { identifier, related, exDay } = action;
  const [oldBar, newBar] = [findBarFrom(identifier, exDay, prices), findBarFrom(related!, exDay, prices)];
  if (newBar === undefined) return createPriceWarning(`to ${related}, which has no bar from that day on`);
  if (oldBar === undefined) return undefined;
  const [oldText, newText] = [formatDay(oldBar), formatDay(newBar)];
  return {
    action,
    code: 'ACTION_DATES',
    message: `${describeAction(action)} changes the code to ${related}, but the store has a bar of ${identifier} on ${oldText}. Indices hold ${related} from ${newText} on; later bars of ${identifier} count as another security.`,
    evidence: { ex_date: formatDay(exDay), bar: oldText, related: related!, related_bar: newText },
  };
}

/** Reports a merger whose payment, at a close of the acquirer, is far from the previous close of the security. */
function findMergerSize(action: CorporateAction, otherClose: Close, prices: Prices): ActionWarning | undefined {
  const { identifier, value, exDay, cash = 0 } = action;
  const related = action.related!; // the caller has the close of this security
  const { reference } = prices.content;
  const ownClose = findCloseBefore(identifier, exDay, prices);
  const findCurrency = (name: string) => readReference(reference, name, 'CURRENCY', exDay);
  if (ownClose === undefined || findCurrency(identifier) !== findCurrency(related)) return undefined;
  // Both closes of one day are comparable; a new security has its first close only on the ex-date.
  const { price, day } = findCloseBefore(related, exDay, prices) ?? otherClose;
  const offerValue = value * price + cash;
  if (Math.abs(offerValue / ownClose.price - 1) <= JUMP_MAX) return undefined;
  return {
    action,
    code: 'ACTION_SIZE',
    message: `${describeAction(action)} pays ${value} shares of ${related}${cash === 0 ? '' : ` and ${cash} in cash`} per share, worth ${offerValue} at the close of ${formatDay(day)}, which is far from the previous close of ${identifier}, ${ownClose.price} on ${formatDay(ownClose.day)}.`,
    evidence: { ratio: value, related, worth: offerValue, close: ownClose.price, close_date: formatDay(ownClose.day) },
  };
}

const formatFirstBar = (identifier: string, day: Day, prices: Prices) => {
  const bar = findBarFrom(identifier, day, prices);
  return bar === undefined ? formatDay(day) : formatDay(bar);
};

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

const MS_PER_DAY = 86_400_000;

/** Inputs of the checks of a market in addition to its values. */
interface WarningTerms {
  /** Price basis of CLOSE. */
  readonly adjustment: Adjustment;
  readonly calendars: {
    readonly codes: readonly string[];
    readonly open: () => Calendars;
  };
  /** Current day. Default: the day of the clock. */
  readonly today?: Day;
}

/** Maximum number of warnings of one version that a comparison lists. */
const COMPARED_WARNINGS_MAX = 100_000;

/**
 * Returns the warnings about a market that its previous version did not have. Unlike `findContentWarnings`, similar
 * warnings are compared one by one, so that a store with many warnings does not hide a new one.
 * @cost the checks of both versions
 */
export function findNewContentWarnings(before: MarketContent, content: MarketContent, terms: WarningTerms): Finding[] {
  const earlierKeys = new Set(listContentWarnings(before, terms).map(formatWarningKey));
  const problems = createProblems();
  problems.take(listContentWarnings(content, terms).filter((warning) => !earlierKeys.has(formatWarningKey(warning))));
  return problems.findings();
}

/** Returns every warning about a market. A finding that only counts earlier partial dates is left out. */
function listContentWarnings(content: MarketContent, terms: WarningTerms): Finding[] {
  const warnings: Finding[] = [];
  const warning = (problem: DataProblem): void => {
    const { code, path, message, value } = problem;
    if (warnings.length < COMPARED_WARNINGS_MAX)
      warnings.push({
        severity: 'warning',
        code,
        path,
        message,
        ...(value === undefined ? {} : keepSmallValue(value)),
      });
  };
  const partialDates = findContentWarnings(content, terms, { ...createProblems(), warning });
  return [...partialDates.filter(({ path }) => path !== 'market'), ...warnings];
}

const formatWarningKey = ({ code, path }: Finding): string => JSON.stringify([code, path]);

/**
 * Returns all warnings about a whole market, including problems found earlier. Every store is checked when it is read,
 * refreshed or repaired. Partial dates are always listed, even if there are many other warnings.
 * @returns findings in the order of responses
 * @cost a few passes over CLOSE
 */
export function findContentWarnings(content: MarketContent, terms: WarningTerms, problems: Problems): Finding[] {
  const { adjustment, calendars } = terms;
  warnOfMarket(content, adjustment, problems);
  warnOfMissingDays(content.dates, problems);
  for (const { code, message, action } of findActionWarnings(content, adjustment))
    problems.warning({ code, path: `corporate_actions[${action.identifier} ${formatDay(action.exDay)}]`, message });
  for (const { identifier, table, currency, message } of findUnknownCurrencies(content))
    problems.warning({ code: 'UNKNOWN_CURRENCY', path: `${table}[${identifier}].CURRENCY`, message, value: currency });
  warnOfSessions(content, calendars, problems);
  warnOfFutureDays(content, terms.today ?? Math.floor(Date.now() / MS_PER_DAY), problems);
  warnOfSimilarIdentifiers(content, problems);
  return sortFindings([...findPartialDates(content, calendars), ...problems.findings()]);
}
