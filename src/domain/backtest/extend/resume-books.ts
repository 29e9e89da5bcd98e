import { createBookRounding } from '../../books/book-rounding.js';
import { referenceEngine } from '#kernels/engines/reference.js';
import type { ReturnVariant } from '../../market/market-data.js';
import {
  createConstrainedDocument,
  constrainRebalances,
  type ConstrainedRebalances,
} from '../../strategies/constrained-rebalances.js';
import { selectLaterRebalances } from '../../strategies/own-rebalances.js';
import type { Book, BookInput, Targets } from '../../books/book.js';
import type { DecisionMemory } from '../../books/decider.js';
import type { Composition } from '../../books/compositions.js';
import { followBook } from '../../books/follow-book.js';
import { CannotResumeError } from '../../documents/full-run-reasons.js';
import { createIndexTargets, createIndexTerms } from '../../books/index-run.js';
import { createBookResume, type StoredBook } from '../../books/resumed-book.js';
import { hasOwnRebalances } from '../strategy-targets.js';
import { resumeOverlayPortfolio } from '../../books/overlay-portfolio.js';
import { createShareChangeTerms } from '../../books/share-changes.js';
import { simulateBook } from '../../books/simulate-book.js';
import type { ResumeRunInput, IndexContinuation } from './continuation.js';
import { computeSolveLook } from './due-decisions.js';
import type { MarketView } from './market-view.js';

interface ResumeBook {
  readonly stored: StoredBook;
  /** Return variant. Default: that of the index. */
  readonly variant?: ReturnVariant;
  /** True to compute only levels. */
  readonly isBrief: boolean;
  /** True to simulate the index without caps. */
  readonly isUncapped?: boolean;
}

/** Resumes the book of an index with the terms with which `simulateIndexBook` began it. */
export function resumeBook(
  index: Omit<IndexContinuation, 'book'>,
  { stored, variant, isBrief, isUncapped = false }: ResumeBook,
): Book {
  const { sm, treatment, document, composed, from, to } = index;
  return simulateBook({
    title: `The index ${document.id}`,
    sm,
    treatment,
    from,
    to,
    growth: createIndexTerms(index, variant),
    ...(variant ? { indexTerms: createIndexTerms(index) } : {}),
    isBrief,
    targets: composed
      .filter(({ session }) => session <= to)
      .map((composition) => createIndexTargets(composition, isUncapped)),
    outside: index.outside,
    shareChanges: createShareChangeTerms(index),
    initialValue: document.base_value,
    ...createBookRounding(document, sm),
    costRate: 0,
    fills: 'all',
    resume: createBookResume(stored, from),
  });
}

/**
 * Returns the rebalances of the run on the new sessions. These are the rebalances of the index. If the strategy has a
 * separate schedule or optimises the weights, they are those of the strategy.
 * @throws CannotResumeError if a rebalance uses prices of a session that has been simulated already
 */
export function findLaterRebalances(
  { plan: { strategy, documents }, checkpoint, engine = referenceEngine, report }: ResumeRunInput,
  marketView: MarketView,
  index: IndexContinuation,
): Pick<ConstrainedRebalances, 'rebalances' | 'findings'> & { readonly memory: DecisionMemory | null } {
  const { solves: memory } = checkpoint.remains;
  const { document, from, to, composed } = index;
  const laterRebalances = strategy?.rebalance
    ? selectLaterRebalances(index, strategy.rebalance, { first: checkpoint.from, from, to })
    : composed;
  if (laterRebalances === undefined) throw new CannotResumeError('rebalance');
  const rows = strategy?.constraints;
  if (rows === undefined || laterRebalances.length === 0) return { rebalances: laterRebalances, findings: [], memory };
  const markedMarkets = new Map([[document.calendar, index.sm]]);
  const looks = laterRebalances.map((rebalance) =>
    computeSolveLook({
      documents,
      marked: markedMarkets,
      document: createConstrainedDocument(document, rows),
      decision: rebalance.decision,
      parents: [...(checkpoint.recent.get(document.id)?.list ?? []), rebalance],
      memory,
    }),
  );
  const reportFraction = (fraction: number): void => report(0.3 + 0.1 * fraction, 'solving the constraint set');
  return marketView.composing(looks, (composer) =>
    constrainRebalances({
      document,
      rows,
      rebalances: laterRebalances,
      composer,
      engine,
      memory,
      tick: reportFraction,
    }),
  );
}

interface ResumedPortfolio {
  readonly rebalances: readonly Composition[];
  /** Level of the index on the first date of the run. */
  readonly levelAtStart: number;
}

export function resumePortfolio(
  { plan, checkpoint }: ResumeRunInput,
  index: IndexContinuation,
  { rebalances, levelAtStart }: ResumedPortfolio,
): Book {
  const { request, strategy } = plan;
  const { portfolio } = checkpoint;
  const { sm, treatment, from, to, book } = index;
  if (book.overlay !== undefined) {
    if ('end' in portfolio) throw new Error('a portfolio that holds an overlay has no separate holdings');
    const sessions = rebalances.map(({ session }) => session);
    const { from: first } = checkpoint;
    return resumeOverlayPortfolio(book, { plan, rebalances: sessions, stored: portfolio, first, levelAtStart });
  }
  const exposure = strategy?.exposure ?? 1;
  const targets =
    strategy === undefined
      ? rebalances
      : rebalances.map(({ session, columns, weights, counts }): Targets => ({
          session,
          columns,
          ...(counts === undefined ? {} : { counts }),
          weights: weights.map((weight) => exposure * weight),
        }));
  const bookInput: BookInput = {
    title: 'The portfolio',
    sm,
    treatment,
    from,
    to,
    targets,
    growth: createIndexTerms(index),
    outside: index.outside,
    shareChanges: hasOwnRebalances(strategy) ? undefined : createShareChangeTerms(index),
    initialValue: request.initial_capital,
    costRate: request.transaction_cost_bps / 10_000,
    fills: 'priceable',
    ...(strategy?.drift_tolerance == null ? {} : { tolerance: strategy.drift_tolerance }),
  };
  if ('end' in portfolio) return simulateBook({ ...bookInput, resume: createBookResume(portfolio, from) });
  const followedBook = followBook(bookInput, book, portfolio);
  if (!followedBook) throw new CannotResumeError('holdings_diverged');
  return followedBook;
}
