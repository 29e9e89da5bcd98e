import type { Finding } from '../refusals/findings.js';
import type { SessionMarket } from '../market/session-market.js';

/** Holding on the date of a scenario. */
export interface HeldSecurity {
  readonly identifier: string;
  readonly weight: number;
  /** Market column; -1 if the market does not contain the security. */
  readonly column: number;
  readonly group: string;
}

/** Composition and market data for scenarios. */
export interface ScenarioMarket {
  readonly sm: SessionMarket;
  /** Total-return growth factors in the index currency, [S - first x N]. */
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
  /** Sum of the contributions; null for a window outside the data. */
  readonly return: number | null;
  readonly by_name: readonly SecurityResult[];
  readonly by_group: readonly { readonly group: string; readonly weight: number; readonly contribution: number }[];
  /** Fraction of the total absolute weight that is in securities with returns. */
  readonly covered_weight: number;
  /** Securities that use the return of a proxy. */
  readonly proxied: readonly { readonly identifier: string; readonly proxy: string }[];
  readonly window: { readonly start: string; readonly end: string } | null;
  readonly worst_session: SessionReturn | null;
  /** Worst sessions of a window, worst first; empty for shocks. */
  readonly worst_sessions: readonly SessionReturn[];
  /** R-squared of the portfolio's regression. Null without factors or without complete sessions. */
  readonly r_squared: number | null;
  readonly observations: number | null;
  /**
   * Standard error of the return that comes from estimating the responses. Null without factors or without complete
   * sessions.
   */
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
  /** Standard error of a response from a regression. */
  readonly standard_error: number | null;
}

/** Scenario result, with findings on the scenario. */
export interface ScenarioOutcome {
  readonly result: ScenarioResult;
  readonly findings: readonly Finding[];
}

/** Return of a security, and the proxy that provides it. The proxy is null if the return is the security's own. */
export interface AssignedReturn {
  readonly value: number;
  readonly proxy: string | null;
  readonly standardError?: number;
}

/** Name of the proxy for a security whose group has no return. */
export const ALL_SECURITIES = 'all names';

/** Computes a result from the returns of all holdings: each contribution is weight times return. */
export function createResult(
  name: string,
  heldSecurities: readonly HeldSecurity[],
  returns: readonly AssignedReturn[],
): Pick<ScenarioResult, 'name' | 'by_name' | 'by_group' | 'covered_weight' | 'proxied'> & { readonly return: number } {
  const rows = heldSecurities.map(({ identifier, weight }, i): SecurityResult => {
    const { value, standardError = null } = returns[i]!;
    return { identifier, weight, return: value, contribution: weight * value, standard_error: standardError };
  });
  const groups = new Map<string, { group: string; weight: number; contribution: number }>();
  heldSecurities.forEach(({ group, weight }, i) => {
    const sum = groups.get(group) ?? { group, weight: 0, contribution: 0 };
    sum.weight += weight;
    sum.contribution += rows[i]!.contribution;
    groups.set(group, sum);
  });
  const magnitude = heldSecurities.reduce((sum, { weight }) => sum + Math.abs(weight), 0);
  const coveredMagnitude = heldSecurities.reduce(
    (sum, { weight }, i) => (returns[i]!.proxy === null ? sum + Math.abs(weight) : sum),
    0,
  );
  return {
    name,
    return: rows.reduce((sum, { contribution }) => sum + contribution, 0),
    by_name: rows.toSorted((a, b) => a.contribution - b.contribution),
    by_group: [...groups.values()].sort((a, b) => a.contribution - b.contribution),
    covered_weight: magnitude === 0 ? 1 : coveredMagnitude / magnitude,
    proxied: heldSecurities.flatMap(({ identifier }, i) => {
      const { proxy } = returns[i]!;
      return proxy === null ? [] : [{ identifier, proxy }];
    }),
  };
}
