import { JUMP_MAX } from '#domain/index-mathematics/unexplained-growth.js';
import { formatDay, toWeekday, type Day } from '#domain/time/days.js';
import { readReference, type CorporateAction } from '#domain/market/market-data.js';
import { findFirstAtLeast } from '#domain/numbers/search.js';
import {
  describeAction,
  findBarFrom,
  findCloseBefore,
  type ActionWarning,
  type Close,
  type Prices,
} from './action-prices.js';

/** Effects on an index of actions whose other security has no price. */
const EFFECTS_WITHOUT_PRICE: Readonly<Partial<Record<CorporateAction['type'], string>>> = {
  MERGER: 'The last close is paid instead',
  SPIN_OFF: 'The shares have no value',
  TICKER_CHANGE: 'The change is not applied',
};

/** Reports an action on the shares or the code of another security whose prices contradict it. */
export function findRelatedWarning(action: CorporateAction, prices: Prices): ActionWarning | undefined {
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

/** Position of Saturday among the weekdays. */
const SATURDAY = 5;

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
