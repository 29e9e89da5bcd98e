import type { RiskModelPayload } from '#domain/jobs/payloads.js';
import type { MarketData } from '#domain/market/market-data.js';
import { findFirstAtLeast, findLastAtMost } from '#domain/numbers/search.js';
import { hasPanelForm } from '#domain/risk/estimate-risk-model.js';
import { MODEL_PARTS, SINGLE_THREAD_SECURITIES_MAX } from '#domain/risk/model-parts.js';
import type { RiskModelRequest } from '#domain/risk/risk-model-document.js';
import { parseValidDay } from '#domain/time/days.js';

/**
 * Number of return panels per thread: the panel that was read, the panel in the engine's workspace, and the panel that
 * is cached for the next part.
 */
const PANELS_PER_THREAD = 3;

/**
 * Memory in bytes that a process needs for its first estimate: code, open files and messages. It does not depend on the
 * number of securities.
 */
const BEGIN_BYTES = 128 * 2 ** 20;

/** Maximum number of vectors that the search for eigenvalues uses. Each vector has one element per security. */
const EIGENVALUE_STEPS = 1_000;

/** Returns the memory of an estimate in bytes. If the estimate has parts, each thread holds its own panels. */
export function estimateModelMemory(
  { identifiers, request }: Pick<RiskModelPayload, 'identifiers' | 'request'>,
  market: Pick<MarketData, 'dates' | 'identifiers'>,
  workers: number,
): number {
  const names = identifiers?.length ?? market.identifiers.length;
  if (names <= SINGLE_THREAD_SECURITIES_MAX || !hasPanelForm(request.estimator))
    return estimateMatrixMemory(market, names);
  const sessions = identifiers === null ? market.dates.length : countDays(market, request);
  const vectors = names * (PANELS_PER_THREAD * sessions + EIGENVALUE_STEPS);
  return BEGIN_BYTES + 8 * workers * (vectors + (2 * names * names) / MODEL_PARTS);
}

/**
 * Returns the memory of a matrix estimate: the panel and its copy, the matrix and its packed copy, and the workspace
 * for eigenvalues.
 */
export function estimateMatrixMemory({ dates }: Pick<MarketData, 'dates'>, names: number): number {
  return 64 * 2 ** 20 + 8 * (4 * dates.length * names + 1.75 * names * names);
}

/** Counts the days of a market in the window of a request. */
function countDays({ dates }: Pick<MarketData, 'dates'>, { start, end }: RiskModelRequest): number {
  const from = start === null ? 0 : findFirstAtLeast(dates, parseValidDay(start));
  const to = end === null ? dates.length - 1 : findLastAtMost(dates, parseValidDay(end));
  return Math.max(0, to - from + 1);
}
