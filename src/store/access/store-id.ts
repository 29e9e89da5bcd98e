/** Name of the one thing in a place that is no artifact: it says which store the place is. */
export const MARKER = 'divisor-store.json';

export const markerText = (storeId: string): string => JSON.stringify({ format: 1, store_id: storeId });

/** Id in the text of a marker; a word that is none where it cannot be read. */
export const storeIdIn = (text: string): string => /"store_id":"([\w-]{1,64})"/.exec(text)?.[1] ?? 'unreadable';
