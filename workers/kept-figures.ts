import { keptFloats } from '#domain/kept-memory.js';
import { marketKey, type MarketHandle } from '#domain/market/handle.js';
import type { DatedFigures, KeepFigures } from '#views/exposures/dated-figures.js';

/** Memory for figures of runs that a thread keeps: some hundred datapoints of 20 years, 280 KB each. */
const FIGURES_BYTES_MAX = 32 * 2 ** 20;

/** The ones asked for longest ago first. */
const kept = new Map<string, DatedFigures>();
let bytes = 0;

/**
 * Figures of a run on a market that this thread has worked out. Neither changes under its name: the files of a run have
 * names of their own for ever, and a market is named by its content.
 * @param columns file with the columns of the run
 */
export function figuresOf(columns: string, market: MarketHandle | null): KeepFigures {
  const source = [columns, market && marketKey(market)];
  return (what, { width, dates }) => {
    const key = JSON.stringify([source, what]);
    const figures = kept.get(key) ?? { values: keptFloats(width * dates), known: new Uint8Array(dates) };
    if (kept.delete(key)) bytes -= sizeOf(figures);
    kept.set(key, figures);
    bytes += sizeOf(figures);
    for (const [oldest, held] of kept) {
      if (bytes <= FIGURES_BYTES_MAX) break;
      kept.delete(oldest);
      bytes -= sizeOf(held);
    }
    return figures;
  };
}

const sizeOf = ({ values, known }: DatedFigures): number => values.byteLength + known.byteLength;
