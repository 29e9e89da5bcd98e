/** Returns a function that computes its result at the first call and returns the same result later. */
export function callOnce<T>(compute: () => T): () => T {
  let computed: { readonly value: T } | undefined;
  return () => (computed ??= { value: compute() }).value;
}
