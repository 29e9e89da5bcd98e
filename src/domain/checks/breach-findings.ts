import { breachRuleOf } from '../compliance/breach-watch.js';
import { keepingCap, unkeptByEqual, unkeptUnderCap, type UnkeptRow } from '../compliance/kept-by-weighting.js';
import { DEFAULT_LIMIT_RULE, LIMIT_RULE_NAMES } from '../compliance/rules.js';
import { smallValue, type Finding } from '../refusals/findings.js';
import { equalWeight } from '../rules/weighting/equal-weight.js';
import { error, isObject } from './index-context.js';
import { isRuleDocument, type IndexDocument, type RuleDocument } from '../documents/index-document.js';

/** A rule that is watched by default, and one that nothing watches. */
export function breachFindings(treatment: unknown): Finding[] {
  if (!isObject(treatment)) return [];
  const { on_breach: response } = treatment;
  const rule = treatment['breach_rule'] ?? undefined;
  const path = 'pipeline.treatment.breach_rule';
  if (response === 'rebalance' && rule === undefined) {
    const message = `A breach of ${DEFAULT_LIMIT_RULE} calls for a rebalance; ${path} names another rule.`;
    return [
      { severity: 'info', code: 'DEFAULT_TAKEN', path, message, accepted: LIMIT_RULE_NAMES, value: DEFAULT_LIMIT_RULE },
    ];
  }
  if (rule === undefined || response === 'rebalance') return [];
  const field = 'pipeline.treatment.on_breach';
  if (response === 'none') {
    const message = `${path} is ${String(rule)} and does nothing: ${field} is none.`;
    return [{ severity: 'warning', code: 'NO_EFFECT', path, message, ...smallValue(rule) }];
  }
  if (response !== undefined) return [];
  const message = `${field} is required beside ${path}: rebalance, or none. Without it no breach of ${String(rule)} is acted on.`;
  return [error('REQUIRED', field, message, { accepted: ['none', 'rebalance'] })];
}

/** A warning where weights of a definition may break the rule whose breach calls for them. */
export function unkeptFindings(document: IndexDocument): Finding[] {
  if (!isRuleDocument(document)) return [];
  const rule = breachRuleOf(document.pipeline.treatment);
  if (rule === null) return [];
  const { type, cap } = document.pipeline.weighting;
  const count = securitiesOf(document);
  const isEqual = type === equalWeight.type;
  if (isEqual && count === null) return [];
  const unkept = isEqual ? unkeptByEqual(rule, count!) : unkeptUnderCap(rule, cap ?? 1);
  if (unkept === null) return [];
  const [path, why] = isEqual
    ? ['pipeline.weighting', `Equal weights of ${count} securities are`]
    : cap === null
      ? ['pipeline.weighting.cap', 'Weights without a cap may be']
      : ['pipeline.weighting.cap', `Weights capped at ${percent(cap)} may be`];
  const message = `${why} beyond ${rule} on the day they are decided: ${reachSentence(unkept)}. A rebalance onto such weights ends no breach; ${isEqual ? 'weights' : 'a cap'} of at most ${percent(keepingCap(rule))} ${isEqual ? 'keep' : 'keeps'} the rule.`;
  return [{ severity: 'warning', code: 'LIMIT_NOT_KEPT', path, message, ...smallValue(cap) }];
}

function reachSentence({ row, value }: UnkeptRow): string {
  const verb = row.side === 'upper' ? 'up to' : 'as little as';
  return `${row.row} ${verb} ${percent(value)}, the limit is ${percent(row.limit)}`;
}

/** Securities that a definition asks for: those of its last rule that counts them, or of its list; null where none says. */
function securitiesOf({ universe, pipeline: { selection } }: RuleDocument): number | null {
  const count = selection.findLast(({ params }) => typeof params['count'] === 'number')?.params['count'];
  if (typeof count === 'number') return count;
  return universe?.kind === 'list' ? (universe.identifiers?.length ?? null) : null;
}

const percent = (fraction: number): string => `${Number((fraction * 100).toPrecision(6))} %`;
