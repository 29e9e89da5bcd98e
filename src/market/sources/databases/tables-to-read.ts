import type { Mapping } from '#domain/documents/mapping.js';
import type { TableKind } from '../../tables/table-kinds.js';
import { TABLE_KINDS } from '#domain/documents/dataset-document.js';
import { didYouMean } from '#base/text/nearest-name.js';
import type { Problems } from '../../tables/problems.js';

/** Table of each dataset that a database holds. */
export type TableNames = Readonly<Partial<Record<TableKind, string>>>;

export type DatabaseProgress = (fraction: number, message: string) => void;

/**
 * The tables to read of each dataset: those named, those whose field a mapping says, and those called like their
 * dataset. A named one that is absent is reported, and so is a missing market.
 */
export function tablesToRead(
  held: ReadonlySet<string>,
  named: TableNames,
  problems: Problems,
  mapping: Mapping | null = null,
): Readonly<Partial<Record<TableKind, readonly string[]>>> {
  const chosen: Partial<Record<TableKind, readonly string[]>> = {};
  for (const tableKind of TABLE_KINDS) {
    const name = named[tableKind] ?? tableKind;
    const mapped = tableKind === 'market' && named.market === undefined ? mappedTables(held, mapping) : [];
    if (mapped.length > 0) chosen[tableKind] = mapped;
    else if (held.has(name)) chosen[tableKind] = [name];
    else if (named[tableKind] !== undefined || tableKind === 'market')
      problems.error({
        code: 'LOCATION_NOT_FOUND',
        path: named[tableKind] === undefined ? tableKind : `tables.${tableKind}`,
        message: `The database has no table ${name}.${didYouMean(name, held)}${namedBy(tableKind, held)}`,
        accepted: [...held].slice(0, ACCEPTED_MAX),
      });
  }
  return chosen;
}

/** Tables of a database that a client can choose from, and those that a message lists. */
const ACCEPTED_MAX = 200;
const LISTED_MAX = 10;

/** How another table is said to be the one of a dataset. */
function namedBy(tableKind: TableKind, held: ReadonlySet<string>): string {
  if (held.size === 0) return ' It has none.';
  const list = [...held].slice(0, LISTED_MAX).join(', ');
  const more = held.size > LISTED_MAX ? ` and ${held.size - LISTED_MAX} more` : '';
  return ` It has ${list}${more}; tables says which is ${tableKind}, as { "${tableKind}": "${[...held][0]!}" }; inspect proposes it.`;
}

/** The tables of a wide market, one a field, that a mapping names. */
const mappedTables = (held: ReadonlySet<string>, mapping: Mapping | null) =>
  Object.keys(mapping?.fields ?? {}).filter((name) => held.has(name));
