import { DataType, tableFromIPC } from 'apache-arrow';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { RunColumns } from '#domain/backtest/run-file/columns.js';
import { compareText } from '#domain/base/findings.js';
import { parseJson, toCanonicalJson } from '#domain/base/json.js';
import { findFirstAtLeast, findLastAtMost, locateParts } from '#domain/base/numbers.js';
import { Refusal } from '#domain/base/refusals.js';
import { type Day, formatDay, parseDay, parseValidDay } from '#domain/base/time.js';
import { openMarketOn, type SessionMarket } from '#domain/market/session-market.js';
import { createReturnTerms } from '#domain/market/action-effects.js';
import { computeGrowth } from '#domain/market/growth.js';
import { createMarketKey, type MarketData, type MarketHandle } from '#domain/market/market-data.js';
import { assertFiniteNumbers, countPartFigures, divideModel, EIGENVALUES_PART } from '#domain/risk/estimation.js';
import { type PackedImport, packModel } from '#domain/risk/imported-models.js';
import {
  createModelTables,
  type DatedTables,
  type ModelTable,
  type ModelTables,
  type ParsedModel,
  readModelBody,
  reportNotANumber,
} from '#domain/risk/model-tables.js';
import {
  type FactorModel,
  MODEL_TABLES,
  type ModelFileFormat,
  type ModelProblems,
  type ModelTableName,
} from '#domain/risk/model-terms.js';
import { type MatrixFiles, RiskModelRequest } from '#domain/risk/risk-models.js';
import type { ReturnWindow } from '#domain/risk/return-panel.js';
import { openPackedFactors, packFactors, packUpper } from '#domain/risk/stored-models.js';
import { validateRiskModel } from '#domain/risk/validation.js';
import type { Task } from '#jobs/tasks/catalogue.js';
import type {
  ExportRiskModelInput,
  ImportedModelOutput,
  ImportRiskModelInput,
  ModelFiguresFile,
  RiskModelSource,
  ValidateRiskModelInput,
} from '#jobs/tasks/indices.js';
import type { TaskControl } from '#jobs/tasks/messages.js';
import type { EigenvalueRange } from '#kernels/algebra/symmetric-eigen.js';
import { describeRange, type EstimateStage } from '#kernels/moments/estimate-covariance.js';
import {
  averageCorrelationSums,
  countTriangleEntries,
  fillCorrelationSums,
  fillCovarianceRows,
  type PanelCovariance,
} from '#kernels/moments/panel-covariance.js';
import { CsvFault, readCsv, readTextCells } from '#market/formats/csv.js';
import { createProblems, formatCellPath, formatReason, type Problems } from '#market/tables/problems.js';
import type { ArtifactRef } from '#store/port.js';
import {
  createRiskValidationView,
  describeValidation,
  encodeRiskModel,
  toImportedFactors,
  writeExportedModel,
  writeRiskModelPart,
} from '#views/risk-model.js';
import {
  createDatapoints,
  createPlainTerms,
  createSecurityDays,
  type PreparedEstimate,
  prepareEstimate,
} from '#views/risk-estimate.js';
import {
  clearLastModel,
  openCachedCalendars,
  openCachedMarket,
  type OpenedModel,
  openExactNumerics,
  readStoredDoubles,
  readStoredMatrix,
  rememberModel,
  runOnEngine,
  runOnProductEngine,
} from '../input/inputs.js';
import { answerBytes, copyOutput, runWithEarlyOutput, writeOutputs } from '../output/task-outputs.js';
import { useRunFile } from '../run-files.js';

/** Reads the returns of an estimate. @throws Refusal RISK_INSUFFICIENT_DATA */
function openEstimate({ market, universe, request }: RiskModelSource): PreparedEstimate {
  return prepareEstimate({
    market: openCachedMarket(market),
    calendars: openCachedCalendars(universe.kind === 'run' ? universe.closures : undefined),
    universe:
      universe.kind === 'names' ? universe : { ...universe, listHeldIdentifiers: () => listSecuritiesAtEnd(universe) },
    request,
  });
}

function computeContentHash(assetIds: readonly string[], { sha256 }: Pick<MatrixFiles, 'sha256'>): string {
  return createHash('sha256')
    .update(toCanonicalJson({ asset_ids: assetIds, covariance: sha256 }))
    .digest('hex');
}

/** Returns the securities held on the last date of a stored run, long or short, ascending. */
function listSecuritiesAtEnd({ columns }: { readonly columns: string }): string[] {
  return useRunFile(columns, (run) => {
    const { names, dates } = run.header;
    const weights = run.f64('weights', (dates - 1) * names.length, dates * names.length);
    return names.filter((_, i) => weights[i] !== 0).toSorted(compareText);
  });
}

/** Completed share of the work at the start of each stage. It does not depend on the number of securities. */
const EMPTY_RESULT: Readonly<Record<EstimateStage | 'returns', number>> = {
  returns: 0.05,
  moments: 0.15,
  product: 0.2,
  eigenvalues: 0.4,
  repair: 0.7,
};

/** Estimates a covariance model of the universe over the window. Writes its matrix, and returns all other results. */
export const estimateModel: Task<'estimate-risk-model'> = async (input, control) =>
  runWithEarlyOutput(input.outputs, 'covariance', async (output) => {
    const { matrix, parts, ...model } = await computeModel(input, control, output.begin);
    const covarianceOutput = output.end(matrix);
    const factorOutput = writeOutputs(input.outputs, { factors: parts });
    await Promise.allSettled([covarianceOutput, factorOutput]); // a failed task writes nothing afterwards
    const [covariance, { factors }] = await Promise.all([covarianceOutput, factorOutput]);
    return { ...model, covariance, factors, contentHash: computeContentHash(model.assetIds, covariance) };
  });

/**
 * Number of securities of a practice model; the number of days follows. They have the size of a usual request, because
 * code that is compiled for a smaller model runs half as fast at the first large one. One practice model takes about 30
 * ms once the code is compiled.
 */
const PRACTICE_SECURITIES = 500;
const PRACTICE_DAYS = 2520;

/**
 * Number of practice models that this thread has estimated. Each uses another window, because missing prices of the
 * latest window are cached.
 */
let practiceTurns = 0;

/**
 * Estimates and discards a model of some securities of a market, which compiles the code. @throws Refusal
 * RISK_INSUFFICIENT_DATA
 */
export async function practiseRiskModel(market: MarketHandle, control: TaskControl): Promise<void> {
  const { identifiers, dates } = openCachedMarket(market);
  const universe = { kind: 'names', identifiers: identifiers.slice(0, PRACTICE_SECURITIES) } as const;
  const start = formatDay(dates[Math.max(0, dates.length - PRACTICE_DAYS - practiceTurns++)]!);
  await computeModel({ market, universe, request: RiskModelRequest.parse({ start }) }, control, () => {});
}

/**
 * Computes the model, with the bytes of its matrix and factors.
 * @param onMatrix receives the bytes of the matrix before the check of its eigenvalues, after which a repair may change
 * the matrix
 */
async function computeModel(
  source: RiskModelSource,
  control: TaskControl,
  onMatrix: (bytes: Uint8Array<ArrayBuffer>) => void,
) {
  reportStage(control, 'returns');
  const { whole } = openEstimate(source);
  return runOnProductEngine((engine) => {
    let matrix: Uint8Array<ArrayBuffer> | undefined;
    const onStage = (stage: EstimateStage, covariance: Float64Array): void => {
      reportStage(control, stage);
      if (stage === 'eigenvalues') onMatrix((matrix = packBytes(covariance)));
      if (stage === 'repair') matrix = undefined;
    };
    const { covariance, factors, ...model } = whole(engine, onStage);
    return {
      ...model,
      matrix: matrix ?? packBytes(covariance),
      parts: factors && copyOutput(new Uint8Array(packFactors(factors).buffer)),
    };
  });
}

/** Packs a matrix into bytes. @param matrix [n x n] row-major, symmetric */
function packBytes(matrix: Float64Array): Uint8Array<ArrayBuffer> {
  return copyOutput(new Uint8Array(packUpper(matrix, Math.sqrt(matrix.length)).buffer));
}

function reportStage(control: TaskControl, stage: EstimateStage | 'returns'): void {
  control.report(EMPTY_RESULT[stage], stage);
}

/** Number of bytes of a hash that a double can represent exactly. */
const FINGERPRINT_BYTES = 6;

/**
 * Estimates a model without its matrix. Uses float64 on every node, so that all nodes compute bit-identical results.
 */
async function estimateModelInParts({ market, universe, request }: RiskModelSource): Promise<OpenedModel> {
  const key = createHash('sha256')
    .update(JSON.stringify([createMarketKey(market), universe, request]))
    .digest('hex');
  return runOnEngine((engine) =>
    rememberModel(key, () => {
      const preparedEstimate = openEstimate({ market, universe, request });
      const estimate = preparedEstimate.panel(engine);
      const cuts = divideModel(estimate.covariance.assets);
      return { prepared: preparedEstimate, estimate, cuts, fingerprint: computeFingerprint(estimate.covariance) };
    }),
  );
}

function computeFingerprint({ panel, scale, addedVariances }: PanelCovariance): number {
  const hash = createHash('sha256');
  for (const numbers of [panel, scale, addedVariances]) hash.update(numbers);
  return hash.digest().readUIntBE(0, FINGERPRINT_BYTES);
}

/** Counts the securities that can be estimated. */
export const readModelSize: Task<'risk-model-size'> = async (source) => ({
  securities: openEstimate(source).securities,
});

/**
 * Computes parts of a model. Writes the rows of each part's covariance as a file of the matrix, and the figures of all
 * parts as another file.
 */
export const writeModelParts: Task<'risk-model-parts'> = async ({ parts, outputs, ...source }, control) => {
  control.report(0, 'returns');
  const model = await estimateModelInParts(source);
  const { destination, names } = outputs;
  const rows: ArtifactRef[] = [];
  const figures: Float64Array[] = [];
  for (const [k, part] of parts.entries()) {
    const partFigures = new Float64Array(countPartFigures(model.cuts, part));
    partFigures[0] = model.fingerprint;
    figures.push(partFigures);
    control.report(k / parts.length, part === EIGENVALUES_PART ? 'eigenvalues' : 'product');
    if (part === EIGENVALUES_PART) await fillEigenvalues(model, partFigures.subarray(1));
    else {
      const bytes = await computeRows(model, part, partFigures.subarray(1));
      const outputRefs = await writeOutputs({ destination, names: { rows: names[`rows ${part}`]! } }, { rows: bytes });
      rows.push(outputRefs.rows);
    }
  }
  return { ...(await writeOutputs(outputs, { figures: joinPieces(figures) })), rows };
};

/** Computes rows of the covariance. @param sums overwritten with the sums of correlations of these rows */
async function computeRows(
  { estimate: { covariance, deviations }, cuts }: OpenedModel,
  part: number,
  sums: Float64Array,
): Promise<Uint8Array<ArrayBuffer>> {
  const [from, to] = [cuts[part]!, cuts[part + 1]!];
  const entries = new Float64Array(countTriangleEntries(covariance.assets, from, to));
  fillCovarianceRows(await openExactNumerics(), covariance, from, to, entries);
  assertFiniteNumbers(entries);
  fillCorrelationSums(entries, from, deviations, sums);
  return new Uint8Array(entries.buffer);
}

/** Computes the extreme eigenvalues. @param ends overwritten with the smallest and the largest eigenvalue */
async function fillEigenvalues({ estimate }: OpenedModel, ends: Float64Array): Promise<void> {
  assertFiniteNumbers(estimate.deviations);
  const { smallest, largest } = await runOnEngine(estimate.eigenvalues);
  ends.set([smallest, largest]);
}

function joinPieces(pieces: readonly Float64Array[]): Uint8Array<ArrayBuffer> {
  const numbers = new Float64Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let position = 0;
  for (const piece of pieces) {
    numbers.set(piece, position);
    position += piece.length;
  }
  return new Uint8Array(numbers.buffer);
}

/** Computes the diagnostics of a model from the figures of its parts. Does not read the matrix. */
export const sumModel: Task<'sum-risk-model'> = async ({ files, covariance, outputs, ...source }) => {
  const { prepared, estimate, cuts, fingerprint } = await estimateModelInParts(source);
  const { coverage, factors, intensity } = estimate;
  const { assets } = estimate.covariance;
  const sums = new Float64Array(assets);
  let range: EigenvalueRange | undefined;
  for (const { part, figures } of readFigures(files, cuts)) {
    if (figures[0] !== fingerprint) throw refuseChanged();
    if (part === EIGENVALUES_PART) range = { smallest: figures[1]!, largest: figures[2]! };
    else sums.set(figures.subarray(1), cuts[part]);
  }
  const packedFactors = factors && copyOutput(new Uint8Array(packFactors(factors.model).buffer));
  const outputRefs = await writeOutputs(outputs, { factors: packedFactors });
  clearLastModel();
  const diagnostics = {
    intensity,
    averageCorrelation: averageCorrelationSums(sums),
    ...describeRange(range!, assets), // a job computes all parts
    isRepaired: false,
  };
  const { factors: _, ...model } = prepared.describe({ coverage, diagnostics, factors });
  const contentHash = computeContentHash(model.assetIds, covariance);
  return { ...model, ...outputRefs, covariance, contentHash, precision: 'float64' };
};

/** Returns the figures of each part, in the order of the parts. @throws Refusal DOCUMENT_UNREADABLE */
function readFigures(files: readonly ModelFiguresFile[], cuts: Int32Array) {
  const outputs = files.map(({ path, sha256, parts }) => {
    const bytes = Uint8Array.from(readFileSync(path));
    if (createHash('sha256').update(bytes).digest('hex') !== sha256) throw refuseDamaged();
    const numbers = new Float64Array(bytes.buffer);
    let next = 0;
    return parts.map((part) => numbers.subarray(next, (next += countPartFigures(cuts, part))));
  });
  return locateParts(files).first.map(({ part, output, at }) => ({ part, figures: outputs[output]![at]! }));
}

const refuseChanged = (): Refusal =>
  new Refusal('STORE_MISMATCH', 'The data or the run changed during the estimate: estimate the model again.');

const refuseDamaged = (): Refusal =>
  new Refusal('DOCUMENT_UNREADABLE', 'Parts of the risk model are damaged: estimate the model again.');

/**
 * Estimates models with the settings of a stored model over history and compares their forecasts with the outcomes. The
 * result is a RiskValidationView.
 */
export const validateModel: Task<'validate-risk-model'> = async (input, control) => {
  const { modelId, identifiers, settings, request, run } = input;
  const window = createWindow(openCachedMarket(input.market), input);
  const { sm } = window;
  const knownColumns = identifiers.map((identifier) => sm.columnOf(identifier)).filter((column) => column >= 0);
  const { view, message } = await runOnEngine((engine) => {
    const validate = (columns: RunColumns | null) =>
      validateRiskModel(engine, {
        window,
        asked: knownColumns,
        settings,
        terms: request,
        heldOn: columns && createIndexWeights(columns, sm),
        report: (fraction) => control.report(fraction, 'forecasting'),
      });
    const validation = run === null ? validate(null) : useRunFile(run.columns, validate);
    const validationView = createRiskValidationView(
      { modelId, settings, request, indexId: run?.indexId ?? null },
      validation,
    );
    return { view: copyOutput(JSON.stringify(validationView)), message: describeValidation(validationView) };
  });
  return { ...(await writeOutputs(input.outputs, { view })), message };
};

function createWindow(
  market: MarketData,
  { identifiers, terms, settings, request: { start, end } }: ValidateRiskModelInput,
): ReturnWindow {
  const sm =
    terms === null
      ? createSecurityDays(market, openCachedCalendars(), {
          identifiers,
          estimator: settings.estimator,
          from: null,
          to: null,
        })
      : openMarketOn({ market, calendars: openCachedCalendars(terms.closures), code: terms.calendar });
  const { returns } = settings;
  return {
    sm,
    growth: computeGrowth(
      sm,
      terms === null ? createPlainTerms(returns) : createReturnTerms(terms.treatment, terms.currency, returns),
    ),
    datapoints: createDatapoints(sm, terms),
    from: start === null ? 0 : findFirstAtLeast(sm.sessions, parseValidDay(start)),
    to: end === null ? sm.sessions.length - 1 : findLastAtMost(sm.sessions, parseValidDay(end)),
  };
}

function createIndexWeights(run: RunColumns, sm: SessionMarket): (day: Day) => ReadonlyMap<number, number> | undefined {
  const days = run.i32('days');
  const { names } = run.header;
  return (day) => {
    const position = findLastAtMost(days, day);
    if (position < 0 || days[position] !== day) return undefined;
    const weights = run.f64('weights', position * names.length, (position + 1) * names.length);
    return new Map(names.map((name, i) => [sm.columnOf(name), weights[i]!]));
  };
}

/** Prefix of the paths in findings about a file. */
const LABEL = 'model';

const MS_PER_DAY = 86_400_000;

type ModelCellValue = string | number | null;
/** Function that receives the cells of a row. The row number starts at 1. */
type RowSink = (cells: readonly ModelCellValue[], row: number) => void;

interface FileTerms {
  readonly format: ModelFileFormat;
  /** Date of a file without a date column. */
  readonly date: string | null;
}

/**
 * Reads the tables of a model from a file. The file has rows of `date`, `table`, `row`, `column` and `value`, or
 * covariances with one row and one column per security.
 */
async function readModelFile(
  bytes: Uint8Array,
  { format, date }: FileTerms,
  problems: ModelProblems,
): Promise<readonly DatedTables[]> {
  const tables = createModelTables(problems);
  const createSink = (columns: readonly string[], fileDate: string | null) =>
    createRowSink(columns, { tables, date: date ?? fileDate, problems });
  try {
    if (format === 'arrow') readArrow(bytes, createSink);
    else await readRecords(bytes, (columns) => createSink(columns, null));
  } catch (fault) {
    const row = fault instanceof CsvFault ? fault.record : 0;
    const path = row > 0 ? formatCellPath(LABEL, row, '') : LABEL;
    problems.error({ code: 'UNREADABLE_FILE', path, message: `The file cannot be read: ${formatReason(fault)}` });
  }
  return tables.dates;
}

async function readRecords(bytes: Uint8Array, sinkOf: (columns: readonly string[]) => RowSink | undefined) {
  let row = 0;
  await readCsv([bytes], (columns) => {
    const sink = sinkOf(columns);
    return sink && ((record) => sink(readTextCells(record) as readonly ModelCellValue[], ++row)); // Passes the cells of text files as texts.
  });
}

function readArrow(
  bytes: Uint8Array,
  sinkOf: (columns: readonly string[], date: string | null) => RowSink | undefined,
): void {
  const table = tableFromIPC(bytes);
  const { fields, metadata } = table.schema;
  const sink = sinkOf(
    fields.map(({ name }) => name),
    findServedDate(metadata.get('body')),
  );
  if (sink === undefined) return;
  const vectors = fields.map(({ type }, k) => ({ vector: table.getChildAt(k)!, isDay: isDay(type) }));
  for (let i = 0; i < table.numRows; i++)
    sink(
      vectors.map(({ vector, isDay: day }) => {
        const value: unknown = vector.get(i);
        return day && value !== null ? formatDay(Math.floor(Number(value) / MS_PER_DAY)) : toCell(value);
      }),
      i + 1,
    );
}

const isDay = (type: DataType): boolean => DataType.isDate(type) || DataType.isTimestamp(type);

function toCell(value: unknown): ModelCellValue {
  if (value === null || value === undefined) return null;
  return typeof value === 'number' ? value : String(value);
}

/** Returns the date of a model that the service itself wrote as Arrow. */
function findServedDate(body: string | undefined): string | null {
  if (body === undefined) return null;
  try {
    const { date, observed_end: end } = JSON.parse(body) as {
      readonly date?: unknown;
      readonly observed_end?: unknown;
    };
    const servedDate = date ?? end;
    return typeof servedDate === 'string' ? servedDate : null;
  } catch {
    return null; // another program wrote the metadata
  }
}

interface SinkTerms {
  readonly tables: ModelTables;
  readonly date: string | null;
  readonly problems: ModelProblems;
}

const LONG_COLUMNS = ['table', 'row', 'column', 'value'] as const;

function createRowSink(columns: readonly string[], terms: SinkTerms): RowSink | undefined {
  const { problems, date } = terms;
  const repeatedColumn = columns.find((name, k) => columns.indexOf(name) !== k);
  if (repeatedColumn !== undefined) {
    problems.error({
      code: 'DUPLICATE_KEY',
      path: LABEL,
      message: `The column ${repeatedColumn} occurs twice.`,
      value: repeatedColumn,
    });
    return undefined;
  }
  if (!columns.includes('date') && date === null) {
    const message = 'The file has no column date: state its date (`date` in the query, --date of divisor import-risk).';
    problems.error({ code: 'REQUIRED', path: 'date', message });
    return undefined;
  }
  return columns.includes('table') ? createLongSink(columns, terms) : createWideSink(columns, terms);
}

/** Returns the date of a row. Returns undefined if the value is not a day. */
function readDate(value: ModelCellValue | undefined, path: string, { date, problems }: SinkTerms): string | undefined {
  if (value === undefined) return date!; // the caller has checked that rows or file have a date
  if (typeof value === 'string' && parseDay(value) !== undefined) return value;
  const message = `The date is ${value ?? 'empty'}; a day such as 2024-01-31 is required.`;
  problems.error({ code: 'BAD_DATE', path, message, value });
  return undefined;
}

const formatPath = (row: number): string => formatCellPath(LABEL, row, '');

/** Creates a function that receives rows with one number each. */
function createLongSink(columns: readonly string[], terms: SinkTerms): RowSink | undefined {
  const { problems, tables } = terms;
  const missingColumns = LONG_COLUMNS.filter((name) => !columns.includes(name));
  const unknownColumn = columns.find((name) => name !== 'date' && !(LONG_COLUMNS as readonly string[]).includes(name));
  if (missingColumns.length > 0 || unknownColumn !== undefined) {
    const message = `The file has the columns ${columns.slice(0, 8).join(', ')}; date, ${LONG_COLUMNS.join(', ')} are required, and no others.`;
    problems.error({ code: unknownColumn === undefined ? 'REQUIRED' : 'UNKNOWN_FIELD', path: LABEL, message });
    return undefined;
  }
  const [table, row, column, value] = LONG_COLUMNS.map((name) => columns.indexOf(name)) as [
    number,
    number,
    number,
    number,
  ];
  const dateColumn = columns.indexOf('date');
  return (cells, position) => {
    const formatRowPath = (name: string): string => formatCellPath(LABEL, position, name);
    const date = readDate(dateColumn < 0 ? undefined : (cells[dateColumn] ?? null), formatRowPath('date'), terms);
    const name = cells[table] as ModelTableName;
    if (!MODEL_TABLES.includes(name)) {
      const message = `The table is ${cells[table] ?? 'empty'}; the accepted set is ${MODEL_TABLES.join(', ')}.`;
      problems.error({ code: 'NOT_IN_CHOICES', path: formatRowPath('table'), message, value: cells[table] });
      return;
    }
    const neededColumns = name === 'specific_variances' ? ['row'] : ['row', 'column'];
    const cellNames = {
      row: formatCellText(cells[row]),
      column: name === 'specific_variances' ? '' : formatCellText(cells[column]),
    };
    for (const neededColumn of neededColumns)
      if (cellNames[neededColumn as 'row' | 'column'] === '')
        problems.error({
          code: 'REQUIRED',
          path: formatRowPath(neededColumn),
          message: `The ${neededColumn} is empty; a name is required.`,
        });
    const number = parseNumber(cells[value] ?? null);
    if (Number.isNaN(number)) problems.error(reportNotANumber(formatRowPath('value'), cells[value]));
    if (
      date === undefined ||
      Number.isNaN(number) ||
      neededColumns.some((each) => cellNames[each as 'row' | 'column'] === '')
    )
      return;
    const sinkTerms = { date, path: formatRowPath('date'), table: `${LABEL}.${name}`, pathOf: formatPath };
    tables.tableOf(name, sinkTerms)?.add({ ...cellNames, value: number, place: position });
  };
}

/** Creates a function that receives covariances with one row and one column per security. */
function createWideSink(columns: readonly string[], terms: SinkTerms): RowSink | undefined {
  const { problems, tables } = terms;
  const nameColumn = columns.findIndex((name) => name === 'identifier' || name === 'asset_id');
  if (nameColumn < 0) {
    const message = `The file has no column identifier in addition to the securities; a file with one number a row has the columns date, ${LONG_COLUMNS.join(', ')}.`;
    problems.error({ code: 'REQUIRED', path: LABEL, message });
    return undefined;
  }
  const dateColumn = columns.indexOf('date');
  return (cells, position) => {
    const formatRowPath = (name: string): string => formatCellPath(LABEL, position, name);
    if (cells.length !== columns.length) {
      const message = `The row has ${cells.length} cells; there are ${columns.length} columns.`;
      problems.error({ code: 'UNREADABLE_FILE', path: formatRowPath(''), message });
      return;
    }
    const date = readDate(dateColumn < 0 ? undefined : cells[dateColumn]!, formatRowPath('date'), terms);
    const row = formatCellText(cells[nameColumn]);
    if (row === '')
      problems.error({
        code: 'REQUIRED',
        path: formatRowPath(columns[nameColumn]!),
        message: 'The security is empty; an identifier is required.',
      });
    if (date === undefined || row === '') return;
    const table = tables.tableOf('covariance', {
      date,
      path: formatRowPath('date'),
      table: `${LABEL}.covariance`,
      pathOf: formatPath,
    });
    cells.forEach((cell, j) => {
      if (j !== nameColumn && j !== dateColumn)
        addCell(table, { row, column: columns[j]!, cell, at: position }, problems);
    });
  };
}

interface WideCell {
  readonly row: string;
  readonly column: string;
  readonly cell: ModelCellValue;
  readonly at: number;
}

/**
 * Adds a cell. An empty cell belongs to a security without values on the date, or to the triangle of a matrix that the
 * file omits.
 */
function addCell(table: ModelTable | undefined, { row, column, cell, at }: WideCell, problems: ModelProblems): void {
  if (cell === null) return;
  const value = parseNumber(cell);
  if (Number.isNaN(value)) problems.error(reportNotANumber(formatCellPath(LABEL, at, column), cell));
  else table?.add({ row, column, value, place: at });
}

const formatCellText = (cell: ModelCellValue | undefined): string => String(cell ?? '').trim();

/** Parses a number. Returns NaN if the text is not a finite number. */
function parseNumber(cell: ModelCellValue): number {
  const value = typeof cell === 'number' ? cell : cell === null || cell.trim() === '' ? Number.NaN : Number(cell);
  return Number.isFinite(value) ? value : Number.NaN;
}

/** Converts an external model to the stored form, or returns findings. */
export const importModel: Task<'import-risk-model'> = async ({ source }, control) => {
  const problems = createProblems();
  const parsedModel = await readModel(source, problems);
  const packedModel =
    parsedModel === undefined || problems.errors > 0
      ? undefined
      : await runOnEngine((engine) => createOutput(packModel(engine, parsedModel, problems, control.report)));
  return { findings: problems.findings(), model: problems.errors > 0 ? null : (packedModel ?? null) };
};

async function readModel(source: ImportRiskModelInput['source'], problems: Problems): Promise<ParsedModel | undefined> {
  if (source.kind === 'json') return readModelBody(parseJson(source.bytes).value, problems);
  const { terms, bytes, ...file } = source;
  const dates = await readModelFile(bytes, file, problems);
  if (dates.length === 0 && problems.errors === 0)
    problems.error({ code: 'EMPTY_DATASET', path: 'model', message: 'The file has no rows; one date is needed.' });
  return { terms, dates };
}

function createOutput(packed: PackedImport | undefined): ImportedModelOutput | undefined {
  if (packed === undefined) return undefined;
  const { covariance, factors, factorModel, ...model } = packed;
  return {
    ...model,
    covariance: answerBytes(new Uint8Array(covariance.buffer)),
    factors: factors && answerBytes(new Uint8Array(factors.buffer)),
    factorModel: factorModel && toImportedFactors(factorModel),
  };
}

/** Writes rows of a frame, or the volatilities, as JSON. */
export const readRiskModelPart: Task<'risk-model-part'> = ({ part, ...stored }) =>
  answerBytes(writeRiskModelPart(readStoredMatrix(stored), part));

/** Writes a model of one date as a member of an import. */
export const exportModel: Task<'export-risk-model'> = ({ date, names, factors, ...stored }) =>
  answerBytes(
    writeExportedModel({
      date,
      names,
      matrix: () => readStoredMatrix(stored),
      factors: factors && readFactors(factors, names.length),
    }),
  );

function readFactors({ path, at, names }: NonNullable<ExportRiskModelInput['factors']>, n: number): FactorModel {
  const K = names.length;
  return openPackedFactors(readStoredDoubles([path]).subarray(at, at + n * K + K * K + n), names, n);
}

/** Writes the covariance as an Arrow stream with the other members in its metadata. */
export const createRiskModelArrow: Task<'risk-model-arrow'> = ({ assetIds, body, ...stored }) =>
  answerBytes(encodeRiskModel(readStoredMatrix(stored), assetIds, body));
