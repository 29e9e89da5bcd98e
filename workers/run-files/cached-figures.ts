import { allocateRetainedFloats } from '#base/memory/retained-memory.js';
import type { MarketHandle } from '#domain/market/handle.js';
import { createMarketKey } from '#domain/market/market-identity.js';
import type { DatedFigures, FigureCache } from '#views/exposures/dated-figures.js';

/**
 * Maximum memory for cached figures of runs with their texts. It is enough for about eighty datapoints of 20 years, 0.8
 * MB each. The figures of one response may exceed it until the next request.
 */
const FIGURES_BYTES_MAX = 64 * 2 ** 20;

/** Cached figures by key, least recently used first. */
const cachedFigures = new Map<string, DatedFigures>();

/**
 * Returns the cached figures of a run on a market. The content of a key never changes, because run files have unique
 * names and a content hash identifies the market.
 * @param columns file with the columns of the run
 */
export function getFigures(columns: string, market: MarketHandle | null): FigureCache {
  const source = [columns, market && createMarketKey(market)];
  return (what, { width, dates, areWritten = false }) => {
    const key = JSON.stringify([source, what]);
    const figures = cachedFigures.get(key) ?? {
      values: allocateRetainedFloats(width * dates),
      known: new Uint8Array(dates),
      texts: areWritten ? [] : null,
    };
    cachedFigures.delete(key);
    cachedFigures.set(key, figures);
    let bytes = 0;
    for (const datedFigures of cachedFigures.values()) bytes += computeSize(datedFigures);
    for (const [oldest, datedFigures] of cachedFigures) {
      if (bytes <= FIGURES_BYTES_MAX) break;
      cachedFigures.delete(oldest);
      bytes -= computeSize(datedFigures);
    }
    return figures;
  };
}

function computeSize({ values, known, texts }: DatedFigures): number {
  let bytes = values.byteLength + known.byteLength;
  for (const text of texts ?? []) bytes += text === undefined ? 0 : text.bytes.length + text.marks.byteLength;
  return bytes;
}
