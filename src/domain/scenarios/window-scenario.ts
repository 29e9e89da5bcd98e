import { dayFrom, formatDay } from '../days.js';
import { LIMITS } from '../limits.js';
import { panelRow } from '../market/session-market.js';
import { Refusal } from '../refusal.js';
import {
  ALL,
  resultOf,
  type AssignedReturn,
  type ScenarioMarket,
  type ScenarioResult,
  type SessionReturn,
} from './holdings.js';

/** Sessions listed as the worst. */
const WORST_SESSIONS = 5;

/**
 * The composition bought at the close before a window and held to its end. A name without prices takes the equally weighted
 * value of its group, else of all names of the store that have them.
 * @throws Refusal NO_DATA_IN_RANGE when the store holds no session before the window, or none in it
 * @cost O(sessions of the window x N)
 */
export function windowScenario(
  market: ScenarioMarket,
  { name, window }: { readonly name: string; readonly window: { readonly start: string; readonly end: string } },
): ScenarioResult {
  const { sm, held } = market;
  const base = sm.sessionAt(dayFrom(window.start) - 1);
  const last = sm.sessionAt(dayFrom(window.end));
  if (base < sm.first || last <= base) throw outsideStore(market, name, window);
  const paths = valuePaths(market, base, last);
  const length = last - base;
  const value = new Float64Array(length).fill(1);
  const returns = held.map(({ column, group, weight }): AssignedReturn => {
    const own = column < 0 ? undefined : paths.ofColumn(column);
    const path = own ?? paths.ofGroup(group) ?? paths.ofAll();
    if (path === undefined) throw outsideStore(market, name, window);
    for (let t = 0; t < length; t++) value[t]! += weight * (path[t]! - 1);
    return { value: path[length - 1]! - 1, proxy: own ? null : paths.ofGroup(group) ? group : ALL };
  });
  const changes = Array.from(value, (after, t): SessionReturn => ({
    date: formatDay(sm.sessions[base + 1 + t]!),
    return: after / (t === 0 ? 1 : value[t - 1]!) - 1,
  }));
  const worst = changes.toSorted((a, b) => a.return - b.return).slice(0, WORST_SESSIONS);
  return {
    ...resultOf(name, held, returns),
    window: { start: formatDay(sm.sessions[base]!), end: formatDay(sm.sessions[last]!) },
    worst_session: worst[0]!, // A window has a session.
    worst_sessions: worst,
    r_squared: null,
    observations: null,
    standard_error: null,
  };
}

function outsideStore({ sm }: ScenarioMarket, name: string, { start, end }: { start: string; end: string }): Refusal {
  const [first, last] = [sm.sessions[sm.first], sm.sessions.at(-1)].map((day) =>
    day === undefined ? '-' : formatDay(day),
  );
  return new Refusal(
    'NO_DATA_IN_RANGE',
    `The scenario ${name}, from the close before ${start} to ${end}, is not covered: the store holds ${first} to ${last}.`,
  );
}

interface Paths {
  /** Value of a unit on each session of the window, [length]; undefined without prices. */
  ofColumn(column: number): Float64Array | undefined;
  ofGroup(group: string): Float64Array | undefined;
  ofAll(): Float64Array | undefined;
}

function valuePaths({ sm, growth, groups }: ScenarioMarket, base: number, last: number): Paths {
  const own = new Map<number, Float64Array | undefined>();
  const averages = new Map<string, Float64Array | undefined>();
  const ofColumn = (column: number): Float64Array | undefined => {
    if (own.has(column)) return own.get(column);
    const path = pathOf(column);
    own.set(column, path);
    return path;
  };
  const pathOf = (column: number): Float64Array | undefined => {
    if (!sm.isPriceable(base, column, LIMITS.MAX_STALE_SESSIONS)) return undefined;
    const path = new Float64Array(last - base);
    let value = 1;
    for (let session = base + 1; session <= last; session++) {
      const factor = growth[panelRow(sm, session) + column]!;
      if (Number.isNaN(factor)) return undefined;
      path[session - base - 1] = value *= factor;
    }
    return path;
  };
  const average = (key: string, isMember: (column: number) => boolean): Float64Array | undefined => {
    if (averages.has(key)) return averages.get(key);
    const sum = new Float64Array(last - base);
    let count = 0;
    for (let column = 0; column < sm.names; column++) {
      const path = isMember(column) ? ofColumn(column) : undefined;
      if (path === undefined) continue;
      for (let t = 0; t < sum.length; t++) sum[t]! += path[t]!;
      count++;
    }
    const mean = count === 0 ? undefined : sum.map((value) => value / count);
    averages.set(key, mean);
    return mean;
  };
  return {
    ofColumn,
    ofGroup: (group) => average(`group ${group}`, (column) => groups[column] === group),
    ofAll: () => average('all', () => true),
  };
}
