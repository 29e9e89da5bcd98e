import { readObjective, readExpectedReturns, type OptimisationSpec } from '../../documents/optimisation-spec.js';
import type { Finding } from '../../refusals/findings.js';

/**
 * Returns the rate for the tangency point of a frontier: the requested one, or, for expected returns above cash, the
 * cash rate of the objective, which has been added to them.
 */
export function readTangencyRate(spec: OptimisationSpec, asked: number): number {
  return isAboveCash(spec) ? cashOf(spec) : asked;
}

/** Reports rates without effect, or a tangency rate that differs from the rate of the objective. */
export function checkTangencyRate(spec: OptimisationSpec, asked: number): Finding[] {
  const cash = cashOf(spec);
  const report = { path: 'risk_free_rate', value: asked };
  if (asked === cash) return [];
  if (isAboveCash(spec)) {
    if (asked === 0) return [];
    const message = `risk_free_rate ${asked} has no effect: the expected returns are above cash, with the cash rate ${cash} of the objective.`;
    return [{ severity: 'warning', code: 'NO_EFFECT', message, ...report }];
  }
  if (cash === 0 || asked !== 0) return [];
  const message = `The tangency point of the frontier uses risk_free_rate ${asked}, but the objective uses ${cash}.`;
  return [{ severity: 'info', code: 'DEFAULT_TAKEN', message, ...report }];
}

function isAboveCash(spec: OptimisationSpec): boolean {
  return readExpectedReturns(spec)?.entry.isAboveCash === true;
}

function cashOf({ objective }: OptimisationSpec): number {
  const { entry, params } = readObjective(objective);
  return entry.cash(params);
}
