/** Computes at the first call, and answers later ones with the same. */
export function once<T>(compute: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: compute() }).value;
}
