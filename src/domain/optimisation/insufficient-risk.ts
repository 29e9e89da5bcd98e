import { formatDay, type Day } from '../time/days.js';
import { LIMITS } from '../refusals/limits.js';
import { Refusal } from '../refusals/refusal.js';
import { findCoverage, isEstimable, type Coverage, type ReturnWindow } from '../risk/return-panel.js';

/** Window of returns, with the start date of the request if it states one. */
export interface RequestedWindow extends ReturnWindow {
  readonly start?: Day | null;
}

interface RiskConsumer {
  /** Consumer of the returns: a risk model or scenarios. */
  readonly by?: 'risk_model' | 'scenarios';
  readonly window?: RequestedWindow;
}

/** Part of the requested history that is available. */
type AvailableHistory = Pick<Coverage, 'columns' | 'sessions' | 'longest'>;

/** Returns the error for an objective whose history is too short for a covariance or for scenarios. */
export function refuseInsufficientRisk(
  coverage: Coverage,
  requestedCount: number,
  { by, window }: RiskConsumer = {},
): Refusal {
  const lateText = window === undefined ? '' : findLateStart(window, coverage);
  return new Refusal('RISK_INSUFFICIENT_DATA', `${describeInsufficientRisk(coverage, requestedCount, by)}${lateText}`, {
    assets: coverage.columns.length,
    observations: countObservations(coverage),
    needed: LIMITS.MIN_MODEL_OBSERVATIONS,
  });
}

export function describeInsufficientRisk(
  coverage: AvailableHistory,
  requestedCount: number,
  by?: RiskConsumer['by'],
): string {
  return `${coverage.columns.length} of ${requestedCount} securities are covered, with ${countReturns(coverage, by)}.`;
}

/** Describes the available and the required returns. */
export function countReturns(coverage: AvailableHistory, by: RiskConsumer['by'] = 'risk_model'): string {
  const kind = isTooShort(coverage) ? 'sessions' : 'complete sessions';
  return `${countObservations(coverage)} ${kind} of returns for ${by}; at least ${LIMITS.MIN_MODEL_OBSERVATIONS} are required`;
}

/** Returns the number of complete sessions. If no history is long enough, returns the length of the longest one. */
function countObservations(coverage: AvailableHistory): number {
  return isTooShort(coverage) ? coverage.longest : coverage.sessions.length;
}

function isTooShort({ columns, longest }: AvailableHistory): boolean {
  return columns.length === 0 && longest < LIMITS.MIN_NAME_OBSERVATIONS;
}

/** Describes a `start` date of the request that is too late. */
function findLateStart(window: RequestedWindow, { columns, excluded }: Coverage): string {
  const { sm, start = null } = window;
  if (start === null) return '';
  const coverage = findCoverage({ ...window, from: sm.first }, [...columns, ...excluded.keys()]);
  return isEstimable(coverage) ? ` The window begins on start ${formatDay(start)}; choose an earlier start.` : '';
}
