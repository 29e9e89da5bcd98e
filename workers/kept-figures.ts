import { keptFloats } from '#domain/kept-memory.js';
import { marketKey, type MarketHandle } from '#domain/market/handle.js';
import type { DatedFigures, KeepFigures } from '#views/exposures/dated-figures.js';
import { NUMBER_TEXT_BYTES } from '#views/exposures/figure-texts.js';

/** Memory for figures of runs that a thread keeps, with their texts: some fifty datapoints of 20 years, 1.2 MB each. */
const FIGURES_BYTES_MAX = 64 * 2 ** 20;

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
  return (what, { width, dates, areWritten = false }) => {
    const key = JSON.stringify([source, what]);
    const figures = kept.get(key) ?? {
      values: keptFloats(width * dates),
      known: new Uint8Array(dates),
      texts: areWritten ? [] : null,
    };
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

/** With as many bytes as the texts can have once they are written. */
const sizeOf = ({ values, known, texts }: DatedFigures): number =>
  values.byteLength + known.byteLength + (texts === null ? 0 : values.length * NUMBER_TEXT_BYTES);
