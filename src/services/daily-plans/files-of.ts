import type { DayDocument } from '#domain/daily-plans/day-document.js';
import type { DayFile } from '../delivery/deliver-files.js';

/** Returns the files that the steps of a day wrote and that have not been removed. */
export const listFiles = ({ steps }: Pick<DayDocument, 'steps'>): readonly DayFile[] =>
  steps.flatMap(({ type, items }) =>
    items.flatMap(({ file, artifact, index_id: indexId, detail }) => {
      if (file === null || artifact === null || indexId === null) return [];
      const table = type === 'render' ? 'report' : String(detail?.['table'] ?? '');
      return [{ ...file, indexId, table, artifact }];
    }),
  );
