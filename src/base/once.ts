/** Returns a function that computes its result at the first call and returns the same result later. */
export function callOnce<T>(compute: () => T): () => T {
  let cachedResult: { readonly value: T } | undefined;
  return () => (cachedResult ??= { value: compute() }).value;
}
