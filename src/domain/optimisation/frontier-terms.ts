import type { Finding } from '../base/findings.js';
import { type OptimisationSpec, readExpectedReturns, readObjective } from '../definition/optimisation.js';

export const FRONTIER_RISKS = ['volatility', 'tracking_error', 'cvar', 'cdar'] as const;
export type FrontierRisk = (typeof FRONTIER_RISKS)[number];

/**
 * Returns the risk-free rate for the tangency portfolio. It is the requested rate. If the expected returns are above
 * cash and include the cash rate of the objective, it is that cash rate.
 */
export function readTangencyRate(spec: OptimisationSpec, requestedRate: number): number {
  return isAboveCash(spec) ? readCashRate(spec) : requestedRate;
}

/** Reports a tangency rate that has no effect, or that differs from the rate of the objective. */
export function checkTangencyRate(spec: OptimisationSpec, requestedRate: number): Finding[] {
  const cash = readCashRate(spec);
  const report = { path: 'risk_free_rate', value: requestedRate };
  if (requestedRate === cash) return [];
  if (isAboveCash(spec)) {
    if (requestedRate === 0) return [];
    const message = `risk_free_rate ${requestedRate} has no effect: the expected returns are above cash, with the cash rate ${cash} of the objective.`;
    return [{ severity: 'warning', code: 'NO_EFFECT', message, ...report }];
  }
  if (cash === 0 || requestedRate !== 0) return [];
  const message = `The tangency point of the frontier uses risk_free_rate ${requestedRate}, but the objective uses ${cash}.`;
  return [{ severity: 'info', code: 'DEFAULT_TAKEN', message, ...report }];
}

function isAboveCash(spec: OptimisationSpec): boolean {
  return readExpectedReturns(spec)?.entry.isAboveCash === true;
}

function readCashRate({ objective }: OptimisationSpec): number {
  const { entry, params } = readObjective(objective);
  return entry.cash(params);
}
