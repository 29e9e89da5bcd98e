/** A point in time as the wire writes it: ISO-8601 UTC with microseconds and an offset. */
export function formatTimestamp(ms: number): string {
  return `${new Date(Math.floor(ms)).toISOString().slice(0, -1)}000+00:00`;
}

/** The latest of times as `formatTimestamp` writes them, those that are not known left out. */
export function latestTime(at: string, ...others: readonly (string | undefined)[]): string {
  return others.reduce<string>((latest, time) => (time !== undefined && time > latest ? time : latest), at);
}
