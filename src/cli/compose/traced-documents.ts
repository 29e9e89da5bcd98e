import { runInSpan } from '#base/tracing/spans.js';
import type { DocumentStore } from '#store/port.js';
import { findCollector, type TraceSettings } from '../tracing/trace-settings.js';

/** If a collector is configured, wraps documents so that each transaction is a span of the work that writes. */
export function traceDocuments(documents: DocumentStore, settings: TraceSettings): DocumentStore {
  if (findCollector(settings) === undefined) return documents;
  return {
    ...documents,
    transaction: (change, options) => runInSpan('store transaction', {}, () => documents.transaction(change, options)),
  };
}
