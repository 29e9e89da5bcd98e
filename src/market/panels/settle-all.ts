/**
 * Waits for concurrent work on one connection or file. An error is thrown only after all work has ended, because a
 * connection or file must not be closed while it is in use.
 */
export async function awaitAll<const T extends readonly Promise<unknown>[]>(
  work: T,
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  await Promise.allSettled(work);
  return Promise.all(work);
}
