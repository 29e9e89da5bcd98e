import { describe, expect, test } from 'vitest';
import type { OptimisationRunResult } from '#contract/optimise.js';
import type { StudyRow } from '#contract/studies.js';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import { runOptimisation, put, service } from './set-up.js';

const STUDY_REQUEST = { index_id: 'BROAD', constraint_set_id: 'probe' };
const createBounds = (upper: number) => [{ id: 'pos', type: 'PositionBounds', params: { lower: 0, upper } }];

export function describeStudies(): void {
  describe('a study', () => {
    test('has the result of each single run, and rows in blocks', async () => {
      const single = await runOptimisation(createBounds(0.2), { objective: 'min_variance' });
      await put('impossible', createBounds(0.01));
      const runs = [
        STUDY_REQUEST,
        { ...STUDY_REQUEST, objective: 'min_variance' },
        { ...STUDY_REQUEST, constraint_set_id: 'impossible' },
        { ...STUDY_REQUEST, as_of: '2023-02-01' },
        ...Array.from({ length: 6 }, () => STUDY_REQUEST),
      ];
      const { status, body } = await service.ask<JobStatus>('POST', '/optimise/studies', { study_id: 'S', runs });
      expect([status, body]).toEqual([202, expect.anything()]);
      const { result } = await service.waitForJob(body.job_id);
      expect(result).toMatchObject({ study_id: 'S', runs: 10, solved: 8, refused: 2 });
      const block = await service.ask<{ rows: readonly StudyRow[] }>('GET', '/optimise/studies/S/rows');
      const { rows } = result as { readonly rows: readonly StudyRow[] };
      expect(block.body).toMatchObject({ count: 10, block: 0, blocks: 1, rows });
      expect(rows.map(({ run_id: id, error }) => id ?? error!.code)).toEqual([
        'S-1',
        'S-2',
        'INFEASIBLE',
        'NO_DATA_IN_RANGE',
        ...Array.from({ length: 6 }, (_, i) => `S-${i + 5}`),
      ]);
      const singleRun = single.result as OptimisationRunResult;
      const storedRun = await service.ask<OptimisationRunResult>('GET', '/optimise/runs/S-2');
      expect(storedRun.body).toEqual({ ...singleRun, run_id: 'S-2' });
      expect(rows[1]!.figures).toMatchObject({
        tracking_error: singleRun.tracking_error,
        turnover: singleRun.turnover,
      });
    });

    test('has its runs in a file if it is long, and equal requests are one job', async () => {
      const runs = Array.from({ length: 201 }, (_, i) => ({
        ...STUDY_REQUEST,
        as_of: i === 200 ? '2023-02-01' : null,
      }));
      const start = (sentRuns: readonly object[]) =>
        service.ask<JobStatus>('POST', '/optimise/studies', { study_id: 'L', runs: sentRuns });
      const answers = [await start(runs), await start(runs), await start(runs.slice(1))];
      expect(answers.map(({ status }) => status)).toEqual([202, 202, 409]);
      expect(answers[1]!.body.created_at).toBe(answers[0]!.body.created_at);
      const { result } = await service.waitForJob('study:L');
      expect(result).toMatchObject({ study_id: 'L', runs: 201, solved: 200, refused: 1 });
      const readBlock = (block: number) =>
        service.ask<{ blocks: number; rows: readonly StudyRow[] }>('GET', `/optimise/studies/L/rows?block=${block}`);
      const first = (await readBlock(0)).body;
      const last = (await readBlock(first.blocks - 1)).body;
      expect(last.rows.at(-2)!.figures).toEqual(first.rows[0]!.figures);
      expect(last.rows.at(-1)!.error!.code).toBe('NO_DATA_IN_RANGE');
    });

    test('is refused as its runs are, with the path of the run', async () => {
      const requestRefusal = async (runs: readonly object[]) => {
        const { status, body } = await service.ask('POST', '/optimise/studies', { runs });
        return { status, text: JSON.stringify(body) };
      };
      const wrongRefusal = await requestRefusal([STUDY_REQUEST, { ...STUDY_REQUEST, objective: 'least_of_all' }]);
      expect(wrongRefusal).toEqual({ status: 422, text: expect.stringContaining('"runs[1].objective"') });
      expect(await requestRefusal([{ ...STUDY_REQUEST, index_id: 'NOBODY' }])).toMatchObject({ status: 404 });
      expect(await requestRefusal([{ ...STUDY_REQUEST, constraint_set_id: 'nothing' }])).toMatchObject({ status: 404 });
      expect(await requestRefusal([])).toMatchObject({ status: 422 });
    });
  });
}
