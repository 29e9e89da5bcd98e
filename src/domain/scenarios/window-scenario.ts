import { parseValidDay, formatDay } from '../time/days.js';
import type { Finding } from '../refusals/findings.js';
import { LIMITS } from '../refusals/limits.js';
import { readPanelRow } from '../market/session-market.js';
import { findFirstAtLeast } from '../numbers/search.js';
import {
  ALL_SECURITIES,
  createResult,
  type AssignedReturn,
  type ScenarioOutcome,
  type ScenarioMarket,
  type SessionReturn,
} from './holdings.js';

/** Number of worst sessions that a result lists. */
const WORST_SESSIONS = 5;

export interface WindowTerms {
  readonly name: string;
  readonly window: { readonly start: string; readonly end: string };
  /** Path in the request. */
  readonly path: string;
}

/**
 * Computes the return of the composition, bought at the close before a window and held to its end. A security without
 * prices uses the equally weighted value of its group, or of all securities with prices. The return is null without a
 * session before the window, a session in it, and prices. NO_DATA_IN_RANGE then states the range of the data.
 * WINDOW_CUT reports an end after the data.
 * @cost O(sessions of the window x N)
 */
export function computeWindowScenario(market: ScenarioMarket, terms: WindowTerms): ScenarioOutcome {
  const { name, window } = terms;
  const { sm, held } = market;
  const base = sm.sessionAt(parseValidDay(window.start) - 1);
  const last = sm.sessionAt(parseValidDay(window.end));
  if (base < sm.first || last <= base) return createUncoveredResult(market, terms);
  const paths = createValuePaths(market, base, last);
  const length = last - base;
  const value = new Float64Array(length).fill(1);
  const returns: AssignedReturn[] = [];
  for (const { column, group, weight } of held) {
    const columnPath = column < 0 ? undefined : paths.ofColumn(column);
    const path = columnPath ?? paths.ofGroup(group) ?? paths.ofAll();
    if (path === undefined) return createUncoveredResult(market, terms);
    for (let t = 0; t < length; t++) value[t]! += weight * (path[t]! - 1);
    returns.push({
      value: path[length - 1]! - 1,
      proxy: columnPath ? null : paths.ofGroup(group) ? group : ALL_SECURITIES,
    });
  }
  const changes = Array.from(value, (after, t): SessionReturn => ({
    date: formatDay(sm.sessions[base + 1 + t]!),
    return: after / (t === 0 ? 1 : value[t - 1]!) - 1,
  }));
  const worstChanges = changes.toSorted((a, b) => a.return - b.return).slice(0, WORST_SESSIONS);
  const result = {
    ...createResult(name, held, returns),
    window: { start: formatDay(sm.sessions[base]!), end: formatDay(sm.sessions[last]!) },
    worst_session: worstChanges[0]!, // the window has at least one session
    worst_sessions: worstChanges,
    ...NO_REGRESSION,
  };
  return { result, findings: warnOfCutEnd(market, terms) };
}

const NO_REGRESSION = { r_squared: null, observations: null, standard_error: null } as const;

/** Returns the result for a window outside the data, with a return of null. */
function createUncoveredResult({ sm }: ScenarioMarket, { name, window, path }: WindowTerms): ScenarioOutcome {
  const [first, last] = [sm.sessions[sm.first], sm.sessions.at(-1)].map((day) =>
    day === undefined ? '-' : formatDay(day),
  );
  const message = `The scenario ${name}, from the close before ${window.start} to ${window.end}, is not covered: the data covers ${first} to ${last}.`;
  const result = {
    name,
    return: null,
    by_name: [],
    by_group: [],
    covered_weight: 0,
    proxied: [],
    window: null,
    worst_session: null,
    worst_sessions: [],
    ...NO_REGRESSION,
  };
  const findingLocation = { path: `${path}.window`, value: window };
  return { result, findings: [{ severity: 'warning', code: 'NO_DATA_IN_RANGE', message, ...findingLocation }] };
}

/** Warns if the window ends after the last session of the data. */
function warnOfCutEnd({ sm }: ScenarioMarket, { name, window, path }: WindowTerms): Finding[] {
  const { sessions, coverage } = sm.calendar;
  const last = sm.sessions.at(-1)!; // a covered window has at least one session
  const end = parseValidDay(window.end);
  if (end <= coverage.to && findFirstAtLeast(sessions, last + 1) === findFirstAtLeast(sessions, end + 1)) return [];
  if (end <= last) return [];
  const message = `The scenario ${name} ends on ${formatDay(last)}, not on ${window.end}: the data contains no later session.`;
  return [{ severity: 'warning', code: 'WINDOW_CUT', message, path: `${path}.window.end`, value: window.end }];
}

interface Paths {
  /** Returns the value of one unit on each session of the window, [length]. Returns undefined without prices. */
  ofColumn(column: number): Float64Array | undefined;
  ofGroup(group: string): Float64Array | undefined;
  ofAll(): Float64Array | undefined;
}

function createValuePaths({ sm, growth, groups }: ScenarioMarket, base: number, last: number): Paths {
  const pathByColumn = new Map<number, Float64Array | undefined>();
  const averages = new Map<string, Float64Array | undefined>();
  const findColumnPath = (column: number): Float64Array | undefined => {
    if (pathByColumn.has(column)) return pathByColumn.get(column);
    const path = computePath(column);
    pathByColumn.set(column, path);
    return path;
  };
  const computePath = (column: number): Float64Array | undefined => {
    if (!sm.isPriceable(base, column, LIMITS.MAX_STALE_SESSIONS)) return undefined;
    const path = new Float64Array(last - base);
    let value = 1;
    for (let session = base + 1; session <= last; session++) {
      const factor = growth[readPanelRow(sm, session) + column]!;
      if (Number.isNaN(factor)) return undefined;
      path[session - base - 1] = value *= factor;
    }
    return path;
  };
  const averagePaths = (key: string, isMember: (column: number) => boolean): Float64Array | undefined => {
    if (averages.has(key)) return averages.get(key);
    const sum = new Float64Array(last - base);
    let count = 0;
    for (let column = 0; column < sm.securityCount; column++) {
      const path = isMember(column) ? findColumnPath(column) : undefined;
      if (path === undefined) continue;
      for (let t = 0; t < sum.length; t++) sum[t]! += path[t]!;
      count++;
    }
    const mean = count === 0 ? undefined : sum.map((value) => value / count);
    averages.set(key, mean);
    return mean;
  };
  return {
    ofColumn: findColumnPath,
    ofGroup: (group) => averagePaths(`group ${group}`, (column) => groups[column] === group),
    ofAll: () => averagePaths('all', () => true),
  };
}
