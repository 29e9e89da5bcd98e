import { EXPORT_NAMES, findExportTable, INDEX_FILE_TABLES } from '#domain/outputs/exports.js';
import { describe, expect, test } from 'vitest';
import { runHere } from '../../../cli/process.js';
import { parseCsvTable } from './csv-table.js';
import { IDS, readJson, service, type Row } from './set-up.js';

const KEYS = ['date', 'identifier', 'group', 'rule', 'row', 'begin', 'type', 'side', 'reason'];

/** Commands whose tables belong to a run. Some tables are of a single date and omit the column of the date. */
const VIEWS: readonly { readonly words: readonly string[]; readonly isOfLastDate?: boolean }[] = [
  { words: ['levels'] },
  { words: ['levels', '--variant', 'price'] },
  { words: ['weights'], isOfLastDate: true },
  { words: ['rebalances'] },
  { words: ['attribution'] },
  { words: ['rolling'] },
];

/** Columns whose meaning depends on the row, such as a trade or a holding. Their tables describe different things. */
const OF_ITS_ROW = new Set(['value of export constituents and export trades']);

interface NamedTable {
  readonly name: string;
  readonly rows: readonly Row[];
}

async function readTables(id: string): Promise<NamedTable[]> {
  const lastDate = String((await readJson({ id, table: 'levels' })).at(-1)!['date']);
  const dateRowsByLast = (rows: readonly Row[]): Row[] => rows.map((row) => ({ date: lastDate, ...row }));
  const tables: NamedTable[] = [];
  // Files of an index have weights before the trades of their session. They are computed from index shares.
  for (const table of EXPORT_NAMES.filter((name) => !(name in INDEX_FILE_TABLES))) {
    const rows = await readJson({ id, table });
    tables.push({ name: `export ${table}`, rows: table === 'constituents' ? dateRowsByLast(rows) : rows });
  }
  for (const { words, isOfLastDate } of VIEWS) {
    const [command = '', ...flags] = words;
    const { out, status, err } = await runHere([command, id, ...flags, '--csv', '--url', service.url]);
    expect(status, err).toBe(0);
    tables.push({
      name: words.join(' '),
      rows: isOfLastDate === true ? dateRowsByLast(parseCsvTable(out)) : parseCsvTable(out),
    });
  }
  const exposures = await fetch(`${service.url}/analytics/${id}/exposures`, { headers: { accept: 'text/csv' } });
  tables.push({ name: 'exposures', rows: parseCsvTable(await exposures.text()) });
  return tables;
}

/** Returns rows by the given keys. Returns undefined if several rows share a key. */
function indexRowsByKey({ rows }: NamedTable, keys: readonly string[]): ReadonlyMap<string, Row> | undefined {
  const results = new Map(rows.map((row) => [keys.map((key) => row[key]).join(' '), row]));
  return results.size === rows.length ? results : undefined;
}

export function describeSameNames(): void {
  test.each(IDS)('columns with one name have equal numbers in every view and export of %s', async (id) => {
    const tables = await readTables(id);
    const comparedPairs = new Set<string>();
    for (const [i, one] of tables.entries())
      for (const other of tables.slice(i + 1)) {
        const sharedColumns = Object.keys(one.rows[0]!).filter((column) => column in other.rows[0]!);
        const keys = sharedColumns.filter((column) => KEYS.includes(column));
        const [left, right] = [indexRowsByKey(one, keys), indexRowsByKey(other, keys)];
        if (keys.length === 0 || left === undefined || right === undefined) continue;
        for (const column of sharedColumns.filter((name) => !keys.includes(name))) {
          const pair = `${column} of ${one.name} and ${other.name}`;
          if (OF_ITS_ROW.has(pair)) continue;
          const differences = [...left].flatMap(([key, row]) => {
            const number = right.get(key)?.[column];
            return number === undefined || Object.is(number, row[column]) ? [] : [[key, row[column], number]];
          });
          expect(differences, pair).toEqual([]);
          comparedPairs.add(pair);
        }
      }
    expect([...comparedPairs]).toEqual(
      expect.arrayContaining([
        'weight of export weights and export constituents',
        'weight of export weights and weights',
        'turnover of export rebalances and rebalances',
        'added of export rebalances and rebalances',
        'divisor of export levels and levels',
        'price of export levels and levels --variant price',
        'volatility of export risk and rolling',
        'contribution of export attribution and attribution',
        'weight of export exposures and exposures',
      ]),
    );
  });

  describe('of the exports', () => {
    const namedColumns = new Map<string, Set<string | null>>();
    for (const table of EXPORT_NAMES)
      for (const [column, { unit }] of Object.entries(findExportTable(table).columns))
        namedColumns.set(column, (namedColumns.get(column) ?? new Set()).add(unit));

    test('columns with one name have one unit, except prices of an index and of a share', () => {
      const ambiguousColumns = [...namedColumns].flatMap(([column, units]) => (units.size === 1 ? [] : [column]));
      expect(ambiguousColumns).toEqual(['price']);
    });
  });
}
