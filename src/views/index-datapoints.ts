import { TreatmentSpec } from '#domain/documents/index-document.js';
import type { SessionMarket } from '#domain/market/session-market.js';
import type { CrossSections } from '#domain/datapoints/cross-section.js';
import { crossSectionsOf } from '#domain/rules/decide.js';

/** Datapoints on the terms of an index, or of plain names. */
export function datapointsOf(
  market: SessionMarket,
  terms: { readonly treatment: TreatmentSpec; readonly currency: string } | null,
): CrossSections {
  return crossSectionsOf({ market, ...(terms ?? { treatment: TreatmentSpec.parse({}), currency: '' }) });
}
