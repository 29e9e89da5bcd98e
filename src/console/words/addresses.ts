/** Addresses of pages that several pages lead to. */

export const indexAddress = (id: string): string => `/console/indices/${encodeURIComponent(id)}`;

export const rebalanceAddress = (id: string, date: string): string => `${indexAddress(id)}/rebalances/${date}`;

export const nameAddress = (identifier: string): string => `/console/names/${encodeURIComponent(identifier)}`;

export const storeAddress = (id: string): string => `/console/data/stores/${encodeURIComponent(id)}`;
