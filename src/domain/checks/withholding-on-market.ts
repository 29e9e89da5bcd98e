import { findListedIdentifiers, type RuleDocument } from '../documents/index-document.js';
import { listValuesWithoutRate, describeWithoutRate } from '../index-mathematics/withholding.js';
import type { MarketData } from '../market/market-data.js';
import type { Finding, Severity } from '../refusals/findings.js';

const TAX_PATH = 'pipeline.treatment.withholding_tax';

/**
 * Reports values of the tax field that have no rate. Checks the securities of the universe, by default all securities.
 */
export function checkWithholding(document: RuleDocument, market: MarketData, severity: Severity): Finding[] {
  const { withholding_tax: tax } = document.pipeline.treatment;
  if (typeof tax === 'number') return [];
  const { columns: accepted } = market.reference;
  if (!accepted.includes(tax.field))
    return [
      {
        severity,
        code: 'UNKNOWN_FIELD_NAME',
        path: `${TAX_PATH}.field`,
        message: `The store has no reference column ${tax.field}; it has ${accepted.join(', ') || 'none'}.`,
        accepted,
        value: tax.field,
      },
    ];
  const list = findListedIdentifiers(document.universe);
  const listedIdentifiers = list && new Set(list);
  const isTaxed = (identifier: string): boolean => listedIdentifiers === undefined || listedIdentifiers.has(identifier);
  const columns = [...market.identifiers.keys()].filter((column) => isTaxed(market.identifiers[column]!));
  const values = listValuesWithoutRate(market, tax, {
    columns: list === undefined ? selectWithReference(market, columns) : columns,
  });
  if (values.length === 0) return [];
  return [
    { severity, code: 'NO_RATE', path: TAX_PATH, message: `${describeWithoutRate(tax, values)}.`, value: values },
  ];
}

/** Returns the columns with reference rows. Exchange rates have none. */
function selectWithReference({ identifiers, reference }: MarketData, columns: readonly number[]): number[] {
  return columns.filter((column) => reference.rows.has(identifiers[column]!));
}
