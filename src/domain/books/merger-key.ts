/** Keys of mergers into securities outside the universe of an index: see `createMergerKey`. */
export type OutsideMergers = ReadonlySet<number>;

/** Returns the key of a security's merger on a session. */
export function createMergerKey(
  { securityCount }: { readonly securityCount: number },
  session: number,
  column: number,
): number {
  return session * securityCount + column;
}
