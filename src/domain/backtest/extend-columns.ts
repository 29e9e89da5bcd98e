import type { RelativeMetrics } from '../analytics/relative.js';
import { exchangeRates } from '../market/exchange-rates.js';
import { effectTable } from '../market/growth.js';
import { RETURN_VARIANTS, type ReturnVariant } from '../market/market-data.js';
import type { Book } from './book.js';
import type { ExtendedRecord } from './extend-record.js';
import type { ExtendInput } from './extend-run.js';
import type { Continuation } from './go-on.js';
import { indexTerms } from './index-run.js';
import { kindOf, type Numbers } from './record-columns.js';
import { createColumns, type BlockName, type ColumnsHeader, type ColumnsWriter, type RunColumns } from './run-columns.js';
import { costsOf, labelsOn, rebalanceRows, scatter, slotsOf } from './run-to-columns.js';
import type { Trades } from './trades.js';

export interface ExtendColumnsInput {
  readonly input: ExtendInput;
  readonly continuation: Continuation;
  /** Columns of the names, [H]. */
  readonly names: Int32Array;
  readonly days: Int32Array;
  readonly level: Float64Array;
  readonly relative: RelativeMetrics | null;
  readonly trades: Trades;
  readonly record: ExtendedRecord;
  readonly rebalances: RunColumns['header']['rebalances'];
}

/** The columns of a run gone on with: what is new of each block, behind what is stored of it; small blocks and those in another order are written anew. */
export function extendColumns(write: ExtendColumnsInput): Uint8Array<ArrayBuffer> {
  const { input: { stored, baseName, contentHash }, continuation, names, days, level, relative, record, rebalances } = write;
  const { portfolio, index, uncapped } = continuation;
  const { header } = stored;
  const { dates: before, index_dates: indexBefore } = header;
  const blocks = blocksBehind(stored, baseName);
  const { append, replace } = blocks;
  append('days', days.subarray(before));
  append('level', level.subarray(before));
  for (const block of ['value', 'gross', 'costs', 'cash'] as const) append(block, portfolio[block].subarray(1));
  append('breaks', portfolio.begins.subarray(1));
  append('weights', rowsOf(portfolio, names));
  append('indexWeights', header.has_index_weights ? rowsOf(index.book, names) : NONE);
  appendEvents(write, append);
  appendRebalances(write, append);
  append('price', pricesOf(portfolio, names));
  append('effects', effectsAfter(write));
  if (header.blocks.rates) replace('rates', ratesOf(write));
  append('indexDays', index.sm.sessions.slice(index.from + 1, index.to + 1));
  append('indexLevel', index.book.value.subarray(1));
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
  replace('labels', new TextEncoder().encode(JSON.stringify(labelsOn(index.sm.market, header.names, days.at(-1)!))));
  replace('record', record.description);
  append('recordF64', ...record.added.f64);
  append('recordI32', ...record.added.i32);
  append('recordU8', ...record.added.u8);
  const { version: _version, blocks: _blocks, base: _base, ...told } = header;
  return blocks.write({ ...told, store_content_hash: contentHash, dates: days.length, index_dates: indexBefore + index.book.length - 1, rebalances });
}

const NONE = new Float64Array(0);

const VARIANT_BLOCKS = {
  price: { level: 'levelPrice', divisor: 'divisorPrice' },
  total: { level: 'levelTotal', divisor: 'divisorTotal' },
  net: { level: 'levelNet', divisor: 'divisorNet' },
} as const;

/** The book of each variant, as the whole run tells them. */
function variantsAfter({ index, variants }: Continuation): { readonly variant: ReturnVariant; readonly book: Book }[] {
  const { dividends: own, withholding_tax: tax } = index.treatment;
  const total = own !== 'price' && tax === 0 ? index.book : (variants.total ?? index.book);
  const bookOf = (variant: ReturnVariant): Book => (variant === own ? index.book : variant === 'net' && tax === 0 ? total : variant === 'total' ? total : variants[variant]!);
  return RETURN_VARIANTS.map((variant) => ({ variant, book: bookOf(variant) }));
}

interface BlocksBehind {
  /** More of a block, behind what is stored of it; nothing where there is no such block. */
  append(name: BlockName, ...added: readonly Numbers[]): void;
  /** A block in place of the stored one. */
  replace(name: BlockName, values: Numbers): void;
  write(header: ColumnsHeader): Uint8Array<ArrayBuffer>;
}

function blocksBehind(stored: RunColumns, baseName: string): BlocksBehind {
  const { header } = stored;
  const pieces = new Map<BlockName, readonly Numbers[]>();
  const begins: { [K in BlockName]?: { readonly offset: number; readonly length: number } } = {};
  return {
    append(name, ...added) {
      const block = header.blocks[name];
      if (!block) return;
      const begun = header.base === undefined ? { offset: block.offset, length: block.length } : block.begins;
      if (begun) begins[name] = begun;
      pieces.set(name, [stored[block.type](name, begun?.length ?? 0), ...added]);
    },
    replace(name, values) {
      pieces.set(name, [values]);
    },
    write(told) {
      const sizes = Object.fromEntries([...pieces].map(([name, parts]) => [name, { type: kindOf(parts[0]!), length: parts.reduce((sum, { length }) => sum + length, 0) }]));
      const columns = createColumns(told, sizes, undefined, { base: baseName, begins });
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

function appendEvents({ input: { plan, stored }, continuation: { portfolio }, names, trades }: ExtendColumnsInput, append: BlocksBehind['append']): void {
  const first = stored.header.dates - 1;
  const { events, columns } = portfolio;
  const slots = slotsOf(columns, names);
  const before = new Float64Array(events.length * names.length);
  events.forEach((event, e) => scatter(event.before, slots, before.subarray(e * names.length)));
  append('eventAt', Int32Array.from(events, ({ at }) => at + first));
  append('before', before);
  append('eventCosts', costsOf({ portfolio, trades, plan }, names));
}

function appendRebalances({ input: { plan }, continuation: { portfolio, rebalances }, names }: ExtendColumnsInput, append: BlocksBehind['append']): void {
  const { targets, raw, capped } = rebalanceRows({ portfolio, rebalances, plan }, names);
  append('targets', targets);
  append('raw', raw);
  append('capped', capped);
}

/** CLOSE of the new sessions. */
function pricesOf({ sm, from, length }: Book, names: Int32Array): Float64Array {
  const close = sm.market.fields.get('CLOSE')!;
  const rows = new Float64Array((length - 1) * names.length);
  for (let t = 1; t < length; t++) {
    for (let i = 0; i < names.length; i++) rows[(t - 1) * names.length + i] = sm.valueAt(close, from + t, names[i]!);
  }
  return rows;
}

/** Rows of the effects on the new sessions, by date then name. */
function effectsAfter({ input: { stored }, continuation: { index, portfolio }, names }: ExtendColumnsInput): Float64Array {
  const { effects, starts } = effectTable(index.sm, indexTerms(index));
  const placeOf = new Map([...names].map((column, place) => [column, place]));
  const first = stored.header.dates - 1;
  const rows: number[] = [];
  for (let t = 1; t < portfolio.length; t++) {
    for (let e = starts[portfolio.from + t]!; e < starts[portfolio.from + t + 1]!; e++) {
      const { column, ratio, cash, rights, subscription } = effects[e]!;
      const place = placeOf.get(column);
      if (place !== undefined) rows.push(place, first + t, ratio, cash, rights, subscription);
    }
  }
  return Float64Array.from(rows);
}

/** Exchange rates of the whole run, by name. */
function ratesOf({ input: { stored }, continuation: { index, portfolio }, names }: ExtendColumnsInput): Float64Array {
  const { foreign, dates } = stored.header;
  const before = stored.f64('rates');
  const rates = exchangeRates(index.sm, index.document.currency);
  const length = dates + portfolio.length - 1;
  const all = new Float64Array(Object.keys(foreign).length * length);
  for (const [place, row] of Object.entries(foreign)) {
    all.set(before.subarray(row * dates, (row + 1) * dates), row * length);
    all.set(rates.seriesOf(names[Number(place)]!).subarray(portfolio.from + 1, portfolio.from + portfolio.length), row * length + dates);
  }
  return all;
}
