/** Tabs of pages, in order. The first tab is open at first. */

export const INDEX_PARTS = [
  { id: 'performance', text: 'Performance' },
  { id: 'constituents', text: 'Constituents' },
  { id: 'weights', text: 'Weights' },
  { id: 'attribution', text: 'Attribution' },
  { id: 'risk', text: 'Risk' },
  { id: 'limits', text: 'Limits' },
  { id: 'scenarios', text: 'Scenarios' },
  { id: 'rebalances', text: 'Rebalances' },
  { id: 'actions', text: 'Actions' },
  { id: 'methodology', text: 'Methodology' },
  { id: 'publication', text: 'Publication' },
  { id: 'versions', text: 'Versions' },
  { id: 'runs', text: 'Runs' },
] as const;

export const STORE_PARTS = [
  { id: 'overview', text: 'Overview' },
  { id: 'doubts', text: 'Warnings' },
  { id: 'coverage', text: 'Coverage' },
  { id: 'names', text: 'Securities' },
  { id: 'overrides', text: 'Overrides' },
  { id: 'versions', text: 'Versions' },
] as const;
