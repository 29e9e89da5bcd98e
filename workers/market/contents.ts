import { createHash } from 'node:crypto';
import { closeSync, openSync, writeSync } from 'node:fs';
import type { DataDifferenceView } from '#contract/stores.js';
import { refuseWithFindings } from '#domain/base/refusals.js';
import type { MarketData } from '#domain/market/market-data.js';
import { type MarketHandle, openMarket, shareMarket } from '#domain/market/market-handle.js';
import type { Task } from '#jobs/tasks/catalogue.js';
import type { HashedBytes } from '#jobs/tasks/messages.js';
import { trimMemory } from '#kernels/memory/paged-memory.js';
import { changeCounts, computeDifference } from '#market/content/changes.js';
import { decodeContent, encodeChange, encodeContent } from '#market/content/content-copy.js';
import { type CachedDigests, computeContentHash, countTableRows, digestContent } from '#market/content/content-hash.js';
import { writeMarket } from '#market/content/managed-folder.js';
import type { MarketContent } from '#market/content/market-content.js';
import { reportSeries } from '#market/content/table-rows.js';
import { computeContentChange, restoreContent } from '#market/content/versions.js';
import { applyRepairs, auditMarket as audit } from '#market/judge/audit.js';
import { findContentWarnings, findNewContentWarnings } from '#market/judge/content-warnings.js';
import { refreshContent } from '#market/judge/refresh.js';
import { createProblems } from '#market/tables/problems.js';
import {
  keepOpen,
  openCachedCalendars,
  openCachedMarket,
  readHashedBytes,
  readChange,
  refuseDamagedContent,
} from '../input/inputs.js';

/** Finds the data warnings of a market. */
export const auditMarketTask: Task<'audit-market'> = ({ market }, control) =>
  audit(openCachedMarket(market), market.adjustment, (fraction) => control.report(fraction));

/** Writes a repaired market as a new store. */
export const repairMarket: Task<'repair-market'> = async (
  { market, repairs, folder, datasetId, calendars },
  control,
) => {
  const content = applyRepairs(openCachedMarket(market), repairs);
  const files = await writeMarket(folder, content, (fraction) => control.report(0.8 * fraction, 'writing'));
  const warnings = findContentWarnings(
    content,
    {
      adjustment: market.adjustment,
      calendars: { codes: calendars.codes, open: () => openCachedCalendars(calendars.closures) },
    },
    createProblems(),
  );
  const hash = await computeContentHash(content);
  return {
    handle: shareMarket({
      ...content,
      datasetId,
      adjustment: market.adjustment,
      currency: market.currency ?? null,
      contentHash: hash,
    }),
    summary: {
      contentHash: hash,
      identifiers: content.identifiers.length,
      start: content.dates[0] ?? null,
      end: content.dates.at(-1) ?? null,
      rows: countTableRows(content),
      bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
      files,
      warnings,
    },
  };
};

/** Builds the next version of a store from the stored data and its source, and lists the changes. */
export const refreshMarket: Task<'refresh-market'> = async (
  { held: storedHandle, fresh, options, calendars },
  control,
) => {
  const storedMarket = openCachedMarket(storedHandle);
  const source = openMarket(fresh);
  const { content, report, isHistoryKept, taken } = refreshContent(
    storedMarket,
    source,
    { ...options, adjustment: storedHandle.adjustment },
    storedHandle.taken,
  );
  control.report(0.5, 'checking');
  const problems = createProblems();
  reportSeries(content.identifiers, content.series, problems);
  if (problems.errors > 0) throw refuseWithFindings('data store', problems.findings(), 'STORE_READ_FAILED');
  const terms = {
    adjustment: storedHandle.adjustment,
    calendars: { codes: calendars.codes, open: () => openCachedCalendars(calendars.closures) },
  };
  const warnings = findContentWarnings(content, terms, problems);
  const isSameObjects =
    content.reference === storedMarket.reference &&
    content.actions === storedMarket.actions &&
    content.universes === storedMarket.universes &&
    content.series === storedMarket.series;
  const isSameContent = isHistoryKept && isSameObjects && content.dates.length === storedMarket.dates.length;
  const newWarnings = isSameContent ? [] : findNewContentWarnings(storedMarket, content, terms);
  const { hash, digests } = await digestContent(
    content,
    readCachedDigests({ storedHandle, fresh, before: storedMarket, source, content }, { isHistoryKept, isSameObjects }),
  );
  const isSameTables =
    content.identifiers === storedMarket.identifiers &&
    storedHandle.digests !== undefined &&
    Buffer.compare(digests.tables, storedHandle.digests.tables) === 0;
  const market: MarketData = {
    ...content,
    ...(isSameTables
      ? {
          reference: storedMarket.reference,
          actions: storedMarket.actions,
          universes: storedMarket.universes,
          ...(storedMarket.series === undefined ? {} : { series: storedMarket.series }),
        }
      : {}),
    datasetId: storedHandle.datasetId,
    adjustment: storedHandle.adjustment,
    currency: storedHandle.currency ?? null,
    contentHash: hash,
  };
  keepOpen(market);
  const handle: MarketHandle = {
    ...shareMarket(market, isSameTables ? storedHandle : undefined),
    digests,
    ...(taken === undefined ? {} : { taken }),
  };
  return { handle, isSameTables, report, identifiers: content.identifiers.length, warnings, newWarnings };
};

interface Versions {
  readonly storedHandle: MarketHandle;
  readonly fresh: MarketHandle;
  readonly before: MarketContent;
  readonly source: MarketContent;
  readonly content: MarketContent;
}

/**
 * Returns digests that need not be computed again. These are digests of earlier days, if no security and no field was
 * added or removed, and digests of tables that arrived complete or are unchanged.
 */
function readCachedDigests(
  { storedHandle, fresh, before, source, content }: Versions,
  { isHistoryKept, isSameObjects }: { readonly isHistoryKept: boolean; readonly isSameObjects: boolean },
): CachedDigests {
  const isSameAxis =
    before.identifiers.length === content.identifiers.length &&
    before.identifiers.every((identifier, n) => identifier === content.identifiers[n]);
  const isSameFields =
    before.fields.size === content.fields.size && [...before.fields.keys()].every((name) => content.fields.has(name));
  const isPrefix =
    isHistoryKept &&
    before.dates.length <= content.dates.length &&
    before.dates.every((day, t) => day === content.dates[t]);
  const isWhole =
    content.reference === source.reference &&
    content.actions === source.actions &&
    content.universes === source.universes &&
    content.series === source.series;
  const tables = isSameObjects ? storedHandle.digests?.tables : isWhole ? fresh.digests?.tables : undefined;
  return {
    ...(storedHandle.digests !== undefined && isSameAxis && isSameFields && isPrefix
      ? { blocks: { digests: storedHandle.digests.blocks, days: before.dates.length } }
      : {}),
    ...(tables === undefined ? {} : { tables }),
    ...(storedHandle.digests !== undefined &&
    isPrefix &&
    tables !== undefined &&
    Buffer.compare(tables, storedHandle.digests.tables) === 0
      ? { history: { digests: storedHandle.digests.history, days: before.dates.length } }
      : {}),
  };
}

/**
 * Computes the change that leads from a content back to an earlier one. Also computes the opposite change if it is
 * requested.
 */
export const writeContentChange: Task<'content-change'> = async (input) => {
  const [before, after] = [openCachedMarket(input.before), openCachedMarket(input.after)];
  return {
    back: addHash(encodeChange(computeContentChange(before, after))),
    forth: input.isBothWays ? addHash(encodeChange(computeContentChange(after, before))) : null,
    rows: changeCounts(before, after),
  };
};

function addHash(encoded: Uint8Array): HashedBytes {
  const bytes = new Uint8Array(encoded);
  return { bytes, sha256: createHash('sha256').update(bytes).digest('hex') };
}

/** Appends the next part of a complete content to a file. */
export const writeContentCopy: Task<'content-copy'> = async ({ market, from, path }) => {
  const { piece, next } = encodeContent(openCachedMarket(market), from);
  const file = openSync(path, 'a', 0o600);
  try {
    for (const bytes of piece)
      for (let position = 0; position < bytes.length;) position += writeSync(file, bytes, position);
  } finally {
    closeSync(file);
  }
  trimMemory(); // returns the memory of earlier parts to the system
  return { next };
};

/** Restores a content from a copy and later changes, and verifies its hash. */
export const copyMarket: Task<'copied-market'> = async ({ content, changes, contentHash, ...header }) => {
  const storedCopy = decodeContent(readHashedBytes(content));
  return openVerifiedMarket(
    changes.length === 0 ? storedCopy : restoreContent(storedCopy, changes.map(readChange)),
    header,
    contentHash,
  );
};

/** Restores an earlier content of a data store, and verifies its hash. */
export const rebuildEarlierMarket: Task<'earlier-market'> = async ({ last, changes, contentHash }) => {
  const base = openCachedMarket(last);
  return openVerifiedMarket(restoreContent(base, changes.map(readChange)), base, contentHash);
};

/** Opens a content after verifying its hash. @throws Refusal DOCUMENT_UNREADABLE if the hash differs */
async function openVerifiedMarket(
  content: MarketContent,
  { datasetId, adjustment, currency = null }: Pick<MarketData, 'datasetId' | 'adjustment' | 'currency'>,
  contentHash: string,
): Promise<{ readonly handle: MarketHandle }> {
  const { hash, digests } = await digestContent(content);
  if (hash !== contentHash) throw refuseDamagedContent(`its content is ${hash}, not ${contentHash}`);
  const market: MarketData = { ...content, datasetId, adjustment, currency, contentHash };
  keepOpen(market);
  return { handle: { ...shareMarket(market), digests } };
}

/** Lists values that differ between two contents. */
export const computeDataDifference: Task<'data-difference'> = async ({ before, after, from, to, ...terms }) => {
  const difference = computeDifference(openCachedMarket(before), openCachedMarket(after), terms);
  const { cells, rows, appended, changes, isCut } = difference;
  const view: DataDifferenceView = {
    from,
    to,
    cells,
    rows_added: rows.added,
    rows_changed: rows.changed,
    rows_removed: rows.removed,
    appended,
    changes: [...changes],
    cut: isCut,
  };
  return { bytes: new TextEncoder().encode(JSON.stringify(view)) };
};
