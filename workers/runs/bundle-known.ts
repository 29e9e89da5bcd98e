import { createChangeFileName, KNOWN_FILE, type BundleKnown } from '#domain/documents/bundle-document.js';
import type { KnownMarkets } from '#domain/books/decision-seats.js';
import type { MarketData } from '#domain/market/market-data.js';
import type { Day } from '#domain/time/days.js';
import type { KnownFiles } from '#jobs/tasks/files.js';
import { computeContentChange, packChange, type ContentChange } from '#market/versions/content-change.js';
import { restoreContent } from '#market/versions/earlier-content.js';
import { createKnownMarkets } from '#market/versions/known-markets.js';
import { readChange } from '../input/known-contents.js';

/** Contents of a market that decisions used, in the form of a bundle. */
export interface SlicedKnown {
  readonly known: KnownMarkets;
  readonly files: Readonly<Record<string, Uint8Array>>;
}

interface KnownSlices {
  /** Day of the first decision. */
  readonly first: Day;
  /** Returns the part of a content that is included in the bundle. */
  readonly slice: (market: MarketData) => MarketData;
  /** Part of the last content that is included in the bundle. */
  readonly own: MarketData;
}

interface SlicedContent {
  readonly knownOn: Day;
  readonly change: ContentChange;
}

/**
 * Slices the earlier contents that decisions from a day on can use, each as the change from the slice of the next
 * content.
 */
export function sliceKnown(
  last: MarketData,
  { knownOn, earlier }: KnownFiles,
  { first, slice, own }: KnownSlices,
): SlicedKnown {
  const contents: SlicedContent[] = [];
  const changes: ContentChange[] = [];
  let after = own;
  let oldest = knownOn;
  for (const file of earlier) {
    if (oldest <= first) break; // every decision uses this content or a later one
    changes.push(readChange(file));
    const before = slice({ ...last, ...restoreContent(last, changes) });
    contents.push({ knownOn: file.knownOn, change: computeContentChange(before, after) });
    [after, oldest] = [before, file.knownOn];
  }
  const index: BundleKnown = {
    known_on: knownOn,
    earlier: contents.map((content, place) => ({ known_on: content.knownOn, file: createChangeFileName(place) })),
  };
  return {
    known: createKnownMarkets(own, { knownOn, earlier: contents }),
    files: {
      [KNOWN_FILE]: new TextEncoder().encode(JSON.stringify(index)),
      ...Object.fromEntries(contents.map(({ change }, place) => [createChangeFileName(place), packChange(change)])),
    },
  };
}
