import type { RunRecord } from '#domain/backtest/record/schema.js';
import { formatDay } from '#domain/days.js';
import type { Finding } from '#domain/findings.js';
import type { JsonWriter } from './json-writer.js';

/** What stands beside the numbers of a run. */
export interface RunStamp {
  /** Capture time, ISO-8601 UTC with offset. */
  readonly runAt: string;
  readonly runHash: string;
  readonly storeContentHash: string;
  readonly engineVersion: string;
  /** Last date of the stored run that was gone on with, YYYY-MM-DD; null, like nothing, for a run made whole. */
  readonly extendedFrom?: string | null;
  /** Why a stored run was not gone on with; null, like nothing, when it was or there was none. */
  readonly fullRunReason?: string | null;
}

/** What result and record tell of prices that were missing, and from which sessions rebalances were priced. */
export function writeGapsAndPricing(json: JsonWriter, { identifiers, gaps, pricing }: Pick<RunRecord, 'identifiers' | 'gaps' | 'pricing'>): void {
  json.raw(',"price_gaps":[');
  for (let i = 0; i < gaps.days.length; i++) {
    json.raw(i === 0 ? '{"asset_id":' : ',{"asset_id":');
    json.string(identifiers[gaps.columns[i]!]!);
    json.raw(`,"date":"${formatDay(gaps.days[i]!)}","priced_from":"${formatDay(gaps.pricedFrom[i]!)}"}`);
  }
  json.raw('],"rebalance_pricing":[');
  for (let i = 0; i < pricing.dates.length; i++) {
    json.raw(`${i === 0 ? '' : ','}{"date":"${formatDay(pricing.dates[i]!)}","priced_from":"${formatDay(pricing.pricedFrom[i]!)}"}`);
  }
  json.raw(']');
}

/** Findings, and what a run was made from. */
export function writeProvenance(json: JsonWriter, findings: readonly Finding[], { runHash, storeContentHash, engineVersion, extendedFrom = null, fullRunReason = null }: RunStamp): void {
  json.raw(',"findings":');
  json.value(findings);
  json.raw(`,"run_hash":"${runHash}","store_content_hash":`);
  json.string(storeContentHash);
  json.raw(',"engine_version":');
  json.string(engineVersion);
  json.raw(`,"extended_from":${JSON.stringify(extendedFrom)},"full_run_reason":${JSON.stringify(fullRunReason)}`);
}
