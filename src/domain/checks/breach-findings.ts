import { findBreachRule } from '../compliance/breach-watch.js';
import {
  findLargestCap,
  findRowViolatedByEqualWeights,
  findRowViolatedUnderCap,
  findRowViolatedUnderStages,
  type RowWithoutGuarantee,
} from '../compliance/guaranteed-by-weighting.js';
import { DEFAULT_LIMIT_RULE, LIMIT_RULE_NAMES, type LimitRuleName } from '../compliance/rules.js';
import { toRequest } from '../datapoints/field-use.js';
import { toNode, type ExpressionNode } from '../datapoints/expressions/tree.js';
import type { WeightingSpec } from '../documents/weighting-spec.js';
import { keepSmallValue, type Finding } from '../refusals/findings.js';
import { equalWeight } from '../rules/weighting/equal-weight.js';
import { createError, isObject } from './index-context.js';
import { isRuleDocument, type IndexDocument, type RuleDocument } from '../documents/index-document.js';

/** Reports a breach rule that applies by default, and a rule without effect. */
export function checkBreachRule(treatment: unknown): Finding[] {
  if (!isObject(treatment)) return [];
  const { on_breach: response } = treatment;
  const rule = treatment['breach_rule'] ?? undefined;
  const path = 'pipeline.treatment.breach_rule';
  if (response === 'rebalance' && rule === undefined) {
    const message = `A breach of ${DEFAULT_LIMIT_RULE} triggers a rebalance. Use ${path} to select another rule.`;
    return [
      { severity: 'info', code: 'DEFAULT_TAKEN', path, message, accepted: LIMIT_RULE_NAMES, value: DEFAULT_LIMIT_RULE },
    ];
  }
  if (rule === undefined || response === 'rebalance') return [];
  const field = 'pipeline.treatment.on_breach';
  if (response === 'none') {
    const message = `${path} is ${String(rule)} and has no effect because ${field} is none.`;
    return [{ severity: 'warning', code: 'NO_EFFECT', path, message, ...keepSmallValue(rule) }];
  }
  if (response !== undefined) return [];
  const message = `${field} (rebalance or none) is required together with ${path}. Without ${field}, a breach of ${String(rule)} has no effect.`;
  return [createError('REQUIRED', field, message, { accepted: ['none', 'rebalance'] })];
}

/** Warns if the weights of a definition may violate the rule whose breach triggers a rebalance. */
export function checkUnkeptRule(document: IndexDocument): Finding[] {
  if (!isRuleDocument(document)) return [];
  const rule = findBreachRule(document.pipeline.treatment);
  if (rule === null) return [];
  const { weighting } = document.pipeline;
  const count = countSecurities(document);
  const isEqual = weighting.type === equalWeight.type;
  if (isEqual && count === null) return [];
  const violatedRow = isEqual ? findRowViolatedByEqualWeights(rule, count!) : findRowWithoutGuarantee(rule, weighting);
  if (violatedRow === null) return [];
  const [path, why, remedy] = isEqual
    ? ['pipeline.weighting', `Equal weights of ${count} securities are`, 'weights of at most']
    : describeReason(weighting);
  const maximumText = formatPercent(findLargestCap(rule));
  const message = `${why} beyond ${rule} on the day they are decided: ${describeReach(violatedRow)}. A rebalance to such weights does not end the breach; ${remedy} ${maximumText} ${isEqual ? 'keep' : 'keeps'} the rule.`;
  return [{ severity: 'warning', code: 'LIMIT_NOT_KEPT', path, message, ...keepSmallValue(findCapBound(weighting)) }];
}

function findRowWithoutGuarantee(rule: LimitRuleName, weighting: WeightingSpec): RowWithoutGuarantee | null {
  const { ladder_caps: ladder } = weighting;
  return ladder === undefined
    ? findRowViolatedUnderCap(rule, findCapBound(weighting) ?? 1)
    : findRowViolatedUnderStages(rule, ladder);
}

/** Returns the maximum weight under the cap of a weighting. Returns null if the cap states no number. */
function findCapBound({ cap }: WeightingSpec): number | null {
  const bound = cap === null ? Infinity : typeof cap === 'number' ? cap : findBound(toNode(toRequest(cap)));
  return bound < 1 ? bound : null;
}

/** Returns the maximum value of an expression: a constant, or the smallest constant in a minimum. */
function findBound(node: ExpressionNode): number {
  if (node.node === 'value') return typeof node.value === 'number' ? node.value : Infinity;
  if (node.node !== 'function' || node.name !== 'min' || node.window !== undefined) return Infinity;
  return Math.min(...node.operands.map(findBound));
}

function describeReason(weighting: WeightingSpec): readonly [string, string, string] {
  const path = 'pipeline.weighting';
  if (weighting.ladder_caps !== undefined)
    return [`${path}.ladder_caps`, 'Weights under these caps in stages may be', 'a cap of at most'];
  const bound = findCapBound(weighting);
  const why = bound === null ? 'Weights without a cap may be' : `Weights capped at ${formatPercent(bound)} may be`;
  return [`${path}.cap`, why, 'a cap of at most'];
}

function describeReach({ row, value }: RowWithoutGuarantee): string {
  const verb = row.side === 'upper' ? 'up to' : 'as little as';
  return `${row.row} ${verb} ${formatPercent(value)}, the limit is ${formatPercent(row.limit)}`;
}

/**
 * Returns the number of securities of a definition. The number comes from its last rule that states a count, or from
 * its list. Returns null if neither states it.
 */
function countSecurities({ universe, pipeline: { selection } }: RuleDocument): number | null {
  const count = selection.findLast(({ params }) => typeof params['count'] === 'number')?.params['count'];
  if (typeof count === 'number') return count;
  return universe?.kind === 'list' ? (universe.identifiers?.length ?? null) : null;
}

const formatPercent = (fraction: number): string => `${Number((fraction * 100).toPrecision(6))}%`;
