/**
 * Outcomes of concurrent work over one connection or one file: a failure is thrown once all of it is over,
 * for nothing may be closed under what is still under way.
 */
export async function allOver<const T extends readonly Promise<unknown>[]>(
  work: T,
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  await Promise.allSettled(work);
  return Promise.all(work);
}
