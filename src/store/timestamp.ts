/** Formats a time for the wire: ISO-8601 UTC with microseconds and an offset. */
export function formatTimestamp(ms: number): string {
  return `${new Date(Math.floor(ms)).toISOString().slice(0, -1)}000+00:00`;
}

/** Returns the latest of several times in the format of `formatTimestamp`, ignoring undefined ones. */
export function findLatestTime(timestamp: string, ...others: readonly (string | undefined)[]): string {
  return others.reduce<string>((latest, time) => (time !== undefined && time > latest ? time : latest), timestamp);
}
