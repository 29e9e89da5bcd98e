import type { DerivedActions, Mapping } from '#domain/documents/mapping.js';
import type { PriceOverride } from '#domain/documents/price-override.js';
import { ACTION_KINDS, type MarketData } from '#domain/market/market-data.js';
import { compareActions } from '../content/action-rows.js';
import { joinContent } from '../content/whole-content.js';
import type { ContentTables, MarketContent } from '../content/market-content.js';
import { createMarketRows, type MarketRows, type MarketRowsOptions } from '../content/market-rows.js';
import type { DividendError } from '../content/dividend-errors.js';
import type { Problems } from '../tables/problems.js';
import type { Panels } from '../panels/panels.js';
import { deriveActions } from './adjusted-closes.js';
import { wrapFooters } from './footers.js';
import { createMappedRows } from './mapped-rows.js';

/** Interpretation of the market of a source. */
export interface MarketTerms {
  readonly mapping: Mapping | null;
  readonly adjustment: MarketData['adjustment'];
  /** Closes in place of those of the source. */
  readonly overrides?: readonly Pick<PriceOverride, 'identifier' | 'date' | 'price'>[] | undefined;
}

/** Terms of a market that needs no mapping. */
export const PLAIN_TERMS: MarketTerms = { mapping: null, adjustment: 'none' };

/** Content with the actions derived for it; null if none were requested. */
export interface CompleteContent {
  readonly content: MarketContent;
  readonly derived: DerivedActions | null;
  /** Precision of each derived dividend. */
  readonly dividendErrors?: readonly DividendError[];
}

/** Rows of a market on its terms. */
export function marketRowsOn(
  { mapping }: MarketTerms,
  problems: Problems,
  options: MarketRowsOptions = {},
): MarketRows {
  return mapping === null
    ? createMarketRows(problems, options)
    : wrapFooters((seen) => createMappedRows(mapping, seen, options), problems);
}

/**
 * Panels and tables as one content, with the actions that adjusted closes imply.
 * @returns undefined, with a finding, when the tables contradict the panels.
 */
export function completeMappedContent(
  panels: Panels,
  tables: ContentTables,
  { mapping, adjustment }: MarketTerms,
  problems: Problems,
): CompleteContent | undefined {
  if (mapping !== null && [...panels.fields.values()].every((panel) => panel.every(Number.isNaN))) {
    problems.error({
      code: 'EMPTY_DATASET',
      path: 'market',
      message: 'The market has no number: every cell that the mapping reads is empty.',
    });
    return undefined;
  }
  if (mapping === null || mapping.adjusted_close === null) {
    const content = joinContent(panels, tables, problems);
    return content && { content, derived: null };
  }
  refuseTwice(tables, adjustment, problems);
  const { panels: rest, actions, derived, errors } = deriveActions(panels, adjustment, problems);
  const content = joinContent(
    rest,
    { ...tables, actions: [...tables.actions, ...actions].toSorted(compareActions) },
    problems,
  );
  return content && { content, derived, dividendErrors: errors };
}

/** Refuses dividends from two places, and prices that have theirs in them already. */
function refuseTwice({ actions }: ContentTables, adjustment: MarketData['adjustment'], problems: Problems): void {
  if (adjustment === 'total')
    problems.error({
      code: 'NOT_IN_CHOICES',
      path: 'mapping.adjusted_close',
      message: 'CLOSE is declared to hold dividends already (adjustment total); none can be derived.',
      accepted: ['none', 'splits'],
    });
  const twice = actions.filter(
    ({ type }) => ACTION_KINDS[type] === 'cash' || (ACTION_KINDS[type] === 'ratio' && adjustment === 'none'),
  );
  if (twice.length > 0)
    problems.error({
      code: 'DUPLICATE_KEY',
      path: 'mapping.adjusted_close',
      message: `The table corporate_actions holds ${twice.length} dividends and splits; take them from it or from adjusted closes, not from both.`,
    });
}
