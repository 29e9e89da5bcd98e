import { compareText } from '#domain/refusals/findings.js';
import type { Adjustment } from '#domain/market/market-data.js';
import { listActionSteps, listRenamedSteps } from '../content/action-steps.js';
import type { MarketContent } from '../content/market-content.js';
import type { DataWarning } from './data-warning.js';
import { findDoubtfulBars } from './doubtful-bars.js';
import { findDoubtfulDividends } from './doubtful-dividends.js';
import { createRenamedWarning, findDoubtfulPrices } from './doubtful-prices.js';
import { findDoubtfulRates } from './doubtful-rates.js';
import { findDoubtfulTerms } from './doubtful-terms.js';
import { changesContent } from './apply-repairs.js';
import { computeMarketLevel } from './market-level.js';
import { listSecurityHistories } from './name-history.js';
import type { AuditPanels } from './split-odds.js';

/** Maximum number of data warnings that are listed; the others are counted. */
export const WARNINGS_MAX = 1000;

export interface MarketAudit {
  /** Warnings by date, identifier and kind; only the most certain ones if there are too many. */
  readonly doubts: readonly DataWarning[];
  readonly total: number;
}

/**
 * Searches a market for probable errors. Each data warning contains its evidence and, if the data implies the correct
 * value, a repair. A repair that would not change the store is not offered.
 * @cost about 1 µs a bar
 */
export function auditMarket(
  content: MarketContent,
  adjustment: Adjustment,
  onProgress: (fraction: number) => void,
): MarketAudit {
  const fieldNames = [...content.fields.keys()];
  const { fields } = content;
  const panels: AuditPanels = {
    adjustment,
    width: content.identifiers.length,
    level: computeMarketLevel(content),
    volume: fields.get('VOLUME'),
    shares: fields.get('SHARES_OUTSTANDING'),
    steps: new Map(
      listActionSteps(content, adjustment).map((step) => [step.to * content.identifiers.length + step.n, step]),
    ),
  };
  const warnings: DataWarning[] = [];
  for (const history of listSecurityHistories(content, adjustment)) {
    warnings.push(...findDoubtfulPrices(history, fieldNames, panels), ...findDoubtfulBars(history, content));
    // Dividends are not checked against prices that include reinvested dividends. Such prices do not fall on ex-dates
    // and do not show the size of dividends.
    if (adjustment !== 'total') warnings.push(...findDoubtfulDividends(history, content));
    if (history.position % 32 === 0) onProgress(history.position / content.identifiers.length);
  }
  for (const step of listRenamedSteps(content, adjustment))
    if (step.isJump && step.isMoved) warnings.push(createRenamedWarning(content, step));
  warnings.push(...findDoubtfulRates(content), ...findDoubtfulTerms(content, adjustment));
  const strongestWarnings =
    warnings.length <= WARNINGS_MAX
      ? warnings
      : warnings.toSorted((a, b) => b.confidence - a.confidence).slice(0, WARNINGS_MAX);
  const listedWarnings = strongestWarnings.map((doubt) =>
    doubt.repair === null || changesContent(content, adjustment, doubt.repair) ? doubt : { ...doubt, repair: null },
  );
  return {
    doubts: listedWarnings.toSorted(
      (a, b) => compareText(a.date, b.date) || compareText(a.identifier, b.identifier) || compareText(a.id, b.id),
    ),
    total: warnings.length,
  };
}
