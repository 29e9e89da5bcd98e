/** Returns a function that computes its result at the first call and returns the same result later. */
export function callOnce<T>(compute: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: compute() }).value;
}
