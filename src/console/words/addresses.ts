/** Returns the address of the page of an index. */

export const indexAddress = (id: string): string => `/console/indices/${encodeURIComponent(id)}`;

export const rebalanceAddress = (id: string, date: string): string => `${indexAddress(id)}/rebalances/${date}`;

/**
 * Returns the address of the page of a security.
 * @param store data store. Default: the served store
 */
export const nameAddress = (identifier: string, store?: string): string =>
  `/console/names/${encodeURIComponent(identifier)}${store === undefined ? '' : `?store=${encodeURIComponent(store)}`}`;

export const storeAddress = (id: string): string => `/console/data/stores/${encodeURIComponent(id)}`;

export const templateAddress = (id: string): string => `/console/reports/templates/${encodeURIComponent(id)}`;

export const riskModelAddress = (id: string): string => `/console/risk-models/${encodeURIComponent(id)}`;

export const strategyAddress = (id: string): string => `/console/strategies/${encodeURIComponent(id)}/edit`;

export const pluginAddress = (id: string): string => `/console/plugins/${encodeURIComponent(id)}`;

export const watchlistAddress = (id: string): string => `/console/watchlists/${encodeURIComponent(id)}`;

export const scheduleAddress = (id: string): string => `/console/schedules/${encodeURIComponent(id)}`;

export const closuresAddress = (calendar: string): string =>
  `/console/calendar/closures/${encodeURIComponent(calendar)}`;

export const approvalAddress = (id: number): string => `/console/approvals?approval=${id}`;

/** Returns the address of a register, or of one of its documents. */
export const governanceAddress = (part: string, id?: string): string =>
  `/console/governance/${part}${id === undefined ? '' : `/${encodeURIComponent(id)}`}`;
