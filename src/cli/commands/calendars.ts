import { readdirSync, writeFileSync, readFileSync } from 'node:fs';
import { basename, join, extname } from 'node:path';
import { parseArgs } from 'node:util';
import { type Day, formatDay, parseDay } from '#domain/base/time.js';
import {
  AliasFile,
  compareSessions,
  type Corrections,
  correctReference,
  createCalendarFileName,
  type ExchangeCalendars,
  indexCalendars,
  parseCorrections,
  parseSessionReference,
  readSessionReference,
  RuleFile,
  type SessionComparison,
  type SessionReference,
  type YearDifference,
} from '#domain/calendars/exchange-calendars.js';
import { CALENDAR_FOLDER, openCalendars, readCalendarFile } from '#market/serve/calendar-files.js';
import { alignRight, formatTable } from '../terminal.js';
import { readFirstSentence, UsageError } from '../usage.js';

export const CALENDARS_HELP = `divisor calendars list [--folder FOLDER]
divisor calendars check REFERENCE [--corrections FILE] [--confidence high,...] [--from YYYY-MM-DD] [--to YYYY-MM-DD] [--folder FOLDER]
divisor calendars index [--folder FOLDER]

list   Lists every accepted code with its name, time zone, coverage and sources.
check  Compares the calendars with a folder of reference files over the days that both cover, and prints the differences by calendar
       and year. - marks a session that only the reference has, and + marks a session that only the calendar has. The exit status is 1
       if there are differences. A reference is JSON with code and sessions, JSON with code, range, weekmask, holidays and
       special_sessions, or a CSV file with a column date.
index  Writes index.json again from the rule files and the aliases. Use it after you have edited one of them.

  --corrections  Changes to the reference: JSON by code, entries with close, open and confidence.
  --confidence   Confidences of the corrections to apply. Default: high.
  --from, --to   Compare only these days.
  --folder       Folder of rule files. Default: the folder of this package.
`;

const OPTIONS = {
  folder: { type: 'string', default: CALENDAR_FOLDER },
  corrections: { type: 'string' },
  confidence: { type: 'string', default: 'high' },
  from: { type: 'string' },
  to: { type: 'string' },
} as const;

const EXIT_DIFFERENCES = 1;

/** Runs `divisor calendars`: lists the calendars, compares them with a reference, or rebuilds their index. */
export function runCalendars(argv: readonly string[]): number {
  const { values, positionals } = parseArguments(argv);
  const [verb, ...words] = positionals;
  if (verb === 'list' && words.length === 0) return listCalendars(openCalendars(values.folder));
  if (verb === 'index' && words.length === 0) return writeIndex(values.folder);
  const [reference] = words;
  if (verb === 'check' && reference !== undefined && words.length === 1) return checkCalendars(reference, values);
  throw new UsageError(`The calendar commands are\n\n${CALENDARS_HELP}`);
}

function parseArguments(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: OPTIONS, strict: true, allowPositionals: true });
  } catch (failure) {
    throw new UsageError(`${readFirstSentence(failure, Object.keys(OPTIONS))}\n\n${CALENDARS_HELP}`, {
      cause: failure,
    });
  }
}

function listCalendars(calendars: ExchangeCalendars): number {
  const rows = calendars
    .list()
    .map(({ code, name, tz, coverage, sources = [] }) => [
      code,
      name,
      tz,
      formatDay(coverage.from),
      formatDay(coverage.publishedTo),
      formatDay(coverage.to),
      sources.join('; '),
    ]);
  process.stdout.write(
    formatTable([['code', 'name', 'time zone', 'from', 'published to', 'to', 'sources'], ...rows], 0),
  );
  return 0;
}

interface CheckOptions {
  readonly folder: string;
  readonly corrections?: string | undefined;
  readonly confidence: string;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

function checkCalendars(folder: string, options: CheckOptions): number {
  const exchangeCalendars = openCalendars(options.folder);
  const corrections = options.corrections === undefined ? {} : loadCorrections(options.corrections);
  const window = { from: parseBound(options.from, '--from', -Infinity), to: parseBound(options.to, '--to', Infinity) };
  const comparisons: SessionComparison[] = [];
  const unknownCodes: string[] = [];
  for (const reference of loadReferences(folder)) {
    const calendar = exchangeCalendars.get(reference.code);
    const correctedReference = correctReference(reference, corrections, options.confidence.split(','));
    const windowReference = {
      ...correctedReference,
      from: Math.max(reference.from, window.from),
      to: Math.min(reference.to, window.to),
    };
    if (calendar === undefined) unknownCodes.push(reference.code);
    else comparisons.push(compareSessions(calendar, windowReference));
  }
  process.stdout.write(formatReport(comparisons, unknownCodes));
  return comparisons.some(({ years }) => years.length > 0) ? EXIT_DIFFERENCES : 0;
}

function loadReferences(folder: string): SessionReference[] {
  try {
    return readReferences(folder);
  } catch (failure) {
    throw new UsageError(`The folder ${folder} cannot be used as a reference: ${(failure as Error).message}.`, {
      cause: failure,
    });
  }
}

function loadCorrections(file: string): Corrections {
  try {
    return readCorrections(file);
  } catch (failure) {
    throw new UsageError(`${file} contains no corrections: ${(failure as Error).message}`, { cause: failure });
  }
}

function parseBound(text: string | undefined, flag: string, openBound: number): number {
  if (text === undefined) return openBound;
  const day = parseDay(text);
  if (day === undefined) throw new UsageError(`${flag} must be a day, YYYY-MM-DD, not ${text}.`);
  return day;
}

function formatReport(comparisons: readonly SessionComparison[], unknownCodes: readonly string[]): string {
  const differenceRows = comparisons.flatMap(({ code, years }) => years.map((year) => formatRow(code, year)));
  const overlaps = comparisons.filter(({ from, to }) => from <= to);
  const days = comparisons
    .flatMap(({ years }) => years)
    .reduce((count, { missing, extra }) => count + missing.length + extra.length, 0);
  const laterCodes = comparisons.filter(({ from, to }) => from > to).map(({ code }) => code);
  return [
    differenceRows.length > 0 ? formatTable([['code', 'year', 'differences'], ...differenceRows], 0) : '',
    `${overlaps.length} calendars compared, ${days} ${days === 1 ? 'day differs' : 'days differ'}.\n`,
    laterCodes.length > 0 ? `No common days: ${laterCodes.join(', ')}.\n` : '',
    unknownCodes.length > 0 ? `No calendar for: ${unknownCodes.join(', ')}.\n` : '',
  ].join('');
}

function formatRow(code: string, { year, missing, extra }: YearDifference) {
  const signedDays = [...missing.map((day) => ({ day, sign: '-' })), ...extra.map((day) => ({ day, sign: '+' }))];
  const texts = signedDays
    .toSorted((a, b) => a.day - b.day)
    .map(({ day, sign }: { day: Day; sign: string }) => `${sign}${formatDay(day).slice(5)}`);
  return [code, alignRight(String(year)), texts.join(' ')];
}

const FILES_WITHOUT_RULES = new Set(['index.json', 'aliases.json', 'dates.json']);

function writeIndex(folder: string): number {
  const names = readdirSync(folder).filter((name) => name.endsWith('.json') && !FILES_WITHOUT_RULES.has(name));
  const files = names.map((name) => RuleFile.parse(readCalendarFile(folder, basename(name, '.json'))));
  const misnamedFile = files.find((file, i) => `${createCalendarFileName(file.code)}.json` !== names[i]);
  if (misnamedFile !== undefined)
    throw new Error(`the rules of ${misnamedFile.code} must be in ${createCalendarFileName(misnamedFile.code)}.json`);
  const index = indexCalendars(files, AliasFile.parse(readCalendarFile(folder, 'aliases')));
  const targetPath = join(folder, 'index.json');
  writeFileSync(targetPath, `[\n${index.map((entry) => `  ${JSON.stringify(entry)}`).join(',\n')}\n]\n`);
  process.stdout.write(`${index.length} codes written to ${targetPath}.\n`);
  return 0;
}

/**
 * Reads the references of a folder, one per JSON or CSV file, in order of file names. The code of a CSV file is its
 * name.
 * @throws if a file is not a valid session reference
 */
export function readReferences(folder: string): SessionReference[] {
  const files = readdirSync(folder).filter((name) => ['.json', '.csv'].includes(extname(name)));
  return files.toSorted().map((name) => {
    const text = readFileSync(join(folder, name), 'utf8');
    try {
      return extname(name) === '.csv'
        ? parseSessionReference(basename(name, '.csv'), text)
        : readSessionReference(JSON.parse(text));
    } catch (cause) {
      throw new Error(`${name} is not a reference of sessions: ${(cause as Error).message}`, { cause });
    }
  });
}

/** Reads the corrections of calendars. @throws if the file contains no valid corrections */
export function readCorrections(file: string): Corrections {
  return parseCorrections(JSON.parse(readFileSync(file, 'utf8')));
}
