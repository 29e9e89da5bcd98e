/** An index of equal weights over all securities of the market below. */
export const INDEX = {
  id: 'EVEN',
  name: 'Even',
  calendar: 'XNYS',
  base_date: '2024-01-02',
  pipeline: { weighting: { type: 'EqualWeight' } },
};

/** Request for a synthetic market of five securities over half a year. */
export const MARKET = { store_id: 'market', seed: 3, assets: 5, start: '2024-01-02', end: '2024-06-28' };
