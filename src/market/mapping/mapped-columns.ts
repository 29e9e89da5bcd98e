import type { Mapping } from '#domain/documents/mapping.js';
import { suggestName, findNearestName } from '#base/text/nearest-name.js';
import { getColumnName, REQUIRED_COLUMNS } from '../tables/table-kinds.js';
import { nameFileColumns } from '../tables/named-columns.js';
import type { Problems } from '../tables/problems.js';
import { isHeaderless, isWholeName } from './market-tables.js';
import { findStatedName, readsStatedActions } from './own-dividends.js';

const isSameName = (a: string, b: string) => a.trim().toLowerCase() === b.trim().toLowerCase();

/**
 * Returns the position of a column with exactly this name, otherwise of one that differs only in case. Returns -1 if
 * there is none.
 */
export function findPosition(columns: readonly string[], name: string): number {
  const exactColumn = columns.findIndex((column) => column.trim() === name.trim());
  return exactColumn >= 0 ? exactColumn : columns.findIndex((column) => isSameName(column, name));
}

/**
 * Target name of the adjusted-close column until dividends are derived from it. No column of a source can have this
 * name.
 */
export const ADJUSTED_CLOSE = '\u0000adjusted close';

/**
 * Returns the target names of the columns of a long table. The name of an ignored column is ''.
 * @returns undefined, with a finding, if a required column is absent.
 */
export function mapColumns(
  mapping: Mapping,
  label: string,
  written: readonly string[],
  problems: Problems,
): string[] | undefined {
  const isNamedByTable = isWholeName(mapping);
  const names = renameColumns(mapping, written);
  const neededColumns = REQUIRED_COLUMNS.market.filter((name) => name !== 'identifier' || !isNamedByTable);
  const errorsBefore = problems.errors;
  for (const [name, from] of Object.entries(mapping.columns)) {
    if (findPosition(written, from) >= 0 || !isMissed({ name, from, written, names, needed: neededColumns })) continue;
    problems.error(createMissingColumn({ label, written, takes: name, from, column: from || name }));
  }
  reportAdjusted(mapping, { label, written, names }, problems);
  if (problems.errors > errorsBefore) return undefined;
  const namedPositions = names.flatMap((name, i) => (name === '' ? [] : [i]));
  const columnNames = nameFileColumns(
    'market',
    label,
    [...namedPositions.map((i) => names[i]!), ...(isNamedByTable ? ['identifier'] : [])],
    problems,
  );
  if (columnNames === undefined) return undefined;
  namedPositions.forEach((i, k) => (names[i] = columnNames[k]!));
  return names;
}

interface UnfoundColumn {
  readonly name: string;
  readonly from: string;
  readonly written: readonly string[];
  readonly names: readonly string[];
  readonly needed: readonly string[];
}

/**
 * Returns true if the absence of a mapped column in a file is an error. It is one if the column is required, if another
 * column already has its target name, or if a column has a similar name. Otherwise the column may be in other files.
 */
function isMissed({ name, from, written, names, needed }: UnfoundColumn): boolean {
  const column = getColumnName('market', name);
  return needed.includes(column) || names.includes(column) || findNearestName(from, written) !== undefined;
}

function reportAdjusted(
  { adjusted_close: from }: Mapping,
  {
    label,
    written,
    names,
  }: { readonly label: string; readonly written: readonly string[]; readonly names: readonly string[] },
  problems: Problems,
): void {
  if (from === null || names.includes(ADJUSTED_CLOSE)) return;
  problems.error(createMissingColumn({ label, written, takes: 'adjusted closes', from, column: from }));
}

interface MissingColumn {
  readonly label: string;
  readonly written: readonly string[];
  readonly takes: string;
  readonly from: string;
  readonly column: string;
}

function createMissingColumn({ label, written, takes, from, column }: MissingColumn) {
  return {
    code: 'MISSING_COLUMN',
    path: `${label}.${column}`,
    column,
    message: `The mapping takes ${takes} from ${JSON.stringify(from.slice(0, 80))}, which is not a column of the table.${suggestName(from, written) || formatColumns(written)}`,
  } as const;
}

/** Maximum number of columns listed in a message. */
const LISTED_COLUMNS_MAX = 20;

function formatColumns(written: readonly string[]): string {
  const columnNames = written.filter((name) => name !== '').map((name) => name.slice(0, 40));
  const remainderText =
    columnNames.length > LISTED_COLUMNS_MAX ? ` and ${columnNames.length - LISTED_COLUMNS_MAX} more` : '';
  return columnNames.length === 0
    ? ''
    : ` Its columns are ${columnNames.slice(0, LISTED_COLUMNS_MAX).join(', ')}${remainderText}.`;
}

/**
 * Returns the target names of columns. The name is '' for ignored columns, unnamed columns, and names that are already
 * used.
 */
export function renameColumns(mapping: Mapping, written: readonly string[]): string[] {
  const names = written.map(() => '');
  for (const [name, from] of Object.entries(mapping.columns)) {
    const position = findPosition(written, from);
    if (position >= 0) names[position] = getColumnName('market', name);
  }
  if (mapping.adjusted_close !== null) {
    const position = findPosition(written, mapping.adjusted_close);
    if (position >= 0) names[position] = ADJUSTED_CLOSE;
  }
  if (readsStatedActions(mapping))
    written.forEach((column, i) => {
      const name = findStatedName(column);
      if (names[i] === '' && name !== undefined && !names.includes(name)) names[i] = name;
    });
  const isNamedByTable = isWholeName(mapping);
  if (isHeaderless(mapping.columns)) return names;
  const usedNames = new Set(names);
  return names.map((name, i) => {
    if (name !== '') return name;
    const columnName = getColumnName('market', written[i]!);
    const isLeftOut =
      columnName === '' ||
      usedNames.has(columnName) ||
      (isNamedByTable && columnName === 'identifier') ||
      mapping.ignore.some((ignored) => isSameName(ignored, written[i]!));
    return isLeftOut ? '' : columnName;
  });
}
