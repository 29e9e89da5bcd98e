/** Kinds of suspected errors in market data, by symptom. */
export const DATA_WARNING_KINDS = [
  'unexplained_jump',
  'missed_split',
  'currency_flip',
  'duplicate_bar',
  'stale_tail',
  'volume_without_trade',
  'exchange_rate',
  'unknown_currency',
  'action_terms',
  'dividend_size',
  'dividend_duplicate',
  'dividend_not_adjusted',
] as const;
export type DataWarningKind = (typeof DATA_WARNING_KINDS)[number];
