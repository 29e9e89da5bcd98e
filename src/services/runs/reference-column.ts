import type { MarketData } from '#domain/market/market-data.js';
import { refuseWithFindings } from '#domain/refusals/refusal.js';
import { describeUnknownField } from '#domain/refusals/unknown-field.js';

/** Ensures that the reference data have a column. @throws Refusal VALIDATION_FAILED */
export function assertReferenceColumn(market: MarketData, column: string): void {
  const accepted = market.reference.columns;
  if (accepted.includes(column)) return;
  const sentence = `The served store has no reference column ${column}; it has ${accepted.join(', ') || 'none'}.`;
  throw refuseWithFindings('query', [
    { severity: 'error', path: 'by', ...describeUnknownField(sentence, { name: column, accepted }) },
  ]);
}
