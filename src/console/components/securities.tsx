import { useContext } from 'preact/hooks';
import type { FieldList } from '#clients/typescript/divisor.js';
import { isOtherStore } from '../state/live.js';
import { type NameFacts, NamesStore, PENDING_NAMES } from '../state/market.js';
import { formatSecurityAddress } from '../words/addresses.js';
import { createAwaitedColumn, EmptyState } from './feedback.js';
import type { Column } from './table/model.js';

/** Returns a column of identifiers with the names of their companies. */
export const nameColumn = (facts: ReadonlyMap<string, NameFacts>): Column<{ readonly identifier: string }> => ({
  id: 'name',
  title: 'Security',
  width: 84,
  grow: 1,
  value: ({ identifier }) => identifier,
  show: ({ identifier }) => (
    <span title={facts.get(identifier)?.name ?? undefined}>
      <strong>{identifier}</strong> <span class="quiet">{facts.get(identifier)?.name}</span>
    </span>
  ),
});

/** Returns columns of identifiers and of their companies. On a phone, the company is in the second line. */
export const createNameColumns = (
  facts: ReadonlyMap<string, NameFacts>,
): readonly Column<{ readonly identifier: string }>[] => awaitNames(listNameColumns(facts), facts, ['company']);

const listNameColumns = (facts: ReadonlyMap<string, NameFacts>): readonly Column<{ readonly identifier: string }>[] => [
  {
    id: 'name',
    title: 'Security',
    width: 84,
    grow: 1,
    value: ({ identifier }) => identifier,
    show: ({ identifier }) => <strong>{identifier}</strong>,
  },
  {
    id: 'company',
    title: 'Company',
    width: 110,
    grow: 1,
    priority: 2,
    value: ({ identifier }) => facts.get(identifier)?.name ?? null,
  },
];

/**
 * Returns columns for the time until the reference data is loaded.
 * @param ids columns of reference data; they show an outline while it is loading
 */
export const awaitNames = <R,>(
  columns: readonly Column<R>[],
  facts: ReadonlyMap<string, NameFacts>,
  ids: readonly string[],
): readonly Column<R>[] =>
  facts !== PENDING_NAMES
    ? columns
    : columns.map((column) => (ids.includes(column.id) ? createAwaitedColumn(column) : column));

/** Returns the column of companies as a list. Returns an empty list if no security has a name. */
export const listCompanyColumns = <R,>(
  column: Column<R>,
  facts: ReadonlyMap<string, NameFacts>,
): readonly Column<R>[] =>
  facts === PENDING_NAMES || [...facts.values()].some(({ name }) => name !== null)
    ? awaitNames([column], facts, [column.id])
    : [];

/** Returns an identifier followed by the name of its company, if it is known. */
export function labelWithName(identifier: string, facts: ReadonlyMap<string, NameFacts>): string {
  const name = facts.get(identifier)?.name ?? null;
  return name === null ? identifier : `${identifier} ${name}`;
}

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

/**
 * Returns a function that creates the address of a security. The page shows the security in the store of the run on
 * this page.
 */
export function useNameAddress(): (identifier: string) => string {
  const store = useContext(NamesStore);
  return (identifier) => formatSecurityAddress(identifier, isOtherStore(store) ? store : undefined);
}
