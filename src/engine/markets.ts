import { compareText, type Finding } from '#domain/base/findings.js';
import { refuseWithFindings } from '#domain/base/refusals.js';
import { isAssetIdentifier } from '#domain/base/schema.js';
import { type Day, formatDay, parseDay } from '#domain/base/time.js';
import type { DatedMarkets } from '#domain/books/composer.js';
import type { MarketData } from '#domain/market/market-data.js';
import { digestContent } from '#market/content/content-hash.js';
import { type MarketContent, refuseSize } from '#market/content/market-content.js';
import { computeContentChange, createDatedMarkets } from '#market/content/versions.js';
import { warnOfMarket } from '#market/judge/market-warnings.js';
import { completeMappedContent } from '#market/mapping/mapped-content.js';
import { createZeroPanel, type Panels, removeEmptyLines } from '#market/panels/panels.js';
import { createContentRows, type Frame, readFrames } from '#market/read/content-rows.js';
import {
  createProblems,
  describeBadIdentifier,
  formatNonPositivePrice,
  type Problems,
} from '#market/tables/problems.js';
import { COUNT_COLUMNS, nameFileColumns, PRICE_COLUMNS } from '#market/tables/table-kinds.js';
import type * as Api from './api.js';

/**
 * Converts dates to days. If a date does not exist or the dates do not ascend, reports a finding and returns undefined.
 */
function parseDays(dates: readonly string[] | Int32Array, problems: Problems): Int32Array | undefined {
  const days = new Int32Array(dates.length);
  for (let t = 0; t < days.length; t++) {
    const date = dates[t]!;
    const day: Day | undefined = typeof date === 'number' ? date : parseDay(String(date));
    if (day === undefined) {
      const message = `${JSON.stringify(date)} is not a day that exists, YYYY-MM-DD.`;
      problems.error({ code: 'BAD_DATE', path: `prices.dates[${t}]`, message, value: date });
      return undefined;
    }
    days[t] = day;
    if (t === 0 || day > days[t - 1]!) continue;
    const message = `The date ${date} is not after ${dates[t - 1]!}. Dates must be unique and ascending.`;
    problems.error({ code: 'INVALID_RANGE', path: `prices.dates[${t}]`, message, value: date });
    return undefined;
  }
  return days;
}

/**
 * Converts dense arrays to panels with the axes of a market. If the arrays are invalid, reports findings and returns
 * undefined.
 */
function createDensePanels({ dates, identifiers, fields }: Api.PriceArrays, problems: Problems): Panels | undefined {
  const days = parseDays(dates, problems);
  const fieldNames = Object.keys(fields);
  const names = nameFileColumns('market', 'prices', ['identifier', 'date', ...fieldNames], problems)?.slice(2);
  checkIdentifiers(identifiers, problems);
  const shape = { dates: dates.length, identifiers: identifiers.length, fields: fieldNames.length };
  for (const name of fieldNames) checkLength(name, fields[name]!, shape, problems);
  if (days === undefined || names === undefined || problems.errors > 0 || refuseSize(shape, problems)) return undefined;
  const order = identifiers.map((_, n) => n).toSorted((a, b) => compareText(identifiers[a]!, identifiers[b]!));
  const sortedIdentifiers = order.map((n) => identifiers[n]!);
  const panels = names.map((name, f): [string, Float64Array] => {
    const cells = { name, written: fieldNames[f]!, days, identifiers, order };
    return [name, createPanel(fields[fieldNames[f]!]!, cells, problems)];
  });
  if (problems.errors > 0) return undefined;
  return removeEmptyLines({ identifiers: sortedIdentifiers, dates: days, fields: new Map(panels) });
}

function checkIdentifiers(identifiers: readonly string[], problems: Problems): void {
  const seenIdentifiers = new Set<string>();
  for (const [n, identifier] of identifiers.entries()) {
    const path = `prices.identifiers[${n}]`;
    if (typeof identifier !== 'string' || !isAssetIdentifier(identifier))
      problems.error(describeBadIdentifier(path, String(identifier)));
    else if (seenIdentifiers.has(identifier))
      problems.error({ code: 'DUPLICATE_KEY', path, message: `The identifier ${identifier} occurs twice.` });
    seenIdentifiers.add(identifier);
  }
}

function checkLength(
  name: string,
  values: Float64Array,
  { dates, identifiers }: { readonly dates: number; readonly identifiers: number },
  problems: Problems,
): void {
  const path = `prices.fields.${name}`;
  if (!(values instanceof Float64Array))
    problems.error({ code: 'WRONG_TYPE', path, message: `${name} is not a Float64Array.` });
  else if (values.length !== dates * identifiers)
    problems.error({
      code: 'OUT_OF_RANGE',
      path,
      message: `${name} has ${values.length} values; ${dates} dates of ${identifiers} identifiers have ${dates * identifiers}.`,
    });
}

interface Cells {
  readonly name: string;
  readonly written: string;
  readonly days: Int32Array;
  readonly identifiers: readonly string[];
  /** Position of each column in the input. */
  readonly order: readonly number[];
}

/** Returns one field in the order of the identifiers. Reports invalid values. */
function createPanel(values: Float64Array, cells: Cells, problems: Problems): Float64Array {
  const { name, order, days } = cells;
  const width = order.length;
  const panel = createZeroPanel(values.length);
  const isPrice = PRICE_COLUMNS.has(name);
  const isSigned = !isPrice && !COUNT_COLUMNS.has(name);
  for (let t = 0; t < days.length; t++)
    for (let n = 0; n < width; n++) {
      const value = values[t * width + order[n]!]!;
      panel[t * width + n] = value + 0; // + 0 turns a negative zero into 0
      const isAccepted = value > 0 || value !== value || isSigned || (value === 0 && !isPrice);
      if (!isAccepted || value === Infinity || value === -Infinity) refuseCell({ ...cells, t, n, value }, problems);
    }
  return panel;
}

function refuseCell(
  { name, written, days, identifiers, order, t, n, value }: Cells & Readonly<Record<'t' | 'n' | 'value', number>>,
  problems: Problems,
): void {
  const location = `${identifiers[order[n]!]!} on ${formatDay(days[t]!)}`;
  const path = `prices.fields.${written}[${t * order.length + order[n]!}]`;
  const column = `prices.fields.${written}`;
  if (!Number.isFinite(value))
    problems.error({
      code: 'NOT_A_NUMBER',
      path,
      column,
      message: `${name} of ${location} is not finite; NaN is no value.`,
    });
  else if (PRICE_COLUMNS.has(name))
    problems.error({
      code: 'NON_POSITIVE_PRICE',
      path,
      column,
      value,
      message: `${location}: ${formatNonPositivePrice(name, value)}`,
    });
  else
    problems.error({
      code: 'OUT_OF_RANGE',
      path,
      column,
      value,
      message: `${location}: ${name} is ${value}; at least 0 is needed.`,
    });
}

/** Name of the market in results; an engine has only one market. */
const DATASET_ID = 'market';

/** Market with the warnings about it. */
export interface ReadMarket {
  readonly market: MarketData;
  readonly findings: readonly Finding[];
}

/** Tables other than the prices, by their names in the service. */
const TABLES = ['reference', 'corporate_actions', 'universes', 'series'] as const;

/** Reads a market by the rules of a service import. @throws Refusal VALIDATION_FAILED */
export async function readMarket(input: Api.MarketInput): Promise<ReadMarket> {
  const problems = createProblems();
  const content = await readContent(input, problems);
  if (content === undefined || problems.errors > 0) throw refuseWithFindings('market', problems.findings());
  const { adjustment = 'none', currency = null } = input;
  warnOfMarket(content, adjustment, problems);
  const { hash: contentHash } = await digestContent(content);
  return {
    market: { ...content, datasetId: DATASET_ID, contentHash, adjustment, currency },
    findings: problems.findings(),
  };
}

async function readContent(input: Api.MarketInput, problems: Problems): Promise<MarketContent | undefined> {
  const { prices, adjustment = 'none' } = input;
  const terms = { mapping: null, adjustment };
  const rows = createContentRows(problems, terms);
  const frames = createFrames(input);
  const beginTable: Parameters<typeof readFrames>[3] = (table, name, columns) =>
    rows.beginCells(table, table, columns, { name });
  if (prices instanceof Uint8Array) {
    const { readArrowPrices } = await import('./arrow-prices.js');
    const hasRows = readArrowPrices(prices, rows, problems);
    readTables(frames, problems, beginTable);
    return hasRows ? rows.toContent()?.content : undefined;
  }
  if ('data' in prices) {
    readFrames({ market: prices, ...frames }, null, problems, beginTable);
    return rows.toContent()?.content;
  }
  readTables(frames, problems, beginTable);
  const panels = createDensePanels(prices, problems);
  const contentTables = rows.toTables();
  return panels && completeMappedContent(panels, contentTables, terms, problems)?.content;
}

function createFrames(input: Api.MarketInput): Record<string, Frame> {
  return Object.fromEntries(TABLES.flatMap((name) => (input[name] === undefined ? [] : [[name, input[name]]])));
}

/** Reads all tables except the market table. */
function readTables(
  frames: Readonly<Record<string, Frame>>,
  problems: Problems,
  beginTable: Parameters<typeof readFrames>[3],
): void {
  const emptyFrame: Frame = { columns: ['identifier', 'date', 'CLOSE'], data: [] };
  readFrames({ market: emptyFrame, ...frames }, null, problems, (table, name, columns) =>
    table === 'market' ? undefined : beginTable(table, name, columns),
  );
}

/**
 * Reads the contents of the market known at each decision. Returns undefined without earlier contents. @throws Refusal
 * VALIDATION_FAILED
 */
export async function readKnownMarkets(
  last: MarketData,
  { known_on: knownOn, earlier }: Pick<Api.EngineOptions, 'known_on' | 'earlier'>,
): Promise<DatedMarkets | undefined> {
  if (earlier === undefined && knownOn === undefined) return undefined;
  const days = [...(earlier ?? []).map(({ known_on: on }) => on), knownOn];
  const findings: Finding[] = days.flatMap((text, i): Finding[] => {
    const path = i === days.length - 1 ? 'known_on' : `earlier[${i}].known_on`;
    const day = text === undefined ? undefined : parseDay(text);
    if (day === undefined)
      return [{ severity: 'error', code: 'BAD_DATE', path, message: `${path} is not a day YYYY-MM-DD.` }];
    const before = i === 0 ? undefined : parseDay(days[i - 1] ?? '');
    if (before === undefined || before < day) return [];
    return [{ severity: 'error', code: 'INVALID_RANGE', path, message: `${path} is not after the previous date.` }];
  });
  if (findings.length > 0) throw refuseWithFindings('market', findings);
  const contents: { readonly knownOn: Day; readonly market: MarketData }[] = [];
  for (const { known_on: on, market } of earlier ?? [])
    contents.push({ knownOn: parseDay(on)!, market: (await readMarket(market)).market });
  const after = [...contents.slice(1).map(({ market }) => market), last];
  const changes = contents.map(({ knownOn: on, market }, i) => ({
    knownOn: i === 0 ? BEFORE_HISTORY : on,
    change: computeContentChange(market, after[i]!),
  }));
  const lastKnown = contents.length === 0 ? BEFORE_HISTORY : parseDay(knownOn!)!;
  return createDatedMarkets(last, { knownOn: lastKnown, earlier: changes.toReversed() });
}

/** The first content counts as known from the beginning, like that of a data store. */
const BEFORE_HISTORY: Day = -(2 ** 31);
