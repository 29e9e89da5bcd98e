import { createHash, type Hash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { compareText } from '#domain/base/findings.js';
import { toCanonicalJson } from '#domain/base/json.js';
import { findFirstAtLeast, findLastAtMost } from '#domain/base/numbers.js';
import type { Day } from '#domain/base/time.js';
import type { Mapping } from '#domain/definition/mapping.js';
import type {
  Adjustment,
  ContentDigests,
  CorporateAction,
  MarketData,
  Membership,
  ReferenceTable,
} from '#domain/market/market-data.js';
import {
  BLOCK_DAYS,
  type CachedBlockDigests,
  type ComputedBlocks,
  createBlockDigests,
  DIGEST_BYTES,
} from '../panels/panels.js';
import { countRowsByTable, type RowsByTable, type TableKind } from '../tables/table-kinds.js';
import type { ContentTables, MarketContent } from './market-content.js';

/**
 * Returns the tables of a content as canonical JSON, byte-identical to `toCanonicalJson` of rows as objects by column
 * name. The order of columns therefore does not matter. This separate implementation is faster, because every load
 * hashes the tables.
 * @cost 0.1 µs a cell
 */
export function encodeCanonicalTables({
  reference,
  actions,
  universes,
}: Pick<MarketContent, 'reference' | 'actions' | 'universes'>): string {
  return `{"actions":${JSON.stringify(actions.map(orderMembers))},"reference":${encodeReference(reference)},"universes":${JSON.stringify(universes.map(orderSpellMembers))}}`;
}

/**
 * Returns an action with its members in code-point order. Cash, election terms and an unknown payment are present only
 * if the action has them.
 */
const orderMembers = ({
  announcedDay,
  cash,
  electionDay,
  electionDefault,
  exDay,
  identifier,
  isUnpriced,
  payDay,
  related,
  scripRatio,
  status,
  subscriptionPrice,
  type,
  value,
}: CorporateAction) => ({
  announcedDay,
  cash, // JSON omits undefined members
  electionDay,
  electionDefault,
  exDay,
  identifier,
  isUnpriced,
  payDay,
  related,
  scripRatio,
  status,
  subscriptionPrice,
  type,
  value,
});

const orderSpellMembers = ({ end, identifier, start, universe }: Membership) => ({ end, identifier, start, universe });

function encodeReference({ columns, rows }: ReferenceTable): string {
  const order = columns.map((name, position) => ({ name, position })).toSorted((a, b) => compareText(a.name, b.name));
  const keys = order.map(({ name }, i) => `${i === 0 ? '' : ','}${JSON.stringify(name)}:`);
  const positions = order.map(({ position }) => position);
  const nameTexts = [...rows.keys()].toSorted(compareText).map((identifier) => {
    const validRows = rows.get(identifier)!.map(({ validFrom, values }) => {
      let members = '';
      for (let i = 0; i < keys.length; i++) members += keys[i]! + JSON.stringify(values[positions[i]!] ?? null);
      return `{"validFrom":${validFrom},"values":{${members}}}`;
    });
    return `[${JSON.stringify(identifier)},[${validRows.join(',')}]]`;
  });
  return `{"columns":${JSON.stringify(order.map(({ name }) => name))},"rows":[${nameTexts.join(',')}]}`;
}

/**
 * Fact about one day from the tables of a store. It is an action, a reference value that takes effect, or a membership
 * that begins or ends.
 */
interface Fact {
  /** Day of the fact; -Infinity if it has always applied. */
  readonly day: number;
  readonly text: string;
}

type Tables = Pick<MarketData, 'dates' | 'reference' | 'actions' | 'universes' | 'series'>;

/**
 * Returns a SHA-256 for each block of days over the facts about its days. Two stores with equal digests up to a block
 * have equal facts about every day up to its end. Memberships never overlap, so that their start and end dates up to a
 * day describe them completely.
 * @param cachedBlockDigests digests to reuse.
 * @cost O(rows of the tables)
 */
function computeHistoryDigests({ dates, ...tables }: Tables, cachedBlockDigests?: CachedBlockDigests): Uint8Array {
  const blocks = Math.ceil(dates.length / BLOCK_DAYS);
  if (blocks === 0) return new Uint8Array(0); // a refresh may add tables but no bars
  const wholeBlocks = cachedBlockDigests === undefined ? 0 : Math.floor(cachedBlockDigests.days / BLOCK_DAYS); // the last block may have gained days
  const lastHashedDay = wholeBlocks === 0 ? -Infinity : dates[wholeBlocks * BLOCK_DAYS - 1]!;
  const lastDays = Int32Array.from(
    { length: blocks },
    (_, block) => dates[Math.min(dates.length, (block + 1) * BLOCK_DAYS) - 1]!,
  );
  const hashes = Array.from({ length: blocks }, () => createHash('sha256'));
  for (const { day, text } of iterateFacts(tables, {
    after: wholeBlocks === 0 ? undefined : lastHashedDay,
    to: lastDays.at(-1) ?? -Infinity,
  }))
    hashes[findFirstAtLeast(lastDays, day)]!.update(text);
  lastDays.forEach((to, block) =>
    hashSeries(hashes[block]!, tables, { after: block === 0 ? undefined : lastDays[block - 1]!, to }),
  );
  const digests = new Uint8Array(blocks * DIGEST_BYTES);
  hashes.forEach((hash, block) => digests.set(hash.digest(), block * DIGEST_BYTES));
  if (cachedBlockDigests !== undefined) digests.set(cachedBlockDigests.digests.subarray(0, wholeBlocks * DIGEST_BYTES));
  return digests;
}

/** Returns the SHA-256 of the facts and series values within a span of days. */
function computeHistoryDigest(tables: Omit<Tables, 'dates'>, span: Span): Uint8Array {
  const hash = createHash('sha256');
  for (const { text } of iterateFacts(tables, span)) hash.update(text);
  hashSeries(hash, tables, span);
  return hash.digest();
}

function hashSeries(hash: Hash, { series }: Pick<Tables, 'series'>, { after, to }: Span): void {
  for (const { identifier, currency, name, days, closes } of series?.values() ?? []) {
    const [first, last] = [after === undefined ? 0 : findLastAtMost(days, after) + 1, findLastAtMost(days, to) + 1];
    if (first < last)
      hash
        .update(JSON.stringify([identifier, currency, name, last - first]))
        .update(days.subarray(first, last))
        .update(closes.subarray(first, last));
  }
}

interface Span {
  /** Start of the span, exclusive. Default: no start; includes values that have always been in effect. */
  readonly after: number | undefined;
  readonly to: number;
}

/** Yields the facts within a span: actions, reference values and memberships, each in the order of their table. */
function* iterateFacts({ reference, actions, universes }: Omit<Tables, 'dates'>, { after, to }: Span): Generator<Fact> {
  const isWithin = (day: number): boolean => day <= to && (after === undefined || day > after);
  for (const action of actions) {
    const { identifier, type, exDay, payDay, announcedDay, related, subscriptionPrice } = action;
    const value = action.isUnpriced ? null : action.value;
    // Treats an announced action as paid, because a paid action was announced earlier. Both statuses give the same
    // figures.
    const status = action.status === 'announced' ? 'paid' : action.status;
    const { scripRatio, electionDay, electionDefault } = action;
    const election = [scripRatio, electionDay, electionDefault];
    const cashMembers = action.cash === undefined ? [] : [{ cash: action.cash }];
    if (isWithin(exDay))
      yield {
        day: exDay,
        text: JSON.stringify([
          identifier,
          type,
          value,
          exDay,
          payDay,
          status,
          announcedDay,
          related,
          subscriptionPrice,
          ...(election.every((term) => term === undefined) ? [] : election),
          ...cashMembers,
        ]),
      };
  }
  const columns = reference.columns.toSorted(compareText);
  const columnPositions = columns.map((column) => reference.columns.indexOf(column));
  for (const identifier of [...reference.rows.keys()].toSorted(compareText)) {
    for (const { validFrom, values } of reference.rows.get(identifier)!) {
      const day = validFrom ?? -Infinity;
      if (isWithin(day))
        yield {
          day,
          text: JSON.stringify([identifier, validFrom, columns, columnPositions.map((place) => values[place] ?? null)]),
        };
    }
  }
  for (const { universe, identifier, start, end } of universes) {
    const day = start ?? -Infinity;
    if (isWithin(day)) yield { day, text: JSON.stringify([universe, identifier, 'in', start]) };
    if (end !== null && isWithin(end)) yield { day: end, text: JSON.stringify([universe, identifier, 'out', end]) };
  }
}

/** Version of the canonical form; a new version changes every content hash. */
const FORMAT = 2;

export interface CachedDigests {
  /** Digests of the blocks of the first days, taken from a content with the same identifiers and fields. */
  readonly blocks?: CachedBlockDigests;
  /** Digests that were computed while the content was read. Valid only if the panels are the same objects. */
  readonly computedBlocks?: ComputedBlocks | undefined;
  readonly tables?: Uint8Array;
  /**
   * Digests of identical tables for the blocks of the first days, taken from a content that begins with the same days.
   */
  readonly history?: CachedBlockDigests;
}

/**
 * Returns the SHA-256 (hexadecimal) of the canonical content. It changes if any value changes. It does not depend on
 * the format, the order of rows and columns, or the number of files.
 */
export async function computeContentHash(content: MarketContent): Promise<string> {
  return (await digestContent(content)).hash;
}

/**
 * Computes the content hash from the digests of blocks of days and of the tables, and returns these digests.
 * @param cachedDigests digests to reuse from other contents.
 * @cost one pass over the panels of the remaining days, about 1.5 GB/s; other work of the thread runs between blocks.
 */
export async function digestContent(
  content: MarketContent,
  cachedDigests: CachedDigests = {},
): Promise<{ readonly hash: string; readonly digests: ContentDigests }> {
  const { identifiers, dates, fields } = content;
  const names = [...fields.keys()].toSorted(compareText);
  const digestBlock = createBlockDigests(content);
  const result = cachedDigests.computedBlocks?.fields === fields ? cachedDigests.computedBlocks.digests : undefined;
  const blocks = new Uint8Array(Math.ceil(dates.length / BLOCK_DAYS) * DIGEST_BYTES);
  const wholeBlocks = cachedDigests.blocks === undefined ? 0 : Math.floor(cachedDigests.blocks.days / BLOCK_DAYS); // the last block may have gained days
  if (cachedDigests.blocks !== undefined)
    blocks.set(cachedDigests.blocks.digests.subarray(0, wholeBlocks * DIGEST_BYTES));
  const blockBytes = BLOCK_DAYS * identifiers.length * names.length * Float64Array.BYTES_PER_ELEMENT;
  let hashedDays = 0;
  for (let block = wholeBlocks; block * DIGEST_BYTES < blocks.length; block++) {
    const digest = result?.get(block);
    blocks.set(digest ?? digestBlock(block), block * DIGEST_BYTES);
    if (digest === undefined) hashedDays += blockBytes;
    if (hashedDays < RESTING_BYTES) continue;
    hashedDays = 0;
    await setImmediate();
  }
  const tables = cachedDigests.tables ?? computeTablesDigest(content);
  const hash = createHash('sha256')
    .update(toCanonicalJson({ format: FORMAT, days: dates.length, identifiers, fields: names }))
    .update(blocks)
    .update(tables)
    .digest('hex');
  return { hash, digests: { blocks, tables, history: computeHistoryDigests(content, cachedDigests.history) } };
}

/** Computes the digest of the tables. A store without series keeps the digest of versions that had no series. */
function computeTablesDigest({ reference, actions, universes, series }: ContentTables): Uint8Array {
  const hash = createHash('sha256').update(encodeCanonicalTables({ reference, actions, universes }));
  for (const { identifier, currency, name, days, closes } of series?.values() ?? [])
    hash
      .update(toCanonicalJson({ currency, identifier, name, values: days.length }))
      .update(days)
      .update(closes);
  return hash.digest();
}

/** Number of bytes that are hashed before the thread turns to other work. Hashing them takes some ten milliseconds. */
const RESTING_BYTES = 16 << 20;

/** Counts the rows of a content by table. @cost one pass over CLOSE */
export function countTableRows({ fields, reference, actions, universes, series }: MarketContent): RowsByTable {
  const panels = [...fields.values()];
  const isUnchanged = (cell: number) => panels.some((panel) => panel[cell] === panel[cell]);
  const cells = fields.get('CLOSE')!.length;
  let marketRows = 0;
  for (let cell = 0; cell < cells; cell++) if (isUnchanged(cell)) marketRows += 1;
  const rows: Record<TableKind, number> = {
    market: marketRows,
    reference: [...reference.rows.values()].reduce((sum, spells) => sum + spells.length, 0),
    corporate_actions: actions.length,
    universes: universes.length,
    series: [...(series?.values() ?? [])].reduce((sum, { days }) => sum + days.length, 0),
  };
  return countRowsByTable((table) => rows[table]);
}

/**
 * Identifies all data of a market up to a day: prices, actions, reference values and memberships.
 */
export interface MarketPrefix {
  readonly day: Day;
  readonly adjustment: Adjustment;
  /** Currency that the store declares; null if it declares none. */
  readonly currency: string | null;
  /** SHA-256 (hex) over identifiers, field names and reference columns. */
  readonly axes: string;
  /** Number of days with a bar up to the day. */
  readonly rows: number;
  /** Digests of the panels and the tables for each complete block of days. */
  readonly blocks: Uint8Array;
  readonly history: Uint8Array;
  /** SHA-256 of the panels and of the tables for the days after the last complete block. */
  readonly rest: Uint8Array;
  readonly restHistory: Uint8Array;
}

/**
 * Returns the latest ex-date up to which a market may lack cash actions when its prefix is computed. Returns -Infinity
 * if there is none.
 */
export function findSettledDay({ dates }: Pick<MarketData, 'dates'>, day: Day): number {
  return findLastCompleteDay(dates, day) ?? -Infinity;
}

function findLastCompleteDay(dates: Int32Array, day: Day): number | undefined {
  return dates[countWholeBlocks(findLastAtMost(dates, day) + 1) * BLOCK_DAYS - 1];
}

/**
 * Returns the prefix of a market up to a day. Markets with equal prefixes are bit-identical up to that day.
 * @param digests of the whole market.
 * @cost a pass over fewer than 64 days and over the tables, once for the runs of a market that end on the same day
 */
export function createPrefix(market: MarketData, digests: ContentDigests, day: Day): MarketPrefix {
  const rows = findLastAtMost(market.dates, day) + 1;
  const wholeBlocks = countWholeBlocks(rows);
  return {
    day,
    rows,
    adjustment: market.adjustment,
    currency: market.currency ?? null,
    blocks: digests.blocks.slice(0, wholeBlocks * DIGEST_BYTES),
    history: digests.history.slice(0, wholeBlocks * DIGEST_BYTES),
    ...getRest(market, day),
  };
}

type PrefixRest = Pick<MarketPrefix, 'axes' | 'rest' | 'restHistory'>;

/**
 * Maximum number of days whose hashes are cached. Extending a run needs the day on which it ended and the new last day.
 */
const DAYS_MAX = 4;

/** Cached prefixes of the most recently requested days. */
const restsByMarket = new WeakMap<MarketData, Map<Day, PrefixRest>>();

function getRest(market: MarketData, day: Day): PrefixRest {
  let restsByDay = restsByMarket.get(market);
  if (restsByDay === undefined) restsByMarket.set(market, (restsByDay = new Map()));
  const result = restsByDay.get(day) ?? hashRemainder(market, day);
  restsByDay.delete(day);
  restsByDay.set(day, result);
  if (restsByDay.size > DAYS_MAX) restsByDay.delete(restsByDay.keys().next().value!);
  return result;
}

function hashRemainder(market: MarketData, day: Day): PrefixRest {
  const { dates, fields, identifiers } = market;
  const rows = findLastAtMost(dates, day) + 1;
  const names = [...fields.keys()].toSorted(compareText);
  const from = countWholeBlocks(rows) * BLOCK_DAYS;
  const restHash = createHash('sha256').update(dates.subarray(from, rows));
  for (const name of names)
    restHash.update(fields.get(name)!.subarray(from * identifiers.length, rows * identifiers.length));
  return {
    axes: hashAxes(market),
    rest: restHash.digest(),
    restHistory: computeHistoryDigest(market, { after: findLastCompleteDay(dates, day), to: day }),
  };
}

/** Returns the SHA-256 (hex) over identifiers, field names and reference columns. */
function hashAxes({ identifiers, fields, reference }: Pick<MarketData, 'identifiers' | 'fields' | 'reference'>) {
  const [names, columns] = [[...fields.keys()], reference.columns].map((list) => list.toSorted(compareText));
  return createHash('sha256')
    .update(toCanonicalJson({ identifiers, fields: names, columns }))
    .digest('hex');
}

/** Short form of a prefix, stored across restarts. */
export interface PrefixMark {
  readonly day: Day;
  readonly axes: string;
  readonly rows: number;
  /** SHA-256 (hexadecimal) over the digests of the prefix. It does not depend on the declared price basis. */
  readonly hash: string;
}

/** Returns the mark of a prefix. @cost equal to that of the prefix */
export function computePrefixMark(market: MarketData, digests: ContentDigests, day: Day): PrefixMark {
  const { axes, rows, blocks, history, rest, restHistory } = createPrefix(market, digests, day);
  const hash = createHash('sha256').update(blocks).update(history).update(rest).update(restHistory).digest('hex');
  return { day, axes, rows, hash };
}

function countWholeBlocks(rows: number): number {
  return Math.floor(rows / BLOCK_DAYS);
}

/** Returns the kind of the first difference between two prefixes. Returns null if they are equal. */
export function comparePrefixes(a: MarketPrefix, b: MarketPrefix): 'names' | 'history' | null {
  if (a.axes !== b.axes) return 'names';
  const hasSameNames =
    a.day === b.day &&
    a.adjustment === b.adjustment &&
    a.currency === b.currency &&
    a.rows === b.rows &&
    (['blocks', 'history', 'rest', 'restHistory'] as const).every((part) => isEqual(a[part], b[part]));
  return hasSameNames ? null : 'history';
}

function isEqual(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

/**
 * Returns true if reference values that take effect after a day could change results before the day. This happens in
 * two cases: a security without earlier values is no longer treated as an exchange rate, or a currency in which nothing
 * traded becomes part of a pair.
 */
export function changesEarlierDays({ reference: { columns, rows } }: MarketData, day: Day): boolean {
  const currencyColumn = columns.indexOf('CURRENCY');
  for (const spells of rows.values()) {
    const last = spells.at(-1);
    if (last === undefined || last.validFrom === null || last.validFrom <= day) continue;
    const referenceRows = spells.filter(({ validFrom }) => validFrom === null || validFrom <= day);
    if (referenceRows.length === 0) return true;
    if (
      currencyColumn >= 0 &&
      spells.some(({ values }) => values[currencyColumn] !== referenceRows.at(-1)!.values[currencyColumn])
    )
      return true;
  }
  return false;
}

/**
 * Returns marks (hashes) of a market on a day without the securities whose first bar is later. One mark is without the
 * table rows of these securities, and one is with these rows. Returns none if every security has a bar by then.
 * @cost a pass over the panels up to the day; other work of the thread runs between blocks
 */
export async function computeMarksWithoutLater(market: MarketData, day: Day): Promise<readonly PrefixMark[]> {
  const { dates, identifiers } = market;
  const days = findLastAtMost(dates, day) + 1;
  const columns = await listFilledColumns(market, days);
  if (columns.length === identifiers.length) return [];
  const names = columns.map((column) => identifiers[column]!);
  const axesDigest = hashAxes({ ...market, identifiers: names });
  const wholeBlocks = Math.floor(days / BLOCK_DAYS);
  const blocks = new Uint8Array(wholeBlocks * DIGEST_BYTES);
  for (let block = 0; block < wholeBlocks; block++) {
    blocks.set(
      computeDigest(market, columns, { from: block * BLOCK_DAYS, to: (block + 1) * BLOCK_DAYS }),
      block * DIGEST_BYTES,
    );
    await setImmediate();
  }
  const restDigest = computeDigest(market, columns, { from: wholeBlocks * BLOCK_DAYS, to: days });
  const nameSet = new Set(names);
  return [removeSecurities(market, new Set(identifiers.filter((name) => !nameSet.has(name)))), market].map((tables) => {
    const history = computeHistoryDigests({ ...tables, dates: dates.subarray(0, wholeBlocks * BLOCK_DAYS) });
    const restHistory = computeHistoryDigest(tables, {
      after: wholeBlocks === 0 ? undefined : dates[wholeBlocks * BLOCK_DAYS - 1]!,
      to: day,
    });
    const hash = createHash('sha256')
      .update(blocks)
      .update(history)
      .update(restDigest)
      .update(restHistory)
      .digest('hex');
    return { day, axes: axesDigest, rows: days, hash };
  });
}

async function listFilledColumns({ identifiers, fields }: MarketData, days: number): Promise<number[]> {
  const assets = identifiers.length;
  const isHeld = new Uint8Array(assets);
  for (const panel of fields.values())
    for (let t = 0; t < days; t++) {
      for (let n = 0, cell = t * assets; n < assets; n++, cell++) if (panel[cell] === panel[cell]) isHeld[n] = 1; // NaN is a missing bar
      if (t % BLOCK_DAYS === BLOCK_DAYS - 1) await setImmediate();
    }
  return identifiers.flatMap((_, n) => (isHeld[n] === 1 ? [n] : []));
}

/** Returns the digest of a range of days of a market, of selected columns. */
function computeDigest(
  { identifiers, dates, fields }: MarketData,
  columns: readonly number[],
  { from, to }: { readonly from: number; readonly to: number },
): Uint8Array {
  const [assets, selectedCount] = [identifiers.length, columns.length];
  const selectedFields = [...fields].map(([name, panel]): [string, Float64Array] => {
    const values = new Float64Array((to - from) * selectedCount);
    for (let t = from; t < to; t++)
      for (let k = 0; k < selectedCount; k++) values[(t - from) * selectedCount + k] = panel[t * assets + columns[k]!]!;
    return [name, values];
  });
  const names = columns.map((column) => identifiers[column]!);
  return createBlockDigests({ identifiers: names, dates: dates.subarray(from, to), fields: new Map(selectedFields) })(
    0,
  );
}

function removeSecurities(market: MarketData, names: ReadonlySet<string>): MarketData {
  const { reference, actions, universes } = market;
  const isOtherName = ({ identifier }: { readonly identifier: string }): boolean => !names.has(identifier);
  return {
    ...market,
    reference: {
      ...reference,
      rows: new Map([...reference.rows].filter(([identifier]) => isOtherName({ identifier }))),
    },
    actions: actions.filter(isOtherName),
    universes: universes.filter(isOtherName),
  };
}

/**
 * Returns a read whose number of market rows excludes rows that the mapping merged or ignored. Such rows are, for
 * example, repeated rows of a security and date.
 * @cost one pass over the cells, if rows may have been merged or ignored
 */
export function recountMarketRows<T extends { readonly content: MarketContent; readonly rows: RowsByTable }>(
  read: T,
  mapping: Mapping | null | undefined,
): T {
  const areAllKept = mapping == null || (mapping.layout === 'long' && mapping.on_duplicate === 'refuse');
  return areAllKept ? read : { ...read, rows: { ...read.rows, market: countTableRows(read.content).market } };
}
