import { isOverlayDocument, sourcesOf, type IndexDocument, type TreatmentSpec } from './index-document.js';

/**
 * Treatment of prices and actions: a derived index has that of its source, an overlay that of the first index beneath
 * it. Undefined where one of them is missing.
 */
export function treatmentOf(
  document: IndexDocument,
  indexOf: (id: string) => IndexDocument | undefined,
): TreatmentSpec | undefined {
  const { pipeline, derivation } = document;
  if (pipeline !== null) return pipeline.treatment;
  const sourceId = isOverlayDocument(document) ? sourcesOf(document)[0] : derivation?.source_index_id;
  const source = sourceId === undefined ? undefined : indexOf(sourceId);
  const beneath = source && treatmentOf(source, indexOf);
  return beneath && treatmentOver(document, beneath);
}

/** That of an index over another: a blend may name a return of its own. */
export function treatmentOver({ overlay }: Pick<IndexDocument, 'overlay'>, beneath: TreatmentSpec): TreatmentSpec {
  const variant = overlay?.type === 'blend' ? overlay.variant : undefined;
  return variant === undefined || variant === beneath.dividends ? beneath : { ...beneath, dividends: variant };
}
