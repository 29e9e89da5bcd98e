import { RETURN_VARIANTS, type ReturnVariant } from '../../market/market-data.js';
import { createSeriesBenchmark } from '../../books/benchmark.js';
import type { Book, LevelsOnlyEnd } from '../../books/book.js';
import type { ResumeRunInput, Continuation, IndexContinuation } from './continuation.js';
import { createMarketView } from './market-view.js';
import { assertNoMemberChange } from './no-member-change.js';
import { assertNoBreach } from './no-breach.js';
import { isStoredOverlay } from './overlay-state.js';
import { resumeIndexOrOverlay } from './resume-overlay.js';
import { resumeBook, findLaterRebalances, resumePortfolio } from './resume-books.js';
import type { StoredBook } from '../../books/resumed-book.js';

/**
 * Simulates the sessions after a stored run. If the market is unchanged up to the checkpoint, the result is
 * bit-identical to a full run.
 * @throws CannotResumeError
 * @throws Refusal as a full run would
 * @cost O(N) and a pass over the new sessions; a rebalance on a new session adds its decision and a pass over its
 *   look-back
 */
export function resumeRun(input: ResumeRunInput): Continuation {
  const { plan, checkpoint, report } = input;
  const { request, documents, indexId } = plan;
  const document = documents[indexId]!;
  const parentId = document.derivation?.source_index_id ?? null;
  const benchmarkId = request.benchmark?.kind === 'index' ? request.benchmark.id : null;
  const marketView = createMarketView(input);
  report(0.3, 'resuming the stored run');
  const createSeparateBook = (brief: LevelsOnlyEnd): StoredBook => {
    if (isStoredOverlay(checkpoint.index)) throw new Error('an overlay has no separate book');
    return { ...checkpoint.index, ...brief };
  };
  const index = resumeIndexOrOverlay(marketView, { stored: checkpoint.index, indexId });
  const { rebalances, ...solves } = findLaterRebalances(input, marketView, index);
  const portfolio = resumePortfolio(input, index, { rebalances, levelAtStart: input.levelAtStart });
  const series =
    request.benchmark?.kind === 'identifier'
      ? createSeriesBenchmark(index, request.benchmark, {
          from: index.from + 1,
          to: index.to,
          begin: checkpoint.series!,
        })
      : null;
  const variants: Partial<Record<ReturnVariant, Book>> = {};
  for (const variant of RETURN_VARIANTS) {
    const variantEnd = checkpoint.remains.variants[variant];
    const overlay = checkpoint.remains.overlays?.[variant];
    if (variantEnd)
      variants[variant] = resumeBook(index, { stored: createSeparateBook(variantEnd), variant, isBrief: true });
    else if (overlay)
      variants[variant] = resumeIndexOrOverlay(marketView, {
        indexId,
        stored: overlay,
        variant,
        isBrief: true,
        own: index,
      }).book;
  }
  const { uncapped } = checkpoint.remains;
  const parent =
    parentId === null ? null : resumeIndexOrOverlay(marketView, { stored: checkpoint.parent!, indexId: parentId });
  const benchmark =
    benchmarkId === null
      ? null
      : resumeIndexOrOverlay(marketView, { stored: checkpoint.benchmark!, indexId: benchmarkId });
  const simulatedIndices = [index, parent, benchmark].flatMap(addUnderlying);
  assertNoBreach(input, simulatedIndices);
  assertNoMemberChange(input, simulatedIndices);
  return {
    range: marketView.range,
    reached: marketView.reached,
    index,
    portfolio,
    variants,
    rebalances,
    solves,
    parent,
    benchmark,
    series: series && { added: series.series, end: series.end, variant: series.variant },
    uncapped: uncapped && resumeBook(index, { stored: createSeparateBook(uncapped), isUncapped: true, isBrief: true }),
  };
}

/** Returns an index with all its underlying indices. */
function addUnderlying(index: IndexContinuation | null): IndexContinuation[] {
  return index === null ? [] : [index, ...(index.beneath ?? []).flatMap(addUnderlying)];
}
