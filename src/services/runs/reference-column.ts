import type { MarketData } from '#domain/market/market-data.js';
import { refuseWithFindings } from '#domain/refusals/refusal.js';
import { describeUnknownField } from '#domain/refusals/unknown-field.js';

/** @throws Refusal VALIDATION_FAILED for a column that the reference data do not have */
export function assertReferenceColumn(market: MarketData, column: string): void {
  const accepted = market.reference.columns;
  if (accepted.includes(column)) return;
  const sentence = `The served store has no reference column ${column}; it has ${accepted.join(', ') || 'none'}.`;
  throw refuseWithFindings('query', [
    { severity: 'error', path: 'by', ...describeUnknownField(sentence, { name: column, accepted }) },
  ]);
}
