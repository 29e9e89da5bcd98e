import { keptFloats } from '#base/memory/kept-memory.js';
import { marketKey, type MarketHandle } from '#domain/market/handle.js';
import type { DatedFigures, KeepFigures } from '#views/exposures/dated-figures.js';

/**
 * Memory for figures of runs that a thread keeps, with their texts: some eighty datapoints of 20 years, 0.8 MB each. What one
 * answer adds comes on top until figures are asked for again.
 */
const FIGURES_BYTES_MAX = 64 * 2 ** 20;

/** The ones asked for longest ago first. */
const kept = new Map<string, DatedFigures>();

/**
 * Figures of a run on a market that this thread has worked out. Neither changes under its name: the files of a run have
 * names of their own for ever, and a market is named by its content.
 * @param columns file with the columns of the run
 */
export function figuresOf(columns: string, market: MarketHandle | null): KeepFigures {
  const source = [columns, market && marketKey(market)];
  return (what, { width, dates, areWritten = false }) => {
    const key = JSON.stringify([source, what]);
    const figures = kept.get(key) ?? {
      values: keptFloats(width * dates),
      known: new Uint8Array(dates),
      texts: areWritten ? [] : null,
    };
    kept.delete(key);
    kept.set(key, figures);
    let bytes = 0;
    for (const held of kept.values()) bytes += sizeOf(held);
    for (const [oldest, held] of kept) {
      if (bytes <= FIGURES_BYTES_MAX) break;
      kept.delete(oldest);
      bytes -= sizeOf(held);
    }
    return figures;
  };
}

function sizeOf({ values, known, texts }: DatedFigures): number {
  let bytes = values.byteLength + known.byteLength;
  for (const text of texts ?? []) bytes += text === undefined ? 0 : text.bytes.length + text.marks.byteLength;
  return bytes;
}
