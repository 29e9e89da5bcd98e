/** Returns a function that computes its result at the first call and returns the same result later. */
export function once<T>(compute: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: compute() }).value;
}
