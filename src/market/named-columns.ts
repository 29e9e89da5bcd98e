import { columnName, REQUIRED_COLUMNS, type Dataset } from './datasets.js';
import type { Problems } from './problems.js';

/** The names of a file's columns; undefined, and told, when a needed one is missing or one stands twice. */
export function namedColumns(dataset: Dataset, label: string, written: readonly string[], problems: Problems): string[] | undefined {
  const names = written.map((column) => columnName(dataset, column));
  const missing = REQUIRED_COLUMNS[dataset].filter((column) => !names.includes(column));
  for (const column of missing) {
    const columns = written.length === 0 ? 'none' : written.slice(0, 20).join(', ');
    problems.error({ code: 'MISSING_COLUMN', path: `${label}.${column}`, message: `The column ${column} is missing; the columns are ${columns}.` });
  }
  const repeated = new Set(names.filter((name, i) => name !== '' && names.indexOf(name) !== i));
  for (const column of repeated) {
    problems.error({ code: 'DUPLICATE_KEY', path: `${label}.${column}`, message: `The column ${column} stands more than once.` });
  }
  const unnamed = names.indexOf('');
  if (unnamed >= 0) {
    problems.error({ code: 'MISSING_COLUMN', path: label, message: `Column ${unnamed + 1} of ${written.length} has no name; it needs one, or has to be removed.` });
  }
  return missing.length > 0 || repeated.size > 0 || unnamed >= 0 ? undefined : names;
}
