import type { DivisorClient } from '#clients/typescript/divisor.js';
import type { FlagValues, Grammar } from '../command-line.js';
import type { JobCommand, JobSubmission } from '../job-command.js';
import { alignRight, formatTable } from '../terminal.js';

/** Value of a cell. */
type Scalar = string | number | boolean | null;

interface View<R> extends Grammar {
  readonly summary: string;
  readonly notes?: string;
  readonly examples: readonly string[];
  ask(client: DivisorClient, words: readonly string[], flags: FlagValues): Promise<R>;
  /** Returns the records of the result, one per row. */
  records(result: R): readonly object[];
  /** Returns notices in addition to the rows. */
  notices?(result: R): readonly string[];
  /** Content of the file that `--out` names. If absent, it is the result as JSON. */
  readonly file?: NonNullable<JobCommand<R>['file']>;
  /** Exit status of the command. If absent, it is `done`. */
  readonly exitStatus?: NonNullable<JobCommand<R>['exitStatus']>;
  /** Members to show, in order. Default: all members with scalar values. */
  readonly columns?: readonly string[];
}

/**
 * Returns a command that shows a view of the service as a table. On a terminal the table is aligned; on a pipe, each
 * row is a JSON object or a CSV record.
 */
export function createViewCommand<R>({ ask, records, columns, ...grammar }: View<R>): JobCommand<R> {
  const getRows = (result: R) => createTable(records(result), columns);
  return {
    ...grammar,
    submit: async (client, words, flags) => ({ result: await ask(client, words, flags) }) satisfies JobSubmission<R>,
    show: (result) => {
      const { header, rows } = getRows(result);
      const notices = (grammar.notices?.(result) ?? []).map((notice) => `${notice}\n`).join('');
      return `${rows.length === 0 ? '  none\n' : formatTable([header, ...rows.map((row) => row.map(formatCell))])}${notices}`;
    },
    lines: (result) => ({ event: 'row', records: records(result), rest: { rows: records(result).length } }),
    csv: getRows,
  };
}

/** Converts records to a table of their members with scalar values. */
function createTable(
  records: readonly object[],
  columns: readonly string[] | undefined,
): { readonly header: readonly string[]; readonly rows: readonly (readonly Scalar[])[] } {
  const isScalar = (value: unknown) => value === null || typeof value !== 'object';
  const names = [...new Set(records.flatMap((record) => Object.keys(record)))];
  const header =
    columns ?? names.filter((name) => records.every((record) => isScalar((record as Record<string, unknown>)[name])));
  const getValue = (record: object, name: string) => ((record as Record<string, unknown>)[name] ?? null) as Scalar; // a scalar as checked above, or a chosen column
  return { header, rows: records.map((record) => header.map((name) => getValue(record, name))) };
}

/** Maximum number of digits for a person. */
const DIGITS = 6;

function formatCell(value: Scalar) {
  if (typeof value === 'number')
    return alignRight(Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(DIGITS))));
  return value === null || value === undefined ? '-' : String(value).replaceAll(/\s+/g, ' ');
}
