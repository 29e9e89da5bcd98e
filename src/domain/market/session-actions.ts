import type { Calendar } from '../calendars/calendar.js';
import { findFirstAtLeast } from '../numbers/search.js';
import type { CorporateAction, MarketData } from './market-data.js';

/** Corporate action placed on the session at which it takes effect. */
export interface SessionAction {
  readonly session: number;
  readonly column: number;
  readonly action: CorporateAction;
}

/** All effective actions, ordered by the session on which they take effect, column, ex-date and type. */
export interface SessionActions {
  readonly all: readonly SessionAction[];
  /** Position in `all` of the first action of each session, [S + 1]. */
  readonly starts: Int32Array;
  /** Actions with a related identifier. */
  readonly related: readonly SessionAction[];
  /** Rights issues without a subscription price, whose value is unknown. */
  readonly unpricedRights: readonly SessionAction[];
  /** 1 for sessions with an action that changes the composition of a holding, [S]. */
  readonly isStructural: Uint8Array;
}

/** Actions that change the identity of a holding. Rights change only its price. */
const STRUCTURAL: ReadonlySet<CorporateAction['type']> = new Set([
  'SPIN_OFF',
  'MERGER',
  'ACQUISITION',
  'DELISTING',
  'TICKER_CHANGE',
]);

export interface PlaceActionsInput {
  readonly market: MarketData;
  readonly sessions: Int32Array;
  readonly calendar: Calendar;
  columnOf(identifier: string): number;
}

/**
 * Places the actions of a store on sessions. If an ex-date is not a session, the action takes effect on the next
 * session. Excludes cancelled actions, actions of securities outside the store, and actions before its first day or
 * after its last session.
 * @cost O(A log S)
 */
export function placeActions({ market, sessions, calendar, columnOf }: PlaceActionsInput): SessionActions {
  const first = market.dates[0] ?? 0;
  const datedActions: SessionAction[] = [];
  for (const action of market.actions) {
    if (action.status === 'cancelled' || action.exDay < first) continue;
    const column = columnOf(action.identifier);
    const session = findFirstAtLeast(sessions, action.exDay);
    if (column >= 0 && session < sessions.length && action.exDay <= calendar.coverage.to)
      datedActions.push({ session, column, action });
  }
  const all = datedActions.toSorted(
    (a, b) => a.session - b.session || a.column - b.column || a.action.exDay - b.action.exDay,
  );
  const starts = new Int32Array(sessions.length + 1);
  const isStructural = new Uint8Array(sessions.length);
  for (const { session, action } of all) {
    starts[session + 1]!++;
    if (STRUCTURAL.has(action.type)) isStructural[session] = 1;
  }
  for (let s = 0; s < sessions.length; s++) starts[s + 1]! += starts[s]!;
  return {
    all,
    related: all.filter(({ action }) => action.related !== null),
    unpricedRights: all.filter(({ action }) => action.type === 'RIGHTS_ISSUE' && action.subscriptionPrice === null),
    starts,
    isStructural,
  };
}
