import { formatCount } from '#domain/catalogue/sentence-numbers.js';
import type { StoredItem } from '#domain/daily-plans/day-document.js';
import type { Publications } from '../../publication/publications.js';
import { describeIndices, performEachIndex, type Performer } from '../performer.js';
import { explainPartialCloses } from './refresh.js';

export interface PublishDependencies {
  readonly publications: Pick<Publications, 'publish' | 'entries'>;
}

/** Returns the number of the approval request for which a result waits or which was rejected. */
function findRequestNumber(item: StoredItem | undefined): number | undefined {
  const approvalId = item?.detail?.['approval_id'];
  return typeof approvalId === 'number' ? approvalId : undefined;
}

export function createPublishPerformer({ publications }: PublishDependencies): Performer<'publish'> {
  /** Returns true if the close of a session was published again after a time. */
  async function isRestated(indexId: string, date: string, after: string): Promise<boolean> {
    for await (const batch of await publications.entries(indexId, { start: date, end: date }))
      if (batch.some(({ kind, at }) => kind === 'restatement' && at > after)) return true;
    return false;
  }

  return async (context) => {
    const { spec, day, by, signal } = context;
    const count = await performEachIndex(context, async (indexId) => {
      const { allow_partial, errors } = spec;
      const waitingAncestor = [...context.getAncestors(indexId)].find(
        (id) => (context.item(id)?.state ?? 'done') !== 'done',
      );
      const request = { through: day().date, restate: false, allow_partial, ...(errors && { error_policy: errors }) };
      const publishing = publications.publish(indexId, () => request, {
        by,
        signal,
        day: { schedule_id: day().schedule_id, date: day().date, asked: findRequestNumber(context.item(indexId)) },
        isForeseen: waitingAncestor !== undefined, // Requests all approvals of a family at once.
      });
      const { published, restated, run_id, head, through, error } = await publishing.catch((failure: unknown) => {
        throw explainPartialCloses(failure, day());
      });
      if (waitingAncestor !== undefined)
        return { state: 'waiting', message: `It can be published after ${waitingAncestor}, on which it depends.` };
      const previousItem = context.item(indexId);
      const detail = { run_id, head, through, published, ...(error && { restated, error: error.notice }) };
      if (published === 0 && error === null && previousItem?.state === 'done') {
        // The files are written again and contain the restated figures.
        if (!(await isRestated(indexId, day().date, previousItem.at))) return { ...previousItem };
        return { state: 'done', message: `The close of ${day().date} was published again.`, detail };
      }
      const message =
        published === 0
          ? `Closes through ${through} were published before.`
          : `${formatCount(published, 'close')} published, through ${through}.`;
      return { state: 'done', message: error === null ? message : `${message} ${error.notice}`, detail };
    });
    return { state: 'done', message: describeIndices(count, 'published') };
  };
}
