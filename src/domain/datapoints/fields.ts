import { z } from 'zod';
import { LIMITS } from '../base/limits.js';
import { defineObject } from '../base/schema.js';
import type { MarketData, ReferenceTable, ReferenceValue } from '../market/market-data.js';

/** Maximum trailing window and lag of a datapoint: ten years of sessions. */
export const LAG_SESSIONS_MAX = 2520;

/** Default window of VOLATILITY, MOMENTUM and BETA: a year of sessions. */
export const DEFAULT_WINDOW = 252;

export const DATASETS = ['market', 'reference', 'derived'] as const;
export type Dataset = (typeof DATASETS)[number];

export const AGGREGATES = ['last', 'mean', 'median', 'sum', 'min', 'max', 'std', 'count'] as const;
export type Aggregate = (typeof AGGREGATES)[number];

export const TRANSFORMS = ['none', 'rank', 'percentile', 'zscore'] as const;
export type Transform = (typeof TRANSFORMS)[number];

/** Datapoints computed from columns, by the names that rules use. */
export const DERIVED_NAMES = [
  'MARKET_CAP',
  'FREE_FLOAT_MARKET_CAP',
  'VALUE_TRADED',
  'RETURN',
  'PRICE_RETURN',
  'VOLATILITY',
  'MOMENTUM',
  'DIVIDEND_YIELD',
  'BETA',
  'AGE',
] as const;
export type DerivedName = (typeof DERIVED_NAMES)[number];

/** Returns of single sessions, with and without dividends. All other derived returns are statistics over a window. */
export type SessionReturn = 'RETURN' | 'PRICE_RETURN';
export const isSessionReturn = (name: string): name is SessionReturn => name === 'RETURN' || name === 'PRICE_RETURN';

/**
 * Returns true if the value of a datapoint depends on the requested universe. A column of the store with this name
 * takes precedence.
 */
export const isRelative = (name: string): boolean => name === ('BETA' satisfies DerivedName);

/** Derived datapoints that are statistics over a separate window. They accept no aggregate. */
const WINDOWED_NAMES: ReadonlySet<string> = new Set<DerivedName>(['VOLATILITY', 'MOMENTUM', 'BETA']);

const fields = {
  name: z.string().min(1).max(64).meta({ description: 'Name of a column or derived datapoint, in exact spelling.' }),
  dataset: z.enum(DATASETS).nullable().default(null).meta({
    description: 'Table of the datapoint. Null uses the first of market, reference and derived that has the datapoint.',
  }),
  lag: z
    .int()
    .min(0)
    .max(LAG_SESSIONS_MAX)
    .default(0)
    .meta({ description: 'Number of sessions before the decision date.' }),
  window: z.int().min(1).max(LAG_SESSIONS_MAX).nullable().default(null).meta({
    description:
      'Number of trailing sessions. Sessions without a price bar are skipped. Required if the aggregate is not last.',
  }),
  aggregate: z.enum(AGGREGATES).default('last'),
  transform: z
    .enum(TRANSFORMS)
    .default('none')
    .meta({ description: 'Transform across the remaining securities with a value.' }),
};

/** Reports invalid combinations of window and aggregate. */
function checkWindow(field: Omit<FieldRequest, 'transform'>, context: z.RefinementCtx): void {
  if (isWindowed(field)) {
    if (field.aggregate === 'last') return;
    context.addIssue({
      code: 'custom',
      path: ['aggregate'],
      input: field.aggregate,
      params: { finding: 'NOT_IN_CHOICES' },
      message: `must be last for ${field.name}, which is already a statistic over its window`,
    });
  } else if (field.aggregate !== 'last' && field.window === null)
    context.addIssue({
      code: 'custom',
      path: ['window'],
      input: field.window,
      params: { finding: 'REQUIRED' },
      message: `is required by the aggregate ${field.aggregate}`,
    });
}

export const FieldNode = defineObject(() => ({
  node: z.literal('field'),
  ...fields,
  text: z
    .string()
    .max(LIMITS.MAX_EXPRESSION_LENGTH)
    .optional()
    .meta({ description: 'Canonical text of the tree, at its root; ignored in requests.' }),
}))
  .superRefine(checkWindow)
  .meta({ id: 'FieldNode', description: 'Datapoint that is read for every security on or before the decision date.' });

/** Datapoint for a ranking or weighting. */
export const Datapoint = z.strictObject(fields).superRefine(checkWindow).meta({
  id: 'Datapoint',
  description:
    'Datapoint with window, lag, aggregate and transform. It is read for every security on or before the decision date.',
});

/** Datapoint that a rule reads for every security. */
export interface FieldRequest {
  readonly name: string;
  readonly dataset: Dataset | null;
  readonly lag: number;
  readonly window: number | null;
  readonly aggregate: Aggregate;
  readonly transform: Transform;
}

/** Returns a request for the latest value of a datapoint, with the given members changed. */
export function createLatestRequest(name: string, rest: Partial<FieldRequest> = {}): FieldRequest {
  return { name, dataset: null, lag: 0, window: null, aggregate: 'last', transform: 'none', ...rest };
}

/** Returns true if the request names a derived datapoint that interprets `window` itself. */
export function isWindowed(field: Pick<FieldRequest, 'name' | 'dataset'>): boolean {
  return WINDOWED_NAMES.has(field.name) && (field.dataset === null || field.dataset === 'derived');
}

/** Returns a text that identifies a request, used as a key of caches. */
export function createRequestKey(field: FieldRequest): string {
  return `${field.dataset ?? ''}|${field.name}|${field.lag}|${field.window ?? ''}|${field.aggregate}|${field.transform}`;
}

/** Describes the request in words: `median of VALUE_TRADED over 60 sessions, 1 session back`. */
export function describeRequest(field: FieldRequest): string {
  const window = field.window ?? DEFAULT_WINDOW;
  const parts = [
    field.aggregate === 'last' ? field.name : `${field.aggregate} of ${field.name}`,
    isWindowed(field) || field.aggregate !== 'last' ? ` over ${formatSessions(window)}` : '',
    field.lag > 0 ? `, ${formatSessions(field.lag)} back` : '',
  ];
  const text = parts.join('');
  return field.transform === 'none' ? text : `${field.transform} of ${text}`;
}

export function formatSessions(count: number): string {
  return `${count} ${count === 1 ? 'session' : 'sessions'}`;
}

/** Source of a datapoint in one market, or the missing column. */
export type Resolution = { readonly dataset: Dataset } | { readonly missing: string };

export type Columns = Pick<MarketData, 'fields' | 'reference'>;

/**
 * Resolves the name of a datapoint. Unless the request specifies a dataset, market columns come first, then reference
 * columns, then derived datapoints.
 * @cost O(reference columns)
 */
export function resolveName(market: Columns, { name, dataset }: Pick<FieldRequest, 'name' | 'dataset'>): Resolution {
  const isRequested = (candidate: Dataset) => dataset === null || dataset === candidate;
  if (isRequested('market') && market.fields.has(name)) return { dataset: 'market' };
  if (isRequested('reference') && market.reference.columns.includes(name)) return { dataset: 'reference' };
  if (!isRequested('derived') || !isDerived(name)) return { missing: name };
  const missingColumn = REQUIRED_COLUMNS[name].find((column) => !isHeldField(market, column));
  return missingColumn === undefined ? { dataset: 'derived' } : { missing: missingColumn };
}

export function isDerived(name: string): name is DerivedName {
  return (DERIVED_NAMES as readonly string[]).includes(name);
}

/** Columns required by a derived datapoint. FREE_FLOAT is optional and defaults to 1. */
const REQUIRED_COLUMNS: Readonly<Record<DerivedName, readonly string[]>> = {
  MARKET_CAP: ['SHARES_OUTSTANDING'],
  FREE_FLOAT_MARKET_CAP: ['MARKET_CAP'],
  VALUE_TRADED: ['VOLUME'],
  RETURN: [],
  PRICE_RETURN: [],
  VOLATILITY: [],
  MOMENTUM: [],
  DIVIDEND_YIELD: [],
  BETA: [],
  AGE: [],
};

/**
 * Returns the first column that a derived datapoint requires. For a name that requires no column, returns the name
 * itself.
 */
export const resolveColumn = (name: string): string =>
  isDerived(name) && REQUIRED_COLUMNS[name].length > 0 ? resolveColumn(REQUIRED_COLUMNS[name][0]!) : name;

/** Returns true if a market has share counts. Market values that change between reviews require them. */
export function hasSharesField(market: Columns): boolean {
  return isHeldField(market, 'SHARES_OUTSTANDING');
}

function isHeldField(market: Columns, column: string): boolean {
  if (market.fields.has(column) || market.reference.columns.includes(column)) return true;
  return column === 'MARKET_CAP' && isHeldField(market, 'SHARES_OUTSTANDING');
}

/** Returns the names of all datapoints that a rule can read in a market, for messages about unknown names. */
export function listFieldNames(market: MarketData): string[] {
  const derivedNames = DERIVED_NAMES.filter(
    (name) => !('missing' in resolveName(market, { name, dataset: 'derived' })),
  );
  return [...new Set([...market.fields.keys(), ...market.reference.columns, ...derivedNames])].sort();
}

export type ValueKind = 'number' | 'string' | 'boolean';

/** Cache of the kinds of columns, by table. */
const kindsByTable = new WeakMap<ReferenceTable, Map<string, ValueKind>>();

/**
 * Returns the common kind of the values of a reference column. Returns `string` if the kinds differ.
 * @cost O(rows) on the first call
 */
export function findReferenceKind({ reference }: MarketData, column: string): ValueKind {
  const kindByColumn = kindsByTable.get(reference) ?? new Map<string, ValueKind>();
  kindsByTable.set(reference, kindByColumn);
  const kind = kindByColumn.get(column) ?? findKind(reference, column);
  kindByColumn.set(column, kind);
  return kind;
}

function findKind({ columns, rows: table }: ReferenceTable, column: string): ValueKind {
  const position = columns.indexOf(column);
  let kind: ValueKind | undefined;
  for (const rows of table.values()) {
    for (const row of rows) {
      const value: ReferenceValue = row.values[position] ?? null;
      if (value === null) continue;
      const result = typeof value as ValueKind;
      if (kind !== undefined && kind !== result) return 'string';
      kind = result;
    }
  }
  return kind ?? 'string';
}
