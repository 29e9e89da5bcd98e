import { createChangeFileName, KNOWN_FILE, type BundledVersions } from '#domain/documents/bundle-document.js';
import type { DatedMarkets } from '#domain/books/decision-seats.js';
import type { MarketData } from '#domain/market/market-data.js';
import type { Day } from '#domain/time/days.js';
import type { EarlierContentFiles } from '#jobs/tasks/files.js';
import { computeContentChange, packChange, type ContentChange } from '#market/versions/content-change.js';
import { restoreContent } from '#market/versions/earlier-content.js';
import { createDatedMarkets } from '#market/versions/known-markets.js';
import { readChange } from '../input/known-contents.js';

/** Contents of a market that decisions used, in the form in which a bundle contains them. */
export interface SlicedVersions {
  readonly known: DatedMarkets;
  readonly files: Readonly<Record<string, Uint8Array>>;
}

interface VersionSlices {
  /** Day of the first decision. */
  readonly first: Day;
  /** Returns the part of a content that is included in the bundle. */
  readonly slice: (market: MarketData) => MarketData;
  /** Part of the last content that is included in the bundle. */
  readonly ownMarket: MarketData;
}

interface SlicedContent {
  readonly knownOn: Day;
  readonly change: ContentChange;
}

/**
 * Reduces earlier contents to the data of a bundle. Returns those that decisions from a day on can use. Each is the
 * change from the reduced form of the next content.
 */
export function sliceVersions(
  last: MarketData,
  { knownOn, earlier }: EarlierContentFiles,
  { first, slice, ownMarket }: VersionSlices,
): SlicedVersions {
  const contents: SlicedContent[] = [];
  const changes: ContentChange[] = [];
  let after = ownMarket;
  let oldestDay = knownOn;
  for (const file of earlier) {
    if (oldestDay <= first) break; // every decision uses this content or a later one
    changes.push(readChange(file));
    const before = slice({ ...last, ...restoreContent(last, changes) });
    contents.push({ knownOn: file.knownOn, change: computeContentChange(before, after) });
    [after, oldestDay] = [before, file.knownOn];
  }
  const index: BundledVersions = {
    known_on: knownOn,
    earlier: contents.map((content, place) => ({ known_on: content.knownOn, file: createChangeFileName(place) })),
  };
  return {
    known: createDatedMarkets(ownMarket, { knownOn, earlier: contents }),
    files: {
      [KNOWN_FILE]: new TextEncoder().encode(JSON.stringify(index)),
      ...Object.fromEntries(contents.map(({ change }, place) => [createChangeFileName(place), packChange(change)])),
    },
  };
}
