import type { ResolvedRequest, StrategyTerms } from '../documents/backtest-plan.js';
import { listWatchlists, type IndexDocument } from '../documents/index-document.js';
import { keepSmallValue, type Finding } from '../refusals/findings.js';
import { LIMITS } from '../refusals/limits.js';
import { checkShape } from '../schema/shape.js';
import { parsePointer, setMember } from './json-pointer.js';
import { SweepStrategy, SweepTerms, type SweepRequest } from './sweep-request.js';

/** Values to set, by JSON pointer. */
export type Patch = Readonly<Record<string, unknown>>;

/** Variant of a sweep: the base with a patch applied. */
export interface Variant {
  readonly patch: Patch;
  readonly document: IndexDocument;
  readonly request: ResolvedRequest;
  readonly strategy: StrategyTerms | null;
}

/** Variants of a sweep: all combinations of a grid, or a list of patches. */
export interface Variation {
  readonly grid: Readonly<Record<string, readonly unknown[]>> | null;
  readonly patches: readonly Patch[] | null;
}

/**
 * Returns the patch of a variant. It is an entry of the list, or a combination of the grid, in which the last pointer
 * varies fastest.
 */
export function createPatch({ grid, patches }: Variation, variant: number): Patch {
  if (patches !== null) return patches[variant]!;
  let remainder = variant;
  const members = Object.entries(grid ?? {}).reverse();
  const chosenMembers = members.map(([pointer, values]) => {
    const value = values[remainder % values.length];
    remainder = Math.floor(remainder / values.length);
    return [pointer, value] as const;
  });
  return Object.fromEntries(chosenMembers.reverse());
}

/** Returns the patches of a sweep in order. */
export function listPatches(variation: Variation): readonly Patch[] {
  return variation.patches ?? Array.from({ length: countVariants(variation) }, (_, i) => createPatch(variation, i));
}

/** Returns the number of variants of a sweep, without creating them. */
export function countVariants({ grid, patches }: Variation): number {
  return patches === null
    ? Object.values(grid ?? {}).reduce((count, values) => count * values.length, 1)
    : patches.length;
}

/** Reports a sweep with too many variants. */
export function checkVariantCount(variation: Variation): Finding[] {
  const count = countVariants(variation);
  const max = LIMITS.MAX_SWEEP_VARIANTS;
  return count <= max ? [] : [reportTooLarge(variation, `The sweep has ${count} variants; the maximum is ${max}.`)];
}

/**
 * Reports too many levels. Levels are stored on disk until the end of the sweep. @param sessionCount maximum number of
 * sessions per variant
 */
export function checkLevels(variation: Variation, sessionCount: number): Finding[] {
  const count = countVariants(variation);
  const max = LIMITS.MAX_SWEEP_LEVELS;
  if (count * sessionCount <= max) return [];
  const message = `The sweep has ${count} variants of ${sessionCount} sessions, ${count * sessionCount} levels; the maximum is ${max}: set a later request.start.`;
  return [reportTooLarge(variation, message)];
}

const reportTooLarge = ({ patches }: Variation, message: string): Finding => ({
  severity: 'error',
  code: 'OUT_OF_RANGE',
  path: patches === null ? 'grid' : 'patches',
  message,
});

export interface SweepBase {
  readonly document: IndexDocument;
  readonly request: SweepRequest['request'];
  readonly strategy: SweepRequest['strategy'];
}

/** Function that checks a changed document and returns the document or its findings. */
export type DocumentCheck = (body: Readonly<Record<string, unknown>>) => {
  readonly document: IndexDocument | undefined;
  readonly findings: readonly Finding[];
};

export interface PatchedVariant {
  /** Variant; undefined if a finding is an error. */
  readonly variant: Variant | undefined;
  /** Errors, each with a path below the path of the patch. */
  readonly findings: readonly Finding[];
}

/**
 * Applies a patch to the base and checks the result as if it had been sent separately. An unknown field is an error,
 * because the variant would equal the base.
 * @param path path of the patch in the request
 */
export function applyPatch(
  base: SweepBase,
  patch: Patch,
  { path, check }: { readonly path: string; readonly check: DocumentCheck },
): PatchedVariant {
  const parts: Record<string, unknown> = structuredClone({
    document: base.document,
    request: base.request,
    strategy: base.strategy ?? {},
  });
  const settingFindings = Object.entries(patch).flatMap(([text, value]) => applySetting(parts, { text, value, path }));
  const document = check(setCurrency(parts['document'] as Record<string, unknown>, patch)); // an object: pointers refer to its members
  const request = checkShape(SweepTerms, parts['request']);
  const usesStrategy = base.strategy !== null || Object.keys(patch).some((text) => text.startsWith('/strategy/'));
  const strategy = usesStrategy ? checkShape(SweepStrategy, parts['strategy']) : { value: null, findings: [] };
  const selectBelow = (part: string, findings: readonly Finding[]): Finding[] =>
    findings
      .filter(({ severity, code }) => severity === 'error' || code === 'UNKNOWN_FIELD')
      .map((finding) => ({
        ...finding,
        severity: 'error',
        path: `${path}/${part}${finding.path === '' ? '' : `.${finding.path}`}`,
        // For a single document, the finding would state that the field was dropped.
        ...(finding.severity === 'error'
          ? {}
          : { message: `Unknown field ${finding.path}: the variant would equal its base.` }),
      }));
  const variantFindings = [
    ...settingFindings,
    ...selectBelow('document', document.findings),
    ...selectBelow('request', [...request.findings, ...reportOrder(request.value)]),
    ...selectBelow('strategy', strategy.findings),
    ...reportIdentity(base, document.document, path),
  ];
  if (
    variantFindings.length > 0 ||
    document.document === undefined ||
    request.value === undefined ||
    strategy.value === undefined
  )
    return { variant: undefined, findings: variantFindings };
  return {
    variant: {
      patch,
      document: document.document,
      request: { benchmark: null, ...request.value },
      strategy: strategy.value,
    },
    findings: [],
  };
}

/**
 * Removes the currency of an overlay whose terms are changed and whose currency is not. The check of the document then
 * adds the default currency, which follows from the terms.
 */
function setCurrency(document: Record<string, unknown>, patch: Patch): Record<string, unknown> {
  const pointers = Object.keys(patch);
  const isChanged = pointers.some((text) => text.startsWith('/document/overlay'));
  if (!isChanged || pointers.includes('/document/currency')) return document;
  return Object.fromEntries(Object.entries(document).filter(([member]) => member !== 'currency'));
}

interface Setting {
  readonly text: string;
  readonly value: unknown;
  readonly path: string;
}

const PARTS = ['document', 'request', 'strategy'];

function applySetting(parts: Record<string, unknown>, { text, value, path }: Setting): Finding[] {
  const issuePath = text.startsWith('/') ? `${path}${text}` : path;
  const pointer = parsePointer(text);
  if (pointer === undefined || pointer.length < 2 || !PARTS.includes(pointer[0]!)) {
    return [
      {
        severity: 'error',
        code: 'UNKNOWN_FIELD_NAME',
        path: issuePath,
        message: `"${text}" is not a JSON pointer below /document, /request or /strategy.`,
        ...keepSmallValue(text),
      },
    ];
  }
  const unreachablePointer = setMember(parts, pointer, structuredClone(value));
  if (unreachablePointer === undefined) return [];
  return [
    {
      severity: 'error',
      code: 'UNKNOWN_FIELD_NAME',
      path: issuePath,
      message: `${text} does not exist: the base has no value at ${unreachablePointer.at}.`,
      ...keepSmallValue(text),
    },
  ];
}

/** Reports a reversed range. A single run with such a range is refused before it is queued. */
function reportOrder(request: SweepRequest['request'] | undefined): Finding[] {
  const { start = null, end = null } = request ?? {};
  if (start === null || end === null || start <= end) return [];
  return [
    {
      severity: 'error',
      code: 'INVALID_RANGE',
      path: 'start',
      message: `start ${start} is after end ${end}.`,
      ...keepSmallValue(start),
    },
  ];
}

/** Requires a variant to keep the id and the watchlists of its base. Under another id it would be another index. */
function reportIdentity(
  { document: { id, universe } }: SweepBase,
  document: IndexDocument | undefined,
  path: string,
): Finding[] {
  // The securities of a watchlist are filled in once, in the base document.
  const [own, ofBase] = [listWatchlists(document?.universe), listWatchlists(universe)];
  const changedId = own.find((id) => !ofBase.includes(id));
  if (changedId !== undefined)
    return [
      {
        severity: 'error',
        code: 'IMMUTABLE_FIELD',
        path: `${path}/document.universe.watchlist_id`,
        message: `A variant must keep the watchlist of its base; ${changedId} differs.`,
        value: changedId,
      },
    ];
  if (document === undefined || document.id === id) return [];
  return [
    {
      severity: 'error',
      code: 'IMMUTABLE_FIELD',
      path: `${path}/document.id`,
      message: `A variant must keep the id of its base: ${id}, not ${document.id}.`,
      value: document.id,
    },
  ];
}
