import { createHash } from 'node:crypto';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { VARIANT_BLOCKS } from '#domain/backtest/run-file/schema.js';
import { formatDay } from '#domain/days.js';
import type { ReturnVariant } from '#domain/market/market-data.js';
import { lastAtMost } from '#domain/search.js';
import { panelRows } from './panel-rows.js';

/** What a run says of the closes of its index: arrays of one length, by date. */
export interface ClosesView {
  /** YYYY-MM-DD, ascending. */
  readonly dates: readonly string[];
  readonly price: readonly (number | null)[];
  readonly total: readonly (number | null)[];
  readonly net: readonly (number | null)[];
  readonly divisor: readonly (number | null)[];
  /** SHA-256 of the canonical JSON of the index weights by identifier. */
  readonly composition_hash: readonly string[];
}

/** @cost 0.3 us a name held at a close, for the hash of its weights */
export function closesView(columns: RunColumns): ClosesView {
  const days = columns.i32('days');
  const first = lastAtMost(columns.i32('indexDays'), days[0]!);
  const numbers = (block: Parameters<RunColumns['f64']>[0]): (number | null)[] =>
    [...columns.f64(block, first, first + days.length)].map((value) => (Number.isFinite(value) ? value : null));
  const levels = (variant: ReturnVariant): (number | null)[] =>
    columns.has(VARIANT_BLOCKS[variant].level) ? numbers(VARIANT_BLOCKS[variant].level) : Array.from(days, () => null);
  return {
    dates: [...days].map(formatDay),
    price: levels('price'),
    total: levels('total'),
    net: levels('net'),
    divisor: numbers(VARIANT_BLOCKS[columns.header.variant].divisor),
    composition_hash: compositionHashes(columns, days.length),
  };
}

function compositionHashes(columns: RunColumns, closes: number): string[] {
  const { names, has_index_weights: hasOwn } = columns.header;
  const held = panelRows(columns, hasOwn ? 'indexWeights' : 'weights', { from: 0, to: closes - 1 });
  // RFC 8785 has members in the order of their UTF-16 code units, which is that of JavaScript.
  const order = [...names.keys()].toSorted((a, b) => (names[a]! < names[b]! ? -1 : 1));
  const keys = names.map((name) => JSON.stringify(name));
  return Array.from({ length: closes }, (_, close) => {
    const weights = held.at(close);
    const members = order.flatMap((i) => (weights[i] === 0 ? [] : `${keys[i]}:${JSON.stringify(weights[i])}`));
    return createHash('sha256')
      .update(`{${members.join(',')}}`)
      .digest('hex');
  });
}
