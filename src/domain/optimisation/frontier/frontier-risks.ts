/** Risk measures of frontiers. */
export const FRONTIER_RISKS = ['volatility', 'tracking_error', 'cvar', 'cdar'] as const;
export type FrontierRisk = (typeof FRONTIER_RISKS)[number];
