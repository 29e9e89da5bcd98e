import { createOmission, type Finding } from '../base/findings.js';
import { LIMITS } from '../base/limits.js';
import { Refusal, refuseWithFindings } from '../base/refusals.js';
import type { Calendars } from '../calendars/calendar.js';
import { listUsedModels } from '../definition/backtest-plan.js';
import type { IndexDocument } from '../definition/index-document.js';
import { checkOnMarket, validateIndex } from '../definition/index-validation.js';
import { listReferences } from '../definition/references.js';
import { findLateRates } from '../definition/required-rates.js';
import type { MarketData } from '../market/market-data.js';
import {
  applyPatch,
  countVariants,
  createPatch,
  type Patch,
  type PatchedVariant,
  type SweepBase,
  type Variation,
} from './sweep.js';

/** Maximum number of variants listed as locations of a finding. `count` counts all. */
const LOCATIONS_MAX = 100;
/** Maximum number of variants listed in the message; `detail.variants` lists all. */
const NAMED_MAX = 10;
/** Maximum length of a value in the name of a variant. */
const VALUE_MAX = 60;

interface SharedFinding {
  readonly finding: Finding;
  readonly variants: number[];
}

/** Findings about the refused variants of a sweep. */
export function createRefusedVariants(variation: Variation) {
  const member = variation.patches === null ? 'grid' : 'patches';
  const findingByKey = new Map<string, SharedFinding>();
  const refusals = new Set<number>();
  let unlistedCount = 0;
  return {
    /** Adds a variant. @param findings errors, with paths below the variant */
    add(variant: number, findings: readonly Finding[]): void {
      for (const finding of findings) {
        refusals.add(variant);
        const key = JSON.stringify([finding.code, finding.path, finding.message]);
        const sharedEntry = findingByKey.get(key);
        if (sharedEntry !== undefined) sharedEntry.variants.push(variant);
        else if (findingByKey.size < LIMITS.MAX_FINDINGS) findingByKey.set(key, { finding, variants: [variant] });
        else unlistedCount++;
      }
    },
    /** Throws if any variant was refused. @throws Refusal VALIDATION_FAILED with every refused variant */
    assertNone(): void {
      if (refusals.size === 0) return;
      const findings = [...findingByKey.values()].map((one) => toSent(one, member, variation));
      const all = unlistedCount === 0 ? findings : [...findings, createOmission('error', unlistedCount)];
      const { code, message, detail } = refuseWithFindings('sweep', all);
      const variants = [...refusals];
      const reportText = `${message.slice(0, -1)}: ${formatVariants(variants)} of ${countVariants(variation)} ${variants.length === 1 ? 'is' : 'are'} refused.`;
      throw new Refusal(code, reportText, { ...detail, variants });
    },
  };
}

/** Returns a finding for clients, with the name of the first affected variant and the locations of all. */
function toSent({ finding, variants }: SharedFinding, member: string, variation: Variation): Finding {
  const [first] = variants as [number, ...number[]]; // the finding occurred at least once
  const otherCount = variants.length - 1;
  const otherPhrase = otherCount === 0 ? '' : ` and ${otherCount} more`;
  const locations = variants.slice(0, LOCATIONS_MAX).map((variant) => `${member}[${variant}]`);
  return {
    ...finding,
    path: `${member}[${first}]${finding.path}`,
    message: `Variant ${first} (${formatVariantName(createPatch(variation, first))})${otherPhrase}: ${finding.message}`,
    ...(otherCount === 0 ? {} : { count: variants.length, places: locations }),
  };
}

/** Describes the changes of a variant, for example `/document/overlay/factor 0`. */
export function formatVariantName(patch: Patch): string {
  const assignments = Object.entries(patch).map(
    ([pointer, value]) => `${pointer} ${shortenText(JSON.stringify(value) ?? '')}`,
  );
  return assignments.length === 0 ? 'the base' : assignments.join(', ');
}

const shortenText = (text: string): string => (text.length <= VALUE_MAX ? text : `${text.slice(0, VALUE_MAX - 3)}...`);

/** Returns a list of variants in words: `variant 3`, or `variants 0, 3 and 7`. */
function formatVariants(variants: readonly number[]): string {
  const namedVariants = variants.slice(0, NAMED_MAX).map(String);
  const restCount = variants.length - namedVariants.length;
  if (restCount > 0) return `variants ${namedVariants.join(', ')} and ${restCount} more`;
  return namedVariants.length === 1
    ? `variant ${namedVariants[0]}`
    : `variants ${namedVariants.slice(0, -1).join(', ')} and ${namedVariants.at(-1)}`;
}

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
