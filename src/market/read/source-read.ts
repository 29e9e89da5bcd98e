import { suggestName } from '#base/nearest-name.js';
import { TABLE_KINDS } from '#domain/definition/datasets.js';
import type { DerivedActions, Mapping } from '#domain/definition/mapping.js';
import type { ReferenceTable } from '#domain/market/market-data.js';
import type { DividendError, MarketContent } from '../content/market-content.js';
import type { DuckDb } from '../formats/duckdb.js';
import type { SourceDigest } from '../formats/source-file.js';
import type { MarketInterpretation } from '../mapping/mapped-content.js';
import type { DayFollower } from '../panels/scattering.js';
import type { Problems } from '../tables/problems.js';
import type { RowsByTable, TableKind } from '../tables/table-kinds.js';
import type { TableDigests } from './folder.js';

export type TableNames = Readonly<Partial<Record<TableKind, string>>>;

export type DatabaseProgress = (fraction: number, message: string) => void;

/**
 * Returns the tables to read for each dataset. They are tables that the request names, tables with a field in the
 * mapping, and tables that are named like their dataset. Reports a named table that is absent, and a missing market.
 */
export function chooseTables(
  existingTables: ReadonlySet<string>,
  named: TableNames,
  problems: Problems,
  mapping: Mapping | null = null,
): Readonly<Partial<Record<TableKind, readonly string[]>>> {
  const chosenTables: Partial<Record<TableKind, readonly string[]>> = {};
  for (const tableKind of TABLE_KINDS) {
    const name = named[tableKind] ?? tableKind;
    const mappedTables =
      tableKind === 'market' && named.market === undefined ? listMappedTables(existingTables, mapping) : [];
    if (mappedTables.length > 0) chosenTables[tableKind] = mappedTables;
    else if (existingTables.has(name)) chosenTables[tableKind] = [name];
    else if (named[tableKind] !== undefined || tableKind === 'market')
      problems.error({
        code: 'LOCATION_NOT_FOUND',
        path: named[tableKind] === undefined ? tableKind : `tables.${tableKind}`,
        message: `The database has no table ${name}.${suggestName(name, existingTables)}${describeNaming(tableKind, existingTables)}`,
        accepted: [...existingTables].slice(0, ACCEPTED_TABLES_MAX),
      });
  }
  return chosenTables;
}

/**
 * Maximum number of tables that a finding lists for a choice. The second value is the maximum number in its message.
 */
const ACCEPTED_TABLES_MAX = 200;
const LISTED_TABLES_MAX = 10;

/** Describes how to name another table for a dataset. */
function describeNaming(tableKind: TableKind, existingTables: ReadonlySet<string>): string {
  if (existingTables.size === 0) return ' It has none.';
  const listText = [...existingTables].slice(0, LISTED_TABLES_MAX).join(', ');
  const remainderText =
    existingTables.size > LISTED_TABLES_MAX ? ` and ${existingTables.size - LISTED_TABLES_MAX} more` : '';
  return ` It has ${listText}${remainderText}; tables says which is ${tableKind}, as { "${tableKind}": "${[...existingTables][0]!}" }; inspect proposes it.`;
}

/** Returns the tables of a wide market, one per field, that the mapping names. */
const listMappedTables = (existingTables: ReadonlySet<string>, mapping: Mapping | null) =>
  Object.keys(mapping?.fields ?? {}).filter((name) => existingTables.has(name));

export interface SourceResult {
  readonly content: MarketContent;
  readonly rows: RowsByTable;
  readonly files: readonly SourceDigest[];
  /** Tables that were not read because their files are unchanged. */
  readonly unchangedTables?: readonly TableKind[];
  /** Numbers of actions derived from adjusted closes; null if no derivation was requested. */
  readonly derived?: DerivedActions | null;
  /** Rounding error of each derived dividend. */
  readonly dividendErrors?: readonly DividendError[];
}

export interface ReadOptions {
  /** Interpretation of the market. Default: no mapping. */
  readonly terms?: MarketInterpretation;
  /** True if the files are only a part of a source. A part may contain no bar. */
  readonly isPart?: boolean;
  /** True if the service wrote the files itself. */
  readonly isOwn?: boolean;
  /** Digests of known files. A table with equal digests is not read. */
  readonly knownDigests?: TableDigests;
  /** Receives days of the market as soon as they are complete. Some orders of reading do not permit this. */
  readonly follower?: DayFollower;
}

export interface SourceReadState {
  readonly digests: SourceDigest[];
  readonly unchangedTables: TableKind[];
  readonly problems: Problems;
  readonly knownDigests: TableDigests;
  readonly follower: DayFollower | undefined;
  readonly terms: MarketInterpretation;
  duck(): Promise<DuckDb>;
}

/** State shared by the readers of the market, which follows the reference table. */
export interface MarketReadState extends SourceReadState {
  readonly reference: ReferenceTable;
}
