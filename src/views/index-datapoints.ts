import { TreatmentSpec } from '#domain/documents/index-document.js';
import type { SessionMarket } from '#domain/market/session-market.js';
import type { CrossSections } from '#domain/datapoints/cross-section.js';
import { createIndexCrossSections } from '#domain/rules/decide.js';

/**
 * Returns the datapoints of a market with the settings of an index. If `terms` is null, they are for securities outside
 * of an index.
 */
export function createDatapoints(
  market: SessionMarket,
  terms: { readonly treatment: TreatmentSpec; readonly currency: string } | null,
): CrossSections {
  return createIndexCrossSections({ market, ...(terms ?? { treatment: TreatmentSpec.parse({}), currency: '' }) });
}
