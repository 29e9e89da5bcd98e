import { formatDay, type Day } from '../time/days.js';
import { LIMITS } from '../refusals/limits.js';
import { Refusal } from '../refusals/refusal.js';
import { coverageOf, isEstimable, type Coverage, type ReturnWindow } from '../risk/return-panel.js';

/** A window of returns as a request may have begun it. */
export interface RequestedWindow extends ReturnWindow {
  readonly start?: Day | null;
}

interface Asking {
  /** What asks for returns. */
  readonly by?: 'risk_model' | 'scenarios';
  readonly window?: RequestedWindow;
}

/** What a history has, of those that are asked for. */
type Had = Pick<Coverage, 'columns' | 'sessions' | 'longest'>;

/** The refusal of an objective that chooses by a covariance, or by scenarios, that its history does not have. */
export function insufficientRisk(coverage: Coverage, asked: number, { by, window }: Asking = {}): Refusal {
  const late = window === undefined ? '' : lateStart(window, coverage);
  return new Refusal('RISK_INSUFFICIENT_DATA', `${riskSentence(coverage, asked, by)}${late}`, {
    assets: coverage.columns.length,
    observations: observationsOf(coverage),
    needed: LIMITS.MIN_MODEL_OBSERVATIONS,
  });
}

export function riskSentence(coverage: Had, asked: number, by?: Asking['by']): string {
  return `${coverage.columns.length} of ${asked} names are covered, with ${returnsOf(coverage, by)}.`;
}

/** The returns there are, and those that are needed. */
export function returnsOf(coverage: Had, by: Asking['by'] = 'risk_model'): string {
  const kind = isTooShort(coverage) ? 'sessions' : 'complete sessions';
  return `${observationsOf(coverage)} ${kind} of returns for ${by}; ${LIMITS.MIN_MODEL_OBSERVATIONS} are needed`;
}

/** Complete sessions; those of the longest history where none is long enough to be covered. */
function observationsOf(coverage: Had): number {
  return isTooShort(coverage) ? coverage.longest : coverage.sessions.length;
}

function isTooShort({ columns, longest }: Had): boolean {
  return columns.length === 0 && longest < LIMITS.MIN_NAME_OBSERVATIONS;
}

/** The `start` of a request without which there would be enough. */
function lateStart(window: RequestedWindow, { columns, excluded }: Coverage): string {
  const { sm, start = null } = window;
  if (start === null) return '';
  const whole = coverageOf({ ...window, from: sm.first }, [...columns, ...excluded.keys()]);
  return isEstimable(whole) ? ` The window begins on start ${formatDay(start)}; an earlier start has enough.` : '';
}
