import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { Day } from '#domain/time/days.js';
import type { MarketData } from '#domain/market/market-data.js';
import { findLastAtMost } from '#domain/numbers/search.js';
import { BLOCK_DAYS, createBlockDigests, DIGEST_BYTES } from '../panels/day-blocks.js';
import { computeHistoryDigest, computeHistoryDigests } from './history.js';
import { hashAxes, type PrefixMark } from './prefix.js';

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

/** Returns the columns with a bar on one of the first days. */
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

/** Returns the tables of a market without some securities. */
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
