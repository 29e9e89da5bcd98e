import type { DeskAction, DeskActions } from '#clients/typescript/divisor.js';
import { useResource, type Resource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { getChosenStore } from '../../state/stores.js';

export type AffectedIndex = NonNullable<DeskActions['actions'][number]['indices']>[number];

/** Indices that hold the security of an action, by id of the action, in alphabetical order. */
export type AffectedIndices = ReadonlyMap<string, readonly AffectedIndex[]>;

export interface Affected {
  readonly indices: AffectedIndices;
  /** Number of indices whose runs were not read. */
  readonly unread: number;
}

/** Reads the indices that listed actions affect. The list is shown before they are read. */
export function useAffectedIndices(actions: readonly DeskAction[], limit: number): Resource<Affected> {
  const dates = actions.map(({ ex_date: date }) => date).toSorted();
  const [from, to] = [dates[0], dates.at(-1)];
  const store = getChosenStore();
  const key = from === undefined ? null : `affected ${store} ${from} ${to} ${actions.length}`;
  return useResource(key, (signal) => read({ from, to, limit, store_id: store }, signal), {
    keeps: true,
    isLater: true,
  });
}

/** Returns true if an index holds the security of an action. */
export const isHeld = ({ action_id: id }: DeskAction, { indices }: Affected): boolean =>
  (indices.get(id)?.length ?? 0) > 0;

interface Period {
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly limit: number;
  readonly store_id: string | undefined;
}

async function read(period: Period, signal: AbortSignal): Promise<Affected> {
  const { actions, indices_unread: unread } = await service.value.call('listActions', {
    query: { ...period, indices: true },
    signal,
  });
  const entries = actions.flatMap(({ action_id: id, indices }) =>
    indices === null ? [] : [[id, sortById(indices)] as const],
  );
  return { indices: new Map(entries), unread: unread ?? 0 };
}

/** Sorts indices alphabetically, so that an index is at the same position in all rows. */
const sortById = (indices: readonly AffectedIndex[]): readonly AffectedIndex[] =>
  indices.toSorted((a, b) => a.index_id.localeCompare(b.index_id));
