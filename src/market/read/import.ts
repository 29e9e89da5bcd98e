import { strToU8, zipSync } from 'fflate';
import { suggestName } from '#base/nearest-name.js';
import { compareText, type Finding } from '#domain/base/findings.js';
import { parseJson, toCanonicalJson } from '#domain/base/json.js';
import { Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import { checkShape } from '#domain/base/schema.js';
import { formatDay } from '#domain/base/time.js';
import type { UsedCalendars } from '#domain/calendars/calendar.js';
import {
  ImportBody,
  type ImportFormat,
  type ImportHeader,
  TABLE_KINDS,
  type TableFormat,
} from '#domain/definition/datasets.js';
import type { DerivedActions, Mapping } from '#domain/definition/mapping.js';
import type {
  Adjustment,
  CorporateAction,
  Membership,
  PriceSeries,
  ReferenceRow,
  ReferenceTable,
  ReferenceValue,
  SeriesTable,
} from '#domain/market/market-data.js';
import { compareActions } from '../content/action-rows.js';
import { countTableRows, recountMarketRows } from '../content/content-hash.js';
import { getSeries, joinContent, type MarketContent, refuseSize } from '../content/market-content.js';
import { compareMemberships } from '../content/table-rows.js';
import { namePositions } from '../formats/cells.js';
import { CsvFault, protectText, readCsv } from '../formats/csv.js';
import { readWorkbook, type SheetSink, WorkbookFault } from '../formats/workbook.js';
import { isHeaderless } from '../mapping/columns.js';
import { DEFAULT_TERMS, type MarketInterpretation } from '../mapping/mapped-content.js';
import { allocateEmptyPanel, type Panels } from '../panels/panels.js';
import { type DataProblem, formatCellPath, type Problems } from '../tables/problems.js';
import { countRowsByTable, findTable, KNOWN_COLUMNS, type TableKind } from '../tables/table-kinds.js';
import { type ContentRows, createContentRows, readFrames, type SplitFrame } from './content-rows.js';
import {
  addKeyColumns,
  createKeyTest,
  createSheetReader,
  createWorkbookReader,
  findFileTableKind,
  findPartitionedFile,
  findTableKind,
  findWorkbookTableKind,
  getBaseName,
  hasTwoHeaders,
  isWorkbook,
  isWorkbookFault,
  readArchivedFiles,
} from './file-rows.js';
import { createSingleTable, type TableFiles } from './folder.js';
import { readSource } from './read-source.js';
import type { SourceResult } from './source-read.js';

/**
 * Merges two contents. Values that are in both must be equal. If they differ, the difference is reported and nothing is
 * merged. The addition may end an open membership.
 * @returns undefined, with a finding, if the contents contradict each other.
 */
export function mergeContents(
  marketContent: MarketContent,
  added: MarketContent,
  problems: Problems,
): MarketContent | undefined {
  const panels = mergePanels(marketContent, added, problems);
  const mergedContent = {
    reference: mergeReference(marketContent.reference, added.reference, problems),
    actions: mergeActions(marketContent.actions, added.actions, problems),
    universes: mergeUniverses(marketContent.universes, added.universes, problems),
    ...getSeries(mergeSeries(marketContent.series, added.series, problems)),
  };
  return panels === undefined || problems.errors > 0 ? undefined : joinContent(panels, mergedContent, problems);
}

function mergeSeries(
  seriesTable: SeriesTable = new Map(),
  added: SeriesTable = new Map(),
  problems: Problems,
): SeriesTable {
  const mergedSeries = [...new Set([...seriesTable.keys(), ...added.keys()])]
    .toSorted(compareText)
    .map((identifier) => mergeField(identifier, [seriesTable.get(identifier), added.get(identifier)], problems));
  return new Map(mergedSeries.map((series) => [series.identifier, series]));
}

function mergeField(
  identifier: string,
  [priceSeries, added]: readonly [PriceSeries | undefined, PriceSeries | undefined],
  problems: Problems,
): PriceSeries {
  if (priceSeries === undefined || added === undefined) return (priceSeries ?? added)!; // at least one of them is defined
  for (const key of ['currency', 'name'] as const) {
    if (priceSeries[key] !== null && added[key] !== null && priceSeries[key] !== added[key]) {
      problems.error({
        code: 'DUPLICATE_KEY',
        path: `series[${identifier}]`,
        message: `The ${key.toUpperCase()} of ${identifier} is ${priceSeries[key]} in the store and ${added[key]} in the added rows.`,
        value: added[key],
      });
    }
  }
  const closes = new Map([...priceSeries.days].map((day, i) => [day, priceSeries.closes[i]!]));
  added.days.forEach((day, i) => {
    const [before, value] = [closes.get(day), added.closes[i]!];
    if (before !== undefined && before !== value) {
      problems.error({
        code: 'DUPLICATE_KEY',
        path: `series[${identifier} ${formatDay(day)}].CLOSE`,
        message: `The value is ${before} in the store and ${value} in the added rows.`,
        value,
      });
    }
    closes.set(day, value);
  });
  const days = Int32Array.from(closes.keys()).sort();
  return {
    identifier,
    name: priceSeries.name ?? added.name,
    currency: priceSeries.currency ?? added.currency,
    days,
    closes: Float64Array.from(days, (day) => closes.get(day)!),
  };
}

function mergePanels(heldPanels: Panels, added: Panels, problems: Problems): Panels | undefined {
  const identifiers = [...new Set([...heldPanels.identifiers, ...added.identifiers])].sort(compareText);
  const dates = Int32Array.from(new Set([...heldPanels.dates, ...added.dates])).sort();
  const names = [...new Set([...heldPanels.fields.keys(), ...added.fields.keys()])];
  if (refuseSize({ dates: dates.length, identifiers: identifiers.length, fields: names.length }, problems))
    return undefined;
  const axes = {
    columnOf: new Map(identifiers.map((identifier, n) => [identifier, n])),
    rowOf: new Map([...dates].map((day, t) => [day, t])),
    names: identifiers.length,
  };
  const fields = new Map(
    names.map((name) => {
      const panel = allocateEmptyPanel(dates.length * identifiers.length, names.length);
      copyPanel(heldPanels, name, panel, axes);
      copyPanel(added, name, panel, axes, (n, t, before, after) => {
        problems.error({
          code: 'DUPLICATE_KEY',
          path: `market[${added.identifiers[n]} ${formatDay(added.dates[t]!)}].${name}`,
          message: `The value is ${before} in the store and ${after} in the added rows.`,
          value: after,
        });
      });
      return [name, panel] as const;
    }),
  );
  return { identifiers, dates, fields };
}

interface Axes {
  readonly columnOf: ReadonlyMap<string, number>;
  readonly rowOf: ReadonlyMap<number, number>;
  readonly names: number;
}

function copyPanel(
  from: Panels,
  name: string,
  target: Float64Array,
  { columnOf, rowOf, names }: Axes,
  onConflict?: (n: number, t: number, before: number, after: number) => void,
): void {
  const source = from.fields.get(name);
  if (source === undefined) return;
  const columns = Int32Array.from(from.identifiers, (identifier) => columnOf.get(identifier)!);
  for (let t = 0, cell = 0; t < from.dates.length; t++) {
    const row = rowOf.get(from.dates[t]!)! * names;
    for (let n = 0; n < columns.length; n++, cell++) {
      const value = source[cell]!;
      if (value !== value) continue;
      const position = row + columns[n]!;
      const storedValue = target[position]!;
      if (storedValue === storedValue && storedValue !== value) onConflict?.(n, t, storedValue, value);
      target[position] = value;
    }
  }
}

function mergeReference(referenceTable: ReferenceTable, added: ReferenceTable, problems: Problems): ReferenceTable {
  const columns = [...new Set([...referenceTable.columns, ...added.columns])];
  const rows = new Map<string, ReferenceRow[]>();
  const widenRow = (table: ReferenceTable, { validFrom, values }: ReferenceRow): ReferenceRow => ({
    validFrom,
    values: columns.map((column): ReferenceValue => values[table.columns.indexOf(column)] ?? null),
  });
  for (const [identifier, spells] of referenceTable.rows)
    rows.set(
      identifier,
      spells.map((row) => widenRow(referenceTable, row)),
    );
  for (const [identifier, spells] of added.rows) {
    const referenceRows = rows.get(identifier) ?? [];
    for (const row of spells.map((spell) => widenRow(added, spell))) {
      const sameRow = referenceRows.find(({ validFrom }) => validFrom === row.validFrom);
      if (sameRow === undefined) referenceRows.push(row);
      else if (JSON.stringify(sameRow) !== JSON.stringify(row)) {
        problems.error({
          code: 'DUPLICATE_KEY',
          path: `reference[${identifier}]`,
          message: `The store has a different row of ${identifier} ${row.validFrom === null ? 'without valid_from' : `valid from ${formatDay(row.validFrom)}`}.`,
        });
      }
    }
    rows.set(
      identifier,
      referenceRows.toSorted((a, b) => (a.validFrom ?? -Infinity) - (b.validFrom ?? -Infinity) || 0),
    );
  }
  return { columns, rows: new Map([...rows].toSorted(([a], [b]) => compareText(a, b))) };
}

/**
 * Merges actions. Rejects an added action that changes terms of a stored action, except its status, because otherwise
 * both actions would apply.
 */
function mergeActions(
  corporateActions: readonly CorporateAction[],
  added: readonly CorporateAction[],
  problems: Problems,
): readonly CorporateAction[] {
  const [storedKeys, others] = [new Set(corporateActions.map(formatAction)), new Set(added.map(formatAction))];
  const replacedActions = new Set<CorporateAction>();
  const actionsByKey = new Map<string, CorporateAction[]>();
  for (const action of corporateActions)
    if (!others.has(formatAction(action)))
      actionsByKey.set(formatKey(action), [...(actionsByKey.get(formatKey(action)) ?? []), action]);
  for (const action of added) {
    const sameKeyActions = storedKeys.has(formatAction(action)) ? [] : (actionsByKey.get(formatKey(action)) ?? []);
    const matchIndex = sameKeyActions.findIndex(
      (corporateAction) =>
        formatAction({ ...corporateAction, status: null }) === formatAction({ ...action, status: null }),
    );
    const [before] = sameKeyActions.splice(Math.max(matchIndex, 0), 1);
    if (before === undefined) continue;
    replacedActions.add(before);
    if (matchIndex >= 0) continue;
    problems.error({
      code: 'DUPLICATE_KEY',
      path: `corporate_actions[${action.identifier} ${formatDay(action.exDay)}]`,
      message: `The value of the ${action.type} of ${action.identifier} on that date is ${before.value} in the store and ${action.value} in the added rows.`,
      value: action.value,
    });
  }
  const membershipsByText = new Map(
    [...corporateActions.filter((corporateAction) => !replacedActions.has(corporateAction)), ...added].map(
      (corporateAction) => [formatAction(corporateAction), corporateAction],
    ),
  );
  return [...membershipsByText.values()].sort(compareActions);
}

const formatAction = (action: CorporateAction): string => toCanonicalJson(action);

const formatKey = ({ identifier, type, exDay, related }: CorporateAction): string =>
  JSON.stringify([identifier, type, exDay, related]);

function mergeUniverses(
  memberships: readonly Membership[],
  added: readonly Membership[],
  problems: Problems,
): readonly Membership[] {
  const formatSpellKey = ({ universe, identifier, start }: Membership) => JSON.stringify([universe, identifier, start]);
  const membershipByKey = new Map(memberships.map((spell) => [formatSpellKey(spell), spell]));
  for (const spell of added) {
    const membership = membershipByKey.get(formatSpellKey(spell));
    if (membership !== undefined && membership.end !== null && membership.end !== spell.end) {
      problems.error({
        code: 'OVERLAPPING_MEMBERSHIP',
        path: `universes[${spell.identifier}]`,
        message: `The membership of ${spell.identifier} in ${spell.universe} has a different end in the store.`,
      });
    }
    membershipByKey.set(formatSpellKey(spell), spell.end === null && membership !== undefined ? membership : spell);
  }
  const sortedSpells = [...membershipByKey.values()].sort(compareMemberships);
  sortedSpells.forEach((spell, i) => {
    const previousSpell = sortedSpells[i - 1];
    if (previousSpell?.universe !== spell.universe || previousSpell.identifier !== spell.identifier) return;
    if (previousSpell.end === null || (spell.start ?? -Infinity) < previousSpell.end) {
      problems.error({
        code: 'OVERLAPPING_MEMBERSHIP',
        path: `universes[${spell.identifier}]`,
        message: `The memberships of ${spell.identifier} in ${spell.universe} overlap.`,
      });
    }
  });
  return sortedSpells;
}

const BASE64_TEXT = /^[A-Za-z0-9+/\s]*={0,2}$/;

/** Decodes the base64 content of a file. CSV may also be sent as plain text. @throws Refusal VALIDATION_FAILED */
export function decodeUpload(content: string, format: string): Uint8Array {
  if (BASE64_TEXT.test(content.trimEnd())) return Buffer.from(content, 'base64');
  if (format === 'csv') return Buffer.from(content, 'utf8');
  throw refuseWithFindings('request', [
    { severity: 'error', code: 'WRONG_TYPE', message: 'content is not base64.', path: 'content' },
  ]);
}

/** Table sent as a file. */
interface UploadedTable {
  readonly path: string;
  readonly dataset: TableKind;
  readonly format: TableFormat;
}

/** Answer to a process that has sent the header of an import. It contains instructions for the remaining data. */
export interface ImportResponse {
  readonly folder: string;
  readonly storedFiles: TableFiles | null;
  /** True if the store will be served after the import. */
  readonly load: boolean;
  readonly calendars: UsedCalendars;
}

/** Function that decides how to handle an import, given its header. */
export type OnImport = (header: ImportHeader) => Promise<ImportResponse>;

export interface TableImport {
  readonly table: UploadedTable;
  readonly answer: ImportResponse;
  readonly terms: MarketInterpretation;
}

/** Source of an import: inline tables, or the bytes of a file. */
export type ImportSource =
  | { readonly kind: 'tables'; readonly tables: Readonly<Record<string, SplitFrame>> }
  | { readonly kind: ImportFormat; readonly bytes: Uint8Array };

interface ImportedContent {
  readonly content: MarketContent;
  readonly rows: SourceResult['rows'];
  readonly derived: DerivedActions | null;
}

/**
 * Reads an import and reports every problem by sheet, row and column. Returns undefined if there is any error.
 * @param options `isPart` is true for tables that are added to a store. They then need no market, unless a mapping finds it
 */
export async function readImport(
  source: ImportSource,
  problems: Problems,
  terms: MarketInterpretation = DEFAULT_TERMS,
  { isPart: isAppended = false }: { readonly isPart?: boolean } = {},
): Promise<ImportedContent | undefined> {
  const { mapping } = terms;
  const isPart = isAppended && mapping === null;
  const rows = createContentRows(problems, terms, { isPart });
  const reading = { rows, mapping, problems, isPart };
  try {
    if (source.kind === 'tables')
      readFrames(
        source.tables,
        mapping,
        problems,
        (table, name, columns) => rows.beginCells(table, formatLabel(table, name), columns, { name }),
        isPart,
      );
    else if (source.kind === 'xlsx') await readSheets(source.bytes, reading);
    else await readArchive({ kind: source.kind, bytes: source.bytes }, reading);
  } catch (error) {
    if (!isWorkbookFault(error)) throw error;
    problems.error({
      code: 'UNREADABLE_FILE',
      path: error instanceof WorkbookFault ? error.sheet : '',
      message: error.message,
    });
  }
  const completeContent = rows.toContent();
  if (mapping === null && problems.findings().some(concernsEveryRow))
    problems.error({ code: 'REQUIRED', path: 'mapping', message: MAPPING_HINT });
  if (completeContent === undefined || problems.errors > 0) return undefined;
  const { dividends, splits } = completeContent.derived ?? { dividends: 0, splits: 0 };
  const countRows = (table: TableKind) => rows.rowsOf(table) + (table === 'corporate_actions' ? dividends + splits : 0);
  return { ...completeContent, rows: countRowsByTable(countRows) };
}

/** Returns true if a finding repeats for many rows of the market. */
const concernsEveryRow = ({ code, path, count = 1 }: Finding) =>
  count > 1 && path.startsWith('market') && (code === 'NOT_A_NUMBER' || code === 'BAD_DATE');

const MAPPING_HINT =
  'Without a mapping every column of market holds numbers, except the columns named date and identifier. A mapping ({} is enough) excludes each column of text with one finding; it also states the date format and the names of columns. POST /data/inspect proposes a mapping.';

interface TableReadInput {
  readonly rows: ContentRows;
  readonly mapping: Mapping | null;
  readonly problems: Problems;
  /** True for tables that are added to a store, which has a market. */
  readonly isPart: boolean;
}

/** Returns the name of a table in findings. It is the dataset, followed by the name of the table if that differs. */
const formatLabel = (table: TableKind, name: string) => (findTableKind(name) === table ? table : `${table}/${name}`);

/**
 * Returns a receiver of the rows of a sheet. If the columns do not belong to the dataset, returns undefined and adds a
 * finding.
 */
function createSheetSink(
  { table, label, columns }: { readonly table: TableKind; readonly label: string; readonly columns: readonly string[] },
  { rows, mapping, problems }: TableReadInput,
  about: Parameters<ContentRows['beginCells']>[3],
): SheetSink {
  const addRow = rows.beginCells(table, label, columns, about);
  const mayBeLonger = table === 'market' && hasTwoHeaders(mapping);
  return addRow && createSheetReader({ label, columns, mayBeLonger, problems }, addRow);
}

async function readSheets(bytes: Uint8Array, reading: TableReadInput): Promise<void> {
  const { mapping, problems } = reading;
  const importedSheets = new Set<string>();
  await readWorkbook(
    bytes,
    (sheet, columns, heading) => {
      // Excel creates empty sheets by default.
      if (columns.length === 0 && findTable(sheet) === undefined) return undefined;
      const name = findTableKind(sheet) ?? sheet;
      const table = findTableKind(name, mapping);
      if (table === undefined || importedSheets.has(name)) {
        if (mapping === null) problems.error(createUnknownTableProblem(sheet, 'sheet'));
        return undefined;
      }
      importedSheets.add(name);
      const label = formatLabel(table, name);
      problems.nameFile(label, sheet);
      return createSheetSink({ table, label, columns }, reading, { name, heading });
    },
    (sheet) =>
      findTableKind(sheet, mapping) === 'market'
        ? { skip: mapping?.skip_rows, nameColumns: isHeaderless(mapping?.columns) ? namePositions : undefined }
        : {},
  );
  reportMissingMarket(importedSheets, reading, 'sheet');
}

/** Archive of files, or a single CSV file. */
interface ImportArchive {
  readonly kind: 'csv' | 'csv.zip';
  readonly bytes: Uint8Array;
}

async function readArchive({ kind, bytes }: ImportArchive, reading: TableReadInput): Promise<void> {
  const { rows, mapping, problems } = reading;
  const { members, areWorkbooks } = await readArchivedFiles(bytes, kind, mapping);
  const readWorkbookMember = createWorkbookReader();
  const names = new Set<string>();
  /** Datasets that consist of several files. */
  const folders = new Set<TableKind>();
  for (const member of members) {
    const base = getBaseName(member.name);
    const isImportedWorkbook = areWorkbooks && isWorkbook(base);
    const partitioned = findPartitionedFile(member.name, mapping);
    const table =
      partitioned?.table ??
      (isImportedWorkbook ? findWorkbookTableKind(base, mapping) : findFileTableKind(base, mapping));
    const name =
      partitioned?.label ?? ((table !== undefined && findTableKind(base.replace(/\.(csv|xlsx)$/i, ''))) || base);
    // A dataset is one file or one folder.
    const isOfFolder = partitioned !== undefined && folders.has(partitioned.table);
    if (table === undefined || names.has(name) || (partitioned !== undefined && !isOfFolder && names.has(table))) {
      if (mapping === null || table !== undefined) problems.error(createUnknownTableProblem(member.name, 'file'));
      continue;
    }
    names.add(name);
    if (partitioned !== undefined) {
      names.add(table);
      folders.add(table);
    }
    const label = partitioned?.label ?? formatLabel(table, name);
    problems.nameFile(label, member.name);
    const { skip_rows: skip, encoding, columns: named } = mapping ?? {};
    const terms = table === 'market' ? { skip, encoding, isHeaderless: isHeaderless(named) } : {};
    try {
      if (isImportedWorkbook)
        await readWorkbookMember(
          member,
          (columns, heading) => createSheetSink({ table, label, columns }, reading, { name: base, heading }),
          { ...terms, ignore: mapping?.ignore },
        );
      else
        await readCsv(
          member.open(),
          addKeyColumns(
            {
              csv: (columns, heading) => rows.beginCsv(table, label, columns, { name: base, heading }),
              cells: () => undefined,
            },
            { label, isWanted: createKeyTest(table, mapping) },
            problems,
          ).csv,
          terms,
        );
    } catch (error) {
      // For a text file, any error other than CsvFault means that the archive itself is damaged.
      if (!isImportedWorkbook && !(error instanceof CsvFault)) throw error;
      reportFault(error, label, problems);
    }
  }
  reportMissingMarket(names, reading, 'file');
}

function reportFault(error: unknown, label: string, problems: Problems): void {
  const isText = error instanceof CsvFault;
  if (!isText && !isWorkbookFault(error)) throw error;
  problems.error({
    code: 'UNREADABLE_FILE',
    path: isText && error.record > 0 ? formatCellPath(label, error.record, '') : label,
    message: error.message,
    ...(isText && error.accepted !== undefined ? { accepted: error.accepted } : {}),
  });
}

function createUnknownTableProblem(name: string, kind: string): DataProblem {
  const tableName = name
    .split('/')
    .at(-1)!
    .replace(/\.csv$/i, '');
  const suggestion = findTableKind(tableName) === undefined ? suggestName(tableName, TABLE_KINDS) : '';
  return {
    code: 'UNKNOWN_FIELD',
    path: name.slice(0, 80),
    message: `The ${kind} ${name.slice(0, 80)} is not a table of a store, or appears twice; the accepted set is ${TABLE_KINDS.join(', ')}.${suggestion}`,
    accepted: TABLE_KINDS,
  };
}

function reportMissingMarket(
  names: ReadonlySet<string>,
  { mapping, problems, isPart }: TableReadInput,
  kind: string,
): void {
  if (isPart || [...names].some((name) => findTableKind(name, mapping) === 'market')) return;
  problems.error({
    code: 'EMPTY_DATASET',
    path: 'market',
    message:
      mapping === null
        ? `The ${kind} market is missing; it is required. Prices in others are read by a mapping: inspect proposes one.`
        : `There is no ${kind} that the mapping takes for one of the market.`,
  });
}

interface ImportOutcome {
  readonly content: MarketContent;
  /** Numbers of rows of the content. */
  readonly rows: SourceResult['rows'];
  /** Numbers of rows of the request, if it was appended. */
  readonly rowsRead?: SourceResult['rows'];
  readonly derived: DerivedActions | null;
  readonly adjustment: Adjustment;
  /** Folder into which the content is written. */
  readonly folder: string;
  readonly isServed: boolean;
  readonly calendars: UsedCalendars;
}

/**
 * Reads the body of an import: first its header, then its data. From the header, the caller decides whether and where
 * to store the data.
 * @returns undefined, with a finding, if the data is invalid or contradicts the stored content.
 * @throws Refusal MALFORMED_REQUEST, VALIDATION_FAILED for a body that is not an import
 */
export async function performImport(
  bytes: Uint8Array,
  { problems, calendars }: { readonly problems: Problems } & Pick<MarketInterpretation, 'calendars'>,
  ask: (header: ImportHeader) => Promise<ImportResponse>,
): Promise<ImportOutcome | undefined> {
  const { value, overflows } = parseJson(bytes);
  const { value: body, findings } = checkShape(ImportBody, value);
  if (body === undefined) throw refuseWithFindings('request', findings);
  const { content, tables, ...header } = body;
  if ((content === null) === (tables === null)) {
    const message = `Exactly one of content and tables is needed; ${content === null ? 'neither' : 'both'} came.`;
    throw refuseWithFindings('request', [
      { severity: 'error', code: content === null ? 'REQUIRED' : 'UNKNOWN_FIELD', message, path: 'content' },
    ]);
  }
  const source: ImportSource =
    tables === null
      ? { kind: header.format, bytes: decodeUpload(content!, header.format) }
      : { kind: 'tables', tables };
  const { folder, storedFiles, load: isServed, calendars: usedCalendars } = await ask(header);
  const importedContent = await readImport(
    source,
    problems,
    { ...header, calendars },
    { isPart: storedFiles !== null },
  );
  if (overflows && problems.errors === 0)
    throw new Refusal('MALFORMED_REQUEST', 'A number of the body is larger than a double can hold.');
  if (storedFiles !== null) refuseAppendedAdjustment(header, problems);
  const terms = { adjustment: header.adjustment, folder, isServed, calendars: usedCalendars };
  if (importedContent === undefined || storedFiles === null)
    return importedContent && { ...recountMarketRows(importedContent, header.mapping), ...terms };
  const storedResult = await readSource(storedFiles, problems, () => {}, { isOwn: true });
  const mergedContent = storedResult && mergeContents(storedResult.content, importedContent.content, problems);
  return (
    mergedContent && {
      ...importedContent,
      ...addRowsRead(mergedContent, importedContent.rows),
      ...terms,
    }
  );
}

/** Returns the content after an append, with its numbers of rows and those of the request. */
const addRowsRead = (content: MarketContent, rowsRead: SourceResult['rows']) => ({
  content,
  rows: countTableRows(content),
  rowsRead,
});

/** Rejects adjusted closes in an append. */
function refuseAppendedAdjustment({ mapping }: MarketInterpretation, problems: Problems): void {
  if (mapping?.adjusted_close != null)
    problems.error({
      code: 'NOT_IN_CHOICES',
      path: 'mapping.adjusted_close',
      message: 'Adjusted closes change backwards with every dividend: they are imported whole, with on_exists replace.',
      accepted: ['replace'],
    });
}

/**
 * Reads one table that was sent as a file. The table is the market of a new store or an addition to a store. An Arrow
 * stream is first converted to Parquet, so that both formats are read, and their problems reported, in the same way.
 * @returns undefined, with a finding, if the table is invalid or contradicts the stored content.
 */
export async function importTable(
  { table: { path, dataset, format }, answer: { folder, storedFiles, load, calendars }, terms }: TableImport,
  problems: Problems,
  onProgress: (fraction: number) => void,
): Promise<ImportOutcome | undefined> {
  if (storedFiles === null && dataset !== 'market') {
    problems.error({
      code: 'EMPTY_DATASET',
      path: 'market',
      message: `There is no market; the table ${dataset} can only be appended to a store that has one.`,
    });
    return undefined;
  }
  const parquetPath = format === 'parquet' ? path : `${path}.parquet`;
  if (format === 'arrow' && !(await convertArrow(path, parquetPath, dataset, problems))) return undefined;
  if (storedFiles !== null) refuseAppendedAdjustment(terms, problems);
  const sourceResult = await readSource(await createSingleTable(dataset, parquetPath), problems, onProgress, {
    isPart: storedFiles !== null,
    terms,
  });
  const { adjustment } = terms;
  const importTerms = { folder, isServed: load, calendars, adjustment, derived: sourceResult?.derived ?? null };
  if (sourceResult === undefined || storedFiles === null)
    return sourceResult && { ...recountMarketRows(sourceResult, terms.mapping), ...importTerms };
  const storedResult = await readSource(storedFiles, problems, () => {}, { isOwn: true });
  const mergedContent = storedResult && mergeContents(storedResult.content, sourceResult.content, problems);
  return mergedContent && { ...addRowsRead(mergedContent, sourceResult.rows), ...importTerms };
}

/** Converts an Arrow stream to a Parquet file. @returns false, with a finding, if the stream is invalid */
async function convertArrow(path: string, parquetPath: string, dataset: TableKind, problems: Problems) {
  const { isUnreadCompression, writeArrowAsParquet } = await import('../formats/arrow.js'); // not needed by other imports
  if (!isUnreadCompression(path)) return writeArrowAsParquet(path, parquetPath, dataset, problems);
  problems.error({
    code: 'UNREADABLE_FILE',
    path: dataset,
    message: 'The Arrow stream is compressed by ZSTD. Uncompressed streams are read, those of LZ4, and Parquet files.',
  });
  return false;
}

interface ZipSource {
  readonly name: string;
  readonly text: string;
}

/** The first day of the format; a fixed date gives equal archives for equal texts. */
const FIRST_DAY = '1980-01-01T00:00:00';

/** Creates a zip archive of a few texts. */
export function writeZip(sources: readonly ZipSource[]): Uint8Array<ArrayBuffer> {
  const files = Object.fromEntries(sources.map(({ name, text }) => [name, strToU8(text)]));
  return zipSync(files, { level: 9, mtime: FIRST_DAY }) as Uint8Array<ArrayBuffer>; // its own memory
}

/** Sheet of texts and numbers. */
export interface Sheet {
  readonly name: string;
  readonly rows: readonly (readonly (string | number | null)[])[];
}

const DECLARATION = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const MAIN_NAMESPACE = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const RELATIONS_NAMESPACE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const PACKAGE_NAMESPACE = 'http://schemas.openxmlformats.org/package/2006';

/** Creates an Excel workbook (.xlsx). @source ECMA-376 part 1, only the parts that every reader needs */
export function writeWorkbook(sheets: readonly Sheet[]): Uint8Array<ArrayBuffer> {
  const parts = sheets.map((_, i) => `xl/worksheets/sheet${i + 1}.xml`);
  const formatOverride = (part: string, kind: string) =>
    `<Override PartName="/${part}" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.${kind}+xml"/>`;
  return writeZip([
    {
      name: '[Content_Types].xml',
      text: `${DECLARATION}<Types xmlns="${PACKAGE_NAMESPACE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>${formatOverride('xl/workbook.xml', 'sheet.main')}${formatOverride('xl/styles.xml', 'styles')}${parts.map((part) => formatOverride(part, 'worksheet')).join('')}</Types>`,
    },
    {
      name: '_rels/.rels',
      text: `${DECLARATION}<Relationships xmlns="${PACKAGE_NAMESPACE}/relationships"><Relationship Id="rId1" Type="${RELATIONS_NAMESPACE}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
    },
    {
      name: 'xl/workbook.xml',
      text: `${DECLARATION}<workbook xmlns="${MAIN_NAMESPACE}" xmlns:r="${RELATIONS_NAMESPACE}"><sheets>${sheets.map(({ name }, i) => `<sheet name="${escape(name)}" sheetId="${i + 1}" r:id="rId${i + 1}"/>`).join('')}</sheets></workbook>`,
    },
    {
      name: 'xl/_rels/workbook.xml.rels',
      text: `${DECLARATION}<Relationships xmlns="${PACKAGE_NAMESPACE}/relationships">${sheets.map((_, i) => `<Relationship Id="rId${i + 1}" Type="${RELATIONS_NAMESPACE}/worksheet" Target="worksheets/sheet${i + 1}.xml"/>`).join('')}<Relationship Id="rId${sheets.length + 1}" Type="${RELATIONS_NAMESPACE}/styles" Target="styles.xml"/></Relationships>`,
    },
    {
      name: 'xl/styles.xml',
      text: `${DECLARATION}<styleSheet xmlns="${MAIN_NAMESPACE}"><fonts count="2"><font><sz val="11"/><name val="Calibri"/></font><font><b/><sz val="11"/><name val="Calibri"/></font></fonts><fills count="1"><fill><patternFill patternType="none"/></fill></fills><borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs><cellXfs count="2"><xf xfId="0"/><xf xfId="0" fontId="1" applyFont="1"/></cellXfs></styleSheet>`,
    },
    ...sheets.map((sheet, i) => ({ name: parts[i]!, text: formatSheet(sheet) })),
  ]);
}

function formatSheet({ rows }: Sheet): string {
  const lines = rows.map(
    (cells, row) =>
      `<row r="${row + 1}">${cells.map((cell, column) => formatCell(cell, `${formatColumnName(column)}${row + 1}`, row === 0)).join('')}</row>`,
  );
  return `${DECLARATION}<worksheet xmlns="${MAIN_NAMESPACE}"><sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><sheetData>${lines.join('')}</sheetData></worksheet>`;
}

function formatCell(cell: string | number | null, reference: string, isHeader: boolean): string {
  if (cell === null) return '';
  if (typeof cell === 'number') return `<c r="${reference}"><v>${cell}</v></c>`;
  return `<c r="${reference}"${isHeader ? ' s="1"' : ''} t="inlineStr"><is><t>${escape(protectText(cell))}</t></is></c>`;
}

function formatColumnName(column: number): string {
  const letter = String.fromCharCode(65 + (column % 26));
  return column < 26 ? letter : formatColumnName(Math.floor(column / 26) - 1) + letter;
}

const escape = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

type Rows = readonly (readonly (string | number | null)[])[];

/**
 * Example row of each dataset, in the order of its known columns. Together the rows are a valid market of one security.
 */
const EXAMPLE_ROWS: Readonly<Record<TableKind, Rows[number]>> = {
  market: ['EXMPL', '2024-01-02', 99.5, 101.25, 98.75, 100, 125000, 5000000, 0.85],
  reference: [
    'EXMPL',
    null,
    'Example Industries',
    'USD',
    'XNYS',
    'US',
    'Industrials',
    'Machinery',
    'Example Industries',
    '1998-05-04',
    null,
  ],
  corporate_actions: [
    'EXMPL',
    'DIVIDEND',
    0.25,
    '2024-01-02',
    '2024-01-16',
    'paid',
    '2023-12-05',
    null,
    null,
    null,
    0.0025,
    '2024-01-10',
    'cash',
  ],
  universes: ['EXAMPLE', 'EXMPL', '2024-01-02', null],
  series: ['EXMPL-INDEX', '2024-01-02', 4742.83, 'USD', 'Example index', null],
};

/** Returns the blank template of an import, with one example row per sheet: a workbook, or a zip of CSV files. */
export function createImportTemplate(format: ImportFormat): Uint8Array<ArrayBuffer> {
  const sheets: Sheet[] = TABLE_KINDS.map((name) => ({ name, rows: [KNOWN_COLUMNS[name], EXAMPLE_ROWS[name]] }));
  return format === 'xlsx'
    ? writeWorkbook(sheets)
    : writeZip(sheets.map(({ name, rows }) => ({ name: `${name}.csv`, text: formatCsv(rows) })));
}

function formatCsv(rows: Rows): string {
  return `${rows.map((row) => row.map((cell) => (typeof cell === 'string' ? quoteCell(protectText(cell)) : (cell ?? ''))).join(',')).join('\r\n')}\r\n`;
}

const quoteCell = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
