import { SHARE_WIDTH } from '#domain/backtest/run-file/index-shares.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { toShareTime, type ShareMoment } from '#domain/books/share-record.js';
import { carryClose } from '#domain/index-mathematics/adjusted-close.js';
import type { RunEffect } from '../run-effects.js';

interface PricedRun {
  readonly columns: RunColumns;
  readonly effects: readonly RunEffect[];
}

/** Returns a function that reads the index shares of a run. Returns undefined if the run stores none. */
export function createStoredShares(
  columns: RunColumns,
): ((position: number, moment: ShareMoment) => Float64Array) | undefined {
  if (!columns.has('indexShares')) return undefined;
  const rows = columns.f64('indexShares');
  return (position, moment) => {
    const shares = new Float64Array(columns.header.names.length);
    const until = toShareTime(position, moment);
    for (let row = 0; row < rows.length && rows[row + 1]! <= until; row += SHARE_WIDTH)
      if (rows[row]! >= 0) shares[rows[row]!] = rows[row + 2]!;
    return shares;
  };
}

/** Returns the last closes on or before a session, on the share basis of the session. NaN if there is none. */
export function readPricesAt({ columns, effects }: PricedRun, position: number): Float64Array {
  const H = columns.header.names.length;
  const price = new Float64Array(H).fill(Number.NaN);
  const sessions = new Int32Array(H).fill(-1);
  for (let t = position, missingCount = H; t >= 0 && missingCount > 0; t--) {
    const closes = columns.f64('price', t * H, (t + 1) * H);
    for (let i = 0; i < H; i++) {
      if (sessions[i]! >= 0 || Number.isNaN(closes[i]!)) continue;
      price[i] = closes[i]!;
      sessions[i] = t;
      missingCount--;
    }
  }
  for (const { name, at: t, effect } of effects)
    if (t <= position && sessions[name]! >= 0 && t > sessions[name]!) price[name] = carryClose(effect, price[name]!);
  return price;
}

export function readRatesAt({ columns }: Pick<PricedRun, 'columns'>, position: number): Float64Array {
  const { names, foreign, dates } = columns.header;
  const fx = new Float64Array(names.length).fill(1);
  for (const [name, row] of Object.entries(foreign))
    fx[Number(name)] = columns.f64('rates', row * dates + position, row * dates + position + 1)[0]!;
  return fx;
}
