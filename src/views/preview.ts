import type { IndexExplanation } from '#contract/indices/explanation.js';
import type { PreviewResponse } from '#contract/indices/preview.js';
import type { OverlayPreview } from '#domain/books/preview-overlay.js';
import { computeRuleHeadroom } from '#domain/compliance/breach-watch.js';
import type { LimitRuleName } from '#domain/compliance/rules.js';
import { formatDay } from '#domain/time/days.js';
import { listSources } from '#domain/documents/index-document.js';
import { compareText, type Finding } from '#domain/refusals/findings.js';
import {
  isDerivedExplanation,
  type DerivedExplanation,
  type SecurityExplanation,
  type SecuritySolve,
} from '#domain/optimisation/explain.js';
import type { Explanation } from '#domain/rules/explain.js';
import type { ResolvedPreview, RulePreview } from '#domain/rules/preview.js';
import { toConstituentChange } from './constituent-change.js';
import { toExplainedDatapoint } from './explained-datapoint.js';
import { toReplacements } from './replacements.js';

/** Response with findings of the domain. The API returns the findings unchanged. */
export type WithFindings<T> = Omit<T, 'findings'> & { readonly findings: readonly Finding[] };

type Asset = PreviewResponse['assets'][number];

const NO_DERIVATION = { source_weight: null, solved_weight: null, weight_delta: null } as const;

interface PreviewedIndex {
  readonly indexId: string;
  readonly asOf: string;
  /** Rule that triggers a rebalance when it is breached; null if there is none. */
  readonly rule: LimitRuleName | null;
}

/** Converts the preview of a rule-driven index to its form in the API. */
export function toPreviewResponse(
  { resolved }: RulePreview,
  { indexId, asOf, rule }: PreviewedIndex,
): WithFindings<PreviewResponse> {
  const emptyResponse: WithFindings<PreviewResponse> = {
    index_id: indexId,
    as_of: asOf,
    resolved_date: null,
    assets: [],
    weights: {},
    total_weight: 0,
    cap: null,
    cap_redistributed: 0,
    steps: [],
    solve: null,
    findings: [],
  };
  if (resolved === null) return emptyResponse;
  const { sm, session, decision } = resolved;
  const listIdentifiers = (columns: ArrayLike<number>): string[] =>
    Array.from(columns, (column) => sm.identifiers[column]!);
  const steps = decision.waterfall.map(({ position, remaining, excluded, ruleId, ruleType }) => ({
    position,
    remaining,
    excluded: listIdentifiers(excluded),
    rule_id: ruleId,
    rule_type: ruleType,
  }));
  const answer = { ...emptyResponse, resolved_date: formatDay(sm.sessions[session]!), steps };
  if (decision.kind !== 'decided') return { ...answer, assets: findExcludedRows(resolved) };
  const includedRows = findIncludedRows(resolved);
  return {
    ...answer,
    assets: [...includedRows, ...findExcludedRows(resolved)],
    weights: Object.fromEntries(listIdentifiers(decision.columns).map((name, i) => [name, decision.weights[i]!])),
    total_weight: decision.weights.reduce((total, weight) => total + weight, 0),
    cap: decision.cap,
    cap_redistributed: decision.redistributed,
    findings: decision.findings,
    ...(rule === null ? {} : { limits: computeDecidedLimits(resolved, rule) }),
  };
}

/**
 * Converts the preview of an overlay to its form in the API.
 * @param asOf date YYYY-MM-DD; null for the first session, which is then reported
 */
export function toOverlayPreview(
  { document, sm, session, columns, weights, exposure }: OverlayPreview,
  asOf: string | null,
): WithFindings<PreviewResponse> {
  const assets = Array.from(columns, (column, i): Asset => ({
    identifier: sm.identifiers[column]!,
    included: true,
    weight: weights[i]!,
    excluded_by: null,
    excluded_at: null,
    uncapped_weight: null,
    capped: false,
    ...NO_DERIVATION,
  }));
  return {
    index_id: document.id,
    as_of: asOf ?? formatDay(sm.sessions[session]!),
    resolved_date: formatDay(sm.sessions[session]!),
    assets: assets.toSorted((a, b) => b.weight! - a.weight! || compareText(a.identifier, b.identifier)),
    weights: Object.fromEntries(assets.map(({ identifier, weight }) => [identifier, weight!])),
    total_weight: weights.reduce((total, weight) => total + weight, 0),
    cap: null,
    cap_redistributed: 0,
    // an overlay has no rules: its holdings are a universe
    steps: [{ position: 0, remaining: assets.length, excluded: [], rule_id: null, rule_type: null }],
    solve: null,
    overlay: { type: document.overlay.type, index_ids: [...listSources(document)], ...(exposure ? { exposure } : {}) },
    findings: [],
  };
}

/** Returns how far decided weights are from a breach of the rule that triggers a rebalance. */
export function computeDecidedLimits(
  { sm, session, decision }: ResolvedPreview,
  rule: LimitRuleName,
): PreviewResponse['limits'] {
  if (decision.kind !== 'decided') return undefined;
  const names = Array.from(decision.columns, (column) => sm.identifiers[column]!);
  const headroom = computeRuleHeadroom({ rule, market: sm.market, names }, sm.sessions[session]!, decision.weights);
  return { rule, headroom };
}

/** Returns the held securities, sorted by descending weight and then by identifier. */
function findIncludedRows({ sm, decision }: ResolvedPreview): Asset[] {
  if (decision.kind !== 'decided') return [];
  const cappedColumns = new Set(decision.capped);
  const rows = Array.from(decision.columns, (column, i): Asset => ({
    identifier: sm.identifiers[column]!,
    included: true,
    weight: decision.weights[i]!,
    excluded_by: null,
    excluded_at: null,
    uncapped_weight: cappedColumns.has(column) ? decision.uncapped[i]! : null,
    capped: cappedColumns.has(column),
    ...NO_DERIVATION,
  }));
  return rows.sort((a, b) => b.weight! - a.weight! || compareText(a.identifier, b.identifier));
}

/**
 * Returns the excluded securities, sorted by the step that excluded them and then by identifier. Selected securities
 * without a weight come last.
 */
function findExcludedRows({ sm, decision }: ResolvedPreview): Asset[] {
  const createRow = (column: number, by: string | null, position: number): Asset => ({
    identifier: sm.identifiers[column]!,
    included: false,
    weight: null,
    excluded_by: by,
    excluded_at: position,
    uncapped_weight: null,
    capped: false,
    ...NO_DERIVATION,
  });
  const unweightedRows =
    decision.kind === 'decided'
      ? Array.from(decision.unweighted, (column) => createRow(column, null, decision.waterfall.length))
      : [];
  return [
    ...decision.waterfall.flatMap(({ position, ruleId, excluded }) =>
      Array.from(excluded, (column) => createRow(column, ruleId, position)),
    ),
    ...unweightedRows,
  ];
}

export interface ExplanationContext {
  readonly indexId: string;
  readonly identifier: string;
  readonly requestedAsOf: string | null;
  /** Returns the weighting class of a rule-driven index. */
  weightingType(indexId: string): string;
}

/** Converts the explanation of a weight to the format of the API. */
export function toIndexExplanation(explanation: SecurityExplanation, context: ExplanationContext): IndexExplanation {
  const { indexId, identifier, requestedAsOf } = context;
  const {
    asOf,
    rebalance,
    decision,
    inUniverse,
    datapoints,
    stayed,
    decidedWeight,
    weight,
    drift,
    held,
    entered,
    left,
    order,
  } = explanation;
  return {
    index_id: indexId,
    identifier,
    requested_as_of: requestedAsOf,
    as_of: formatDay(asOf),
    rebalance_date: formatDay(rebalance),
    decision_date: formatDay(decision),
    reviews: [...explanation.reviews],
    in_universe: inUniverse,
    included: held !== null,
    datapoints: datapoints.map(toExplainedDatapoint),
    ...(isDerivedExplanation(explanation)
      ? { ...NO_RULES, derivation: toDerivation(explanation, context) }
      : { ...toChain(explanation, context), derivation: null }),
    stayed,
    decided_weight: decidedWeight,
    weight,
    held_weight: held,
    entered: toConstituentChange(entered),
    left: toConstituentChange(left),
    replacements: toReplacements(explanation.swaps),
    order:
      order === null
        ? null
        : { date: formatDay(order.date), side: order.side, target_weight: order.target, reason: order.reason },
    drift: drift === null ? null : { held_weight: drift.held, change: drift.change },
  };
}

type Chain = Pick<IndexExplanation, 'excluded_by' | 'rules' | 'weighting' | 'capping'>;

const NO_RULES = { excluded_by: null, rules: [], weighting: null, capping: null };

function toChain(
  { rules, excludedBy, weighting, capping }: Explanation,
  { indexId, weightingType }: ExplanationContext,
): Chain {
  return {
    excluded_by: excludedBy,
    rules: rules.map(({ position, ruleId, ruleType, constituent, kept, reason }) => ({
      position,
      rule_id: ruleId,
      rule_type: ruleType,
      constituent,
      kept,
      ...reason,
      thresholds: [...reason.thresholds],
      comparisons: [...(reason.comparisons ?? [])],
    })),
    weighting:
      weighting === null
        ? null
        : {
            type: weightingType(indexId),
            formula: weighting.formula,
            parts: { ...weighting.parts },
            raw: weighting.raw,
            raw_total: weighting.rawTotal,
            uncapped_weight: weighting.uncapped,
          },
    capping:
      capping === null
        ? null
        : {
            cap: capping.cap,
            floor: capping.floor,
            scale: capping.scale,
            capped: capping.capped,
            rounds: capping.rounds.map(({ scale, joined }) => ({ scale, capped: [...joined] })),
          },
  };
}

type Derivation = NonNullable<IndexExplanation['derivation']>;

function toDerivation(
  { sourceIndexId, objective, source, solve, findings }: DerivedExplanation,
  context: ExplanationContext,
): Derivation {
  return {
    source_index_id: sourceIndexId,
    objective,
    source_weight: solve?.sourceWeight ?? null,
    source: toIndexExplanation(source, { ...context, indexId: sourceIndexId, requestedAsOf: null }),
    solve: solve === null ? null : toNameSolve(solve),
    findings: findings.map(({ severity, code, message, path }) => ({ severity, code, message, path })),
  };
}

function toNameSolve({
  rows,
  lower,
  upper,
  centre,
  stiffness,
  pull,
  force,
  free,
  heldBy,
  heldAt,
  solved,
  scale,
}: SecuritySolve): Derivation['solve'] {
  return {
    rows: rows.map(
      ({
        side: {
          placed: { origin },
          side,
          label,
          value,
          limit,
          slack,
          isBinding,
          shadowPrice,
        },
        coefficient,
        force: ownForce,
      }) => ({
        id: origin.id,
        index: origin.index,
        type: origin.type,
        label,
        side,
        kind: origin.kind,
        unit: origin.unit,
        value,
        limit,
        slack,
        binding: isBinding,
        shadow_price: shadowPrice,
        coefficient,
        force: ownForce,
      }),
    ),
    lower: Number.isFinite(lower) ? lower : null,
    upper: Number.isFinite(upper) ? upper : null,
    centre,
    stiffness,
    pull,
    force,
    free_weight: free,
    held_by: heldBy,
    held_at: heldAt,
    solved_weight: solved,
    scale,
  };
}
