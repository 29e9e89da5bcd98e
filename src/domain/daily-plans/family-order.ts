/** Order in which the indices of a plan are computed and published. */
export interface FamilyOrder {
  /** Waves of index ids: each wave depends only on earlier waves. Ids ascend within a wave. */
  readonly waves: readonly (readonly string[])[];
  /** All indices of the plan on which an index depends, directly or indirectly. */
  readonly ancestors: ReadonlyMap<string, ReadonlySet<string>>;
}

/**
 * Orders the indices of a plan: parents come before derived indices, overlays and blends. If an index depends on an
 * index outside the plan, the indices of the plan behind that one count as its parents.
 * @param ids indices of the plan, without duplicates
 * @param parentsOf returns the indices on which an index depends, in the plan or not
 * @returns waves. Indices that depend on each other in a cycle, which valid definitions exclude, are in the last wave.
 */
export function sortFamily(ids: readonly string[], parentsOf: (id: string) => readonly string[]): FamilyOrder {
  const plannedIds = new Set(ids);
  const ancestorsById = new Map<string, ReadonlySet<string>>();
  function listAncestors(id: string, below: ReadonlySet<string>): ReadonlySet<string> {
    const cachedDepth = ancestorsById.get(id);
    if (cachedDepth !== undefined) return cachedDepth;
    if (below.has(id)) return new Set();
    const parents = new Set<string>();
    for (const parent of parentsOf(id)) {
      parents.add(parent);
      for (const ancestor of listAncestors(parent, new Set([...below, id]))) parents.add(ancestor);
    }
    parents.delete(id);
    ancestorsById.set(id, parents);
    return parents;
  }
  const ancestors = new Map(
    ids.map(
      (id) => [id, new Set([...listAncestors(id, new Set())].filter((parent) => plannedIds.has(parent)))] as const,
    ),
  );
  const waves: string[][] = [];
  const orderedIds = new Set<string>();
  while (orderedIds.size < plannedIds.size) {
    const openIds = [...plannedIds].filter((id) => !orderedIds.has(id)).toSorted();
    const readyIds = openIds.filter((id) => [...ancestors.get(id)!].every((parent) => orderedIds.has(parent)));
    const wave = readyIds.length > 0 ? readyIds : openIds;
    waves.push(wave);
    for (const id of wave) orderedIds.add(id);
  }
  return { waves, ancestors };
}
