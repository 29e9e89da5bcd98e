/** Returns the address of the page of an index. */

export const formatIndexAddress = (id: string): string => `/console/indices/${encodeURIComponent(id)}`;

export const formatRebalanceAddress = (id: string, date: string): string =>
  `${formatIndexAddress(id)}/rebalances/${date}`;

/**
 * Returns the address of the page of a security.
 * @param store data store. Default: the served store
 */
export const formatSecurityAddress = (identifier: string, store?: string): string =>
  `/console/names/${encodeURIComponent(identifier)}${formatStoreQuery(store)}`;

export const storeAddress = (id: string): string => `/console/data/stores/${encodeURIComponent(id)}`;

export const formatTemplateAddress = (id: string): string => `/console/reports/templates/${encodeURIComponent(id)}`;

export const formatRiskModelAddress = (id: string): string => `/console/risk-models/${encodeURIComponent(id)}`;

export const formatStrategyAddress = (id: string): string => `/console/strategies/${encodeURIComponent(id)}/edit`;

export const formatPluginAddress = (id: string): string => `/console/plugins/${encodeURIComponent(id)}`;

/**
 * Returns the address of the page of a watchlist.
 * @param store data store. Default: the served store
 */
export const formatWatchlistAddress = (id: string, store?: string): string =>
  `/console/watchlists/${encodeURIComponent(id)}${formatStoreQuery(store)}`;

export const formatScheduleAddress = (id: string): string => `/console/schedules/${encodeURIComponent(id)}`;

export const formatClosuresAddress = (calendar: string): string =>
  `/console/calendar/closures/${encodeURIComponent(calendar)}`;

export const formatApprovalAddress = (id: number): string => `/console/approvals?approval=${id}`;

/** Returns the address of a register, or of one of its documents. */
export const formatGovernanceAddress = (part: string, id?: string): string =>
  `/console/governance/${part}${id === undefined ? '' : `/${encodeURIComponent(id)}`}`;

/** Returns the address of the page that compares runs, with a benchmark or without. */
export const formatCompareAddress = (ids: readonly string[], benchmark: string | null = null): string =>
  `/console/compare?${new URLSearchParams({ ids: ids.join(','), ...(benchmark !== null && { benchmark }) }).toString()}`;

const formatStoreQuery = (store: string | undefined): string =>
  store === undefined ? '' : `?store=${encodeURIComponent(store)}`;
