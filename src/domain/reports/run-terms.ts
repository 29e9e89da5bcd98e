import { BacktestFields } from '../documents/backtest-fields.js';
import { isOverlayDocument, sourcesOf, type IndexDocument, type OverlayDocument } from '../documents/index-document.js';
import type { RunDocument } from '../documents/run-document.js';
import type { Adjustment } from '../market/market-data.js';
import { overlayTypeOf } from '../overlays/catalogue.js';
import { overlaySentences } from '../rules/methodology.js';

/** On what terms a run was made, as far as a report tells it. */
export interface RunTerms {
  /** That of an overlay is its own term: nothing else is charged for it. */
  readonly transactionCostBps: number;
  /** Price basis of its store; null for a run of a version that did not remember it. */
  readonly adjustment: Adjustment | null;
  /** What the index is, where it is an overlay; null of another one. */
  readonly overlay: OverlayTerms | null;
}

export interface OverlayTerms {
  /** Its kind. */
  readonly label: string;
  /** The indices beneath. */
  readonly sources: readonly string[];
  /** Those of its methodology. */
  readonly sentences: readonly string[];
}

/** @param index definition of the index that the run is of; undefined where it cannot be read */
export function termsOf(
  { request, adjustment }: Pick<RunDocument, 'request' | 'adjustment'>,
  index: IndexDocument | undefined,
): RunTerms {
  const overlay = index !== undefined && isOverlayDocument(index) ? index : null;
  return {
    transactionCostBps: ownCostOf(overlay) ?? BacktestFields.parse(request).transaction_cost_bps,
    adjustment: adjustment ?? null,
    overlay: overlay && overlayTerms(overlay),
  };
}

/** What an overlay charges for the change of its exposure; null of a kind that has no such term. */
function ownCostOf(document: OverlayDocument | null): number | null {
  return document !== null && 'cost_bps' in document.overlay ? (document.overlay.cost_bps ?? null) : null;
}

const overlayTerms = (document: OverlayDocument): OverlayTerms => ({
  label: overlayTypeOf(document.overlay).label,
  sources: sourcesOf(document),
  sentences: overlaySentences(document),
});
