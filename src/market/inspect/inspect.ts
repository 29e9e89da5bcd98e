import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { Mapping, type DerivedActions } from '#domain/documents/mapping.js';
import type { Finding } from '#domain/refusals/findings.js';
import type { MarketContent } from '../content/market-content.js';
import { createProblems, type Problems } from '../tables/problems.js';
import type { RowsByTable } from '../tables/table-kinds.js';
import { decodeContent } from '../import/content-bytes.js';
import { readImport } from '../import/read-import.js';
import { recountMarketRows } from '../mapping/count-rows.js';
import type { MarketInterpretation } from '../mapping/mapped-content.js';
import { isMarketTable } from '../mapping/market-tables.js';
import type { DatabaseLocation } from '../sources/databases/database-location.js';
import { readDatabase } from '../sources/databases/read-database.js';
import { sampleDatabase } from '../sources/databases/sample-database.js';
import type { TableNames } from '../sources/databases/tables-to-read.js';
import { openDuckDb, type DuckDb } from '../formats/duckdb.js';
import { createSingleTable, type TableFiles } from '../sources/folder.js';
import { readSource } from '../sources/read-source.js';
import { chooseAfterReading, filterDateFormats } from './date-question.js';
import { correctMapping } from './correct-mapping.js';
import { proposeMapping, stateAdjustment, applyAnswers, type Proposal } from './propose.js';
import { createBasis, listAlternativeBases, type Answers, type Basis, type Question } from './question.js';
import {
  addPositions,
  SAMPLE_ROWS,
  SAMPLE_TABLES,
  sampleContent,
  sampleFiles,
  type TableNameSource,
  type Sample,
} from './sample.js';
import { askTimeZone, type UsedZones } from './zone-question.js';
import { createEmptyInspection, createPreview, type Inspection } from './inspection.js';

/** Data to inspect. */
export type InspectedData =
  | {
      readonly kind: 'files';
      readonly files: TableFiles;
      /** Accompanying files that cannot be read, with the findings about them. */
      readonly unread?: UnreadFiles;
    }
  | { readonly kind: 'database'; readonly place: DatabaseLocation; readonly tables: TableNames }
  | { readonly kind: 'xlsx' | 'csv' | 'csv.zip'; readonly content: string }
  | { readonly kind: 'parquet'; readonly content: string };

interface UnreadFiles {
  readonly findings: readonly Finding[];
  /** Names of all these files. */
  readonly files: readonly string[];
}

/** Data that is read in place. */
type OpenedData = Exclude<InspectedData, { readonly kind: 'parquet' }>;

/** Settings of an inspection that are known in advance. */
export interface InspectionTerms {
  /** Mapping to use instead of a proposal. Its findings are reported, and nothing is corrected. */
  readonly mapping?: Mapping | null;
  /** Questions that are already answered. */
  readonly answers?: Answers;
  readonly zones?: UsedZones;
}

/** Maximum number of files whose problems are listed if no table was recognised. */
const EXAMINED_FILES_MAX = 200;

/** Maximum number of readings. Duplicates may need two corrections, zeros and text columns one each. */
const TRIALS_MAX = 6;

/** Parts of a reading that are evaluated. */
interface TrialResult {
  readonly content: MarketContent;
  readonly rows: RowsByTable;
  readonly derived?: DerivedActions | null;
}

/** Source that can be sampled and read. */
interface Source {
  readonly samples: readonly Sample[];
  readonly tables: TableNames;
  readonly namedBy: TableNameSource;
  filesOf(mapping: Mapping): number;
  read(terms: MarketInterpretation, problems: Problems): Promise<TrialResult | undefined>;
}

/**
 * Inspects data, proposes a mapping, and then reads the data with it. If a finding implies a correction, the mapping is
 * corrected. Nothing is stored.
 * @cost one to six readings of the source, and one more for each further date format
 */
export async function inspect(inspected: InspectedData, inspectionTerms: InspectionTerms = {}): Promise<Inspection> {
  if (inspected.kind !== 'parquet') return inspectSource(inspected, inspectionTerms);
  const folder = await mkdtemp(join(tmpdir(), 'divisor-parquet-'));
  try {
    const path = join(folder, 'market.parquet');
    await writeFile(path, decodeContent(inspected.content, inspected.kind));
    return await inspectSource({ kind: 'files', files: await createSingleTable('market', path) }, inspectionTerms);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function inspectSource(inspected: OpenedData, inspectionTerms: InspectionTerms): Promise<Inspection> {
  const unread = inspected.kind === 'files' ? inspected.unread : undefined;
  const inspection = await inspectReadable(inspected, inspectionTerms);
  return unread === undefined || unread.files.length === 0 ? inspection : addUnread(inspection, unread);
}

/**
 * Adds findings about unreadable files. The other files are inspected nevertheless, and a question asks whether to
 * ignore the unreadable ones.
 */
function addUnread(inspection: Inspection, { findings, files: names }: UnreadFiles): Inspection {
  const question = `${names.join(', ')} cannot be read. To ignore ${names.length === 1 ? 'it' : 'them'}, use --ignore ${names.join(',')}.`;
  return {
    ...inspection,
    files: inspection.files + names.length,
    confidence: 'unsure',
    unsure: [...inspection.unsure, { field: 'ignore', question, taken: null, others: [], required: true }],
    findings: [...findings, ...inspection.findings],
    faulty_files: [...names, ...inspection.faulty_files],
  };
}

async function inspectReadable(
  inspected: OpenedData,
  { mapping: suppliedMapping = null, answers = {}, zones = {} }: InspectionTerms,
): Promise<Inspection> {
  const problems = createProblems();
  const source = await openSource(inspected, problems, { answers, tablesMax: SAMPLE_TABLES });
  if (source === undefined) return createEmptyInspection([], 0, problems);
  if (suppliedMapping !== null)
    return tryMapping(source, declareProposal(suppliedMapping, answers), { answers, zones, trialsMax: 1 });
  const proposal =
    proposeMapping(source.samples, source.namedBy, answers) ??
    (hasColumnAnswer(answers) ? declareProposal(applyAnswers({}, answers), answers) : undefined);
  return proposal === undefined
    ? inspectUnrecognised(inspected, source, { answers, problems })
    : tryMapping(source, proposal, { answers, zones, trialsMax: TRIALS_MAX });
}

/** Examines each file of an unrecognised source, up to a limit, and reports its problems. */
async function inspectUnrecognised(
  inspected: OpenedData,
  source: Source,
  { answers, problems }: { readonly answers: Answers; readonly problems: Problems },
): Promise<Inspection> {
  const files = source.filesOf(Mapping.parse({ ignore: answers.ignore ?? [] }));
  if (files <= source.samples.length) return createEmptyInspection(source.samples, source.samples.length, problems);
  const allProblems = createProblems();
  const allFiles = await openSource(inspected, allProblems, { answers, tablesMax: EXAMINED_FILES_MAX });
  return createEmptyInspection(allFiles?.samples ?? [], files, allProblems);
}

/**
 * Returns true if the answers state columns or fields. A table is then read even if it was not recognised as a market.
 */
const hasColumnAnswer = ({ columns, field, fields }: Answers) => (columns ?? field ?? fields ?? null) !== null;

const declareProposal = (mapping: Mapping, { adjustment }: Answers): Proposal => ({
  mapping,
  ...(adjustment === undefined ? { adjustment: null, reason: null } : stateAdjustment(adjustment)),
  recognisedAs: null,
  confidence: 'sure',
  questions: [],
});

interface Sampling {
  readonly answers: Answers;
  /** Maximum number of sampled tables. */
  readonly tablesMax: number;
}

async function openSource(inspected: OpenedData, problems: Problems, sampling: Sampling): Promise<Source | undefined> {
  const { answers, tablesMax } = sampling;
  const encoding = answers.encoding ?? null;
  if (inspected.kind === 'files') return openFiles(inspected.files, problems, sampling);
  if (inspected.kind === 'database') {
    const { place, tables } = inspected;
    const databaseSamples = await sampleDatabase(place, SAMPLE_ROWS, problems);
    const tableName = tables.market ?? 'market';
    const market =
      databaseSamples?.find(({ name }) => name === tableName) ??
      databaseSamples?.find((each) => proposeMapping([each], null, answers) !== undefined);
    if (databaseSamples === undefined || market === undefined) return undefined;
    const chosenTables = market.name === 'market' ? tables : { ...tables, market: market.name };
    return {
      samples: [market],
      tables: chosenTables,
      namedBy: null,
      filesOf: () => 1,
      read: (terms, found) => readDatabase(place, chosenTables, found, () => {}, { terms }),
    };
  }
  const bytes = decodeContent(inspected.content, inspected.kind);
  const { names, samples } = await sampleContent(inspected.kind, bytes, problems, {
    encoding,
    ignore: answers.ignore,
    tablesMax,
  });
  return {
    samples: addPositions(samples, answers.columns),
    tables: {},
    namedBy: inspected.kind === 'xlsx' ? 'sheet' : 'file',
    filesOf: (mapping) => names.filter((name) => isMarketTable(mapping, name)).length,
    read: (terms, found) => readImport({ kind: inspected.kind, bytes }, found, terms),
  };
}

async function openFiles(
  files: TableFiles,
  problems: Problems,
  { answers: { encoding = null, ignore, columns }, tablesMax }: Sampling,
): Promise<Source> {
  let duckDb: DuckDb | undefined;
  const paths = files.market.flatMap(({ format, path }) => (format === 'parquet' ? [path] : []));
  const samples = await sampleFiles(files.market, problems, {
    encoding,
    ignore,
    tablesMax,
    duck: async () => (duckDb ??= await openDuckDb({ files: paths })),
  });
  duckDb?.close();
  const listMarketFiles = (mapping: Mapping) =>
    files.market.filter(({ path }) => isMarketTable(mapping, basename(path)));
  return {
    samples: addPositions(samples, columns),
    tables: {},
    namedBy: 'file',
    filesOf: (mapping) => listMarketFiles(mapping).length,
    read: (terms, found) =>
      readSource({ ...files, market: listMarketFiles(terms.mapping!) }, found, () => {}, { terms }),
  };
}

interface Trial {
  readonly answers: Answers;
  readonly zones: UsedZones;
  /** Maximum number of readings of the source. */
  readonly trialsMax: number;
}

/** Reads a source as proposed, and repeats the reading with corrections that the findings imply. */
async function tryMapping(
  source: Source,
  proposal: Proposal,
  { answers, zones, trialsMax }: Trial,
): Promise<Inspection> {
  const { calendars } = zones;
  let terms: MarketInterpretation = { mapping: proposal.mapping, adjustment: proposal.adjustment ?? 'none', calendars };
  const questions = [...proposal.questions];
  for (let trial = 1; ; trial++) {
    const problems = createProblems();
    const sourceContent = await source.read(terms, problems);
    const outcome = sourceContent && recountMarketRows(sourceContent, terms.mapping);
    const otherDates =
      outcome === undefined && trial < trialsMax ? chooseAfterReading(questions, problems.findings()) : undefined;
    if (otherDates !== undefined) {
      terms = { ...terms, mapping: { ...terms.mapping!, date_format: otherDates } };
      continue;
    }
    const correction = trial < trialsMax ? correctMapping(terms.mapping!, problems, answers) : undefined;
    if (correction !== undefined) {
      terms = { ...terms, mapping: correction.mapping };
      // Keeps only the last of several questions about a field. Rows with different values are not duplicates.
      const questionIndex = questions.findIndex(({ field }) => field === correction.question?.field);
      if (questionIndex >= 0) questions.splice(questionIndex, 1);
      if (correction.question !== undefined) questions.push(correction.question);
      continue;
    }
    const zoneQuestion = trial < trialsMax ? askTimeZone(terms.mapping!, problems.findings(), zones) : undefined;
    if (zoneQuestion !== undefined) questions.push(zoneQuestion);
    if (zoneQuestion?.required === false) {
      terms = { ...terms, mapping: { ...terms.mapping!, time_zone: zoneQuestion.taken } };
      continue;
    }
    await filterDateFormats(questions, async (date_format) => {
      const result = createProblems();
      await source.read({ ...terms, mapping: { ...terms.mapping!, date_format } }, result);
      return result.findings();
    });
    const basis = getBasis(proposal, outcome, questions);
    const isOpen = outcome === undefined || questions.some(({ required }) => required);
    return {
      files: source.filesOf(terms.mapping!),
      rows_read: outcome?.rows.market ?? 0,
      mapping: terms.mapping!,
      tables: source.tables,
      adjustment: basis.adjustment,
      basis,
      confidence: isOpen ? 'unsure' : proposal.confidence,
      recognised_as: proposal.recognisedAs,
      unsure: questions,
      preview: createPreview(outcome?.content),
      findings: problems.findings(),
      faulty_files: problems.files(),
    };
  }
}

/** Returns the price basis. Adjusted closes can show it: if they imply no split, the closes are adjusted for splits. */
function getBasis(proposal: Proposal, read: TrialResult | undefined, questions: Question[]): Basis {
  if (proposal.adjustment !== null) return createBasis(proposal.adjustment, proposal.reason ?? '');
  const splits = read?.derived?.splits;
  if (splits !== undefined && splits > 0)
    return createBasis(
      'none',
      `Adjusted closes imply ${splits === 1 ? '1 split' : `${splits} splits`} not contained in closes, so closes are as traded.`,
    );
  const [taken, reason] =
    splits === 0
      ? (['splits', 'Adjusted closes imply no further split, so closes are taken to be adjusted for splits.'] as const)
      : (['none', 'The data do not state whether closes are adjusted. They are taken to be as traded.'] as const);
  const otherAdjustments = listAlternativeBases(taken).map(({ adjustment }) => adjustment);
  questions.push({ field: 'adjustment', question: reason, taken, others: otherAdjustments, required: false });
  return createBasis(taken, reason);
}
