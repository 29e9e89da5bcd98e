import { compareText } from '#domain/base/findings.js';
import { isAssetIdentifier } from '#domain/base/schema.js';
import { type Day, formatDay, isTimeZone, SATURDAY, toInstant, toWeekday } from '#domain/base/time.js';
import type { Calendar, Calendars } from '#domain/calendars/calendar.js';
import { readReference, type ReferenceTable } from '#domain/market/market-data.js';
import { allocatePanels, isPaged } from '#kernels/memory/paged-memory.js';
import {
  type CsvRecord,
  createByteTexts,
  decodeText,
  describeRowLength,
  readCellText,
  readTextCells,
} from '../formats/csv.js';
import {
  type Cell,
  createZoneReader,
  explainNotANumber,
  findInstant,
  formatWrittenCell,
  type Heading,
  isTimeOfDay,
  isUtc,
  parseOffsetMinutes,
  readDay,
  readNumber,
  readText,
} from '../formats/cells.js';
import { allocateEmptyPanel, createDayPositions, type Panels, removeEmptyLines } from '../panels/panels.js';
import {
  type DataProblem,
  describeBadDay,
  describeBadIdentifier,
  describeRepeatedKey,
  formatCellPath,
  formatNonPositivePrice,
  type Problems,
  quoteValue,
  replaceSlashes,
  restoreName,
  type ValueConflict,
} from '../tables/problems.js';
import { COUNT_COLUMNS, nameFileColumns, PRICE_COLUMNS } from '../tables/table-kinds.js';
import { IDENTIFIERS_MAX, refuseSize, ROWS_MAX, RowsFault } from './market-content.js';

interface IdentifierFile {
  readonly label: string;
  readonly written: readonly string[];
  readonly identifierColumn: number;
}

/** Codes of identifiers, numbered in the order of their first occurrence. */
function createIdentifierCodes(problems: Problems) {
  const codes = new Map<string, number>();

  function findCode(
    text: string | null,
    { label, written, identifierColumn }: IdentifierFile,
    row: number,
  ): number | undefined {
    const existingCode = text === null ? undefined : codes.get(text);
    if (existingCode !== undefined) return existingCode;
    const path = formatCellPath(label, row, written[identifierColumn]!);
    const name = text === null ? null : replaceSlashes(text);
    if (text === null || name === null || !isAssetIdentifier(name)) {
      problems.error(describeBadIdentifier(path, text));
      return undefined;
    }
    if (name !== text) {
      restoreName(text, problems);
      return findCode(name, { label, written, identifierColumn }, row);
    }
    if (codes.size === IDENTIFIERS_MAX) {
      problems.error({
        code: 'OUT_OF_RANGE',
        path,
        message: `The market has more than ${IDENTIFIERS_MAX} identifiers, the maximum of a store.`,
      });
      return undefined;
    }
    codes.set(text, codes.size);
    return codes.size - 1;
  }

  return {
    /**
     * Returns the code of an identifier. If the text is not a valid identifier, returns undefined and adds a finding.
     * @param row of the file
     */
    codeOf: findCode,
    names: (): string[] => [...codes.keys()],
  };
}

/** Binary logarithm of the number of rows allocated together. */
const BLOCK_BITS = 14;
const BLOCK_ROWS = 1 << BLOCK_BITS;

/** Number of bytes of paged blocks allocated together as one file. */
const SLAB_BYTES = 64 << 20;

/** Allocates blocks of zeros. When their total size exceeds the limit for panels, blocks are kept in files. */
function createRowBlocks() {
  let heldBytes = 0;
  let slab = allocatePanels(0);
  let usedRows = 0;

  /** Reserves space in a file. Returns undefined if blocks are still in memory. */
  function reserveSpace(bytes: number): { readonly slab: SharedArrayBuffer; readonly at: number } | undefined {
    heldBytes += bytes;
    if (!isPaged(heldBytes)) return undefined;
    if (usedRows + bytes > slab.byteLength) {
      slab = allocatePanels(SLAB_BYTES, heldBytes);
      usedRows = 0;
    }
    usedRows += bytes;
    return { slab, at: usedRows - bytes };
  }

  return {
    integers(): Int32Array {
      const pagedBlock = reserveSpace(BLOCK_ROWS * Int32Array.BYTES_PER_ELEMENT);
      return pagedBlock ? new Int32Array(pagedBlock.slab, pagedBlock.at, BLOCK_ROWS) : new Int32Array(BLOCK_ROWS);
    },
    floats(): Float64Array {
      const pagedBlock = reserveSpace(BLOCK_ROWS * Float64Array.BYTES_PER_ELEMENT);
      return pagedBlock ? new Float64Array(pagedBlock.slab, pagedBlock.at, BLOCK_ROWS) : new Float64Array(BLOCK_ROWS);
    },
  };
}

/** Statements about the time zone of the days of a market. */
export interface ZoneTerms {
  /** Time zone, or code of the calendar, that the mapping states. */
  readonly timeZone?: string | null | undefined;
  /** Calendars of the service. Default: none. */
  readonly calendars?: Pick<Calendars, 'get' | 'list'> | undefined;
}

/** Rows whose days may be codes of instants. */
interface DatedRows {
  readonly identifiers: readonly string[];
  readonly codeBlocks: readonly Int32Array[];
  readonly dayBlocks: readonly Int32Array[];
  readonly rows: number;
}

/** First code of an instant: far above the last day of the API. */
const CODE_MIN = 2 ** 30;

/** Maximum number of instants that are tested for the time zones in which all of them are midnight. */
const TESTED_INSTANTS_MAX = 200;

/** Maximum number of time zones in a message. */
const LISTED_ZONES_MAX = 5;

const MS_PER_DAY = 86_400_000;

export const TIME_ZONE_PATH = 'mapping.time_zone';

/**
 * Creates the collector of instants. The time zone is that of the mapping, otherwise that of the exchange of the
 * security. Instants that all are midnight in UTC are days if the mapping states no time zone.
 */
function createInstantDays({ timeZone, calendars }: ZoneTerms) {
  const codes = new Map<number, Day>();
  const instants: number[] = [];

  function findCode(ms: number): Day {
    let code = codes.get(ms);
    if (code === undefined) {
      codes.set(ms, (code = CODE_MIN + instants.length));
      instants.push(ms);
    }
    return code;
  }

  /** Returns the time zones and the calendars of the securities by code. A time zone that no statement gives is undefined. */
  function findZones({ identifiers }: DatedRows, reference: ReferenceTable | undefined) {
    const exchanges = identifiers.map((identifier) => findExchange(identifier, instants, reference));
    const exchangeCalendars = exchanges.map((code) => (code === undefined ? undefined : calendars?.get(code)));
    const statedZone = timeZone == null ? undefined : (calendars?.get(timeZone)?.tz ?? timeZone);
    if (statedZone === undefined && !instants.some(isTimeOfDay))
      return { zones: identifiers.map(() => 'UTC'), calendars: exchangeCalendars };
    return { zones: exchangeCalendars.map((calendar) => statedZone ?? calendar?.tz), calendars: exchangeCalendars };
  }

  return {
    /** Returns a code that takes the place of the day of an instant. @param ms since 1970 */
    codeOf: findCode,
    /**
     * Replaces the codes by days. Returns false, with a finding, if no statement determines the time zone, or if the
     * statement contradicts the sessions.
     */
    resolve(rows: DatedRows, reference: ReferenceTable | undefined, problems: Problems): boolean {
      if (instants.length === 0) return true;
      if (timeZone != null && calendars?.get(timeZone) === undefined && !isZone(timeZone)) {
        problems.error(createUnknownZone(timeZone));
        return false;
      }
      const { zones, calendars: exchangeCalendars } = findZones(rows, reference);
      const unknown = zones.indexOf(undefined);
      if (unknown >= 0) {
        const ownInstants = listInstants(rows, unknown, instants);
        problems.error(createZoneQuestion(ownInstants, rows.identifiers[unknown]!, calendars));
        return false;
      }
      const days = createZoneDays(instants, zones as readonly string[]); // every zone was found
      const conflict = findSessionConflict(rows, { exchangeCalendars, instants }, days);
      if (conflict !== undefined) {
        const [zone, identifier] = [zones[conflict.code]!, rows.identifiers[conflict.code]!];
        if (!conflict.isClosedInUtc) {
          problems.error(createSessionConflict(conflict, zone, identifier));
          return false;
        }
        if (isSuspectZone(conflict, zone, { exchangeCalendars, calendars }))
          problems.warning(
            createSessionWarning(conflict, { zone, identifier }, findMidnightZones(instants, calendars)),
          );
      }
      visitCodes(rows, (block, slot, code, position) => {
        rows.dayBlocks[block]![slot] = days(code, position);
      });
      return true;
    },
  };
}

const isZone = (zone: string) => isTimeZone(zone) || parseOffsetMinutes(zone) !== undefined;

const createUnknownZone = (zone: string): DataProblem => ({
  code: 'NOT_IN_CHOICES',
  path: TIME_ZONE_PATH,
  message: `${JSON.stringify(zone.slice(0, 80))} is neither a time zone, such as Asia/Tokyo, nor the code of a calendar, such as XTKS.`,
  value: zone,
});

function findExchange(
  identifier: string,
  instants: readonly number[],
  reference: ReferenceTable | undefined,
): string | undefined {
  if (reference === undefined) return undefined;
  const lastDay = Math.floor(instants.reduce((a, b) => Math.max(a, b)) / MS_PER_DAY);
  const exchange = readReference(reference, identifier, 'EXCHANGE', lastDay + 1);
  return typeof exchange === 'string' ? exchange : undefined;
}

/** Returns a function for the day of an instant in the zone of a security. Days are computed once for each zone. */
function createZoneDays(instants: readonly number[], zones: readonly string[]) {
  const daysByZone = new Map(
    [...new Set(zones)].map((zone) => [zone, Int32Array.from(instants, createZoneReader(zone))]),
  );
  return (code: number, position: number): Day => daysByZone.get(zones[code]!)![position]!;
}

/** Calls a function for each row with an instant. @param visit receives the position of the instant */
function visitCodes(
  { codeBlocks, dayBlocks, rows }: DatedRows,
  visit: (block: number, slot: number, code: number, position: number) => void,
): void {
  for (let row = 0; row < rows; row++) {
    const [block, slot] = [row >>> BLOCK_BITS, row & (BLOCK_ROWS - 1)];
    const day = dayBlocks[block]![slot]!;
    const code = codeBlocks[block]![slot]!;
    if (day >= CODE_MIN && code >= 0) visit(block, slot, code, day - CODE_MIN);
  }
}

/** Returns the instants of one security, or all instants if its own are days in UTC. */
function listInstants(rows: DatedRows, of: number, instants: readonly number[]): readonly number[] {
  const positions = new Set<number>();
  visitCodes(rows, (_block, _slot, code, position) => {
    if (code === of) positions.add(position);
  });
  const ownInstants = [...positions].map((position) => instants[position]!);
  return ownInstants.some(isTimeOfDay) ? ownInstants : instants;
}

interface SessionConflict {
  readonly code: number;
  readonly count: number;
  readonly day: Day;
  /** True if bars of the market are on days without a session in UTC, too. */
  readonly isClosedInUtc: boolean;
}

interface ExchangeTerms {
  readonly exchangeCalendars: readonly (Calendar | undefined)[];
  readonly instants: readonly number[];
}

/**
 * Returns the bars that the time zone puts on days without a session. Without the calendar of its exchange, a security
 * has sessions from Monday to Friday.
 */
function findSessionConflict(
  rows: DatedRows,
  { exchangeCalendars, instants }: ExchangeTerms,
  days: (code: number, position: number) => Day,
): SessionConflict | undefined {
  const isClosed = (code: number, day: Day): boolean => {
    const calendar = exchangeCalendars[code];
    if (calendar === undefined) return toWeekday(day) >= SATURDAY;
    return day >= calendar.coverage.from && day <= calendar.coverage.to && !calendar.isSession(day);
  };
  let isClosedInUtc = false;
  let conflict: Omit<SessionConflict, 'isClosedInUtc'> | undefined;
  visitCodes(rows, (_block, _slot, code, position) => {
    if (isClosed(code, Math.floor(instants[position]! / MS_PER_DAY))) isClosedInUtc = true;
    const day = days(code, position);
    if (isClosed(code, day)) conflict = { code, day, ...conflict, count: (conflict?.count ?? 0) + 1 };
  });
  return conflict && { ...conflict, isClosedInUtc };
}

/**
 * Returns true if bars on days without a session are evidence against a time zone. They are none if an exchange in the
 * zone has a session on the day, such as a Sunday in Israel. Days of a known exchange have their own warnings.
 */
function isSuspectZone(
  { code, day }: SessionConflict,
  zone: string,
  { exchangeCalendars, calendars }: Pick<ExchangeTerms, 'exchangeCalendars'> & Pick<ZoneTerms, 'calendars'>,
): boolean {
  if (isUtc(zone) || exchangeCalendars[code] !== undefined) return false;
  const own = nameZone(zone);
  const codes = (calendars?.list() ?? []).filter(({ tz }) => nameZone(tz) === own).map((option) => option.code);
  return !codes.some((exchange) => calendars!.get(exchange)!.isSession(day));
}

/** Returns one name for all aliases of a time zone, such as Asia/Tel_Aviv and Asia/Jerusalem. An offset is its own name. */
const nameZone = (zone: string): string =>
  isTimeZone(zone) ? new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone : zone;

const describeClosedDays = ({ count, day }: SessionConflict, zone: string, identifier: string): string =>
  `In the time zone ${zone}, ${count === 1 ? '1 bar is' : `${count} bars are`} on days without a session (the first is ${identifier} on ${formatDay(day)})`;

const createSessionWarning = (
  conflict: SessionConflict,
  { zone, identifier }: { readonly zone: string; readonly identifier: string },
  midnightZones: readonly string[],
): DataProblem => ({
  code: 'NOT_A_SESSION',
  path: TIME_ZONE_PATH,
  message: `${describeClosedDays(conflict, zone, identifier)}, so the time zone is probably wrong.${describeMidnights(midnightZones)}`,
  value: zone,
});

const createSessionConflict = (conflict: SessionConflict, zone: string, identifier: string): DataProblem => ({
  code: 'NOT_A_SESSION',
  path: TIME_ZONE_PATH,
  message: `${describeClosedDays(conflict, zone, identifier)}; as days in UTC, every bar is on a session. State the time zone of the days as time_zone of the mapping (--time-zone), UTC for days in UTC.`,
  value: zone,
});

/** Returns the question for the time zone. It names the zones of exchanges in which every instant is midnight. */
function createZoneQuestion(
  instants: readonly number[],
  identifier: string,
  calendars: ZoneTerms['calendars'],
): DataProblem {
  const first = instants.find(isTimeOfDay)!; // otherwise the instants are days
  const zones = findMidnightZones(instants, calendars);
  const weekendDays = new Set(
    instants.map((ms) => Math.floor(ms / MS_PER_DAY)).filter((day) => toWeekday(day) >= SATURDAY),
  ).size;
  const weekendText = weekendDays === 0 ? '' : ` In UTC, ${weekendDays} of the days are on a weekend.`;
  return {
    code: 'REQUIRED',
    path: TIME_ZONE_PATH,
    message: `The dates are instants in UTC, such as ${new Date(first).toISOString()}, and their local day depends on the time zone of the exchange, which neither the data nor the reference column EXCHANGE states for ${identifier}.${describeMidnights(zones)}${weekendText} State time_zone of the mapping (--time-zone), for example Asia/Tokyo or XTKS.`,
    value: new Date(first).toISOString(),
    ...(zones.length === 0 ? {} : { accepted: zones }),
  };
}

/** Names the first time zones of exchanges in which every instant is midnight. */
function describeMidnights(zones: readonly string[]): string {
  if (zones.length === 0) return '';
  const remainder = zones.length > LISTED_ZONES_MAX ? ` and ${zones.length - LISTED_ZONES_MAX} more` : '';
  return ` Every instant is midnight in ${zones.slice(0, LISTED_ZONES_MAX).join(', ')}${remainder}.`;
}

function findMidnightZones(instants: readonly number[], calendars: ZoneTerms['calendars']): readonly string[] {
  const step = Math.max(1, Math.ceil(instants.length / TESTED_INSTANTS_MAX));
  const tested = instants.filter((_, i) => i % step === 0);
  const zones = new Set((calendars?.list() ?? []).map(({ tz }) => tz).filter((zone) => !isUtc(zone)));
  return [...zones]
    .filter((zone) => {
      const readDay = createZoneReader(zone);
      return tested.every((ms) => toInstant({ day: readDay(ms), time: '00:00', zone }) === ms);
    })
    .toSorted();
}

/** Treatment of several rows with the same security and date. */
type DuplicatePolicy = 'refuse' | 'identical' | 'first' | 'last';

interface RepetitionTerms {
  readonly onDuplicate: DuplicatePolicy;
  /** True to merge rows of several files into one bar. Each file must supply different fields. */
  readonly isJoined: boolean;
}

/** Returns true if a repeated row of a cell is accepted. Applies the changes that the row makes. */
function isMet(
  { onDuplicate, isJoined }: RepetitionTerms,
  panels: readonly Float64Array[],
  cell: number,
  valueOf: (field: number) => number,
): boolean {
  if (onDuplicate === 'refuse' && !isJoined) return false;
  for (let field = 0; field < panels.length; field++) {
    const panel = panels[field]!;
    const value = valueOf(field);
    const storedValue = panel[cell]!;
    if (isJoined && value !== value) continue;
    if (onDuplicate === 'last' || (isJoined && storedValue !== storedValue)) panel[cell] = value;
    else if (onDuplicate === 'refuse' || (onDuplicate === 'identical' && !Object.is(storedValue, value))) return false;
  }
  return true;
}

/** Returns the first field in which a repeated row of a cell differs. Returns undefined if all values are equal. */
function findValueConflict(
  {
    fields,
    panels,
    cell,
  }: { readonly fields: readonly string[]; readonly panels: readonly Float64Array[]; readonly cell: number },
  valueOf: (field: number) => number,
): Pick<ValueConflict, 'column' | 'first' | 'other'> | undefined {
  const position = panels.findIndex((panel, field) => !Object.is(panel[cell], valueOf(field)));
  return position < 0
    ? undefined
    : { column: fields[position]!, first: panels[position]![cell]!, other: valueOf(position) };
}

/** Rows in the order of the files, in blocks. */
interface CollectedRows {
  readonly identifiers: readonly string[];
  readonly fields: readonly string[];
  /** Codes of the identifiers of the rows; -1 for a refused row. */
  readonly codeBlocks: readonly Int32Array[];
  readonly dayBlocks: readonly Int32Array[];
  /** [field][block] */
  readonly valueBlocks: readonly (readonly Float64Array[])[];
  readonly rows: number;
  readonly files: readonly { readonly label: string; readonly firstRow: number }[];
}

interface PanelsOptions {
  readonly isPart: boolean;
  readonly onDuplicate: DuplicatePolicy;
  readonly isJoined: boolean;
}

interface EmptyPanels {
  /** Column by identifier code. */
  readonly columnOf: Int32Array;
  readonly dates: Int32Array;
  readonly panels: readonly Float64Array[];
}

/** Returns the panels of all rows; undefined, with a finding, after an error. */
function toPanels(collected: CollectedRows, problems: Problems, options: PanelsOptions): Panels | undefined {
  const { identifiers, fields, codeBlocks, dayBlocks, rows } = collected;
  const { isPart, onDuplicate } = options;
  if (rows === 0 && problems.errors === 0 && !isPart)
    problems.error({
      code: 'EMPTY_DATASET',
      path: 'market',
      message: 'The market has no row with a number; it must have at least one.',
    });
  const isSound = problems.errors === 0;
  const order = identifiers.map((_, code) => code).toSorted((a, b) => compareText(identifiers[a]!, identifiers[b]!));
  const columnByCode = new Int32Array(identifiers.length);
  for (let n = 0; n < order.length; n++) columnByCode[order[n]!] = n;
  const dates = listDistinctDays(codeBlocks, dayBlocks, rows);
  const shape = { dates: dates.length, identifiers: order.length, fields: fields.length };
  if (refuseSize(shape, problems)) return undefined;
  // Repeated rows are reported after other errors too. If identical rows are accepted, this needs the panels, because
  // it compares values.
  const panels =
    isSound || onDuplicate === 'identical'
      ? fields.map(() => allocateEmptyPanel(shape.dates * shape.identifiers, shape.fields))
      : [];
  if (!writePanels(collected, { columnOf: columnByCode, dates, panels }, problems, options) || !isSound)
    return undefined;
  return removeEmptyLines({
    identifiers: order.map((code) => identifiers[code]!),
    dates,
    fields: new Map(fields.map((name, field) => [name, panels[field]!])),
  });
}

/**
 * Writes every row to its cell. Returns false, with a finding, if two rows have the same cell and the options do not
 * accept this.
 */
function writePanels(
  { identifiers, fields, codeBlocks, dayBlocks, valueBlocks, rows, files }: CollectedRows,
  { columnOf, dates, panels }: EmptyPanels,
  problems: Problems,
  options: Omit<PanelsOptions, 'isPart'>,
): boolean {
  const assets = columnOf.length;
  const rowByDay = createDayPositions(dates);
  const filledCells = new Uint8Array(dates.length * assets);
  let repeatedRows = 0;
  for (let row = 0; row < rows; row++) {
    const block = row >>> BLOCK_BITS;
    const slot = row & (BLOCK_ROWS - 1);
    const code = codeBlocks[block]![slot]!;
    if (code < 0) continue;
    const day = dayBlocks[block]![slot]!;
    const cell = rowByDay[day - dates[0]!]! * assets + columnOf[code]!;
    if (filledCells[cell] === 1) {
      const getValue = (field: number): number => valueBlocks[field]![block]![slot]!;
      if (isMet(options, panels, cell, getValue)) continue;
      repeatedRows += 1;
      const conflict = findValueConflict({ fields, panels, cell }, getValue);
      if (conflict !== undefined) problems.conflict({ ...conflict, identifier: identifiers[code]!, day });
      refuseRepeated(row, identifiers[code]!, day, problems, files);
      continue;
    }
    filledCells[cell] = 1;
    for (let field = 0; field < panels.length; field++) panels[field]![cell] = valueBlocks[field]![block]![slot]!;
  }
  return repeatedRows === 0;
}

function listDistinctDays(codes: readonly Int32Array[], blocks: readonly Int32Array[], rows: number): Int32Array {
  const days = new Set<number>();
  for (let row = 0; row < rows; row++) {
    const [block, slot] = [row >>> BLOCK_BITS, row & (BLOCK_ROWS - 1)];
    if (codes[block]![slot]! >= 0) days.add(blocks[block]![slot]!);
  }
  return Int32Array.from(days).sort();
}

function refuseRepeated(
  row: number,
  identifier: string,
  day: Day,
  problems: Problems,
  files: readonly { readonly label: string; readonly firstRow: number }[],
): void {
  const file = files.findLast((candidate) => candidate.firstRow <= row)!;
  problems.error(describeRepeatedKey(formatCellPath(file.label, row - file.firstRow + 1, ''), identifier, day));
}

/** A file, sheet or table of the market dataset, with the meanings of its columns. */
export interface MarketFile {
  readonly label: string;
  /** Column names as the file writes them. */
  readonly written: readonly string[];
  /** Columns of the keys. The number is -1, with a finding, if the file lacks the column. */
  readonly identifierColumn: number;
  readonly dateColumn: number;
  /** Position of the field of each column. It is -1 for key columns and ignored columns. */
  readonly fieldOf: Int32Array;
  /** Identifier code of all rows, if the file has no identifier column. */
  readonly code?: number | undefined;
  /** True if numbers have unusual formats and are read as text. */
  readonly hasOwnNumbers?: boolean;
  /** True if a row contains several securities, which `addCells` splits. */
  readonly isWide?: boolean;
}

/**
 * Collects rows of the market dataset from formats that are read row by row. The rows are in the order of the files,
 * and the axes are not known yet. Every problem of a row is reported when the row is added.
 */
export interface MarketRows {
  /**
   * Begins a file. If its columns are not those of a market dataset, returns undefined and adds a finding.
   * @param table name of the file, sheet or table in its source. Default: the last part of the label.
   * @param heading rows above its header
   */
  beginFile(label: string, written: readonly string[], table?: string, heading?: Heading): MarketFile | undefined;
  /** Begins a row with its keys. If a key is undefined, because it was rejected before, the row is only counted. */
  beginRow(code: number | undefined, day: Day | undefined): void;
  setNumber(file: MarketFile, column: number, value: number): void;
  refuseNumber(file: MarketFile, column: number, text: string): void;
  /** Reports the current row as unreadable. @param first text of its first cell */
  refuseRow(file: MarketFile, message: string, first?: string): void;
  /** Adds a row of cells. Null is an unreadable row, which is only counted. */
  addCells(file: MarketFile, cells: readonly (Cell | undefined)[] | null): void;
  /**
   * Returns the code of the identifier of the next row. If the text is not a valid identifier, returns undefined and
   * adds a finding.
   */
  codeOf(file: MarketFile, text: string | null): number | undefined;
  /** Returns the day of the next row. If the cell is not a day, returns undefined and adds a finding. */
  dayOf(file: MarketFile, cell: Cell | undefined): Day | undefined;
  readonly rows: number;
  /** Returns the identifiers of the rows so far. */
  names(): readonly string[];
  /**
   * Returns the panels of all rows; undefined after an error.
   * @param reference table with the exchanges of the securities, from which days of instants follow
   */
  toPanels(reference?: ReferenceTable): Panels | undefined;
}

/** Collector of rows whose columns already have their final names. */
export interface NamedMarketRows extends MarketRows {
  /** Begins a file. @param names of its columns, '' for an ignored column */
  openFile(file: Pick<MarketFile, 'label' | 'written'>, names: readonly string[]): MarketFile;
  /** Begins a bar in a row that contains several bars. @param row of the file, counted from 1 */
  beginBar(row: number, code: number, day: Day): void;
  /** Returns the day of an instant, or a code of it until the time zone is known. @param ms since 1970 */
  dayOfInstant(ms: number): Day;
}

/** Properties of all rows, known before the first row is read. */
export interface MarketRowsOptions extends ZoneTerms {
  /** True if the rows are only a part of a source, which may be empty. */
  readonly isPart?: boolean;
  readonly rowsMax?: number;
  readonly onDuplicate?: DuplicatePolicy;
  /** Merges rows of several files for one security and date into one bar. Each file must supply different fields. */
  readonly isJoined?: boolean;
}

/** Creates a collector of rows. @throws RowsFault at the first block of rows that begins after `rowsMax` */
export function createMarketRows(
  problems: Problems,
  { isPart = false, rowsMax = ROWS_MAX, onDuplicate = 'refuse', isJoined = false, ...zones }: MarketRowsOptions = {},
): NamedMarketRows {
  const fields: string[] = [];
  /** Permitted signs of each field: above zero, at least zero, or any. */
  const signs: ('positive' | 'counted' | 'any')[] = [];
  const codes = createIdentifierCodes(problems);
  const instants = createInstantDays(zones);
  const files: { readonly label: string; readonly firstRow: number }[] = [];
  const blocks = createRowBlocks();
  const codeBlocks: Int32Array[] = [];
  const dayBlocks: Int32Array[] = [];
  /** [field][block] */
  const valueBlocks: Float64Array[][] = [];
  let rows = 0;
  let fileRow = 0;

  function beginFile(label: string, written: readonly string[]): MarketFile | undefined {
    const names = nameFileColumns('market', label, written, problems);
    return names && openFile({ label, written }, names);
  }

  function openFile({ label, written }: Pick<MarketFile, 'label' | 'written'>, names: readonly string[]): MarketFile {
    const fieldOf = Int32Array.from(names, (name) =>
      name === '' || name === 'identifier' || name === 'date' ? -1 : findFieldPosition(name),
    );
    fileRow = 0;
    files.push({ label, firstRow: rows });
    return {
      label,
      written,
      identifierColumn: names.indexOf('identifier'),
      dateColumn: names.indexOf('date'),
      fieldOf,
    };
  }

  function findFieldPosition(name: string): number {
    const existingIndex = fields.indexOf(name);
    if (existingIndex >= 0) return existingIndex;
    valueBlocks.push(codeBlocks.map(() => blocks.floats().fill(Number.NaN)));
    signs.push(PRICE_COLUMNS.has(name) ? 'positive' : COUNT_COLUMNS.has(name) ? 'counted' : 'any');
    return fields.push(name) - 1;
  }

  function beginRow(code: number | undefined, day: Day | undefined, row = fileRow + 1): void {
    fileRow = row;
    const slot = rows & (BLOCK_ROWS - 1);
    if (slot === 0) {
      if (rows >= rowsMax) throw new RowsFault(`The market has more than ${rows} rows; at most ${rowsMax} are read.`);
      codeBlocks.push(blocks.integers().fill(-1));
      dayBlocks.push(blocks.integers());
      for (const ofField of valueBlocks) ofField.push(blocks.floats().fill(Number.NaN));
    }
    if (code !== undefined && day !== undefined) {
      const block = rows >>> BLOCK_BITS;
      codeBlocks[block]![slot] = code;
      dayBlocks[block]![slot] = day;
    }
    rows += 1;
  }

  function setNumber(file: MarketFile, column: number, value: number): void {
    const field = file.fieldOf[column]!;
    if (value <= 0 && (signs[field] === 'positive' || (value < 0 && signs[field] === 'counted')))
      problems.error(
        describeSign(file.written[column]!, value, {
          isPrice: signs[field] === 'positive',
          label: file.label,
          row: fileRow,
        }),
      );
    const row = rows - 1;
    valueBlocks[field]![row >>> BLOCK_BITS]![row & (BLOCK_ROWS - 1)] = value + 0; // + 0 converts a negative zero to 0
  }

  const refuseNumber = (file: MarketFile, column: number, text: string): void =>
    problems.error(describeNotANumber(file.written[column]!, text, { label: file.label, row: fileRow }));

  function refuseRow(file: MarketFile, message: string): void {
    problems.error({ code: 'UNREADABLE_FILE', path: formatCellPath(file.label, fileRow, ''), message });
  }

  const findCode = (file: MarketFile, text: string | null): number | undefined => codes.codeOf(text, file, fileRow + 1);

  function readFileDay(file: MarketFile, cell: Cell | undefined): Day | undefined {
    const instant = findInstant(cell);
    const day = instant === undefined ? readDay(cell) : instants.codeOf(instant);
    if (typeof day === 'number') return day;
    const name = file.written[file.dateColumn]!;
    const path = formatCellPath(file.label, fileRow + 1, name);
    problems.error(describeBadDay(path, name, day === null ? null : formatWrittenCell(cell)));
    return undefined;
  }

  const cellRows: CellRows = {
    beginRow: (code, day) => beginRow(code, day),
    setNumber,
    refuseNumber,
    codeOf: findCode,
    dayOf: readFileDay,
  };
  return {
    ...cellRows,
    beginFile,
    openFile,
    beginBar: (row, code, day) => beginRow(code, day, row),
    dayOfInstant: instants.codeOf,
    refuseRow,
    addCells: (file, cells) => addCells(cellRows, file, cells),
    toPanels(reference) {
      const collected = { identifiers: codes.names(), fields, codeBlocks, dayBlocks, valueBlocks, rows, files };
      if (!instants.resolve(collected, reference, problems)) return undefined;
      return toPanels(collected, problems, { isPart, onDuplicate, isJoined });
    },
    names: codes.names,
    get rows() {
      return rows;
    },
  };
}

type CellRows = Pick<MarketRows, 'beginRow' | 'setNumber' | 'refuseNumber' | 'codeOf' | 'dayOf'>;

function addCells(rows: CellRows, file: MarketFile, cells: readonly (Cell | undefined)[] | null): void {
  if (cells === null) {
    rows.beginRow(undefined, undefined);
    return;
  }
  const { identifierColumn, dateColumn } = file;
  rows.beginRow(
    identifierColumn < 0 ? undefined : rows.codeOf(file, readText(cells[identifierColumn])),
    dateColumn < 0 ? undefined : rows.dayOf(file, cells[dateColumn]),
  );
  for (let column = 0; column < file.fieldOf.length; column++) {
    if (file.fieldOf[column]! < 0) continue;
    const value = readNumber(cells[column]);
    if (value === undefined) rows.refuseNumber(file, column, formatWrittenCell(cells[column]));
    else if (value === value) rows.setNumber(file, column, value);
  }
}

/** Begins a market file and returns a receiver of its records; undefined if the columns are not those of a market. */
type MarketRecords = (
  label: string,
  columns: readonly string[],
  table?: string,
  heading?: Heading,
) => ((record: CsvRecord) => void) | undefined;

/** Adds the records of market files, in turn. Numbers are parsed from bytes, identifiers and days once per spelling. */
export function createMarketRecords(rows: MarketRows): MarketRecords {
  let file: MarketFile;
  const readNameCode = createByteTexts((bytes, start, end) => rows.codeOf(file, decodeText(bytes, start, end) || null));
  const readDay = createByteTexts((bytes, start, end) => rows.dayOf(file, decodeText(bytes, start, end)));

  return (label, columns, table, heading) => {
    const csvFile = rows.beginFile(label, columns, table, heading);
    if (csvFile === undefined) return undefined;
    file = csvFile;
    const { identifierColumn: name, dateColumn: date, fieldOf, code, isWide = false, hasOwnNumbers = false } = csvFile;

    return (record) => {
      if (record.cells !== columns.length) {
        rows.beginRow(undefined, undefined);
        rows.refuseRow(csvFile, describeRowLength(record.cells, columns.length), readCellText(record, 0));
        return;
      }
      if (isWide || hasOwnNumbers) {
        rows.addCells(csvFile, readTextCells(record));
        return;
      }
      const { bytes, starts, ends } = record;
      rows.beginRow(
        name < 0 ? code : readNameCode(bytes, starts[name]!, ends[name]!),
        date < 0 ? undefined : readDay(bytes, starts[date]!, ends[date]!),
      );
      for (let column = 0; column < record.cells; column++) {
        if (fieldOf[column]! < 0) continue;
        const value = readRecordNumber(record, column);
        if (value === value) rows.setNumber(csvFile, column, value);
        else if (isInvalidNumber) rows.refuseNumber(csvFile, column, readCellText(record, column));
      }
    };
  };
}

const SPACE = 0x20;

/** True if the last `readRecordNumber` that returned NaN parsed an invalid number rather than an empty cell. */
let isInvalidNumber = false;

/** Powers of ten that are exact doubles: a mantissa below 2^53 divided by one of them is correctly rounded. */
const EXACT_POWERS = Float64Array.from({ length: 23 }, (_, k) => Number(`1e${k}`));
const MANTISSA_MAX = Number.MAX_SAFE_INTEGER / 10 - 1;

/**
 * Returns the number in a cell, NaN if it is empty, NaN with `isInvalidNumber` for any other content.
 * @source Clinger (1990), How to read floating point numbers accurately: the exact fast path.
 */
function readRecordNumber(record: CsvRecord, cell: number): number {
  const { bytes } = record;
  let position = record.starts[cell]!;
  let end = record.ends[cell]!;
  isInvalidNumber = false;
  while (position < end && bytes[position] === SPACE) position += 1;
  while (end > position && bytes[end - 1] === SPACE) end -= 1;
  if (position === end) return Number.NaN;
  const first = bytes[position];
  if (first === 0x2d || first === 0x2b) position += 1;
  let mantissa = 0;
  let digits = 0;
  let decimals = 0;
  let seenPoint = false;
  for (; position < end; position++) {
    const byte = bytes[position]!;
    if (byte >= 0x30 && byte <= 0x39) {
      if (mantissa > MANTISSA_MAX) return readSlowNumber(record, cell);
      mantissa = mantissa * 10 + (byte - 0x30);
      digits += 1;
      if (seenPoint) decimals += 1;
    } else if (byte === 0x2e && !seenPoint) seenPoint = true;
    else return readSlowNumber(record, cell);
  }
  if (digits === 0 || decimals > 22) return readSlowNumber(record, cell);
  const value = mantissa / EXACT_POWERS[decimals]!;
  return first === 0x2d ? -value : value;
}

const NUMBER_TEXT = /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/;

function readSlowNumber(record: CsvRecord, cell: number): number {
  const text = readCellText(record, cell);
  if (text === '' || text.toLowerCase() === 'nan') return Number.NaN;
  const value = NUMBER_TEXT.test(text) ? Number(text) : Number.NaN;
  if (Number.isFinite(value)) return value;
  isInvalidNumber = true;
  return Number.NaN;
}

/** Position of a row in a file. */
interface CellRow {
  readonly label: string;
  readonly row: number;
}

const describeNotANumber = (name: string, text: string, { label, row }: CellRow): DataProblem => ({
  code: 'NOT_A_NUMBER',
  path: formatCellPath(label, row, name),
  message: `${name} is ${quoteValue(text)}, which ${explainNotANumber(text)}.`,
  value: text,
});

/** Describes a number with a sign that its column does not allow. */
const describeSign = (
  name: string,
  value: number,
  { isPrice, label, row }: CellRow & { readonly isPrice: boolean },
): DataProblem => ({
  code: isPrice ? 'NON_POSITIVE_PRICE' : 'OUT_OF_RANGE',
  path: formatCellPath(label, row, name),
  message: isPrice ? formatNonPositivePrice(name, value) : `${name} is ${value}; at least 0 is needed.`,
  value,
});
