import type { RelativeMetrics } from '../../analytics/relative.js';
import { exchangeRates } from '../../market/exchange-rates.js';
import { effectTable, type EffectTable } from '../../market/growth.js';
import type { ReturnVariant } from '../../market/market-data.js';
import { UNTAXED_TWINS, variantOn, variantsOn } from '../../market/price-basis.js';
import { placeActions } from '../../market/session-actions.js';
import type { SessionMarket } from '../../market/session-market.js';
import { lastAtMost } from '../../search.js';
import type { Book } from '../simulate/book.js';
import { PANELS } from '../run-file/segments.js';
import type { ExtendedRecord } from './extend-record.js';
import type { ExtendInput } from './extend-run.js';
import { foreignRates } from '../run-file/foreign-rates.js';
import { CannotGoOn, type Continuation } from './resume.js';
import { indexTerms } from '../simulate/index-run.js';
import { kindOf, type Numbers } from '../record/record-columns.js';
import { createColumns, VARIANT_BLOCKS, type BlockName, type ColumnsHeader, type ColumnsWriter, type JoinedName, type RunColumns, type RunHeader } from '../run-file/columns.js';
import { costsOf, labelsOn, rebalanceRows, scatter, slotsOf } from '../run-file/write.js';
import type { Trades } from '../simulate/trades.js';

export interface ExtendColumnsInput {
  readonly input: ExtendInput;
  readonly continuation: Continuation;
  readonly held: NamesHeld;
  readonly days: Int32Array;
  readonly level: Float64Array;
  /** Blocks that going on reads all of: they are written whole, so that they are in one file. */
  readonly whole: Readonly<Record<'value' | 'costs' | 'indexLevel', Float64Array>>;
  readonly relative: RelativeMetrics | null;
  readonly trades: Trades;
  readonly record: ExtendedRecord;
  readonly rebalances: RunColumns['header']['rebalances'];
}

/** The names of a run gone on with, as columns of the market. */
export interface NamesHeld {
  /** All of them, ascending, [H]. */
  readonly names: Int32Array;
  /** Those that the stored run has not. */
  readonly joined: Int32Array;
}

export interface WrittenColumns {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** How many of the named files they begin in. */
  readonly begun: number;
}

/** Dates that a file of columns may have before further ones are written to another that it begins: a megabyte of 500 names. */
const DATES_MAX = 32;
/** Files that columns may begin in: as many are opened by whoever reads all of a block. */
const FILES_MAX = 128;

/**
 * The columns of a run gone on with: what is new of each block, behind what is stored of it; small blocks and those in another
 * order are written anew. Where names have joined, or the stored file is full, its blocks stay where they are.
 * @throws CannotGoOn when they would lie in too many files
 */
export function extendColumns(write: ExtendColumnsInput): WrittenColumns {
  const { input: { stored, begunNames, contentHash, datesMax = DATES_MAX }, continuation, held: { names, joined }, days, level, whole, relative, record, rebalances } = write;
  const { portfolio, index, uncapped } = continuation;
  const { identifiers } = index.sm;
  const { header } = stored;
  const { dates: before, index_dates: indexBefore, begun = [] } = header;
  const isFull = joined.length > 0 || before - stored.begun('level') >= datesMax;
  const files = begunNames.slice(0, begun.length + (isFull ? 1 : 0));
  if (files.length > FILES_MAX) throw new CannotGoOn('rewritten');
  const blocks = blocksBehind(stored, { files, isFull, width: names.length });
  const { append, replace } = blocks;
  replace('days', days);
  append('level', level.subarray(before));
  for (const block of ['value', 'costs'] as const) replace(block, whole[block]);
  for (const block of ['gross', 'cash'] as const) append(block, portfolio[block].subarray(1));
  append('breaks', portfolio.begins.subarray(1));
  append('weights', rowsOf(portfolio, names));
  append('indexWeights', header.has_index_weights ? rowsOf(index.book, names) : NONE);
  appendEvents(write, append);
  appendRebalances(write, append);
  append('price', pricesOf(portfolio.sm, names, { from: portfolio.from + 1, to: portfolio.from + portfolio.length }));
  append('joinedPrice', ...Array.from(joined, (column) => pricesOf(portfolio.sm, [column], sessionsBefore(write))));
  append('effects', effectsBefore(write), effectsAfter(write));
  const { foreign, rates } = ratesOf(write);
  if (rates.length > 0) replace('rates', rates);
  append('indexDays', index.sm.sessions.slice(index.from + 1, index.to + 1));
  replace('indexLevel', whole.indexLevel);
  append('divisor', index.book.divisor.subarray(1));
  for (const { variant, book } of variantsAfter(continuation)) {
    append(VARIANT_BLOCKS[variant].level, book.value.subarray(1));
    append(VARIANT_BLOCKS[variant].divisor, book.divisor.subarray(1));
  }
  if (uncapped) append('uncapped', uncapped.value.subarray(1));
  if (relative) {
    replace('benchmarkDays', relative.days);
    replace('benchmarkLevel', relative.level);
  }
  replace('labels', new TextEncoder().encode(JSON.stringify(labelsOn(index.sm.market, Array.from(names, (column) => identifiers[column]!), days.at(-1)!))));
  replace('record', record.description);
  append('recordF64', ...record.added.f64);
  append('recordI32', ...record.added.i32);
  append('recordU8', ...record.added.u8);
  const { version: _version, blocks: _blocks, begun: _begun, joined: known = [], ...told } = header;
  const joinedNow = Array.from(joined, (column): JoinedName => ({ name: identifiers[column]!, file: files.length, dates: before }));
  const bytes = blocks.write({
    ...told,
    store_content_hash: contentHash,
    names: Array.from(names, (column) => identifiers[column]!),
    dates: days.length,
    index_dates: indexBefore + index.book.length - 1,
    rebalances, foreign,
    ...(known.length + joinedNow.length > 0 ? { joined: [...known, ...joinedNow] } : {}),
  });
  return { bytes, begun: files.length };
}

const NONE = new Float64Array(0);

/** The book of each variant, as the whole run tells them: those that nothing was simulated for are the index's own, or an untaxed twin. */
function variantsAfter({ index, variants }: Continuation): { readonly variant: ReturnVariant; readonly book: Book }[] {
  const { treatment, sm: { market } } = index;
  const own = variantOn(market, treatment.dividends);
  const bookOf = (variant: ReturnVariant): Book => (variant === own ? index.book : (variants[variant] ?? bookOf(UNTAXED_TWINS[variant])));
  return variantsOn(market).map((variant) => ({ variant, book: bookOf(variant) }));
}

interface BlocksBehind {
  /** More of a block, behind what is stored of it; nothing where there is no such block but for the prices of the first names to join. */
  append(name: BlockName, ...added: readonly Numbers[]): void;
  /** A block in place of the stored one. */
  replace(name: BlockName, values: Numbers): void;
  write(header: ColumnsHeader): Uint8Array<ArrayBuffer>;
}

interface BehindInput {
  /** Names of the files that blocks will begin in. */
  readonly files: readonly string[];
  /** Whether the stored file is one of them. */
  readonly isFull: boolean;
  /** Names of the run. */
  readonly width: number;
}

function blocksBehind(stored: RunColumns, { files, isFull, width }: BehindInput): BlocksBehind {
  const { header } = stored;
  const pieces = new Map<BlockName, readonly Numbers[]>();
  const begun: { -readonly [K in BlockName]?: { readonly begins: readonly number[]; readonly length: number } } = {};
  return {
    append(name, ...added) {
      const block = header.blocks[name];
      if (!block && !(name === 'joinedPrice' && added.length > 0)) return;
      const before = block === undefined ? 0 : PANELS.has(name) ? (block.length / header.names.length) * width : block.length;
      const elsewhere = block === undefined ? 0 : stored.begun(name);
      const begins = block?.begins ?? (header.begun ?? []).flatMap(() => [0, 0]);
      const own = block === undefined ? [0, 0] : [block.offset, block.length - elsewhere];
      if (files.length > 0) begun[name] = { begins: isFull ? [...begins, ...own] : begins, length: before + added.reduce((sum, { length }) => sum + length, 0) };
      pieces.set(name, block === undefined || isFull ? added : [stored[block.type](name, elsewhere), ...added]);
    },
    replace(name, values) {
      pieces.set(name, [values]);
    },
    write(told) {
      const sizes = Object.fromEntries([...pieces].map(([name, parts]) => [name, { type: header.blocks[name]?.type ?? kindOf(parts[0]!), length: parts.reduce((sum, { length }) => sum + length, 0) }]));
      const columns = createColumns(told, sizes, undefined, { files, blocks: begun });
      for (const [name, parts] of pieces) {
        let at = 0;
        for (const part of parts) {
          writeInto(columns, name, part, at);
          at += part.length;
        }
      }
      return columns.bytes;
    },
  };
}

function writeInto(columns: ColumnsWriter, name: BlockName, part: Numbers, at: number): void {
  columns[kindOf(part)](name).set(part, at);
}

/** Weights of the new sessions by the names of the columns. */
function rowsOf({ columns, weights, length }: Book, names: Int32Array): Float64Array {
  const rows = new Float64Array((length - 1) * names.length);
  const slots = slotsOf(columns, names);
  for (let t = 1; t < length; t++) scatter(weights.subarray(t * columns.length, (t + 1) * columns.length), slots, rows.subarray((t - 1) * names.length));
  return rows;
}

function appendEvents({ input: { plan, stored }, continuation: { portfolio }, held: { names }, trades }: ExtendColumnsInput, append: BlocksBehind['append']): void {
  const first = stored.header.dates - 1;
  const { events, columns } = portfolio;
  const slots = slotsOf(columns, names);
  const before = new Float64Array(events.length * names.length);
  events.forEach((event, e) => scatter(event.before, slots, before.subarray(e * names.length)));
  append('eventAt', Int32Array.from(events, ({ at }) => at + first));
  append('before', before);
  append('eventCosts', costsOf({ portfolio, trades, plan }, names));
}

function appendRebalances({ input: { plan }, continuation: { portfolio, rebalances }, held: { names } }: ExtendColumnsInput, append: BlocksBehind['append']): void {
  const { targets, raw, capped } = rebalanceRows({ portfolio, rebalances, plan }, names);
  append('targets', targets);
  append('raw', raw);
  append('capped', capped);
}

/** Sessions `from` to `to` (exclusive). */
interface Sessions {
  readonly from: number;
  readonly to: number;
}

/** CLOSE on sessions. */
function pricesOf(sm: SessionMarket, names: ArrayLike<number>, { from, to }: Sessions): Float64Array {
  const close = sm.market.fields.get('CLOSE')!;
  const rows = new Float64Array((to - from) * names.length);
  for (let session = from; session < to; session++) {
    for (let i = 0; i < names.length; i++) rows[(session - from) * names.length + i] = sm.valueAt(close, session, names[i]!);
  }
  return rows;
}

/** The sessions of the stored run. */
function sessionsBefore({ input: { stored }, continuation: { portfolio } }: ExtendColumnsInput): Sessions {
  return { from: portfolio.from + 1 - stored.header.dates, to: portfolio.from + 1 };
}

/** Rows of the effects that names which joined had on the sessions before, by name then date. */
function effectsBefore(write: ExtendColumnsInput): Float64Array {
  const { input: { actionsOf }, continuation: { index }, held: { joined } } = write;
  if (joined.length === 0) return NONE;
  const { sm } = index;
  const market = { ...sm.market, actions: actionsOf(joined) };
  const table = effectTable({ ...sm, market, actions: placeActions({ market, sessions: sm.sessions, calendar: sm.calendar, columnOf: sm.columnOf }) }, indexTerms(index));
  return Float64Array.from(Array.from(joined, (column) => effectRows(write, { table, of: Int32Array.of(column), ...sessionsBefore(write) })).flat());
}

/** Rows of the effects on the new sessions, by date then name. */
function effectsAfter(write: ExtendColumnsInput): Float64Array {
  const { continuation: { index, portfolio: { from, length } }, held: { names } } = write;
  return Float64Array.from(effectRows(write, { table: effectTable(index.sm, indexTerms(index)), of: names, from: from + 1, to: from + length }));
}

/** Rows of the effects on some names on sessions, by date. */
function effectRows(write: ExtendColumnsInput, { table: { effects, starts }, of, from, to }: Sessions & { readonly table: EffectTable; readonly of: Int32Array }): number[] {
  const { names } = write.held;
  const first = sessionsBefore(write).from;
  const rows: number[] = [];
  for (let session = from; session < to; session++) {
    for (let e = starts[session]!; e < starts[session + 1]!; e++) {
      const { column, ratio, cash, rights, subscription } = effects[e]!;
      if (placeIn(of, column) >= 0) rows.push(placeIn(names, column), session - first, ratio, cash, rights, subscription);
    }
  }
  return rows;
}

/** Position of a column among ascending ones, -1 where it is not among them. */
function placeIn(columns: Int32Array, column: number): number {
  const place = lastAtMost(columns, column);
  return columns[place] === column ? place : -1;
}

/** Exchange rates of the whole run, and the row of each foreign name. */
function ratesOf(write: ExtendColumnsInput): { readonly foreign: RunHeader['foreign']; readonly rates: Float64Array } {
  const { input: { stored }, continuation: { index, portfolio }, held: { names } } = write;
  const { foreign, rows } = foreignRates(exchangeRates(index.sm, index.document.currency), names);
  const { from } = sessionsBefore(write);
  const length = stored.header.dates + portfolio.length - 1;
  const rates = new Float64Array(rows.length * length);
  rows.forEach((series, row) => rates.set(series.subarray(from, from + length), row * length));
  return { foreign, rates };
}
