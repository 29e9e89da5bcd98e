import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { computeRun } from '#domain/backtest/run-backtest.js';
import { findLevelsDifference } from '#domain/backtest/run-file/compare.js';
import { readRebalances, readRecord, type RunColumns } from '#domain/backtest/run-file/columns.js';
import { summariseRun } from '#domain/backtest/summary.js';
import { LIMITS } from '#domain/base/limits.js';
import { locateParts } from '#domain/base/numbers.js';
import { Refusal } from '#domain/base/refusals.js';
import { listClosures } from '#domain/calendars/calendar.js';
import { createIndexDeciders } from '#domain/optimisation/derived-index.js';
import { explainDifference, readOutsideLevels } from '#domain/studies/differences.js';
import { compareReturns } from '#domain/studies/outside-levels.js';
import { formatDay, parseValidDay } from '#domain/base/time.js';
import { resolveTreatment } from '#domain/definition/treatment.js';
import type { Task } from '#jobs/tasks/catalogue.js';
import type { OverviewFile, RowEntry, RowsFile, RunTextInput, StoredText } from '#jobs/tasks/runs.js';
import { createClosesView } from '#views/closes.js';
import { upgradeRecord, writeRecord, encodeOverview, upgradeResult, writeResult } from '#views/json/record.js';
import { createJsonSinkWriter, createJsonWriter, type JsonWriter } from '#views/json/writer.js';
import {
  openCachedCalendars,
  openCachedMarket,
  openEarlierContents,
  openModels,
  readJson,
  readPlan,
  readStored,
  runOnEngine,
} from '../input/inputs.js';
import { answerBytes, copyOutput, writeOutputs, writeRowsInBlocks, writeTextFile } from '../output/task-outputs.js';
import { hashFile, useRunFile } from '../run-files.js';

/** Counts and lists the rows of a job that was computed in parts. Writes its result as JSON, and its rows in blocks. */
export const sumRows: Task<'sum-rows'> = async ({ kind, id, total, outcomes, engineVersion, files, outputs }) => {
  const entriesByFile = files.map(readEntries);
  const rows = locateParts(files).first.flatMap(({ output, at }) => entriesByFile[output]![at]!.map(({ row }) => row));
  const counts = outcomes.map((outcome) => [outcome, rows.filter((row) => row.outcome === outcome).length]);
  const json = createJsonWriter();
  json.value({
    [`${kind}_id`]: id,
    [total]: rows.length,
    ...Object.fromEntries(counts),
    rows: rows.slice(0, LIMITS.MAX_SWEEP_RESULT_ROWS),
    engine_version: engineVersion,
  });
  const blocks = writeRowsInBlocks(rows.length, (i) => rows[i]);
  const outputRefs = await writeOutputs(outputs, {
    view: copyOutput(json.bytes()),
    rows: copyOutput(blocks.bytes),
  });
  return { view: outputRefs.view, rows: { artifact: outputRefs.rows, ...blocks.index } };
};

function readEntries({ path, sha256 }: RowsFile): readonly (readonly RowEntry[])[] {
  const bytes = readFileSync(path);
  if (createHash('sha256').update(bytes).digest('hex') !== sha256)
    throw new Refusal('DOCUMENT_UNREADABLE', 'Results of some parts are damaged: run the job again.');
  return JSON.parse(bytes.toString()) as RowEntry[][]; // the parts wrote these entries
}

export const compareRunLevels: Task<'compare-levels'> = ({ from, to }) => {
  const getLevels = (columns: string) =>
    useRunFile(columns, (run) => ({ days: run.i32('days').slice(), level: run.f64('level').slice() }));
  const [before, after] = [getLevels(from), getLevels(to)];
  const getTotalReturn = ({ level }: { readonly level: Float64Array }): number => level.at(-1)! / level[0]! - 1;
  return { ...findLevelsDifference(before, after), totalReturns: [getTotalReturn(before), getTotalReturn(after)] };
};

/** Computes the total return of a run that is not stored. */
export const computeTotalReturn: Task<'total-return'> = ({ market: handle, plan, models, known }, control) =>
  runOnEngine((engine) => {
    const market = openCachedMarket(handle);
    const { level } = computeRun({
      market,
      calendars: openCachedCalendars(listClosures(plan.documents)),
      plan,
      ...(models === undefined ? {} : { models: openModels(models) }),
      ...openEarlierContents(market, known),
      createDecider: createIndexDeciders(engine),
      engine,
      report: (fraction) => control.report(fraction, 'running again'),
    });
    return { totalReturn: level.at(-1)! / level[0]! - 1 };
  });

/** Explains the differences between a run and levels from outside. */
export const explainDifferences: Task<'differences'> = ({ market: handle, plan, models, columns, question }, control) =>
  runOnEngine((engine) => {
    const market = openCachedMarket(handle);
    const { documents, indexId, request } = plan;
    const lastDay = market.dates.at(-1)!;
    const outside = readOutsideLevels(question, market);
    const difference = explainDifference({
      terms: {
        market,
        documents,
        indexId,
        calendars: openCachedCalendars(listClosures(documents)),
        ...(models === undefined ? {} : { models: openModels(models) }),
        createDecider: createIndexDeciders(engine),
        end: request.end == null ? lastDay : Math.min(lastDay, parseValidDay(request.end)),
      },
      outside,
      decimals: question.decimals,
      variant: question.variant,
      currency: question.currency,
      ownVariant: resolveTreatment(documents[indexId]!, (id) => documents[id])!.dividends, // a plan has every document that it refers to
      causesMax: question.causes_max,
      known: question.known,
      compositions: question.compositions ?? [],
      report: (fraction, message) => control.report(fraction, message),
    });
    const [first, last] = [outside.days[0]!, outside.days.at(-1)!]; // an explanation has common sessions
    const name = question.name ?? question.series ?? null;
    const facts = { name, count: outside.days.length, first: formatDay(first), last: formatDay(last) };
    const { decimals, reproduced } = difference;
    const { sentence, ...returns } = useRunFile(columns, (run) =>
      compareReturns({ days: run.i32('indexDays'), levels: run.f64('indexLevel') }, { ...outside, decimals }),
    );
    return {
      outside: facts,
      ...difference,
      returns: sentence === undefined || reproduced ? returns : { ...returns, sentence },
    };
  });

export const readRunLevelsTask: Task<'run-levels'> = ({ columns }) =>
  useRunFile(columns, (run) => ({
    calendar: run.header.calendar,
    days: run.i32('indexDays'),
    levels: run.f64('indexLevel'),
  }));

export const readRunCloses: Task<'run-closes'> = ({ columns, through }) =>
  useRunFile(columns, (run) => createClosesView(run, through === undefined ? undefined : parseValidDay(through)));

/** Writes the record or the result of a stored run as JSON. */
export const readRunText: Task<'run-text'> = async (input) => {
  const json = createJsonWriter();
  writeText(json, input);
  return answerBytes(json.bytes());
};

/**
 * Writes the record or the result of a stored run as a file. Only a part of it is in memory at a time, except for a
 * text that an earlier version stored.
 */
export const writeRunText: Task<'write-run-text'> = async ({ path, ...input }) =>
  writeTextFile(path, (sink) => {
    const json = createJsonSinkWriter(sink);
    writeText(json, input);
    json.end();
  });

function writeText(json: JsonWriter, input: RunTextInput): void {
  if ('stored' in input) {
    writeStored(json, input);
    return;
  }
  const { columns, files, stamp } = input;
  if (files.some(({ path, sha256 }) => hashFile(path) !== sha256))
    throw new Refusal(
      'DOCUMENT_UNREADABLE',
      'The stored run cannot be read: its file is missing or its content has changed.',
    );
  useRunFile(columns, (run) => {
    if (input.text === 'record') writeRecord(json, readRecord(run), stamp);
    else writeResult(json, { stamp, run: summariseRun(run, readPlan(input.plan)), rebalances: readRebalances(run) });
  });
}

/** Writes a text that an earlier version stored. Adds the members that texts have today. */
function writeStored(json: JsonWriter, { text, stored }: { readonly stored: StoredText } & Pick<RunTextInput, 'text'>) {
  const { inset } = stored;
  if (text === 'record') json.value(upgradeRecord(readJson(stored)));
  else if (inset === undefined) json.value(upgradeResult(readJson(stored)));
  else {
    const resultBytes = readStored(stored);
    json.token(resultBytes.subarray(0, inset.at));
    json.token(readStored(inset));
    json.token(resultBytes.subarray(inset.at));
  }
}

/** Writes the overview of a stored run as JSON. @throws Refusal DOCUMENT_UNREADABLE */
export function formatOverview(run: RunColumns, overview: OverviewFile): Uint8Array<ArrayBuffer> {
  return 'plan' in overview ? encodeOverview(summariseRun(run, readPlan(overview.plan))) : readStored(overview.stored);
}
