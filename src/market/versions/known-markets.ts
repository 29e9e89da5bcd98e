import type { DatedMarkets } from '#domain/books/decision-seats.js';
import { formatDay, type Day } from '#domain/time/days.js';
import type { CorporateAction, MarketData } from '#domain/market/market-data.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { MarketContent } from '../content/market-content.js';
import type { ContentChange } from './content-change.js';
import { restoreContent } from './earlier-content.js';
import { applyListChange, type ListChange } from './list-change.js';
import { TABLE_NAMES, encodeTables, type SeriesLine, type TableTexts } from './table-texts.js';

/** Earlier content. It is stored as the change from the following content. */
export interface EarlierContent {
  /** Day at whose end this content was known. */
  readonly knownOn: Day;
  readonly change: ContentChange;
}

export interface EarlierContents {
  /** Day at whose end the latest content was known. */
  readonly knownOn: Day;
  /** Available earlier contents, latest first. */
  readonly earlier: readonly EarlierContent[];
}

/**
 * Creates the access to markets as they were known at the ends of days. If all later changes concern data after the
 * day, the latest market is used in place of the earlier content, because no computation uses data after its day.
 * @cost proportional to the changes, once; and a reconstruction of an earlier content when it is requested, unless only
 * data after its end changed
 */
export function createDatedMarkets(last: MarketData, { knownOn, earlier }: EarlierContents): DatedMarkets {
  const firstTouchedDays = findFirstTouched(last, earlier);
  let latestBuilt: { readonly place: number; readonly market: MarketData } | undefined;
  return {
    at(day) {
      if (knownOn <= day) return last;
      const contentIndex = earlier.findIndex((content) => content.knownOn <= day);
      if (contentIndex < 0) throw createUnknownDayRefusal(last, day, earlier.at(-1)?.knownOn ?? knownOn);
      if (firstTouchedDays[contentIndex]! > day) return last;
      if (latestBuilt?.place !== contentIndex) {
        const changes = earlier.slice(0, contentIndex + 1).map(({ change }) => change);
        latestBuilt = { place: contentIndex, market: alignToAxes(last, restoreContent(last, changes), day) };
      }
      return latestBuilt.market;
    },
  };
}

function createUnknownDayRefusal({ datasetId }: MarketData, day: Day, first: Day): Refusal {
  const message = `The decision of ${formatDay(day)} is before the first version of the data store ${datasetId} that is available, known on ${formatDay(first)}.`;
  return new Refusal('NO_DATA_KNOWN', message, {
    store_id: datasetId,
    decision_date: formatDay(day),
    first_known_on: formatDay(first),
  });
}

/** Axes and tables of a content during reconstruction. */
interface Stage {
  readonly dates: readonly Day[];
  readonly identifiers: readonly string[];
  readonly fields: readonly string[];
  readonly tables: TableTexts;
}

/**
 * Returns, for each content, the first day on which any data differs from the latest content. Returns -Infinity if a
 * change has no day.
 */
function findFirstTouched(last: MarketContent, earlier: readonly EarlierContent[]): Float64Array {
  const first = new Float64Array(earlier.length);
  let after: Stage = { ...last, dates: [...last.dates], fields: [...last.fields.keys()], tables: encodeTables(last) };
  let firstChanged = Infinity;
  earlier.forEach(({ change }, place) => {
    const before = restoreStage(after, change);
    firstChanged = Math.min(firstChanged, findFirstChanged(change, before, after));
    after = before;
    first[place] = firstChanged;
  });
  return first;
}

function restoreStage({ dates, identifiers, tables }: Stage, change: ContentChange): Stage {
  const listTexts = (table: keyof TableTexts): readonly string[] =>
    isWhole(change.tables[table], tables[table])
      ? tables[table]
      : applyListChange(change.tables[table], tables[table], (text) => text);
  return {
    dates: applyListChange(change.dates, dates, (day) => day),
    identifiers: isWhole(change.identifiers, identifiers)
      ? identifiers
      : applyListChange(change.identifiers, identifiers, (name) => name),
    fields: change.fields.map(({ name }) => name),
    tables: Object.fromEntries(TABLE_NAMES.map((table) => [table, listTexts(table)])) as unknown as TableTexts, // contains every table
  };
}

function findFirstChanged(change: ContentChange, before: Stage, after: Stage): number {
  const isSameFields =
    before.fields.length === after.fields.length && before.fields.every((name) => after.fields.includes(name));
  if (before.identifiers !== after.identifiers || !isSameFields) return -Infinity;
  let first = computeFirstParted(before.dates, after.dates);
  for (const { rows } of change.fields) for (const row of rows) first = Math.min(first, before.dates[row]!);
  for (const table of TABLE_NAMES)
    for (const line of listPartedLines(change.tables[table], after.tables[table]))
      first = Math.min(first, getLineDay(table, line));
  return first;
}

/** Returns the first day on which two axes differ. */
function computeFirstParted(before: readonly Day[], after: readonly Day[]): number {
  let firstDifference = 0;
  while (firstDifference < before.length && before[firstDifference] === after[firstDifference]) firstDifference++;
  return Math.min(before[firstDifference] ?? Infinity, after[firstDifference] ?? Infinity);
}

/** Returns true if a change leaves a list unchanged. */
function isWhole<T>(change: ListChange<T>, after: readonly T[]): boolean {
  const [step] = change;
  if (step === undefined) return after.length === 0;
  return change.length === 1 && !('own' in step) && step[0] === 0 && step[1] === after.length;
}

/** Returns the lines that only one of two lists has. */
function listPartedLines(change: ListChange<string>, after: readonly string[]): readonly string[] {
  if (isWhole(change, after)) return [];
  const isShared = new Uint8Array(after.length);
  const ownLines: string[] = [];
  for (const step of change) {
    if ('own' in step) ownLines.push(...step.own);
    else isShared.fill(1, step[0], step[0] + step[1]);
  }
  return [...ownLines, ...after.filter((_, place) => isShared[place] === 0)];
}

/** Returns the first day on which a line of a table is known. Returns -Infinity for a line without a day. */
function getLineDay(table: keyof TableTexts, line: string): number {
  if (table === 'series') {
    const [, day, value] = JSON.parse(line) as SeriesLine; // written by `encodeTables`
    return typeof value === 'number' ? Number(day) : -Infinity;
  }
  if (table !== 'actions') return -Infinity;
  const { exDay, announcedDay } = JSON.parse(line) as CorporateAction; // written by `encodeTables`
  return Math.min(exDay, announcedDay ?? exDay);
}

/**
 * Arranges a content on the columns and sessions of the latest content. Securities that the latest content does not
 * have are appended. If the latest content begins earlier, its first date is inserted at the beginning, without bars.
 * @throws Refusal NO_DATA_KNOWN if the content begins earlier than the latest content
 */
function alignToAxes(last: MarketData, content: MarketContent, day: Day): MarketData {
  const { datasetId, adjustment, currency = null, contentHash } = last;
  const header = { datasetId, adjustment, currency, contentHash };
  const [start, contentStart] = [last.dates[0], content.dates[0]];
  if (start === undefined || contentStart === undefined || contentStart < start)
    throw new Refusal(
      'NO_DATA_KNOWN',
      `What was known of the data store ${datasetId} on ${formatDay(day)} does not begin with the data of the run.`,
      { store_id: datasetId, decision_date: formatDay(day) },
    );
  const heldIdentifiers = new Set(last.identifiers);
  const isSameAxis =
    content.identifiers.length === last.identifiers.length &&
    content.identifiers.every((name) => heldIdentifiers.has(name));
  if (isSameAxis && contentStart === start) return { ...content, ...header };
  const identifiers = [...last.identifiers, ...content.identifiers.filter((name) => !heldIdentifiers.has(name))];
  const positions = new Map(identifiers.map((name, place) => [name, place]));
  const columns = Int32Array.from(content.identifiers, (name) => positions.get(name)!);
  const dates = contentStart === start ? content.dates : Int32Array.from([start, ...content.dates]);
  const shift = dates.length - content.dates.length;
  const widenPanel = (panel: Float64Array): Float64Array => {
    const widePanel = new Float64Array(dates.length * identifiers.length).fill(Number.NaN);
    for (let t = 0; t < content.dates.length; t++)
      for (let n = 0; n < columns.length; n++)
        widePanel[(t + shift) * identifiers.length + columns[n]!] = panel[t * columns.length + n]!;
    return widePanel;
  };
  const fields = new Map([...content.fields].map(([name, panel]) => [name, widenPanel(panel)]));
  return { ...content, ...header, identifiers, dates, fields };
}
