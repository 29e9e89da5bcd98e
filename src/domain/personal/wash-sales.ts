import { parseValidDay, formatDay, type Day } from '../time/days.js';
import type { Account } from './account-request.js';

/** State of a security under the wash sale rule. */
export interface WashState {
  /** Number of shares bought within the window. Losses on an equal number of sold shares are not deductible. */
  readonly replaced: number;
  /** Last day on which an earlier sale at a loss forbids purchases; null if there is none. */
  readonly noPurchaseUntil: Day | null;
}

/**
 * Returns the state of each security that the wash sale rule affects. Trades of substitutes count as trades of the
 * security. For a lot, other lots bought within the window count as recent purchases.
 */
export function findWashStates({ recent, lots, substitutes, tax }: Account, asOf: Day): ReadonlyMap<string, WashState> {
  const days = tax.wash_sale_days;
  const states = new Map<string, { replaced: number; noPurchaseUntil: Day | null }>();
  const groups = new Map<string, Set<string>>();
  for (const group of substitutes)
    for (const name of group) {
      const joinedGroup = groups.get(name) ?? new Set([name]);
      for (const member of group) joinedGroup.add(member);
      groups.set(name, joinedGroup);
    }
  const findState = (name: string) => {
    const state = states.get(name) ?? { replaced: 0, noPurchaseUntil: null };
    states.set(name, state);
    return state;
  };
  const listIdentical = (name: string): Iterable<string> => groups.get(name) ?? [name];
  const isInWindow = (day: Day): boolean => day <= asOf && asOf - day <= days;
  for (const { identifier, date, shares, price, cost } of recent) {
    const day = parseValidDay(date);
    if (!isInWindow(day)) continue;
    if (shares > 0) for (const name of listIdentical(identifier)) findState(name).replaced += shares;
    else if (cost === undefined || price < cost)
      for (const name of listIdentical(identifier)) {
        const state = findState(name);
        state.noPurchaseUntil = Math.max(state.noPurchaseUntil ?? 0, day + days);
      }
  }
  const listedKeys = new Set(
    recent.filter(({ shares }) => shares > 0).map(({ identifier, date }) => `${identifier} ${date}`),
  );
  for (const { identifier, shares, acquired } of lots)
    if (isInWindow(parseValidDay(acquired)) && !listedKeys.has(`${identifier} ${acquired}`))
      for (const name of listIdentical(identifier)) findState(name).replaced += shares;
  return states;
}

/**
 * Returns true for a lot held for more than one year. A sale on the anniversary of the purchase is still short-term.
 */
export function isLongTerm(acquired: string, asOf: Day): boolean {
  const year = Number(acquired.slice(0, 4)) + 1;
  const anniversary = `${year}${acquired.slice(4)}`;
  const day = anniversary.endsWith('-02-29') ? parseValidDay(`${year}-03-01`) - 1 : parseValidDay(anniversary);
  return asOf > day;
}

export const findWashDay = (day: Day): string => formatDay(day);
