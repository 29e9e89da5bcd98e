import type { BacktestRunResult } from '#contract/analytics/run.js';
import type { PriceGapPayload, RebalancePricingPayload } from '#contract/analytics/prices.js';
import type { RunRecord } from '#domain/backtest/record/schema.js';
import { formatDay } from '#domain/time/days.js';
import type { StoredFullRunReason } from '#domain/documents/full-run-reasons.js';
import type { Finding } from '#domain/refusals/findings.js';
import {
  createJsonObject,
  createTextMember,
  createValueMember,
  createWrittenMember,
  type Members,
} from './json-object.js';

/** Provenance of a run: time, hashes and versions. */
export interface RunStamp {
  /** Time of the run, ISO 8601 in UTC with offset. */
  readonly runAt: string;
  readonly runHash: string;
  readonly storeContentHash: string;
  readonly engineVersion: string;
  /**
   * Version of the index or strategy; null if it has none. Absent in results that were stored before versions existed.
   */
  readonly indexVersion?: number | null;
  /** Last date YYYY-MM-DD of the stored run that was extended; null or absent for a full run. */
  readonly extendedFrom?: string | null;
  /** Reason why a stored run was not extended. Null or absent if it was extended or if there was no stored run. */
  readonly fullRunReason?: StoredFullRunReason | null;
}

interface GapsAndPricing {
  readonly run: Pick<RunRecord, 'identifiers' | 'gaps' | 'pricing'>;
}

/** Row of a table of parallel arrays: the arrays and a position. */
interface Row<A> {
  readonly of: A;
  readonly i: number;
}

const GAP = createJsonObject<PriceGapPayload, Row<GapsAndPricing['run']>>({
  asset_id: createTextMember(({ of: { identifiers, gaps }, i }) => identifiers[gaps.columns[i]!]!),
  date: createTextMember(({ of: { gaps }, i }) => formatDay(gaps.days[i]!)),
  priced_from: createTextMember(({ of: { gaps }, i }) => formatDay(gaps.pricedFrom[i]!)),
});

const PRICING = createJsonObject<RebalancePricingPayload, Row<RunRecord['pricing']>>({
  date: createTextMember(({ of: { dates }, i }) => formatDay(dates[i]!)),
  priced_from: createTextMember(({ of: { pricedFrom }, i }) => formatDay(pricedFrom[i]!)),
});

/** Returns the members that results and records share: missing prices, and the pricing sessions of rebalances. */
export function createGapsAndPricing<S extends GapsAndPricing>(): Members<
  Pick<BacktestRunResult, 'price_gaps' | 'rebalance_pricing'>,
  S
> {
  return {
    price_gaps: createWrittenMember((json, { run }) => {
      json.raw('[');
      for (let i = 0; i < run.gaps.days.length; i++) {
        if (i > 0) json.raw(',');
        GAP.write(json, { of: run, i });
      }
      json.raw(']');
    }),
    rebalance_pricing: createWrittenMember((json, { run: { pricing } }) => {
      json.raw('[');
      for (let i = 0; i < pricing.dates.length; i++) {
        if (i > 0) json.raw(',');
        PRICING.write(json, { of: pricing, i });
      }
      json.raw(']');
    }),
  };
}

interface RunWithProvenance {
  readonly run: { readonly findings: readonly Finding[] };
  readonly stamp: RunStamp;
}

type Provenance = Pick<
  BacktestRunResult,
  'findings' | 'run_hash' | 'store_content_hash' | 'engine_version' | 'extended_from' | 'full_run_reason'
>;

/** Returns the members for the findings and for the provenance of a run. */
export function createProvenance<S extends RunWithProvenance>(): Members<Provenance, S> {
  return {
    findings: createWrittenMember((json, { run }) => json.value(run.findings)),
    run_hash: createTextMember(({ stamp }) => stamp.runHash),
    store_content_hash: createTextMember(({ stamp }) => stamp.storeContentHash),
    engine_version: createTextMember(({ stamp }) => stamp.engineVersion),
    // All runs of version 0.1.0 are full runs.
    extended_from: { ...createValueMember(({ stamp }: S) => stamp.extendedFrom ?? null), older: () => null },
    full_run_reason: { ...createValueMember(({ stamp }: S) => stamp.fullRunReason ?? null), older: () => null },
  };
}
