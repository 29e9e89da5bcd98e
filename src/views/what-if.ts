import { measureConcentration } from '#domain/analytics/concentration.js';
import type { WhatIfResponse } from '#contract/indices/what-if.js';
import type { RebalanceCause } from '#domain/schedule/rebalance-causes.js';
import type { LimitRuleName } from '#domain/compliance/rules.js';
import { formatDay } from '#domain/time/days.js';
import type { Finding } from '#domain/refusals/findings.js';
import type { RulePreview } from '#domain/rules/preview.js';
import type { WeightDifference, WeightChange } from '#domain/rules/whatif.js';
import { computeDecidedLimits, type WithFindings } from './preview.js';

export interface ComparedPreview {
  readonly indexId: string;
  readonly preview: RulePreview;
  /** Rule that triggers a rebalance when it is breached; null if there is none. */
  readonly rule: LimitRuleName | null;
  /** Cause of a rebalance that is decided on the day; null if there is none. */
  readonly cause: RebalanceCause | null;
}

export interface ComparedPreviews {
  readonly asOf: string;
  readonly before: ComparedPreview;
  readonly after: ComparedPreview;
  readonly difference: WeightChange;
  readonly findings: readonly Finding[];
}

/** Converts the effects of a changed definition to their form in the API. */
export function toWhatIfResponse({
  asOf,
  before,
  after,
  difference,
  findings,
}: ComparedPreviews): WithFindings<WhatIfResponse> {
  const resolvedDate = after.preview.resolved ?? before.preview.resolved;
  return {
    as_of: asOf,
    resolved_date: resolvedDate === null ? null : formatDay(resolvedDate.sm.sessions[resolvedDate.session]!),
    before: toSide(before),
    after: toSide(after),
    added: difference.added.map(toChange),
    removed: difference.removed.map(toChange),
    changed: difference.changed.map(toChange),
    turnover: difference.turnover,
    findings,
  };
}

function toSide({ indexId, preview, rule, cause }: ComparedPreview): WhatIfResponse['before'] {
  const decision = preview.resolved?.decision;
  if (decision?.kind !== 'decided')
    return {
      index_id: indexId,
      constituents: 0,
      largest: 0,
      effective_assets: 0,
      gross_constituents: 0,
      cap: null,
      cap_redistributed: 0,
      cause,
    };
  const { weights, cap, redistributed } = decision;
  const { constituents, largest, effective_assets, gross_constituents } = measureConcentration(weights);
  return {
    index_id: indexId,
    constituents,
    largest,
    effective_assets,
    gross_constituents,
    cap,
    cap_redistributed: redistributed,
    cause,
    ...(rule === null ? {} : { limits: computeDecidedLimits(preview.resolved!, rule) }),
  };
}

function toChange({ identifier, before, after }: WeightDifference): WhatIfResponse['added'][number] {
  return { identifier, before, after, change: after - before };
}
