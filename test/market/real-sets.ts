import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { IS_SOAK } from '../soak.js';

/**
 * Folder of real prices in ../shared, which are not part of the project. Tests that need them report when they are
 * absent.
 */
export const REAL_SETS = resolve('../shared/data');
export const hasRealSets = existsSync(REAL_SETS);
if (!hasRealSets) console.warn(`skipped: there are no real sets at ${REAL_SETS}`);

/**
 * Maximum number of securities of a set that is read as a whole. Larger sets would cost more than all other sets
 * together. Of a larger set, every third or every 15th security is read. The soak reads every security.
 */
const WHOLE_NAMES_MAX = 500;
/**
 * Maximum number of securities that are read from a larger set, first in tests that count rates, then in other tests.
 */
export const COUNTED_NAMES_MAX = IS_SOAK ? 5000 : WHOLE_NAMES_MAX;
export const WIDE_NAMES_MAX = IS_SOAK ? 5000 : 100;

/** Reads a published table with one column per security: `date,NAME,...`. */
export function readWideTable(
  file: string,
  namesMax = WIDE_NAMES_MAX,
): {
  readonly names: string[];
  readonly rows: readonly (readonly [string, readonly string[]])[];
} {
  const bytes = readFileSync(`${REAL_SETS}/${file}`);
  const text = (file.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8');
  const [header = '', ...lines] = text.trim().split(/\r?\n/);
  const publishedNames = header.split(',').slice(1);
  const step = publishedNames.length <= WHOLE_NAMES_MAX ? 1 : Math.ceil(publishedNames.length / namesMax);
  const takeSome = <T>(cells: readonly T[]) => cells.filter((_, i) => i % step === 0);
  const rows = lines.map((line): [string, string[]] => {
    const [date = '', ...cells] = line.split(',');
    return [formatIsoDate(date), takeSome(cells)];
  });
  return { names: takeSome(publishedNames), rows };
}

/** Converts a date such as 3/10/2004 to 2004-03-10. */
function formatIsoDate(text: string): string {
  const american = /^(\d{1,2})\/(\d{1,2})\/(\d{4})$/.exec(text);
  if (american === null) return text.slice(0, 10);
  return `${american[3]}-${american[1]!.padStart(2, '0')}-${american[2]!.padStart(2, '0')}`;
}

/**
 * Returns the form that a store reads: one row for each security and date with a price. The additional tables become
 * additional columns.
 */
export function formatLongCsv(close: string, otherColumns: Readonly<Record<string, string>> = {}): string {
  const { names, rows } = readWideTable(close);
  const otherPanels = Object.entries(otherColumns).map(([field, file]) => {
    const table = readWideTable(file);
    return { field, position: new Map(table.names.map((name, i) => [name, i])), byDate: new Map(table.rows) };
  });
  const lines = [['identifier', 'date', 'CLOSE', ...otherPanels.map(({ field }) => field)].join(',')];
  for (const [date, cells] of rows) {
    names.forEach((name, i) => {
      if ((cells[i] ?? '') === '') return;
      const restValues = otherPanels.map(({ position, byDate }) => byDate.get(date)?.[position.get(name) ?? -1] ?? '');
      lines.push([name, date, cells[i], ...restValues].join(','));
    });
  }
  return `${lines.join('\n')}\n`;
}
