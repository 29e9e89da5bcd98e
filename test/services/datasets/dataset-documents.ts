import type { DatasetDocument } from '#domain/definition/datasets.js';

export const LOADED_AT = '2024-01-05T00:00:00.000Z';

/** Returns the document of a store with a single bar. It was loaded from a folder that has the name of the store. */
export const createDatasetDocument = (store_id: string, members: Partial<DatasetDocument> = {}): DatasetDocument => ({
  store_id,
  name: store_id,
  kind: 'folder',
  managed: false,
  active: false,
  writing: false,
  location: `/data/${store_id}`,
  source: `/data/${store_id}`,
  tables: {},
  mapping: null,
  derived_actions: null,
  taken_at_start: null,
  adjustment: 'none',
  currency: null,
  created_at: LOADED_AT,
  last_loaded_at: LOADED_AT,
  last_refreshed_at: null,
  identifiers: 1,
  start: '2024-01-02',
  end: '2024-01-02',
  size_bytes: 1,
  content_hash: null,
  rows: { market: 1 },
  files: [],
  error: null,
  findings: [],
  synthetic: null,
  ...members,
});
