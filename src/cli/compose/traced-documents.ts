import { inSpan } from '#base/tracing/spans.js';
import type { DocumentStore } from '#store/port.js';
import { collectorOf, type TraceSettings } from '../tracing/trace-settings.js';

/** Documents whose transactions are spans of the work that writes them, where a collector is set. */
export function tracedDocuments(documents: DocumentStore, settings: TraceSettings): DocumentStore {
  if (collectorOf(settings) === undefined) return documents;
  return {
    ...documents,
    transaction: (change, options) => inSpan('store transaction', {}, () => documents.transaction(change, options)),
  };
}
