import type { Finding } from '../refusals/findings.js';
import type { SessionMarket } from '../market/session-market.js';

/** A name held on the date of a scenario. */
export interface HeldName {
  readonly identifier: string;
  readonly weight: number;
  /** Of the market, -1 where it does not hold the name. */
  readonly column: number;
  readonly group: string;
}

/** What scenarios are computed from. */
export interface ScenarioMarket {
  readonly sm: SessionMarket;
  /** Total growth factors in the currency of the index, [S - first x N]. */
  readonly growth: Float64Array;
  /** Session of the composition. */
  readonly session: number;
  readonly held: readonly HeldName[];
  /** Group of each column of the market on the date of the composition, [N]. */
  readonly groups: readonly string[];
}

/** What one scenario does to the composition. */
export interface ScenarioResult {
  readonly name: string;
  /** Sum of the contributions; null of a window that the store does not cover. */
  readonly return: number | null;
  readonly by_name: readonly NameResult[];
  readonly by_group: readonly { readonly group: string; readonly weight: number; readonly contribution: number }[];
  /** Magnitude of the weights with a return of their own, over that of all. */
  readonly covered_weight: number;
  /** Names that take the return of others. */
  readonly proxied: readonly { readonly identifier: string; readonly proxy: string }[];
  readonly window: { readonly start: string; readonly end: string } | null;
  readonly worst_session: SessionReturn | null;
  /** The lowest of a window, the lowest first; empty of shocks. */
  readonly worst_sessions: readonly SessionReturn[];
  /** Of the portfolio's own regression; null without factors or complete sessions. */
  readonly r_squared: number | null;
  readonly observations: number | null;
  /** Of the return: what the estimate of the responses leaves open; null without factors or complete sessions. */
  readonly standard_error: number | null;
}

export interface SessionReturn {
  readonly date: string;
  readonly return: number;
}

export interface NameResult {
  readonly identifier: string;
  readonly weight: number;
  readonly return: number;
  readonly contribution: number;
  /** Of a response by regression. */
  readonly standard_error: number | null;
}

/** A result, and what there is to say about its scenario. */
export interface FoundScenario {
  readonly result: ScenarioResult;
  readonly findings: readonly Finding[];
}

/** A return of a name, and whose it is: null for its own. */
export interface AssignedReturn {
  readonly value: number;
  readonly proxy: string | null;
  readonly standardError?: number;
}

/** Proxy of a name whose group has nobody with a return. */
export const ALL = 'all names';

/** A result from the return of every name held: contributions are weight times return. */
export function resultOf(
  name: string,
  held: readonly HeldName[],
  returns: readonly AssignedReturn[],
): Pick<ScenarioResult, 'name' | 'by_name' | 'by_group' | 'covered_weight' | 'proxied'> & { readonly return: number } {
  const rows = held.map(({ identifier, weight }, i): NameResult => {
    const { value, standardError = null } = returns[i]!;
    return { identifier, weight, return: value, contribution: weight * value, standard_error: standardError };
  });
  const groups = new Map<string, { group: string; weight: number; contribution: number }>();
  held.forEach(({ group, weight }, i) => {
    const sum = groups.get(group) ?? { group, weight: 0, contribution: 0 };
    sum.weight += weight;
    sum.contribution += rows[i]!.contribution;
    groups.set(group, sum);
  });
  const magnitude = held.reduce((sum, { weight }) => sum + Math.abs(weight), 0);
  const own = held.reduce((sum, { weight }, i) => (returns[i]!.proxy === null ? sum + Math.abs(weight) : sum), 0);
  return {
    name,
    return: rows.reduce((sum, { contribution }) => sum + contribution, 0),
    by_name: rows.toSorted((a, b) => a.contribution - b.contribution),
    by_group: [...groups.values()].sort((a, b) => a.contribution - b.contribution),
    covered_weight: magnitude === 0 ? 1 : own / magnitude,
    proxied: held.flatMap(({ identifier }, i) => {
      const { proxy } = returns[i]!;
      return proxy === null ? [] : [{ identifier, proxy }];
    }),
  };
}
