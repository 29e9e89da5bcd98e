import { toCivilDate, type Day } from '../time/days.js';

/** Placeholders of a file name pattern: `{index}`, `{table}`, `{schedule}` and `{date}` or `{date:FORMAT}`. */
const PLACEHOLDER = /\{(index|table|schedule|date)(?::([^{}]+))?\}/g;
/**
 * Matches a date format. `YYYY` is matched as `YY` twice: with a separate alternative, the time to reject a text would
 * grow exponentially.
 */
const DATE_FORMAT = /^(?:YY|MM|DD|[-_.])+$/;

/** File names that every file system and every SFTP server accepts. */
const NAME = /^[A-Za-z0-9._-]{1,200}$/;

/** Returns the reason why a pattern is refused. Returns undefined if it is valid. */
export function checkPattern(pattern: string): string | undefined {
  const problem = describeFormatProblem(pattern);
  if (problem !== undefined) return problem;
  if (isName(pattern)) return undefined;
  return 'a file name consists of letters, digits, dots, dashes, underscores and the placeholders {index}, {table}, {schedule} and {date:YYYYMMDD}';
}

/**
 * Returns the reason why a path pattern is refused. Returns undefined if it is valid. A path pattern consists of
 * folders and a name with placeholders, including {file} and {client}.
 */
export function checkPathPattern(pattern: string): string | undefined {
  const problem = describeFormatProblem(pattern);
  if (problem !== undefined) return problem;
  if (
    pattern
      .replaceAll(/\{(?:file|client)\}/g, 'X')
      .split('/')
      .every(isName)
  )
    return undefined;
  return 'is not a valid pattern: a path consists of names between slashes, with letters, digits, dots, dashes, underscores and the placeholders {file}, {client}, {index}, {table}, {schedule} and {date:YYYYMMDD}';
}

function isName(pattern: string): boolean {
  const sample = pattern.replaceAll(PLACEHOLDER, 'X');
  return NAME.test(sample) && !sample.startsWith('.');
}

function describeFormatProblem(pattern: string): string | undefined {
  for (const [whole, name, format] of pattern.matchAll(PLACEHOLDER)) {
    if (format === undefined) continue;
    if (name !== 'date') return `${whole} has a format, which is accepted only for date`;
    if (!DATE_FORMAT.test(format))
      return `${whole} has an invalid format; a format consists of YYYY, YY, MM and DD with - _ or .`;
  }
  return undefined;
}

export interface FileNameTerms {
  readonly schedule: string;
  /** Index of the file; absent for a file of the whole family. */
  readonly index?: string | undefined;
  readonly table: string;
  readonly day: Day;
}

/** Returns the path of a file at a delivery target, according to a pattern. */
export function createPath(
  pattern: string,
  { file, client, ...terms }: FileNameTerms & { readonly file: string; readonly client: string },
): string {
  const pathTerms: Record<string, string> = { file, client };
  return createFileName(pattern, terms).replaceAll(/\{(file|client)\}/g, (_, name: string) => pathTerms[name]!);
}

/** Returns the name of a file according to a pattern. `{date}` without a format is `YYYY-MM-DD`. */
export function createFileName(pattern: string, { schedule, index, table, day }: FileNameTerms): string {
  const values: Record<string, string> = { schedule, table, index: index ?? schedule };
  return pattern.replaceAll(PLACEHOLDER, (_, name: string, format: string | undefined) =>
    name === 'date' ? formatDate(day, format ?? 'YYYY-MM-DD') : values[name]!,
  );
}

function formatDate(date: Day, format: string): string {
  const { year, month, day } = toCivilDate(date);
  const padTwo = (number: number): string => String(number).padStart(2, '0');
  const dateParts: Record<string, string> = {
    YYYY: String(year).padStart(4, '0'),
    YY: padTwo(year % 100),
    MM: padTwo(month),
    DD: padTwo(day),
  };
  return format.replaceAll(/YYYY|YY|MM|DD/g, (part) => dateParts[part]!);
}
