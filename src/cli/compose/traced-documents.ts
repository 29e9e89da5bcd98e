import { runInSpan } from '#base/tracing/spans.js';
import type { DocumentStore } from '#store/port.js';
import { findCollector, type TraceSettings } from '../tracing/trace-settings.js';

/** Wraps documents so that their transactions are spans of the writing work, if a collector is configured. */
export function traceDocuments(documents: DocumentStore, settings: TraceSettings): DocumentStore {
  if (findCollector(settings) === undefined) return documents;
  return {
    ...documents,
    transaction: (change, options) => runInSpan('store transaction', {}, () => documents.transaction(change, options)),
  };
}
