import type { Calendars } from '../calendars/calendar.js';
import { checkOnMarket } from '../checks/index-on-market.js';
import { findLateRates } from '../checks/late-rates.js';
import { validateIndex } from '../checks/validate-index.js';
import { listReferences } from '../checks/validate-reference.js';
import type { IndexDocument } from '../documents/index-document.js';
import { listUsedModels } from '../documents/used-models.js';
import type { MarketData } from '../market/market-data.js';
import type { Finding } from '../refusals/findings.js';
import {
  applyPatch,
  countVariants,
  type Patch,
  type PatchedVariant,
  type SweepBase,
  type Variation,
} from './variants.js';

export interface VariantBasis {
  readonly market: MarketData;
  readonly calendars: Calendars;
}

/**
 * Maximum number of variants whose documents are checked before a sweep is queued. A sweep of this size runs within
 * minutes.
 */
const CHECKED_FIRST_MAX = 2000;

/**
 * Returns the variants that are checked before the sweep is queued. These are all variants or, for a large sweep, each
 * value of a grid once (a sample if there are too many), with all other parameters at their first value. The remaining
 * variants are checked when they run.
 */
export function selectCheckedFirst(variation: Variation): readonly number[] {
  const count = countVariants(variation);
  if (count <= CHECKED_FIRST_MAX) return Array.from({ length: count }, (_, variant) => variant);
  const list = variation.patches === null ? listSingleChanges(variation.grid ?? {}) : [...variation.patches.keys()];
  const step = Math.ceil(list.length / CHECKED_FIRST_MAX);
  return list.filter((_, i) => i % step === 0);
}

/** Returns the variants of a grid that differ from the first one in at most one pointer. */
function listSingleChanges(grid: NonNullable<Variation['grid']>): number[] {
  let stride = 1;
  const changes = Object.values(grid)
    .reverse()
    .flatMap(({ length }) => {
      const stepLength = stride;
      stride *= length;
      return Array.from({ length: length - 1 }, (_, i) => (i + 1) * stepLength);
    });
  return [0, ...changes].toSorted((a, b) => a - b);
}

/**
 * Returns the errors of a variant due to missing data in the market. @param reached the document and the indices to
 * which it refers, by id
 */
export function findLackingVariantData(
  document: IndexDocument,
  reached: Readonly<Record<string, IndexDocument>>,
  { market, calendars }: VariantBasis,
): readonly Finding[] {
  const listMissing = (one: IndexDocument): readonly Finding[] => [
    ...checkOnMarket(one, market, { severity: 'error', indexOf: (id) => reached[id] }),
    ...findLateRates(one.id, { documents: reached, market, calendars }),
  ];
  return Object.values(reached).flatMap((one) =>
    listMissing(one)
      .filter(({ severity }) => severity === 'error')
      .map((finding) =>
        one.id === document.id
          ? { ...finding, path: `/document.${finding.path}` }
          : { ...finding, path: '/document', message: `The underlying index ${one.id}: ${finding.message}` },
      ),
  );
}

export interface CheckBasis extends VariantBasis {
  /** Further documents to which the first checked variants refer. */
  readonly documents: Readonly<Record<string, IndexDocument>>;
  /** Ids of the stored risk models that these documents use. */
  readonly models: ReadonlySet<string>;
}

/** Checks a variant of a large sweep, given the documents and models of the variants checked first. */
export function checkVariant(base: SweepBase, patch: Patch, ground: CheckBasis): PatchedVariant {
  const { documents, models, calendars } = ground;
  const { variant, findings } = applyPatch(base, patch, {
    path: '',
    check: (body) =>
      validateIndex(body, { calendars: calendars.list(), calendarOf: calendars.get, indexOf: (id) => documents[id] }),
  });
  if (variant === undefined) return { variant, findings };
  const { document } = variant;
  const reachedById = listReached(documents, document);
  const reachedDocuments = Object.values(reachedById);
  const errors = [
    ...reachedDocuments.flatMap((one) =>
      listReferences(one)
        .filter((id) => reachedById[id] === undefined)
        .map(reportUnreached),
    ),
    ...[...listUsedModels(reachedDocuments).keys()].filter((id) => !models.has(id)).map(reportUnreached),
  ];
  if (errors.length === 0) errors.push(...findLackingVariantData(document, reachedById, ground));
  return errors.length === 0 ? { variant, findings } : { variant: undefined, findings: errors };
}

function listReached(
  documents: Readonly<Record<string, IndexDocument>>,
  document: IndexDocument,
): Record<string, IndexDocument> {
  const reachedDocuments = new Map<string, IndexDocument>([[document.id, document]]);
  for (const reachedDocument of reachedDocuments.values())
    for (const id of listReferences(reachedDocument)) {
      const next = documents[id];
      if (next !== undefined && !reachedDocuments.has(id)) reachedDocuments.set(id, next);
    }
  return Object.fromEntries(reachedDocuments);
}

const reportUnreached = (id: string): Finding => ({
  severity: 'error',
  code: 'UNKNOWN_INDEX',
  path: '/document',
  message: `${id} is used by this combination only: a large sweep provides only what single values use.`,
  value: id,
});
