import type { Day } from '../time/days.js';
import type { SessionActions } from './session-actions.js';

/** Action that ends a security, or changes its code. */
interface Ending {
  readonly session: number;
  readonly exDay: Day;
  /** Column of the new code of a change of ticker. */
  readonly into?: number;
  /** Session of the first bar of the new code on or after `session`; default: Infinity. */
  readonly since?: number;
}

export interface EndingsInput {
  readonly securityCount: number;
  readonly sessionCount: number;
  columnOf(identifier: string): number;
  hasBar(session: number, column: number): boolean;
}

export interface Endings {
  /** 1 for securities with an action that ends them, [N]. */
  readonly canEnd: Uint8Array;
  /** Returns true if a security whose latest bar is given has ended. A bar between sessions may precede the ex-date. */
  hasEnded(session: number, column: number, bar: number, findBarDay: () => Day): boolean;
  /** Returns true if a change of ticker is effective. */
  isRenamed(session: number, column: number, into: number): boolean;
}

/** Returns the endings of all securities. @cost O(A), plus the sessions until the first bar of each new code */
export function createEndings(actions: SessionActions, input: EndingsInput): Endings {
  const endings = listEndings(actions, input);
  const canEnd = new Uint8Array(input.securityCount);
  for (const column of endings.keys()) canEnd[column] = 1;
  return {
    canEnd,
    hasEnded: (session, column, bar, findBarDay) =>
      endings.get(column)!.some(({ session: end, exDay, since }) => {
        if (end > session) return false;
        if (since === undefined) return bar <= end;
        return bar < end || (bar === end && findBarDay() < exDay) || (since <= session && bar <= since);
      }), // endings exist for columns flagged in `canEnd`
    isRenamed: (session, column, into) =>
      endings.get(column)?.some((ending) => ending.into === into && ending.since! <= session) ?? false,
  };
}

function listEndings({ all }: SessionActions, { sessionCount, columnOf, hasBar }: EndingsInput): Map<number, Ending[]> {
  const endings = new Map<number, Ending[]>();
  const add = (column: number, ending: Ending): void => {
    const list = endings.get(column);
    if (list) list.push(ending);
    else endings.set(column, [ending]);
  };
  for (const { session, column, action } of all) {
    const { type, related, exDay } = action;
    if (type === 'DELISTING' || type === 'ACQUISITION' || type === 'MERGER') add(column, { session, exDay });
    const into = type === 'TICKER_CHANGE' && related !== null ? columnOf(related) : -1;
    if (into < 0 || into === column) continue;
    let since = session;
    while (since < sessionCount && !hasBar(since, into)) since++;
    add(column, { session, exDay, into, since: since < sessionCount ? since : Number.POSITIVE_INFINITY });
  }
  return endings;
}
