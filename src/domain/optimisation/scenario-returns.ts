import { findCoverage, isEstimable, readReturns, type Coverage } from '../risk/return-panel.js';
import { refuseInsufficientRisk, type RequestedWindow } from './insufficient-risk.js';

/** Historical return scenarios of securities. */
export interface Scenarios {
  /** Simple returns by session, [T x N]; 0 for a security that is not covered. */
  readonly returns: Float64Array;
  readonly coverage: Coverage;
}

/**
 * Returns a function that computes returns of securities over the sessions up to the end of a window. It takes the
 * number of returns (null for all in the window), and computes equal numbers once. @throws Refusal
 * RISK_INSUFFICIENT_DATA @cost T N
 */
export function readScenarioReturns(
  window: RequestedWindow,
  columns: Int32Array,
): (sessions: number | null) => Scenarios {
  const scenariosBySessions = new Map<number | null, Scenarios>();
  return (sessions) => {
    const result = scenariosBySessions.get(sessions) ?? readScenarios(window, columns, sessions);
    scenariosBySessions.set(sessions, result);
    return result;
  };
}

function readScenarios(window: RequestedWindow, columns: Int32Array, sessionCount: number | null): Scenarios {
  const scenarioWindow =
    sessionCount === null ? window : { ...window, from: Math.max(window.to - sessionCount, 0), start: null };
  const coverage = findCoverage(scenarioWindow, columns);
  const { columns: covered, sessions: complete } = coverage;
  if (!isEstimable(coverage))
    throw refuseInsufficientRisk(coverage, columns.length, { by: 'scenarios', window: scenarioWindow });
  const panel = new Float64Array(complete.length * covered.length);
  readReturns(scenarioWindow, coverage, panel);
  if (covered.length === columns.length) return { returns: panel, coverage };
  const positionByColumn = new Map(Array.from(columns, (column, place): [number, number] => [column, place]));
  const returns = new Float64Array(complete.length * columns.length);
  covered.forEach((column, k) => {
    const position = positionByColumn.get(column)!; // covered securities are among the requested ones
    for (let t = 0; t < complete.length; t++) returns[t * columns.length + position] = panel[t * covered.length + k]!;
  });
  return { returns, coverage };
}
