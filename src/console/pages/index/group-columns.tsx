import type { FieldList } from '#clients/typescript/divisor.js';
import { EmptyState } from '../../components/empty-state.js';

/** Reference data columns by which securities can be grouped. */
const COLUMNS = ['SECTOR', 'INDUSTRY', 'COUNTRY', 'CURRENCY', 'EXCHANGE'] as const;

/** Returns the columns of a store that can group securities. Returns undefined until they are known. */
export function listGroupColumns(fields: FieldList | undefined): readonly string[] | undefined {
  const names = new Set(fields?.fields.flatMap(({ name, dataset }) => (dataset === 'reference' ? [name] : [])));
  return fields && COLUMNS.filter((column) => names.has(column));
}

/** Renders the reason why nothing is grouped by a column that the store of a run does not have. */
export const NoGroupColumn = ({ purpose }: { readonly purpose: string }) => (
  <EmptyState title="No column to group by">
    The data store has no reference data such as SECTOR or COUNTRY.{' '}
    <a href="/console/data/import">Import reference data</a> to see {purpose}.
  </EmptyState>
);
