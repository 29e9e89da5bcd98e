import { formatDay } from '#domain/time/days.js';
import { ACTION_KINDS, type Adjustment } from '#domain/market/market-data.js';
import { findActionWarnings } from '../content/doubtful-actions.js';
import type { MarketContent } from '../content/market-content.js';
import { findUnknownCurrencies } from '../content/unknown-currencies.js';
import type { DataWarning } from './data-warning.js';

const MOVE_KINDS: ReadonlySet<string> = new Set(['cash', 'ratio']);

/** Finds implausible terms of corporate actions and unknown currencies. Only their source can correct them. */
export function findDoubtfulTerms(content: MarketContent, adjustment: Adjustment): DataWarning[] {
  const actions = findActionWarnings(content, adjustment)
    // Excludes the sizes of dividends and splits, which are compared with price moves elsewhere.
    .filter(({ code, action: { type } }) => code !== 'ACTION_SIZE' || !MOVE_KINDS.has(ACTION_KINDS[type]))
    .map(({ action: { identifier, type, exDay, value }, code, message, evidence }): DataWarning => {
      const date = formatDay(exDay);
      const id = `action_terms ${identifier} ${date} ${type} ${value} ${code}`;
      return { id, kind: 'action_terms', identifier, date, confidence: 0.9, message, evidence, repair: null };
    });
  const currencies = findUnknownCurrencies(content).map(
    ({ identifier, table, currency, from, message }): DataWarning => {
      const date = from ?? formatDay(content.dates[0]!);
      const id = `unknown_currency ${table} ${identifier} ${date}`;
      const evidence = { currency };
      return { id, kind: 'unknown_currency', identifier, date, confidence: 0.9, message, evidence, repair: null };
    },
  );
  return [...actions, ...currencies];
}
