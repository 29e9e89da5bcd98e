/**
 * Returns an unused id for a document of a template. It is the id of the template; if any document of the template
 * already exists under it, a number is added.
 */
export function findFreeId(
  { id, index_ids: indexIds }: { readonly id: string; readonly index_ids: readonly string[] },
  taken: ReadonlySet<string>,
): string {
  const stem = id.toUpperCase();
  const isFree = (candidate: string) => indexIds.every((own) => !taken.has(candidate + own.slice(stem.length)));
  for (let number = 1; ; number++) {
    const candidate = number === 1 ? stem : `${stem}-${number}`;
    if (isFree(candidate)) return candidate;
  }
}
