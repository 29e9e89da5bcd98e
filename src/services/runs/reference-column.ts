import type { MarketData } from '#domain/market/market-data.js';
import { refuseWithFindings } from '#domain/refusals/refusal.js';
import { describeUnknownField } from '#domain/refusals/unknown-field.js';

/** Checks that the reference data has a column. @throws Refusal VALIDATION_FAILED */
export function assertReferenceColumn(market: MarketData, column: string): void {
  const acceptedColumns = market.reference.columns;
  if (acceptedColumns.includes(column)) return;
  const sentence = `The data store of the index has no reference column ${column}; the store has ${acceptedColumns.join(', ') || 'none'}.`;
  throw refuseWithFindings('query', [
    { severity: 'error', path: 'by', ...describeUnknownField(sentence, { name: column, accepted: acceptedColumns }) },
  ]);
}
