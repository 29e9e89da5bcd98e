import { formatDay } from '#domain/time/days.js';
import { readDay, readText, type Cell } from '../formats/cells.js';
import type { JsonLinesReader } from '../formats/json-lines.js';
import type { Problem, Problems } from '../tables/problems.js';
import { replaceSlashes } from '../tables/slashless-names.js';
import { getColumnName } from '../tables/table-kinds.js';
import { readCellText, type readCsv } from './csv.js';
import { concatenate, type CsvRecord } from './csv-records.js';

/** Key of a hive partition in the name of a folder, such as `date=2024-01-02`. */
export interface FolderKey {
  readonly name: string;
  readonly value: string;
  /** Label of the folder. */
  readonly folder: string;
}

/** Name of the folder of rows without a value. */
const NO_VALUE = '__HIVE_DEFAULT_PARTITION__';

/** Returns the keys in the folders of a file, below the folder of its dataset. */
export function listKeys(label: string): FolderKey[] {
  const parts = label.split('/');
  return parts.slice(1, -1).flatMap((part, i): FolderKey[] => {
    const offset = part.indexOf('=');
    if (offset < 1) return [];
    return [
      { name: part.slice(0, offset), value: decode(part.slice(offset + 1)), folder: parts.slice(0, i + 2).join('/') },
    ];
  });
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Returns true if a folder key is the identifier or the date of a bar. */
export const isBarKey = (key: string): boolean => ['identifier', 'date'].includes(getColumnName('market', key));

export const normaliseName = (identifier = ''): string => replaceSlashes(identifier.trim());

/** Describes a file with a column that contradicts the key of its folder. */
export const describeIgnoredKey = (
  label: string,
  { name, value }: FolderKey,
  { column, shownValue }: { readonly column: string; readonly shownValue: string },
): Problem => ({
  code: 'COLUMN_IGNORED',
  path: label,
  column,
  message: `The folder key ${name}=${value.slice(0, 80)} is not read: the file has the column ${column} itself, with ${shownValue}.`,
});

/** Receivers of the header of a text file. */
export interface TextReaders {
  readonly csv: Parameters<typeof readCsv>[1];
  readonly cells: JsonLinesReader['onHeader'];
}

export interface KeyTerms {
  /** Label of the file. */
  readonly label: string;
  /** Returns true if a folder key becomes a column that the file lacks. */
  isWanted(key: FolderKey): boolean;
}

/**
 * Returns readers that receive the folder keys of a text file as additional columns. Warns of an identifier or a date in
 * the file that contradicts the key of its folder.
 * @cost a copy of each record of a file with such keys
 */
export function addKeyColumns(readers: TextReaders, { label, isWanted }: KeyTerms, problems: Problems): TextReaders {
  const keys = [...new Map(listKeys(label).map((key) => [key.name.trim().toLowerCase(), key])).values()].filter(
    isWanted,
  );
  if (keys.length === 0) return readers;
  const compare = (columns: readonly string[]) => {
    const position = (name: string) =>
      columns.findIndex((column) => column.trim().toLowerCase() === name.trim().toLowerCase());
    const added = keys.filter(({ name }) => position(name) < 0);
    const ignored = keys.flatMap((key) =>
      position(key.name) >= 0 && isBarKey(key.name) ? [{ key, at: position(key.name) }] : [],
    );
    const warn = (read: (at: number) => Cell | undefined): void => {
      for (const { key, at } of ignored) {
        const shownValue = findContradiction(key, read(at));
        if (shownValue !== undefined)
          problems.warnOnce(describeIgnoredKey(label, key, { column: columns[at]!, shownValue }));
      }
    };
    return {
      names: added.map(({ name }) => name),
      texts: added.map(({ value }) => (value === NO_VALUE ? '' : value)),
      warn,
    };
  };
  return {
    csv(columns, heading) {
      const { names, texts, warn } = compare(columns);
      const append = createAppender(texts);
      const accept = readers.csv([...columns, ...names], heading);
      return (
        accept &&
        ((record) => {
          if (record.cells === columns.length) warn((at) => readCellText(record, at));
          accept(append(record));
        })
      );
    },
    cells(columns) {
      const { names, texts, warn } = compare(columns);
      const accept = readers.cells([...columns, ...names]);
      return (
        accept &&
        ((row) => {
          if (row !== null) warn((at) => row[at]);
          accept(row && [...row, ...texts.map((text) => (text === '' ? null : text))]);
        })
      );
    },
  };
}

/** Returns the value of a row that contradicts the key of its folder. The key of a date may be only a year. */
function findContradiction({ name, value }: FolderKey, cell: Cell | undefined): string | undefined {
  if (getColumnName('market', name) !== 'date') {
    const text = normaliseName(readText(cell) ?? '');
    return text === '' || text === normaliseName(value) ? undefined : text.slice(0, 80);
  }
  const [keyDay, day] = [readDay(value), readDay(cell)];
  return typeof keyDay === 'number' && typeof day === 'number' && day !== keyDay ? formatDay(day) : undefined;
}

/** Returns a function that appends cells to a record. The result is valid until the next call. */
function createAppender(texts: readonly string[]): (record: CsvRecord) => CsvRecord {
  const encoded = texts.map((text) => new TextEncoder().encode(text));
  const added = encoded.reduce(concatenate, new Uint8Array(0));
  let [starts, ends, escaped] = [new Int32Array(0), new Int32Array(0), new Uint8Array(0)];
  return (record) => {
    const { cells } = record;
    if (texts.length === 0 || cells === 0) return record;
    if (starts.length < cells + texts.length)
      [starts, ends, escaped] = [
        new Int32Array(cells + texts.length),
        new Int32Array(cells + texts.length),
        new Uint8Array(cells + texts.length),
      ];
    const [from, to] = [record.starts[0]!, record.ends[cells - 1]!];
    for (let cell = 0; cell < cells; cell++) {
      starts[cell] = record.starts[cell]! - from;
      ends[cell] = record.ends[cell]! - from;
      escaped[cell] = record.escaped[cell]!;
    }
    let end = to - from;
    encoded.forEach(({ length }, i) => {
      [starts[cells + i], ends[cells + i], escaped[cells + i]] = [end, end + length, 0];
      end += length;
    });
    return {
      bytes: concatenate(record.bytes.subarray(from, to), added),
      starts,
      ends,
      escaped,
      cells: cells + texts.length,
    };
  };
}
