import { RETURN_VARIANTS, type ReturnVariant } from '../../market/market-data.js';
import { bareSeries } from '../simulate/benchmark.js';
import type { Book } from '../simulate/book.js';
import type { ResumeRunInput, Continuation } from './continuation.js';
import { viewOf } from './market-view.js';
import { assertNoBreach } from './no-breach.js';
import { resumeIndex, resumeBook, rebalancesAfter, resumePortfolio } from './resume-books.js';

/**
 * Simulates what a run has more than a stored one. The same market up to the checkpoint gives the same bits as running
 * the whole.
 * @throws CannotResume
 * @throws Refusal as the whole run would
 * @cost O(N) and a pass over the new sessions; with a rebalance on them that of deciding it and a pass over the
 *   sessions it looks back
 */
export function resumeRun(input: ResumeRunInput): Continuation {
  const { plan, checkpoint, report } = input;
  const { request, documents, indexId } = plan;
  const document = documents[indexId]!;
  const parentId = document.derivation?.source_index_id ?? null;
  const benchmarkId = request.benchmark?.kind === 'index' ? request.benchmark.id : null;
  const seen = viewOf(input);
  report(0.3, 'resuming the stored run');
  const index = resumeIndex(seen, checkpoint.index, indexId);
  const { rebalances, ...solves } = rebalancesAfter(input, seen, index);
  const portfolio = resumePortfolio(input, index, rebalances);
  const series =
    request.benchmark?.kind === 'identifier'
      ? bareSeries(index, request.benchmark, { from: index.from + 1, to: index.to, begin: checkpoint.series! })
      : null;
  const variants: Partial<Record<ReturnVariant, Book>> = {};
  for (const variant of RETURN_VARIANTS) {
    const brief = checkpoint.remains.variants[variant];
    if (brief) variants[variant] = resumeBook(index, { stored: { ...checkpoint.index, ...brief }, variant });
  }
  const { uncapped } = checkpoint.remains;
  const parent = parentId === null ? null : resumeIndex(seen, checkpoint.parent!, parentId);
  const benchmark = benchmarkId === null ? null : resumeIndex(seen, checkpoint.benchmark!, benchmarkId);
  assertNoBreach(input, [index, parent, benchmark]);
  return {
    range: seen.range,
    reached: seen.reached,
    index,
    portfolio,
    variants,
    rebalances,
    solves,
    parent,
    benchmark,
    series: series && { added: series.series, end: series.end, variant: series.variant },
    uncapped: uncapped && resumeBook(index, { stored: { ...checkpoint.index, ...uncapped }, isUncapped: true }),
  };
}
