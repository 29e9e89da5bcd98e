import { z } from 'zod';
import { type Finding, hasErrors, keepSmallValue, reportFindings } from '../base/findings.js';
import { checkFinite, checkShape, defineObject, Id, isReversed } from '../base/schema.js';
import type { MarketData } from '../market/market-data.js';
import { type IndexDocument, isOverlayDocument, RESERVED_INDEX_IDS } from './index-document.js';
import { checkSingleHolding } from './overlay-type.js';
import { BacktestFields } from './runs.js';
import { RebalanceSpec, validateRebalance } from './schedule.js';

/** Portfolio that follows an index under its own execution terms, as written by clients. */
export const StrategyDocument = defineObject(() => ({
  id: Id.meta({
    description:
      'Id of the strategy. It must differ from all index ids, because runs and views of both have the same paths.',
  }),
  name: z.string().min(1).max(200),
  description: z.string().max(10_000).nullable().default(null),
  index_id: Id.meta({ description: 'Index that the strategy follows.' }),
  ...BacktestFields.omit({ as_known: true, store_id: true }).shape,
  constraint_set_id: Id.nullable()
    .default(null)
    .meta({ description: 'Constraint set that is applied to the targets at each rebalance.' }),
  rebalance: RebalanceSpec.nullable().default(null).meta({
    description:
      'Schedule of the strategy on the calendar of the index. Null uses the rebalance dates of the index. Targets are the weights of the index at the close of the date, so effective_lag has no effect.',
  }),
  drift_tolerance: z.number().min(0).max(1).nullable().default(null).meta({
    description:
      'After the first purchase, a security is traded only if its weight differs from its target by more than this fraction. Null: always traded.',
  }),
  exposure: z
    .number()
    .min(0)
    .max(1)
    .default(1)
    .meta({ description: 'Fraction that is invested at each rebalance. The rest is cash without interest.' }),
})).meta({ id: 'StrategyDocument' });
export type StrategyDocument = z.infer<typeof StrategyDocument>;

/** Reads a stored body as a document. Returns undefined if it does not match the schema. */
export function readStrategy(body: unknown): StrategyDocument | undefined {
  const result = StrategyDocument.safeParse(body);
  return result.success ? result.data : undefined;
}

/** Data against which a strategy is checked. */
export interface StrategyContext {
  /** Returns a stored index. Returns undefined if it does not exist or cannot be read. */
  readonly indexOf: (id: string) => IndexDocument | undefined;
  /** Returns true if an index is stored under an id, even if it cannot be read. */
  readonly isIndex: (id: string) => boolean;
  /** Returns true if a readable constraint set is stored under an id. */
  readonly isConstraintSet: (id: string) => boolean;
  /** Current market: missing data give a warning. */
  readonly market?: MarketData | undefined;
}

export interface CheckedStrategy {
  /** Document with defaults and without unknown fields. Undefined if a finding is an error. */
  readonly document: StrategyDocument | undefined;
  /** All findings in the order in which they are served. */
  readonly findings: readonly Finding[];
}

type RawBody = Readonly<Record<string, unknown>>;

export function validateStrategy(body: RawBody, context: StrategyContext): CheckedStrategy {
  const shapeResult = checkShape(StrategyDocument, body, { unknownFields: 'warning' });
  const tooLarge = checkFinite(body);
  const findings = [
    ...tooLarge,
    ...shapeResult.findings.filter(({ path }) => !tooLarge.some((finding) => finding.path === path)),
    ...reportId(body['id'], context),
    ...reportCadence(body['rebalance']),
    ...reportOrder(body),
    ...checkStrategy(body, context),
  ];
  return { document: hasErrors(findings) ? undefined : shapeResult.value, findings: reportFindings(findings) };
}

/** Reports missing documents to which a strategy refers: an error when it is saved, a warning once it is stored. */
export function checkStrategy(strategy: RawBody, { indexOf, isConstraintSet, market }: StrategyContext): Finding[] {
  const { index_id: indexId, constraint_set_id: constraintSetId, benchmark } = strategy;
  const findings: Finding[] = [];
  if (typeof indexId === 'string' && indexOf(indexId) === undefined)
    findings.push(reportUnknownIndex(indexId, 'index_id'));
  if (typeof constraintSetId === 'string' && !isConstraintSet(constraintSetId)) {
    findings.push(
      createFinding(
        'CONSTRAINT_SET_NOT_FOUND',
        'constraint_set_id',
        `No constraint set ${constraintSetId} is stored.`,
        keepSmallValue(constraintSetId),
      ),
    );
  }
  findings.push(...reportOverlayProblems(strategy, indexOf));
  if (typeof benchmark !== 'object' || benchmark === null) return findings;
  const { id, kind } = benchmark as { readonly id?: unknown; readonly kind?: unknown };
  if (typeof id !== 'string') return findings;
  if (kind === 'index' && indexOf(id) === undefined) findings.push(reportUnknownIndex(id, 'benchmark.id'));
  if (
    kind === 'identifier' &&
    market !== undefined &&
    !market.identifiers.includes(id) &&
    market.series?.has(id) !== true
  ) {
    findings.push({
      severity: 'warning',
      code: 'UNKNOWN_IDENTIFIER',
      path: 'benchmark.id',
      message: `The data does not contain ${id}.`,
      value: id,
    });
  }
  return findings;
}

function reportOverlayProblems(strategy: RawBody, indexOf: StrategyContext['indexOf']): Finding[] {
  const { index_id: indexId, constraint_set_id: constraintSetId, transaction_cost_bps: cost } = strategy;
  const index = typeof indexId === 'string' ? indexOf(indexId) : undefined;
  if (index === undefined || !isOverlayDocument(index)) return [];
  return checkSingleHolding({
    indexId: index.id,
    transactionCostBps: typeof cost === 'number' ? cost : 0,
    hasConstraints: typeof constraintSetId === 'string',
  });
}

function reportUnknownIndex(id: string, path: string): Finding {
  return createFinding('UNKNOWN_INDEX', path, `No index ${id} is stored.`, keepSmallValue(id));
}

function createFinding(code: Finding['code'], path: string, message: string, rest: Partial<Finding> = {}): Finding {
  return { severity: 'error', code, path, message, ...rest };
}

/**
 * Checks the id. Indices and strategies share their URL paths, so an id must be unique among both and must not be a
 * part of a route.
 */
function reportId(id: unknown, { isIndex }: StrategyContext): Finding[] {
  if (typeof id !== 'string') return [];
  if ((RESERVED_INDEX_IDS as readonly string[]).includes(id)) {
    return [
      createFinding(
        'BAD_IDENTIFIER',
        'id',
        `The id ${id} is reserved, because it is part of a route; the reserved ids are ${RESERVED_INDEX_IDS.join(', ')}.`,
        { value: id },
      ),
    ];
  }
  return isIndex(id)
    ? [
        createFinding(
          'DUPLICATE_ID',
          'id',
          `The id ${id} is already used by an index. Choose another id for the strategy.`,
          keepSmallValue(id),
        ),
      ]
    : [];
}

/** Returns findings about a cadence, if it matches the schema. */
function reportCadence(rebalance: unknown): Finding[] {
  if (typeof rebalance !== 'object' || rebalance === null || Array.isArray(rebalance)) return [];
  const { value } = checkShape(RebalanceSpec, rebalance, { unknownFields: 'warning' });
  return value === undefined ? [] : validateRebalance(value, 'rebalance');
}

function reportOrder({ start, end }: RawBody): Finding[] {
  if (!isReversed({ start, end })) return [];
  return [
    createFinding(
      'INVALID_RANGE',
      'start',
      `start ${String(start)} is after end ${String(end)}.`,
      keepSmallValue(start),
    ),
  ];
}
