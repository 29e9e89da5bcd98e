import { readFile } from 'node:fs/promises';
import { readEpochMs } from '#base/tracing/tracing.js';
import { Refusal } from '#domain/base/refusals.js';
import type { Calendars, UsedCalendars } from '#domain/calendars/calendar.js';
import { correctCalendars } from '#domain/calendars/exchange-calendars.js';
import type { ImportHeader } from '#domain/definition/datasets.js';
import type { DerivedActions } from '#domain/definition/mapping.js';
import type { Adjustment } from '#domain/market/market-data.js';
import { limitMemory } from '#kernels/memory/paged-memory.js';
import { countTableRows, digestContent, recountMarketRows } from '../content/content-hash.js';
import type { DividendError, MarketContent } from '../content/market-content.js';
import { prepareDuckDb } from '../formats/duckdb.js';
import type { SourceDigest } from '../formats/source-file.js';
import { findContentWarnings } from '../judge/content-warnings.js';
import { DEFAULT_TERMS, type MarketInterpretation } from '../mapping/mapped-content.js';
import { createGrowingDigests, type GrowingDigests } from '../panels/hashing.js';
import type { DayFollower } from '../panels/scattering.js';
import { createOutgoingMarket, isFull } from '../panels/market-transfer.js';
import type { ImportResponse } from '../read/import.js';
import { readSource } from '../read/read-source.js';
import type { SourceResult } from '../read/source-read.js';
import { createProblems, formatReason, type Problems } from '../tables/problems.js';
import type { TableKind } from '../tables/table-kinds.js';
import { openCalendars } from './calendar-files.js';
import type { MarketTaskReport, MarketTaskRequest, SqlInputs } from './market-tasks.js';
import type { FreeProcess } from './process-pool.js';

prepareDuckDb();

/** Resident memory above which a process ends after its task. Its memory then returns to the operating system. */
const REUSED_BYTES_MAX = 192 * 2 ** 20;

/** True while a task runs. */
let isRunning = false;

/**
 * Entry point of the process that `runMarketTask` starts. It receives one request, sends reports, and then waits for
 * the next request or ends.
 */
waitForTask();

function waitForTask(): void {
  process.once('message', (request: MarketTaskRequest) => {
    isRunning = true;
    const startMs = readEpochMs();
    const finished = run(request).finally(() => (isRunning = false));
    void finished.then(
      async (outcome) => {
        await report({ ...outcome, timing: { startMs, endMs: readEpochMs(), pid: process.pid } });
        if (process.memoryUsage.rss() > REUSED_BYTES_MAX) return process.disconnect();
        prepareDuckDb(); // a new database, because that of the task is restricted to its files
        waitForTask();
        await report({ kind: 'free' });
      },
      async (error: unknown) => {
        await report(createFailureReport(error));
        process.disconnect();
      },
    );
  });
}

// Ends this process when the parent process has ended, because nobody receives reports. `exit` would wait for the threads
// of a running query, which may have no end.
process.once('disconnect', () => (isRunning ? process.kill(process.pid, 'SIGKILL') : process.exit(0)));

function createFailureReport(error: unknown): MarketTaskReport {
  if (error instanceof Refusal) return { kind: 'refusal', error: error.toDetail() };
  if (error instanceof WriteFault) return { kind: 'unwritten', message: error.message, isFull: isFull(error.cause) };
  if (isFull(error)) return { kind: 'unwritten', message: formatReason(error), isFull: true };
  return { kind: 'failed', message: formatReason(error) };
}

/** Thrown if the output of a task cannot be written. */
class WriteFault extends Error {
  override readonly name = 'WriteFault';
}

/** Asks how to handle an import and waits for the answer. */
const ask = (header: ImportHeader) => requestAnswer<ImportResponse>({ kind: 'question', header });

function requestAnswer<A>(question: MarketTaskReport): Promise<A> {
  const response = new Promise<A>((resolve) => {
    process.once('message', (answer: A) => resolve(answer));
  });
  void report(question);
  return response;
}

async function run(request: MarketTaskRequest): Promise<MarketTaskReport> {
  limitMemory(request.options.memory);
  const growingDigests = createGrowingDigests();
  try {
    return await runRequest(growingDigests, request);
  } finally {
    await growingDigests.end();
  }
}

function openOnDemand({ closures = {} }: UsedCalendars): Calendars {
  let opened: Calendars | undefined;
  const open = () => (opened ??= correctCalendars(openCalendars(), closures));
  return { list: () => open().list(), get: (code: string) => open().get(code) };
}

async function runRequest(growing: GrowingDigests, request: MarketTaskRequest): Promise<MarketTaskReport> {
  const calendars = openOnDemand(request.options.calendars);
  if (request.task === 'inspect') {
    const { inspect } = await import('../read/inspection.js');
    const { inspected, inspectionTerms } = request.input;
    const zones = { calendars, codes: request.options.calendars.codes };
    return { kind: 'inspected', inspection: await inspect(inspected, { ...inspectionTerms, zones }) };
  }
  if (request.task === 'query') {
    const { runQuery } = await import('./sql-query.js');
    const outcome = await runQuery(request.input, (needs) => requestAnswer<SqlInputs>({ kind: 'needs', needs }));
    return { kind: 'queried', outcome };
  }
  const problems = createProblems();
  return request.task === 'parquetLines'
    ? writeLines(request.input, problems)
    : readMarket(request, growing, { problems, calendars });
}

async function writeLines(
  { from, to }: { readonly from: string; readonly to: string },
  problems: Problems,
): Promise<MarketTaskReport> {
  const { writeParquetLines } = await import('../read/parquet.js');
  try {
    return { kind: 'lines', lines: await writeParquetLines(from, to) };
  } catch (fault) {
    if (isFull(fault)) throw fault;
    const message = `The bytes are no Parquet file that can be read: ${formatReason(fault)}.`;
    problems.error({ code: 'UNREADABLE_FILE', path: 'body', message });
    return { kind: 'refused', findings: problems.findings() };
  }
}

/** Reads or changes a market, hands its panels over, and checks its content. */
async function readMarket(
  request: ContentRequest,
  growing: GrowingDigests,
  { problems, calendars }: { readonly problems: Problems; readonly calendars: Calendars },
): Promise<MarketTaskReport> {
  const { sharedFiles } = request.options;
  const outgoingMarket =
    sharedFiles === null ? undefined : createOutgoingMarket(sharedFiles, (step) => void report(step));
  const result = await perform(
    request,
    { problems, calendars },
    {
      begin(panels) {
        outgoingMarket?.begin(panels);
        growing.begin(panels);
      },
      complete(from, to) {
        outgoingMarket?.send(from, to);
        growing.complete(from, to);
      },
      digested: growing.digested,
    },
  );
  if (result === undefined || problems.errors > 0) return { kind: 'refused', findings: problems.findings() };
  const { content, rows, rowsRead } = result;
  const transfer = async () =>
    result.isServed === false
      ? undefined
      : outgoingMarket?.finish(content).catch((cause: unknown) => {
          throw new WriteFault(`The data could not be handed over: ${formatReason(cause)}`, { cause });
        });
  // Skips the warnings for a part of a market. They would concern data that is present in the whole market.
  const isWhole = !('isPart' in request.input && request.input.isPart === true);
  const { codes, closures = {} } = result.calendars ?? request.options.calendars;
  const used = { codes, open: () => correctCalendars(openCalendars(), closures) };
  const check = async () => {
    onProgress(0.95, 'checking');
    const readWarnings = problems.findings();
    const warnings = isWhole
      ? findContentWarnings(content, { adjustment: result.adjustment, calendars: used }, problems)
      : readWarnings;
    const contentDigests = await digestContent(content, { computedBlocks: await growing.awaitBlocks() }); // the last blocks were hashed meanwhile
    return { ...contentDigests, warnings, readWarnings };
  };
  // Hashes and checks the content while the threads for file access write the rest of the transfer.
  const [, files, { hash, digests, warnings, readWarnings }] = await Promise.all([transfer(), result.files(), check()]);
  const summary = {
    contentHash: hash,
    identifiers: content.identifiers.length,
    start: content.dates[0] ?? null,
    end: content.dates.at(-1) ?? null,
    rows,
    ...(rowsRead === undefined ? {} : { rowsRead }),
    files,
    unchangedTables: result.unchangedTables ?? [],
    derived: result.derived ?? null,
    ...(result.dividendErrors === undefined ? {} : { dividendErrors: result.dividendErrors }),
    bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    warnings,
    readWarnings,
  };
  return { kind: 'done', summary, digests };
}

/** Content, with its files. The content was read from these files, or is written to them. */
interface WrittenContent {
  readonly content: MarketContent;
  readonly adjustment: Adjustment;
  readonly rows: SourceResult['rows'];
  readonly rowsRead?: SourceResult['rows'];
  readonly unchangedTables?: readonly TableKind[];
  readonly derived?: DerivedActions | null;
  readonly dividendErrors?: readonly DividendError[];
  readonly files: () => Promise<readonly SourceDigest[]>;
  readonly isServed?: boolean;
  /** Calendars of the indices that use the store, if they were not known at the start of the task. */
  readonly calendars?: UsedCalendars;
}

type ContentRequest = Exclude<MarketTaskRequest, { readonly task: 'inspect' | 'query' | 'parquetLines' }>;

async function perform(
  { task, input, options }: ContentRequest,
  { problems, calendars }: { readonly problems: Problems; readonly calendars: Calendars },
  follower: DayFollower,
): Promise<WrittenContent | undefined> {
  // Loads modules that are not needed for reading files on demand, because the first load of a store waits for the
  // start of this process.
  const writeText = (folder: string, content: MarketContent) => async () =>
    (await import('../content/managed-folder.js'))
      .writeMarket(folder, content, (fraction) => onProgress(0.6 + 0.3 * fraction, 'writing'))
      .catch((cause: unknown) => {
        throw new WriteFault(`The data could not be written: ${formatReason(cause)}`, { cause });
      });
  switch (task) {
    case 'readFiles': {
      const sourceResult = await readSource(
        input.files,
        problems,
        (fraction, message) => onProgress(0.9 * fraction, message),
        { ...input, terms: { ...DEFAULT_TERMS, ...input.terms, calendars }, follower },
      );
      return sourceResult && createWrittenContent(sourceResult, input.terms);
    }
    case 'readDatabase': {
      const { readDatabase } = await import('../read/databases.js');
      const sourceResult = await readDatabase(
        input.place,
        input.tables,
        problems,
        (fraction, message) => onProgress(0.9 * fraction, message),
        { ...input, terms: { ...DEFAULT_TERMS, ...input.terms, calendars }, follower },
      );
      return sourceResult && createWrittenContent(sourceResult, input.terms);
    }
    case 'importBody': {
      const { performImport } = await import('../read/import.js');
      const result = await performImport(await readFile(options.bodyFile!), { problems, calendars }, ask);
      return result && { ...result, files: writeText(result.folder, result.content) };
    }
    case 'importTable': {
      const { importTable } = await import('../read/import.js');
      const terms = { ...input.terms, calendars };
      const result = await importTable({ ...input, terms }, problems, (fraction) =>
        onProgress(0.6 * fraction, 'reading'),
      );
      return result && { ...result, files: writeText(result.folder, result.content) };
    }
    case 'generate': {
      const { generateMarket } = await import('../synthetic/generate-market.js');
      const content = generateMarket(input.spec, (fraction) => onProgress(0.6 * fraction, 'drawing prices'));
      return { content, adjustment: 'none', rows: countTableRows(content), files: writeText(input.folder, content) };
    }
  }
}

const createWrittenContent = (
  read: SourceResult,
  { mapping, adjustment }: MarketInterpretation = DEFAULT_TERMS,
): WrittenContent => ({ ...recountMarketRows(read, mapping), adjustment, files: async () => read.files });

function onProgress(fraction: number, message: string): void {
  void report({ kind: 'progress', fraction, message });
}

function report(message: MarketTaskReport | FreeProcess): Promise<void> {
  return new Promise((resolve) => {
    if (process.send === undefined || !process.connected) resolve();
    else process.send(message, () => resolve());
  });
}
