import { createHash } from 'node:crypto';
import { toCanonicalJson } from '#domain/json/canonical-json.js';
import { compareText } from '#domain/refusals/findings.js';
import type { MatrixFiles } from '#domain/risk/matrix-files.js';
import type { RiskModelSource } from '#jobs/tasks/indices.js';
import { prepareEstimate, type PreparedEstimate } from '#views/risk-estimate.js';
import { openCachedCalendars } from '../input/opened-calendars.js';
import { openCachedMarket } from '../input/open-markets.js';
import { useRunFile } from '../run-files/run-file.js';

/** Reads the returns of an estimate. @throws Refusal RISK_INSUFFICIENT_DATA */
export function openEstimate({ market, universe, request }: RiskModelSource): PreparedEstimate {
  return prepareEstimate({
    market: openCachedMarket(market),
    calendars: openCachedCalendars(universe.kind === 'run' ? universe.closures : undefined),
    universe:
      universe.kind === 'names' ? universe : { ...universe, listHeldIdentifiers: () => listSecuritiesAtEnd(universe) },
    request,
  });
}

/** Returns the hash of the content of a model: its securities and its matrix. */
export function computeContentHash(assetIds: readonly string[], { sha256 }: Pick<MatrixFiles, 'sha256'>): string {
  return createHash('sha256')
    .update(toCanonicalJson({ asset_ids: assetIds, covariance: sha256 }))
    .digest('hex');
}

/** Returns the securities held on the last date of a stored run, long or short, ascending. */
function listSecuritiesAtEnd({ columns }: { readonly columns: string }): string[] {
  return useRunFile(columns, (run) => {
    const { names, dates } = run.header;
    const weights = run.f64('weights', (dates - 1) * names.length, dates * names.length);
    return names.filter((_, i) => weights[i] !== 0).toSorted(compareText);
  });
}
