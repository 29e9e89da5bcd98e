import { formatDay, type Day } from '#domain/time/days.js';
import { compareText } from '#domain/refusals/findings.js';
import type { ReferenceRow, ReferenceTable, ReferenceValue } from '#domain/market/market-data.js';
import { readText, ShownValue, type Cell } from '../formats/cells.js';
import { DATE_COLUMNS, TEXT_COLUMNS } from '../tables/table-kinds.js';
import { nameFileColumns } from '../tables/named-columns.js';
import { formatCellPath, type Problems } from '../tables/problems.js';
import { readDate, readIdentifier, type CheckedRows } from './table-rows.js';

interface RawRow {
  readonly identifier: string;
  readonly validFrom: Day | null;
  readonly cells: (Cell | undefined)[];
}

const NUMERIC_TEXT = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

export function createReferenceRows(problems: Problems): CheckedRows<ReferenceTable> {
  const columns: string[] = [];
  const rawRows: RawRow[] = [];
  const seenKeys = new Set<string>();
  let rows = 0;

  function beginFile(label: string, written: readonly string[]) {
    const names = nameFileColumns('reference', label, written, problems);
    if (names === undefined) return undefined;
    const identifierColumn = names.indexOf('identifier');
    const fromColumn = names.indexOf('valid_from');
    const positions = names.map((name) => {
      if (name === '' || name === 'identifier' || name === 'valid_from') return -1;
      const existingIndex = columns.indexOf(name);
      return existingIndex >= 0 ? existingIndex : columns.push(name) - 1;
    });
    let fileRow = 0;
    return (cells: readonly (Cell | undefined)[] | null) => {
      rows += 1;
      fileRow += 1;
      if (cells === null) return;
      const identifier =
        identifierColumn < 0
          ? undefined
          : readIdentifier(
              cells[identifierColumn],
              () => formatCellPath(label, fileRow, written[identifierColumn]!),
              problems,
            );
      const validFrom =
        fromColumn < 0
          ? null
          : readDate(cells[fromColumn], () => formatCellPath(label, fileRow, written[fromColumn]!), problems);
      const values: (Cell | undefined)[] = [];
      positions.forEach((position, i) => {
        if (position < 0) return;
        const isDate = DATE_COLUMNS.has(columns[position]!);
        values[position] = isDate
          ? formatIsoDay(readDate(cells[i], () => formatCellPath(label, fileRow, written[i]!), problems))
          : cells[i];
      });
      if (identifier === undefined || validFrom === undefined) return;
      const key = `${validFrom ?? ''} ${identifier}`;
      if (seenKeys.has(key)) {
        const dateText = validFrom === null ? 'without valid_from' : `valid from ${formatDay(validFrom)}`;
        problems.error({
          code: 'DUPLICATE_KEY',
          path: formatCellPath(label, fileRow, ''),
          message: `An earlier row already contains ${identifier} ${dateText}.`,
        });
        return;
      }
      seenKeys.add(key);
      rawRows.push({ identifier, validFrom, cells: values });
    };
  }

  function toTable(): ReferenceTable {
    const kinds = columns.map((name, position) =>
      TEXT_COLUMNS.has(name) || DATE_COLUMNS.has(name) ? 'text' : detectKind(rawRows, position),
    );
    const rowsByName = new Map<string, ReferenceRow[]>();
    for (const { identifier, validFrom, cells } of rawRows) {
      const row: ReferenceRow = {
        validFrom,
        values: columns.map((_, position) => parseValue(cells[position], kinds[position]!)),
      };
      const referenceRows = rowsByName.get(identifier);
      if (referenceRows === undefined) rowsByName.set(identifier, [row]);
      else referenceRows.push(row);
    }
    const order = [...rowsByName.keys()].toSorted(compareText);
    const early = -Infinity;
    return {
      columns,
      rows: new Map(
        order.map((name) => [
          name,
          rowsByName.get(name)!.toSorted((a, b) => (a.validFrom ?? early) - (b.validFrom ?? early) || 0),
        ]),
      ),
    };
  }

  return {
    beginFile,
    toTable,
    get rows() {
      return rows;
    },
  };
}

type Kind = 'number' | 'boolean' | 'text';

/**
 * Returns the type of a column. All values of the column decide, so that text-only and typed formats give the same
 * table. The type is number if every value is a number or the text of a number without leading zeros. The same applies
 * to booleans. Otherwise it is text.
 */
function detectKind(rows: readonly RawRow[], position: number): Kind {
  let numbers = 0;
  let booleans = 0;
  let cellCount = 0;
  for (const { cells } of rows) {
    const cell = cells[position];
    const text = readText(cell);
    if (text === null) continue;
    cellCount += 1;
    if (isBoolean(cell) || text === 'true' || text === 'false') booleans += 1;
    else if (typeof cell === 'number' || typeof cell === 'bigint' || (typeof cell === 'string' && isNumberText(text)))
      numbers += 1;
  }
  if (cellCount > 0 && numbers === cellCount) return 'number';
  return cellCount > 0 && booleans === cellCount ? 'boolean' : 'text';
}

const isBoolean = (cell: Cell | undefined): boolean =>
  typeof cell === 'boolean' || (cell instanceof ShownValue && typeof cell.value === 'boolean');

/**
 * Returns true if a text is a number of at most 15 digits, which a double reproduces. Longer digit strings are codes.
 */
function isNumberText(text: string): boolean {
  return NUMERIC_TEXT.test(text) && Number.isFinite(Number(text)) && text.replace(/[^0-9]/g, '').length <= 15;
}

function parseValue(cell: Cell | undefined, kind: Kind): ReferenceValue {
  const text = readText(cell);
  if (text === null) return null;
  if (kind === 'boolean') return text.toLowerCase() === 'true';
  if (kind === 'text') return text;
  const value = Number(text) + 0;
  return Number.isFinite(value) ? value : null;
}

const formatIsoDay = (day: Day | null | undefined) => (day === null || day === undefined ? null : formatDay(day));
