import type { DerivedActions, Mapping } from '#domain/documents/mapping.js';
import type { PriceOverride } from '#domain/documents/price-override.js';
import { ACTION_KINDS, type MarketData } from '#domain/market/market-data.js';
import { compareActions } from '../content/action-rows.js';
import { joinContent } from '../content/whole-content.js';
import type { ZoneTerms } from '../content/instant-days.js';
import type { ContentTables, MarketContent } from '../content/market-content.js';
import { createMarketRows, type MarketRows, type MarketRowsOptions } from '../content/market-rows.js';
import type { DividendError } from '../content/dividend-errors.js';
import type { Problems } from '../tables/problems.js';
import type { Panels } from '../panels/panels.js';
import { readsStatedActions } from './own-dividends.js';
import { readVendorActions } from './stated-actions.js';
import { wrapFooters } from './footers.js';
import { createMappedRows } from './mapped-rows.js';

/** Interpretation of the market data of a source. */
export interface MarketInterpretation {
  readonly mapping: Mapping | null;
  readonly adjustment: MarketData['adjustment'];
  /** Closes that replace closes of the source. */
  readonly overrides?: readonly Pick<PriceOverride, 'identifier' | 'date' | 'price'>[] | undefined;
  /** Calendars of the service, from which the time zones of exchanges follow. */
  readonly calendars?: ZoneTerms['calendars'];
}

/** Interpretation of a market without a mapping. */
export const DEFAULT_TERMS: MarketInterpretation = { mapping: null, adjustment: 'none' };

/** Content, and the numbers of derived actions. They are null if no derivation was requested. */
export interface CompleteContent {
  readonly content: MarketContent;
  readonly derived: DerivedActions | null;
  /** Rounding error of each derived dividend. */
  readonly dividendErrors?: readonly DividendError[];
}

/** Creates the reader of the rows of a market. */
export function createMarketRowsOn(
  { mapping, calendars }: MarketInterpretation,
  problems: Problems,
  { isPart = false }: Pick<MarketRowsOptions, 'isPart'> = {},
): MarketRows {
  const options = { isPart, calendars };
  return mapping === null
    ? createMarketRows(problems, options)
    : wrapFooters((seen) => createMappedRows(mapping, seen, options), problems);
}

/**
 * Combines panels and tables into one content. Adds the actions that were derived from adjusted closes.
 * @returns undefined, with a finding, if the panels have no value or the tables contradict them.
 */
export function completeMappedContent(
  panels: Panels,
  tables: ContentTables,
  { mapping, adjustment }: MarketInterpretation,
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
  if (mapping === null || !readsStatedActions(mapping)) {
    const content = joinContent(panels, tables, problems);
    return content && { content, derived: null };
  }
  refuseTwice(tables, adjustment, problems);
  const {
    panels: remainingPanels,
    actions,
    derived,
    errors,
  } = readVendorActions(panels, { ...mapping, adjustment }, problems);
  const content = joinContent(
    remainingPanels,
    { ...tables, actions: [...tables.actions, ...actions].toSorted(compareActions) },
    problems,
  );
  return content && { content, derived, dividendErrors: errors };
}

/**
 * Rejects dividends from two sources. Also rejects the derivation of dividends from closes that already include them.
 */
function refuseTwice({ actions }: ContentTables, adjustment: MarketData['adjustment'], problems: Problems): void {
  if (adjustment === 'total')
    problems.error({
      code: 'NOT_IN_CHOICES',
      path: 'mapping.adjusted_close',
      message: 'CLOSE is declared to hold dividends already (adjustment total); none can be derived.',
      accepted: ['none', 'splits'],
    });
  const repeatedActions = actions.filter(
    ({ type }) => ACTION_KINDS[type] === 'cash' || (ACTION_KINDS[type] === 'ratio' && adjustment === 'none'),
  );
  if (repeatedActions.length > 0)
    problems.error({
      code: 'DUPLICATE_KEY',
      path: 'mapping.adjusted_close',
      message: `The table corporate_actions holds ${repeatedActions.length} dividends and splits; take them from it or from adjusted closes, not from both.`,
    });
}
