import type { IndexDocument, TreatmentSpec } from '../documents/index-document.js';
import { cutMarket } from '../index-mathematics/market-between.js';
import type { SessionMarket } from '../market/session-market.js';
import type { Targets } from './book.js';
import { createIndexTerms } from './index-run.js';
import type { OutsideMergers } from './merger-key.js';
import { requireBookEnd } from './resumed-book.js';
import type { SecurityCounts } from './security-counts.js';
import { createShareChangeTerms } from './share-changes.js';
import { simulateBook } from './simulate-book.js';

export interface PendingSharesInput {
  readonly sm: SessionMarket;
  readonly document: IndexDocument;
  readonly treatment: TreatmentSpec;
  readonly outside?: OutsideMergers | undefined;
  /** Session whose closes convert target weights into index shares, and effective session of the shares. */
  readonly pricing: number;
  readonly session: number;
}

/** Pending index shares at their effective close. */
export interface PendingShares {
  /** Market columns, ascending. */
  readonly columns: Int32Array;
  readonly weights: Float64Array;
  /** Ratio of market value at the effective close to market value at the pricing close. */
  readonly growth: number;
  /** Fixed numbers of shares, [n]; absent if weights are converted. */
  readonly fixedShares?: Float64Array;
  /** Share counts that give the shares, if the index follows share counts. */
  readonly counts?: SecurityCounts;
}

/**
 * Converts target weights into index shares at the closes of the pricing session. Corporate actions up to the effective
 * close adjust the shares like index holdings. If a security leaves, the others take over its weight.
 * @cost O((session - pricing) N)
 */
export function computePendingShares(
  { sm, document, treatment, outside, pricing, session }: PendingSharesInput,
  targets: Omit<Targets, 'session'>,
): PendingShares {
  // Every return variant has the same composition. Only dividends that the paying constituent reinvests change shares.
  const growth = createIndexTerms(
    { treatment, document },
    treatment.reinvestment === 'constituent' ? 'total' : 'price',
  );
  const cutSessionMarket = cutMarket(sm, growth, { from: pricing, to: session });
  const book = simulateBook({
    title: `The pending composition of ${document.id}`,
    sm: cutSessionMarket,
    shareChanges: createShareChangeTerms({ sm: cutSessionMarket, document, treatment }),
    // Missing price bars do not stop this computation. The index that uses the shares either waits for a price bar or
    // fails.
    treatment: { ...treatment, stale_targets: 'carry', missing_prices: 'carry' },
    growth,
    outside,
    from: pricing,
    to: session,
    targets: [{ ...targets, session: pricing }],
    initialValue: 1,
    costRate: 0,
    fills: 'all',
    isBrief: true,
  });
  const { held, weights, units, value, divisor, counts, levels } = requireBookEnd(book);
  return {
    columns: held,
    weights,
    growth: (value * divisor) / book.divisor[0]!,
    ...(targets.fixedShares === undefined || levels === null ? {} : { fixedShares: units }),
    ...(counts === undefined ? {} : { counts }),
  };
}
