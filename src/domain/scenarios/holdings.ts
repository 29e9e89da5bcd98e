import type { Finding } from '../refusals/findings.js';
import type { SessionMarket } from '../market/session-market.js';

/** Security held on the date of a scenario. */
export interface HeldSecurity {
  readonly identifier: string;
  readonly weight: number;
  /** Column of the market, -1 if it does not contain the security. */
  readonly column: number;
  readonly group: string;
}

/** Inputs of scenarios. */
export interface ScenarioMarket {
  readonly sm: SessionMarket;
  /** Total growth factors in the currency of the index, [S - first x N]. */
  readonly growth: Float64Array;
  /** Session of the composition. */
  readonly session: number;
  readonly held: readonly HeldSecurity[];
  /** Group of each column of the market on the date of the composition, [N]. */
  readonly groups: readonly string[];
}

/** Effect of one scenario on the composition. */
export interface ScenarioResult {
  readonly name: string;
  /** Sum of the contributions; null for a window that the data does not cover. */
  readonly return: number | null;
  readonly by_name: readonly SecurityResult[];
  readonly by_group: readonly { readonly group: string; readonly weight: number; readonly contribution: number }[];
  /** Absolute weight of securities that have returns, over the total absolute weight. */
  readonly covered_weight: number;
  /** Securities that use the return of others. */
  readonly proxied: readonly { readonly identifier: string; readonly proxy: string }[];
  readonly window: { readonly start: string; readonly end: string } | null;
  readonly worst_session: SessionReturn | null;
  /** Worst sessions of a window, worst first; empty for shocks. */
  readonly worst_sessions: readonly SessionReturn[];
  /** R-squared of the regression of the portfolio itself; null without factors or complete sessions. */
  readonly r_squared: number | null;
  readonly observations: number | null;
  /** Standard error of the return from the estimate of the responses; null without factors or complete sessions. */
  readonly standard_error: number | null;
}

export interface SessionReturn {
  readonly date: string;
  readonly return: number;
}

export interface SecurityResult {
  readonly identifier: string;
  readonly weight: number;
  readonly return: number;
  readonly contribution: number;
  /** Standard error of a response by regression. */
  readonly standard_error: number | null;
}

/** Result, with the remarks on its scenario. */
export interface FoundScenario {
  readonly result: ScenarioResult;
  readonly findings: readonly Finding[];
}

/** Return of a security, and the proxy that it comes from: null for its own return. */
export interface AssignedReturn {
  readonly value: number;
  readonly proxy: string | null;
  readonly standardError?: number;
}

/** Proxy of a security whose group has no return. */
export const ALL = 'all names';

/** Computes a result from the return of every holding: contributions are weight times return. */
export function createResult(
  name: string,
  held: readonly HeldSecurity[],
  returns: readonly AssignedReturn[],
): Pick<ScenarioResult, 'name' | 'by_name' | 'by_group' | 'covered_weight' | 'proxied'> & { readonly return: number } {
  const rows = held.map(({ identifier, weight }, i): SecurityResult => {
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
