import { extname } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { suggestName } from '#base/nearest-name.js';
import { type DivisorClient, DivisorError } from '#clients/typescript/divisor.js';
import { SQL_FORMATS, type SqlFormat, type SqlResult } from '#contract/sql.js';
import { EXPORT_FORMATS, SQL_VIEWS } from '#domain/outputs/exports.js';
import { alignRight, formatTable, writeWhole } from '../terminal.js';
import { UsageError } from '../usage.js';
import { type Grammar, hasWords, readCommandLine, readStandardInput } from './command-line.js';
import { CONNECTION_HELP, EXIT, runWithService } from './connection.js';

const FLAGS: Required<Grammar>['flags'] = {
  format: {
    value: 'FORMAT',
    choices: SQL_FORMATS,
    help: `${SQL_FORMATS.join(', ')}; default: the extension of --out, otherwise a table on a terminal and csv elsewhere.`,
  },
};

export const SQL_GRAMMAR: Required<Grammar> = {
  words: [{ name: 'QUERY', help: 'One SELECT statement; - reads it from standard input.' }],
  flags: FLAGS,
};

export const SQL_HELP = [
  'divisor sql: Query runs, prices and reference data by SQL.\n',
  'Usage: divisor sql [QUERY] [flags]\n',
  `Without QUERY a shell reads statements, each ended by a semicolon.\n`,
  `Views\n${formatTable(Object.entries(SQL_VIEWS).map(([name, { help }]) => [name, help]))}`,
  `Flags\n${formatTable([
    ...Object.entries(FLAGS).map(([flag, { value, help }]) => [`--${flag} ${value!}`, help]),
    ['--out FILE', 'File to write; it appears only when it is complete. Default: standard output.'],
    ['--json', 'Same as --format json.'],
    ['--csv', 'Same as --format csv.'],
    ...CONNECTION_HELP.map((row) => [...row]),
  ])}`,
  `Examples\n${formatTable([
    [`divisor sql "SELECT * FROM levels WHERE index_id = 'CORE-100' ORDER BY date DESC LIMIT 5"`],
    [`divisor sql - --out drifts.parquet < drifts.sql`],
  ])}`,
].join('\n');

/** Runs `divisor sql`: answers one query, or starts a shell. Resolves with the exit status. */
export async function runSql(argv: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const isShell = !hasWords('sql', SQL_GRAMMAR, argv);
  const { words, flags, common } = readCommandLine('sql', isShell ? { words: [], flags: FLAGS } : SQL_GRAMMAR, argv);
  const chosenFormat = flags.text<SqlFormat>('format') ?? (common.json ? 'json' : common.csv ? 'csv' : undefined);
  const { out } = common;
  if (isShell && (out !== undefined || !process.stdin.isTTY))
    throw new UsageError('divisor sql requires QUERY, or - for standard input. See divisor sql --help');
  const format = chosenFormat ?? (out === undefined ? undefined : detectFormat(out));
  const query = words[0] === '-' ? await readStandardInput() : words[0];
  return runWithService(common, environment, async (client) => {
    if (query === undefined) return runShell(client);
    if (format === undefined && process.stdout.isTTY) {
      process.stdout.write(await formatResult(client, query));
      return EXIT.done;
    }
    const resultFormat = format ?? 'csv';
    if (out === undefined && process.stdout.isTTY && (resultFormat === 'arrow' || resultFormat === 'parquet'))
      throw new UsageError(`${resultFormat} is not a text format for a terminal: write a file with --out`);
    const { headers, bytes } = await client.stream('runSql', EXPORT_FORMATS[resultFormat].media, {
      body: { query, format: resultFormat },
    });
    if (headers.get('x-truncated') === 'true')
      process.stderr.write(`divisor: the result is truncated after ${headers.get('x-rows')} rows.\n`);
    if (out === undefined) await pipeline(Readable.from(bytes), process.stdout, { end: false });
    else await writeWhole(out, bytes);
    return EXIT.done;
  });
}

/** Returns the result format of a file by its extension. @throws UsageError if the extension names no result format */
function detectFormat(outPath: string): SqlFormat {
  const extension = extname(outPath).slice(1).toLowerCase();
  const format = SQL_FORMATS.find((name) => EXPORT_FORMATS[name].extension === extension);
  if (format !== undefined) return format;
  const endings = SQL_FORMATS.map((name) => EXPORT_FORMATS[name].extension);
  const suggestion = suggestName(extension, endings) || ` Extensions are .${endings.join(', .')}.`;
  throw new UsageError(`the extension of ${outPath} is not a known result format.${suggestion}`);
}

/** Maximum number of rows in a table on a terminal. A file gets all rows. */
const LISTED_ROWS_MAX = 200;

async function formatResult(client: DivisorClient, query: string): Promise<string> {
  const result = (await client.call('runSql', { body: { query } })) as SqlResult;
  const { columns, data, rows, truncated } = result;
  const cells = data.slice(0, LISTED_ROWS_MAX).map((row) =>
    row.map((cell, column) => {
      const text = cell === null ? '' : String(cell);
      return columns[column]!.type === 'number' || columns[column]!.type === 'count' ? alignRight(text) : text;
    }),
  );
  const omissionNote =
    rows > LISTED_ROWS_MAX ? `, of which the first ${LISTED_ROWS_MAX} are shown; --out FILE writes all` : '';
  const truncationNote = truncated ? ', truncated at the limit' : '';
  return `${formatTable([columns.map(({ name }) => name), ...cells])}${rows} ${rows === 1 ? 'row' : 'rows'}${omissionNote}${truncationNote}\n`;
}

/** Inputs with which people leave the SQL shells of other databases. */
const EXIT_INPUT = /^[.\\]?(?:exit|quit|q) ?;?$/i;

/**
 * Reads statements and prints their results until the input ends. A statement ends with a semicolon at the end of a
 * line.
 */
async function runShell(client: DivisorClient): Promise<number> {
  const lines = createInterface({ input: process.stdin, output: process.stdout, historySize: 500 });
  process.stdout.write(
    `Views: ${Object.keys(SQL_VIEWS).join(', ')}. A statement ends with ;. Ctrl-D or exit ends the shell.\n`,
  );
  let statement = '';
  lines.setPrompt('divisor> ');
  lines.prompt();
  for await (const line of lines) {
    if (statement === '' && EXIT_INPUT.test(line.trim())) break;
    statement += `${line}\n`;
    if (statement.trim() === '') statement = '';
    if (line.trimEnd().endsWith(';')) {
      process.stdout.write(await formatResult(client, statement).catch(formatMessage));
      statement = '';
    }
    lines.setPrompt(statement === '' ? 'divisor> ' : '    ...> ');
    lines.prompt();
  }
  process.stdin.unref(); // The terminal stays open, so it must not keep the process alive.
  process.stdout.write('\n');
  return EXIT.done;
}

/** Returns the message of a failed statement. The shell continues afterwards. */
function formatMessage(failure: unknown): string {
  if (!(failure instanceof DivisorError)) throw failure;
  const messages = failure.findings.map(({ message }) => message);
  return `${messages.length > 0 ? messages.join('\n') : failure.message}\n`;
}
