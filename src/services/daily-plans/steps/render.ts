import { formatCount } from '#domain/catalogue/sentence-numbers.js';
import { createFileName } from '#domain/daily-plans/file-name.js';
import { RenderDocument } from '#domain/documents/render-document.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { parseValidDay } from '#domain/time/days.js';
import type { Jobs } from '#jobs/job-kind.js';
import type { DocumentReader } from '#store/port.js';
import { parseStored } from '#store/read-stored.js';
import type { Reports } from '../../reports/reports.js';
import { assertSucceeded, awaitJobEnd } from '../job-end.js';
import { describeIndices, performEachIndex, type ItemResult, type Performer } from '../performer.js';
import { findPublishedRun } from './export.js';

export interface RenderDependencies {
  readonly reports: Pick<Reports, 'render'>;
  readonly documents: Pick<DocumentReader, 'get'>;
  readonly jobs: Pick<Jobs, 'get'>;
}

export function createRenderPerformer({ reports, documents, jobs }: RenderDependencies): Performer<'render'> {
  async function awaitFile(jobId: string, name: string): Promise<ItemResult> {
    const storedDocument = await documents.get('render', jobId.slice('render:'.length));
    const render = parseStored(storedDocument, RenderDocument);
    if (render === undefined) throw new Refusal('RENDER_NOT_FOUND', `The report of ${jobId} was deleted.`);
    const { name: artifact, bytes, sha256 } = render.artifact;
    return {
      state: 'done',
      message: `${name} has ${formatCount(render.pages, 'page')}.`,
      job_id: jobId,
      file: { name, bytes, sha256 },
      artifact,
    };
  }

  return async (context) => {
    const { spec, day, put, item, origin, signal } = context;
    const count = await performEachIndex(
      context,
      async (indexId) => {
        const previousItem = item(indexId);
        if (previousItem?.state === 'done') return { ...previousItem };
        const { schedule_id: schedule, date } = day();
        const name = createFileName(spec.name, { schedule, index: indexId, table: 'report', day: parseValidDay(date) });
        const run = findPublishedRun(day().steps, indexId);
        const request = {
          template_id: spec.template_id,
          index_id: indexId,
          index_ids: null,
          template: null,
          run_ids: run === undefined ? null : { [indexId]: run },
        };
        const { job_id: jobId } = await reports.render(request, origin);
        await put(indexId, indexId, { state: 'waiting', message: 'The report is being rendered.', job_id: jobId });
        assertSucceeded(jobId, await awaitJobEnd(jobs, jobId, signal));
        return awaitFile(jobId, name);
      },
      spec.indices,
    );
    return { state: 'done', message: describeIndices(count, 'with a report') };
  };
}
