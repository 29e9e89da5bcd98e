import { objectiveOf, returnsOf, type OptimisationSpec } from '../documents/optimisation-spec.js';
import type { Finding } from '../refusals/findings.js';

/**
 * The rate that the tangency of a frontier is measured at: the one asked for, and for expected returns above cash what
 * the objective takes cash to earn, which has been added to them.
 */
export function tangencyRate(spec: OptimisationSpec, asked: number): number {
  return isAboveCash(spec) ? cashOf(spec) : asked;
}

/** What is told of two rates: one without effect, or a tangency at another than the objective's. */
export function rateFindings(spec: OptimisationSpec, asked: number): Finding[] {
  const cash = cashOf(spec);
  const told = { path: 'risk_free_rate', value: asked };
  if (asked === cash) return [];
  if (isAboveCash(spec)) {
    if (asked === 0) return [];
    const message = `risk_free_rate ${asked} has no effect: the expected returns are above cash, which earns the ${cash} of the objective.`;
    return [{ severity: 'warning', code: 'NO_EFFECT', message, ...told }];
  }
  if (cash === 0 || asked !== 0) return [];
  const message = `The tangency of the frontier is at risk_free_rate ${asked}, the objective at its own of ${cash}.`;
  return [{ severity: 'info', code: 'DEFAULT_TAKEN', message, ...told }];
}

function isAboveCash(spec: OptimisationSpec): boolean {
  return returnsOf(spec)?.entry.isAboveCash === true;
}

function cashOf({ objective }: OptimisationSpec): number {
  const { entry, params } = objectiveOf(objective);
  return entry.cash(params);
}
