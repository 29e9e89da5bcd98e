import { BacktestFields } from '../documents/backtest-fields.js';
import {
  isOverlayDocument,
  listSources,
  type IndexDocument,
  type OverlayDocument,
} from '../documents/index-document.js';
import type { RunDocument } from '../documents/run-document.js';
import type { Adjustment } from '../market/market-data.js';
import { findOverlayType } from '../overlays/catalogue.js';
import { describeOverlay } from '../rules/methodology.js';

/** Terms of a run, as shown in a report. */
export interface RunTerms {
  /** Transaction costs; for an overlay, its own setting, because it has no others. */
  readonly transactionCostBps: number;
  /** Price basis of its store; null for a run of a version that did not store it. */
  readonly adjustment: Adjustment | null;
  /** Description of an overlay; null for another index. */
  readonly overlay: OverlayTerms | null;
}

export interface OverlayTerms {
  /** Kind of the overlay. */
  readonly label: string;
  /** Underlying indices. */
  readonly sources: readonly string[];
  /** Sentences of its methodology. */
  readonly sentences: readonly string[];
}

/** @param index definition of the index of the run; undefined if it cannot be read */
export function createTerms(
  { request, adjustment }: Pick<RunDocument, 'request' | 'adjustment'>,
  index: IndexDocument | undefined,
): RunTerms {
  const overlay = index !== undefined && isOverlayDocument(index) ? index : null;
  return {
    transactionCostBps: findOwnCost(overlay) ?? BacktestFields.parse(request).transaction_cost_bps,
    adjustment: adjustment ?? null,
    overlay: overlay && overlayTerms(overlay),
  };
}

/** Returns the charge of an overlay for a change of its exposure; null for a kind without this term. */
function findOwnCost(document: OverlayDocument | null): number | null {
  return document !== null && 'cost_bps' in document.overlay ? (document.overlay.cost_bps ?? null) : null;
}

const overlayTerms = (document: OverlayDocument): OverlayTerms => ({
  label: findOverlayType(document.overlay).label,
  sources: listSources(document),
  sentences: describeOverlay(document),
});
