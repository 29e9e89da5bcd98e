import { compareText } from '#domain/refusals/findings.js';
import { formatDay } from '#domain/time/days.js';
import { ACTION_KINDS, type Adjustment } from '#domain/market/market-data.js';
import { listActionSteps, listRenamedSteps } from '../content/action-steps.js';
import type { MarketContent } from '../content/market-content.js';
import type { DataWarning } from './data-warning.js';
import { findDoubtfulBars } from './doubtful-bars.js';
import { findDoubtfulDividends } from './doubtful-dividends.js';
import { createRenamedWarning, findDoubtfulPrices } from './doubtful-prices.js';
import { findDoubtfulRates } from './doubtful-rates.js';
import { findDoubtfulTerms } from './doubtful-terms.js';
import { changesContent, repairActions } from './apply-repairs.js';
import { computeMarketLevel } from './market-level.js';
import { listSecurityHistories, type SecurityHistory } from './name-history.js';
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
    steps: createSteps(content, adjustment),
  };
  const warnings: DataWarning[] = [];
  for (const history of listSecurityHistories(content, adjustment)) {
    // Dividends are not checked against prices that include reinvested dividends. Such prices do not fall on ex-dates
    // and do not show the size of dividends.
    const dividendWarnings = adjustment === 'total' ? [] : [...findDoubtfulDividends(history, content)];
    const steps = createCorrectedSteps(content, history, { dividendWarnings, panels });
    warnings.push(
      ...findDoubtfulPrices(history, fieldNames, { ...panels, steps }),
      ...findDoubtfulBars(history, content),
      ...dividendWarnings,
    );
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

const createSteps = (content: MarketContent, adjustment: Adjustment): AuditPanels['steps'] =>
  new Map(listActionSteps(content, adjustment).map((step) => [step.to * content.identifiers.length + step.n, step]));

/**
 * Returns the steps of a security with its dividends as repaired, so that a wrong dividend causes no second repair. A
 * dividend of the wrong size without a repair explains no move.
 */
function createCorrectedSteps(
  content: MarketContent,
  { actions }: SecurityHistory,
  { dividendWarnings, panels }: { readonly dividendWarnings: readonly DataWarning[]; readonly panels: AuditPanels },
): AuditPanels['steps'] {
  const repairs = dividendWarnings.flatMap(({ repair }) => (repair !== null && 'action' in repair ? [repair] : []));
  const unrepaired = new Set(
    dividendWarnings.flatMap(({ kind, repair, date, evidence }) =>
      kind === 'dividend_size' && repair === null ? [`${date} ${evidence['amount']}`] : [],
    ),
  );
  if (repairs.length === 0 && unrepaired.size === 0) return panels.steps;
  const kept = actions
    .map(({ action }) => action)
    .filter(
      ({ type, exDay, value }) => ACTION_KINDS[type] !== 'cash' || !unrepaired.has(`${formatDay(exDay)} ${value}`),
    );
  return createSteps({ ...content, actions: repairActions(kept, repairs) }, panels.adjustment);
}
