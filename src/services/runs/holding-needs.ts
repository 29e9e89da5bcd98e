import type { LimitsRequest } from '#contract/analytics/limits.js';
import type { LimitRuleName } from '#domain/compliance/rules.js';
import type { ConstraintRow } from '#domain/constraints/constraint-row.js';
import { validateConstraints } from '#domain/constraints/validate.js';
import { readRows } from '#domain/documents/constraint-set.js';
import { stateRowDefaults } from '#domain/documents/row-settings.js';
import type { MarketData } from '#domain/market/market-data.js';
import { SINGLE_GROUPS } from '#domain/market/market-groups.js';
import { checkConstraintFields } from '#domain/optimisation/field-uses.js';
import type { Finding } from '#domain/refusals/findings.js';
import { assertNoErrors } from '#domain/refusals/refusal.js';
import type { ScenarioRequest } from '#domain/scenarios/scenario-request.js';
import type { NeededLimits } from '#jobs/tasks/views.js';
import { assertReferenceColumn } from './reference-column.js';
import type { RunRequest, NeedSources } from './need.js';

/** Default column for the proxies of scenarios. A market may not have it. */
const DEFAULT_PROXIES = 'SECTOR';

/**
 * Returns the column that identifies issuers, and the market that has it. @throws Refusal STORE_MISMATCH,
 * NO_DATA_SOURCE unless securities are their own issuers
 */
export async function resolveIssuers({ states }: NeedSources, { run, query }: RunRequest): Promise<NeededLimits> {
  const { rule = null, by: requestedGrouping } = query as { readonly rule?: LimitRuleName; readonly by: string };
  const servedMarket = requestedGrouping === SINGLE_GROUPS ? null : await states.requireMarket(run);
  const { by, findings } = selectIssuerColumn(requestedGrouping, servedMarket && servedMarket.market);
  const market = by === SINGLE_GROUPS || servedMarket === null ? null : servedMarket.handle;
  return { limits: { rule }, by, findings, market };
}

/**
 * Returns the column that contains the issuer. If the market does not have the default column ISSUER, each security is
 * its own issuer.
 */
function selectIssuerColumn(
  requestedGrouping: string,
  market: MarketData | null,
): { readonly by: string; readonly findings: readonly Finding[] } {
  if (market === null) return { by: requestedGrouping, findings: [] };
  if (requestedGrouping !== 'ISSUER' || market.reference.columns.includes(requestedGrouping)) {
    assertReferenceColumn(market, requestedGrouping);
    return { by: requestedGrouping, findings: [] };
  }
  const message = 'The data store of the index has no reference column ISSUER: each security counts as its own issuer.';
  return { by: SINGLE_GROUPS, findings: [{ severity: 'warning', code: 'UNKNOWN_FIELD_NAME', message, path: 'by' }] };
}

/**
 * Returns the constraint rows to check. @throws Refusal VALIDATION_FAILED; STORE_MISMATCH, NO_DATA_SOURCE if a row
 * reads a datapoint
 */
export async function resolveWatchedRows({ states }: NeedSources, { run, body }: RunRequest): Promise<NeededLimits> {
  const { rows: sentRows } = body() as LimitsRequest;
  const { rows: read, findings } = readRows(sentRows, 'rows');
  const rows: readonly ConstraintRow[] = stateRowDefaults(read as typeof sentRows, 'today'); // the rows have the same shape except for their expressions
  assertNoErrors('body', [...findings, ...validateConstraints(rows, { path: 'rows', areWatched: true })]);
  const servedMarket = rows.some(({ params }) => 'field' in params) ? await states.requireMarket(run) : null;
  if (servedMarket !== null)
    assertNoErrors('body', checkConstraintFields(rows, servedMarket.market, { path: 'rows', severity: 'error' }));
  return { limits: { rows }, by: SINGLE_GROUPS, findings: [], market: servedMarket && servedMarket.handle };
}

/** Returns the shocks and proxies of scenarios. @throws Refusal VALIDATION_FAILED, STORE_MISMATCH, NO_DATA_SOURCE */
export async function resolveScenarios({ states }: NeedSources, { run, body }: RunRequest) {
  const request = body() as ScenarioRequest;
  const { handle, market } = await states.requireMarket(run);
  if (request.by !== DEFAULT_PROXIES) assertReferenceColumn(market, request.by);
  return { request, market: handle };
}
