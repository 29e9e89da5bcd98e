import { z } from 'zod';
import { compareText, type Finding, keepSmallValue } from '../base/findings.js';
import { toCanonicalJson } from '../base/json.js';
import { LIMITS } from '../base/limits.js';
import { divideEvenly } from '../base/numbers.js';
import { AsKnownOn, checkShape, defineObject, Id, requireOneOfEach } from '../base/schema.js';
import type { ResolvedRequest, StrategyTerms } from '../definition/backtest-plan.js';
import { type IndexDocument, listWatchlists } from '../definition/index-document.js';
import { BacktestFields } from '../definition/runs.js';
import { StrategyDocument } from '../definition/strategies.js';

/** Metrics by which a table can be ranked, with the order that puts the best first. */
const RANKINGS = {
  sharpe_ratio: 'descending',
  total_return: 'descending',
  annualised_return: 'descending',
  max_drawdown: 'descending',
  volatility: 'ascending',
  tracking_error: 'ascending',
  tracking_difference: 'descending',
} as const;
export type RankingName = keyof typeof RANKINGS;
export const RANKING_NAMES = Object.keys(RANKINGS) as [RankingName, ...RankingName[]];

/** Metrics that can be computed from returns, without an index. */
export const FOLD_RANKINGS = [
  'sharpe_ratio',
  'annualised_return',
  'max_drawdown',
  'volatility',
] as const satisfies readonly RankingName[];
export type FoldRanking = (typeof FOLD_RANKINGS)[number];

/** Returns 1 if higher values of a metric are better, -1 if lower values are. */
export function findPreference(metric: RankingName): 1 | -1 {
  return RANKINGS[metric] === 'descending' ? 1 : -1;
}

const sharedFields = {
  groups: z
    .int()
    .min(2)
    .max(16)
    .default(10)
    .meta({ description: 'Number of groups of equal length into which time is divided.' }),
  select_by: z
    .enum(FOLD_RANKINGS)
    .default('sharpe_ratio')
    .meta({ description: 'Metric by which a variant is selected in sample. The first of equal variants is selected.' }),
  purge: z.int().min(0).max(252).default(1).meta({
    description:
      'Number of sample sessions that are excluded before and after every test, because closes of one day occur at different times.',
    unit: 'sessions',
  }),
  embargo: z.int().min(0).max(252).nullable().default(null).meta({
    description:
      'Number of further sample sessions that are excluded after every test. Null: 1% of all sessions, rounded up.',
    unit: 'sessions',
  }),
};

const CombinatorialFolds = defineObject(() => ({
  method: z.literal('combinatorial'),
  ...sharedFields,
  test_groups: z.int().min(1).max(15).default(2).meta({
    description:
      'Number of groups in every test. Each combination of them is a split, and all other groups are its sample.',
  }),
}))
  .superRefine(({ groups, test_groups: testGroups }, context) => {
    if (testGroups >= groups)
      context.addIssue({
        code: 'custom',
        path: ['test_groups'],
        params: { finding: 'OUT_OF_RANGE' },
        message: `${testGroups} of ${groups} groups leave no sample: at most ${groups - 1} can be tested at once`,
      });
    else if (computeBinomial(groups, testGroups) > LIMITS.MAX_SWEEP_SPLITS)
      context.addIssue({
        code: 'custom',
        path: ['test_groups'],
        params: { finding: 'OUT_OF_RANGE' },
        message: `${testGroups} of ${groups} groups make ${computeBinomial(groups, testGroups)} splits; the maximum is ${LIMITS.MAX_SWEEP_SPLITS}`,
      });
  })
  .meta({
    id: 'CombinatorialFolds',
    description:
      'Combinatorial purged cross-validation. Every combination of test groups is a split, and the tests are joined to several complete paths.',
  });

const WalkForwardFolds = defineObject(() => ({
  method: z.literal('walk_forward'),
  groups: sharedFields.groups,
  select_by: sharedFields.select_by,
  purge: sharedFields.purge,
  train_groups: z
    .int()
    .min(1)
    .max(15)
    .default(1)
    .meta({ description: 'Number of groups in the sample before the first test.' }),
  window: z.enum(['expanding', 'rolling']).default('expanding').meta({
    description:
      '`expanding`: the sample is everything before the test. `rolling`: the sample is the last `train_groups` groups before the test.',
  }),
}))
  .superRefine(({ groups, train_groups: trainGroups }, context) => {
    if (trainGroups < groups) return;
    context.addIssue({
      code: 'custom',
      path: ['train_groups'],
      params: { finding: 'OUT_OF_RANGE' },
      message: `${trainGroups} of ${groups} groups leave no test: at most ${groups - 1} can be the first sample`,
    });
  })
  .meta({
    id: 'WalkForwardFolds',
    description: 'Every group after the first sample is tested. The earlier groups are its sample.',
  });

/** Method of splitting time: variants are chosen on one part of a split and tested on the other. */
export const SweepFolds = z.discriminatedUnion('method', [CombinatorialFolds, WalkForwardFolds]).meta({
  id: 'SweepFolds',
});
export type SweepFolds = z.infer<typeof SweepFolds>;

/** Returns the binomial coefficient: the number of ways to choose k of n. */
export function computeBinomial(n: number, k: number): number {
  let count = 1;
  for (let i = 1; i <= k; i++) count = (count * (n - k + i)) / i;
  return count;
}

/** Parsed JSON pointer: its reference tokens. */
export type Pointer = readonly string[];

/** Parses a JSON pointer. Returns undefined if the text is not a pointer. @source RFC 6901 */
export function parsePointer(text: string): Pointer | undefined {
  if (text === '') return [];
  if (!text.startsWith('/') || /~(?![01])/.test(text)) return undefined;
  return text
    .slice(1)
    .split('/')
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** Reason why a value cannot be set at a pointer. */
export interface UnreachablePointer {
  /** Leading part of the pointer that does not exist. */
  readonly at: string;
}

/**
 * Sets a value at a pointer, in place. Replaces a member or an element, adds a member to an object, or appends an
 * element to a list (by its index or `-`).
 * @returns the part of the pointer that does not exist; undefined if the value was set
 */
export function setMember(target: unknown, pointer: Pointer, value: unknown): UnreachablePointer | undefined {
  let holder = target;
  for (let depth = 0; depth < pointer.length - 1; depth++) {
    holder = readMember(holder, pointer[depth]!);
    if (typeof holder !== 'object' || holder === null) return { at: formatPointer(pointer.slice(0, depth + 1)) };
  }
  const last = pointer.at(-1);
  if (last === undefined) return { at: '' };
  if (Array.isArray(holder)) {
    const position = last === '-' ? holder.length : parsePosition(last);
    if (position === undefined || position > holder.length) return { at: formatPointer(pointer) };
    holder[position] = value;
    return undefined;
  }
  if (last === '__proto__') return { at: formatPointer(pointer) };
  (holder as Record<string, unknown>)[last] = value; // an object, like all values along the path
  return undefined;
}

function readMember(holder: unknown, token: string): unknown {
  if (Array.isArray(holder)) return holder[parsePosition(token) ?? -1];
  return typeof holder === 'object' && holder !== null && Object.hasOwn(holder, token)
    ? (holder as Record<string, unknown>)[token]
    : undefined;
}

function parsePosition(token: string): number | undefined {
  return /^(?:0|[1-9]\d{0,8})$/.test(token) ? Number(token) : undefined;
}

function formatPointer(pointer: Pointer): string {
  return pointer.map((token) => `/${token.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

const RequestedPatch = z.record(z.string(), z.unknown());

/** Trading terms of a strategy that a sweep can vary. */
const SweepStrategy = StrategyDocument.pick({ rebalance: true, drift_tolerance: true, exposure: true }).meta({
  id: 'SweepStrategy',
});

/** Terms of the backtests in a sweep: those of a single backtest without an external benchmark. */
const SweepTerms = BacktestFields.omit({ benchmark: true }).meta({ id: 'SweepTerms' });

/** Request of a sweep: a base, and the changes of its variants. */
export const SweepRequest = defineObject(() => ({
  sweep_id: Id.nullable()
    .default(null)
    .meta({ description: 'Id of the sweep, which is part of the id of the job. Default: a generated id.' }),
  as_known_on: AsKnownOn,
  index_id: Id.nullable().default(null).meta({ description: 'Id of a stored index that is the base.' }),
  document: z
    .record(z.string(), z.unknown())
    .nullable()
    .default(null)
    .meta({ description: 'IndexDocument that is the base, instead of index_id.' }),
  request: SweepTerms.prefault({}).meta({ description: 'Settings of the backtests.' }),
  strategy: SweepStrategy.nullable()
    .default(null)
    .meta({ description: 'Settings of a strategy that follows the index. Default: the index is held.' }),
  grid: z.record(z.string(), z.array(z.unknown()).min(1).max(LIMITS.MAX_SWEEP_VARIANTS)).nullable().default(null).meta({
    description:
      'Values by JSON pointer. Every combination is a variant, and the last pointer varies fastest. Pointers begin with /document, /request or /strategy.',
  }),
  patches: z
    .array(RequestedPatch)
    .min(1)
    .max(LIMITS.MAX_SWEEP_PATCHES)
    .nullable()
    .default(null)
    .meta({ description: 'List of variants, each with values by JSON pointer, instead of grid.' }),
  rank_by: z
    .enum(RANKING_NAMES)
    .default('sharpe_ratio')
    .meta({ description: 'Metric of the ranking. Equal variants keep their order.' }),
  partitions: z.int().min(2).max(16).multipleOf(2).default(16).meta({
    description:
      'Number of blocks of time into which the estimate of overfitting divides the returns. Every half of the blocks selects one variant.',
  }),
  folds: SweepFolds.nullable().default(null).meta({
    description: 'Splits of time that test the selection out of sample; null for no test.',
  }),
}))
  .superRefine(
    requireOneOfEach([
      ['index_id', 'document'],
      ['grid', 'patches'],
    ]),
  )
  .meta({
    id: 'SweepRequest',
    description: 'Exactly one of index_id and document, and exactly one of grid and patches, are required.',
  });
export type SweepRequest = z.infer<typeof SweepRequest>;

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

const PARTS = ['document', 'request', 'strategy'];

function applySetting(
  parts: Record<string, unknown>,
  { text, value, path }: { readonly text: string; readonly value: unknown; readonly path: string },
): Finding[] {
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

export interface SweptParameter {
  readonly pointer: string;
  /** Values in the requested order. */
  readonly values: readonly unknown[];
}

/** Explanation of a map of a sweep over some of its parameters. */
export interface MapTerms {
  readonly aggregation: 'first_by_rank';
  readonly sentence: string;
  readonly parameters: readonly SweptParameter[];
}

export function createMapTerms(variation: Variation, rankBy: RankingName): MapTerms {
  const values = new Map<string, Map<string, unknown>>();
  const addValue = (pointer: string, value: unknown): void => {
    const valueByText = values.get(pointer) ?? new Map<string, unknown>();
    const text = toCanonicalJson(value);
    valueByText.set(text, valueByText.get(text) ?? value);
    values.set(pointer, valueByText);
  };
  for (const patch of variation.patches ?? [])
    for (const [pointer, value] of Object.entries(patch)) addValue(pointer, value);
  for (const [pointer, all] of Object.entries(variation.grid ?? {})) for (const value of all) addValue(pointer, value);
  const parameters = Array.from(values, ([pointer, own]) => ({ pointer, values: [...own.values()] }));
  const sentence = `If a map omits parameters, a cell shows the variant that ranks first by ${rankBy.replaceAll('_', ' ')} over their values. Fix these parameters to show a single variant.`;
  return { aggregation: 'first_by_rank', sentence, parameters };
}

/** Variants of a sweep divided into parts, each computed by one thread. */
export interface SweepParts {
  readonly count: number;
  variants(part: number): readonly number[];
}

/**
 * Divides variants into parts. Variants with equal definitions are adjacent, so each definition is decided only once.
 */
export function orderSweepParts(variation: Variation): SweepParts {
  const { count, positions } = divideEvenly(countVariants(variation));
  const createVariant =
    variation.patches === null ? createGridOrder(variation.grid ?? {}) : createListOrder(variation.patches);
  return { count, variants: (part) => positions(part).map(createVariant) };
}

const isOfDocument = (pointer: string): boolean => pointer.startsWith('/document/');

/**
 * Returns a function that maps a position to the variant of a grid. In this order, document parameters vary slowest.
 */
function createGridOrder(grid: NonNullable<Variation['grid']>): (position: number) => number {
  let stride = 1;
  const axes = Object.entries(grid)
    .reverse()
    .map(([pointer, { length }]) => {
      const axis = { pointer, length, stride };
      stride *= length;
      return axis;
    });
  // Fastest-varying first.
  const orderedAxes = [
    ...axes.filter(({ pointer }) => !isOfDocument(pointer)),
    ...axes.filter(({ pointer }) => isOfDocument(pointer)),
  ];
  return (position) => {
    let remainder = position;
    let variant = 0;
    for (const axis of orderedAxes) {
      variant += (remainder % axis.length) * axis.stride;
      remainder = Math.floor(remainder / axis.length);
    }
    return variant;
  };
}

function createListOrder(patches: NonNullable<Variation['patches']>): (position: number) => number {
  const definitions = patches.map((patch) =>
    toCanonicalJson(Object.fromEntries(Object.entries(patch).filter(([pointer]) => isOfDocument(pointer)))),
  );
  const order = [...patches.keys()].toSorted((a, b) => compareText(definitions[a]!, definitions[b]!) || a - b);
  return (position) => order[position]!;
}
