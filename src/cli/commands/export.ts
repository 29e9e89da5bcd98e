import { extname } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { suggestName } from '#base/nearest-name.js';
import type { DivisorClient } from '#clients/typescript/divisor.js';
import {
  EXPORT_FORMATS,
  EXPORT_NAMES,
  type ExportFormat,
  EXPORTS,
  type ExportTableName,
  FORMAT_NAMES,
} from '#domain/outputs/exports.js';
import { formatTable as tableText, writeWhole } from '../terminal.js';
import { UsageError } from '../usage.js';
import { RUN } from './analytics.js';
import { type FlagValues, type Grammar, readCommandLine } from './command-line.js';
import { CONNECTION_HELP, EXIT, runWithService } from './connection.js';
import { AS_KNOWN_FLAGS } from './job-command.js';

export const EXPORT_GRAMMAR: Required<Grammar> = {
  words: [{ name: 'TABLE', help: EXPORT_NAMES.join(', '), choices: EXPORT_NAMES }],
  flags: {
    index: { value: 'ID', help: 'Index or strategy of the exported run.' },
    ...RUN,
    'as-known-on': AS_KNOWN_FLAGS['as-known-on'],
    start: { value: 'DATE', help: 'First date. Default: the first date of the run.' },
    end: { value: 'DATE', help: 'Last date. Default: the last date of the run.' },
    date: {
      value: 'DATE',
      help: 'Session of the closing, opening and proforma tables. Default: the last session of the run.',
    },
    by: {
      value: 'COLUMN',
      help: 'Reference column of the groups of exposures (default: SECTOR) or of the issuers of limits and breaches (ISSUER).',
    },
    format: {
      value: 'FORMAT',
      choices: FORMAT_NAMES,
      help: `${FORMAT_NAMES.join(', ')}; default: the extension of --out, otherwise csv.`,
    },
  },
};

export const EXPORT_HELP = [
  'divisor export: Write a table of a run, over its whole history, as a file.\n',
  'Usage: divisor export TABLE --index ID [flags]\n',
  `Tables\n${tableText(EXPORT_NAMES.map((name) => [name, EXPORTS[name].help]))}`,
  `Flags\n${tableText([
    ...Object.entries(EXPORT_GRAMMAR.flags).map(([flag, { value, help }]) => [`--${flag} ${value!}`, help]),
    ['--out FILE', 'File to write; it appears only when it is complete. Default: standard output.'],
    ['--json', 'Report the written file as JSON, the default on a pipe.'],
    ...CONNECTION_HELP.map((row) => [...row]),
  ])}`,
  `Examples\n${tableText([['divisor export weights --index CORE-100 --out weights.csv'], ['divisor export trades --index CORE-100 --start 2024-01-01 | xsv stats']])}`,
].join('\n');

/**
 * Runs `divisor export`: writes a table of a stored run to a file or to standard output. Resolves with the exit
 * status.
 */
export async function exportTable(argv: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const { words, flags, common } = readCommandLine('export', EXPORT_GRAMMAR, argv);
  const { out } = common;
  const request = parseRequest(words[0]!, flags, out);
  return runWithService(common, environment, async (client) => {
    const { bytes, stale } = await requestTable(client, request);
    if (stale !== null)
      process.stderr.write(
        `divisor: the run of ${request.indexId} is not current: ${stale}. Run the backtest again.\n`,
      );
    if (out === undefined) {
      await pipeline(Readable.from(bytes), process.stdout, { end: false });
      return EXIT.done;
    }
    const isWritten = await writeWhole(out, bytes);
    const isPipe = common.json || !process.stdout.isTTY;
    process.stdout.write(
      isPipe
        ? `${JSON.stringify({ event: 'result', out, table: request.table, bytes: isWritten })}\n`
        : `${out}: ${(isWritten / 1e6).toFixed(1)} MB of ${request.table}\n`,
    );
    return EXIT.done;
  });
}

const TEXT_FORMATS: ReadonlySet<ExportFormat> = new Set(['csv', 'json']);

interface ExportOrder {
  readonly table: ExportTableName;
  readonly indexId: string;
  readonly format: ExportFormat;
  readonly run_id: string | undefined;
  readonly as_known_on: string | undefined;
  readonly start: string | undefined;
  readonly end: string | undefined;
  readonly by: string | undefined;
  readonly date: string | undefined;
}

function parseRequest(word: string, flags: FlagValues, outPath: string | undefined): ExportOrder {
  const table = EXPORT_NAMES.find((name) => name === word);
  if (table === undefined)
    throw new UsageError(
      `there is no table ${word}.${suggestName(word, EXPORT_NAMES) || ` The tables are ${EXPORT_NAMES.join(', ')}.`}`,
    );
  const indexId = flags.text('index');
  if (indexId === undefined) throw new UsageError('divisor export requires --index ID. See divisor export --help');
  const format = flags.text<ExportFormat>('format') ?? (outPath === undefined ? 'csv' : requireFormat(outPath));
  if (outPath !== undefined) assertEnding(outPath, format);
  if (outPath === undefined && !TEXT_FORMATS.has(format) && process.stdout.isTTY)
    throw new UsageError(`${format} is not a text format for a terminal: write a file with --out`);
  return {
    table,
    indexId,
    format,
    run_id: flags.text('run-id'),
    as_known_on: flags.text('as-known-on'),
    start: flags.text('start'),
    end: flags.text('end'),
    by: flags.text('by'),
    date: flags.text('date'),
  };
}

/** Returns the format of a file by its extension. Returns undefined if the extension names no format. */
function parseExtension(outPath: string): ExportFormat | undefined {
  const extension = extname(outPath).slice(1).toLowerCase();
  return FORMAT_NAMES.find((name) => EXPORT_FORMATS[name].extension === extension);
}

/** Checks that the extension of a file fits the format. @throws UsageError if the extension names another format */
function assertEnding(outPath: string, format: ExportFormat): void {
  const formatName = parseExtension(outPath) ?? format;
  if (formatName !== format)
    throw new UsageError(`--format is ${format}, but the extension of ${outPath} means the format ${formatName}`);
}

/** Returns the format of a file by its extension. @throws UsageError if the extension names no format */
function requireFormat(outPath: string): ExportFormat {
  const format = parseExtension(outPath);
  if (format !== undefined) return format;
  const endingsText = FORMAT_NAMES.map((name) => `.${EXPORT_FORMATS[name].extension}`).join(', ');
  throw new UsageError(`the extension of ${outPath} is not a known format; use ${endingsText}, or --format`);
}

async function requestTable(
  client: DivisorClient,
  { table, indexId, format, ...cut }: ExportOrder,
): Promise<{ readonly bytes: AsyncGenerator<Uint8Array>; readonly stale: string | null }> {
  const { headers, bytes } = await client.stream('exportRun', EXPORT_FORMATS[format].media, {
    params: { index_id: indexId, table },
    query: { format, ...cut },
  });
  return { bytes, stale: headers.get('x-run-stale') };
}
