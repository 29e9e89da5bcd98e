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

/** Terms of a run as shown in a report. */
export interface RunTerms {
  /** Transaction costs in basis points. For an overlay, the costs that its setting states. */
  readonly transactionCostBps: number;
  /** Price basis of the store; null for a run of a version that did not record it. */
  readonly adjustment: Adjustment | null;
  /** Description of an overlay; null for other indices. */
  readonly overlay: OverlayTerms | null;
}

export interface OverlayTerms {
  /** Label of the overlay type. */
  readonly label: string;
  /** Ids of the underlying indices. */
  readonly sources: readonly string[];
  /** Sentences of the methodology of the overlay. */
  readonly sentences: readonly string[];
}

/** Returns the terms of a run. @param index definition of the index of the run; undefined if it cannot be read */
export function createTerms(
  { request, adjustment }: Pick<RunDocument, 'request' | 'adjustment'>,
  index: IndexDocument | undefined,
): RunTerms {
  const overlay = index !== undefined && isOverlayDocument(index) ? index : null;
  return {
    transactionCostBps: findOwnCost(overlay) ?? BacktestFields.parse(request).transaction_cost_bps,
    adjustment: adjustment ?? null,
    overlay: overlay && createOverlayTerms(overlay),
  };
}

/** Returns the cost that an overlay charges for changes of exposure. Returns null if its type has no costs. */
function findOwnCost(document: OverlayDocument | null): number | null {
  return document !== null && 'cost_bps' in document.overlay ? (document.overlay.cost_bps ?? null) : null;
}

const createOverlayTerms = (document: OverlayDocument): OverlayTerms => ({
  label: findOverlayType(document.overlay).label,
  sources: listSources(document),
  sentences: describeOverlay(document),
});
