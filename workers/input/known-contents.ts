import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { DatedMarkets } from '#domain/books/decision-seats.js';
import type { MarketData } from '#domain/market/market-data.js';
import { Refusal } from '#domain/refusals/refusal.js';
import type { HashedFile, EarlierContentFiles } from '#jobs/tasks/files.js';
import { decodeChange } from '#market/versions/change-file.js';
import type { ContentChange } from '#market/versions/content-change.js';
import { createDatedMarkets } from '#market/versions/known-markets.js';

/**
 * Opens the earlier contents of a market from the changes that lead back to them. @cost a read of the files at the
 * first use
 */
export function openEarlierContents(
  market: MarketData,
  files: EarlierContentFiles | undefined,
): { readonly known?: DatedMarkets } {
  if (files === undefined) return {};
  let datedMarkets: DatedMarkets | undefined;
  const openDatedMarkets = ({ knownOn, earlier }: EarlierContentFiles): DatedMarkets =>
    createDatedMarkets(market, {
      knownOn,
      earlier: earlier.map((file) => ({ knownOn: file.knownOn, change: readChange(file) })),
    });
  return { known: { at: (day) => (datedMarkets ??= openDatedMarkets(files)).at(day) } };
}

/** Reads a change from a file. @throws Refusal DOCUMENT_UNREADABLE if the file is missing or damaged */
export function readChange(file: HashedFile): ContentChange {
  return decodeChange(readBytes(file));
}

/**
 * Reads the bytes of a file, and checks their hash.
 * @throws Refusal DOCUMENT_UNREADABLE if the file is missing or damaged
 */
export function readBytes({ path, sha256 }: HashedFile): Uint8Array {
  const bytes = readIfThere(path);
  if (bytes === undefined || createHash('sha256').update(bytes).digest('hex') !== sha256)
    throw refuseDamagedContent('a file of it is missing or damaged');
  return bytes;
}

export function refuseDamagedContent(reason: string): Refusal {
  return new Refusal('DOCUMENT_UNREADABLE', `The earlier content of the data store cannot be read: ${reason}.`);
}

function readIfThere(path: string): Uint8Array | undefined {
  try {
    return readFileSync(path);
  } catch {
    return undefined; // an absent file is reported like a damaged one
  }
}
