import type { IndexDocument, TreatmentSpec } from '../documents/index-document.js';
import { cutMarket } from '../index-mathematics/market-between.js';
import { readPanelRow, type SessionMarket } from '../market/session-market.js';
import type { Targets } from './book.js';
import { createIndexTerms } from './index-run.js';
import type { OutsideMergers } from './merger-key.js';
import { requireBookEnd } from './resumed-book.js';
import type { SecurityCounts } from './security-counts.js';
import { createShareChangeTerms, readCounts } from './share-changes.js';
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
 * close adjust the shares like index holdings. If a security leaves, the others take over its weight. A security without
 * a price up to the pricing session has its weight at the effective close.
 * @cost O((session - pricing) N)
 */
export function computePendingShares(input: PendingSharesInput, targets: Omit<Targets, 'session'>): PendingShares {
  const { sm, pricing } = input;
  const row = readPanelRow(sm, pricing);
  const isNew = (column: number): boolean => sm.lastBar[row + column]! < 0;
  return targets.columns.some(isNew) ? addNewSecurities(input, targets, isNew) : convertWeights(input, targets);
}

/** Converts the weights of the securities with a price, and adds the others at the effective close. */
function addNewSecurities(
  input: PendingSharesInput,
  { columns, weights, counts }: Omit<Targets, 'session'>,
  isNew: (column: number) => boolean,
): PendingShares {
  const { sm, document, treatment, session } = input;
  const added = columns.filter(isNew);
  const isPriced = (_: number, k: number): boolean => !isNew(columns[k]!);
  const pricedSum = weights.reduce((sum, weight, k) => (isPriced(weight, k) ? sum + weight : sum), 0);
  const addedSum = weights.reduce((sum, weight, k) => (isPriced(weight, k) ? sum : sum + weight), 0);
  const priced = columns.filter(isPriced);
  const pending: PendingShares =
    priced.length === 0
      ? { columns: priced, weights: new Float64Array(0), growth: 1 }
      : convertWeights(input, {
          columns: priced,
          weights: weights.filter(isPriced).map((weight) => weight / pricedSum),
          ...(counts && {
            counts: { adopted: counts.adopted.filter(isPriced), latest: counts.latest.filter(isPriced) },
          }),
        });
  const terms = counts && createShareChangeTerms({ sm, document, treatment });
  const addedCounts = terms && readCounts(terms, session, added);
  const merged = [
    ...Array.from(pending.columns, (column, k) => ({
      column,
      weight: pending.weights[k]! * (1 - addedSum),
      adopted: pending.counts?.adopted[k] ?? Number.NaN,
      latest: pending.counts?.latest[k] ?? Number.NaN,
    })),
    ...Array.from(added, (column, k) => ({
      column,
      weight: weights[columns.indexOf(column)]!,
      adopted: addedCounts?.adopted[k] ?? Number.NaN,
      latest: addedCounts?.latest[k] ?? Number.NaN,
    })),
  ].toSorted((a, b) => a.column - b.column);
  return {
    columns: Int32Array.from(merged, ({ column }) => column),
    weights: Float64Array.from(merged, ({ weight }) => weight),
    growth: pending.growth,
    ...(counts && {
      counts: {
        adopted: Float64Array.from(merged, ({ adopted }) => adopted),
        latest: Float64Array.from(merged, ({ latest }) => latest),
      },
    }),
  };
}

function convertWeights(
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
