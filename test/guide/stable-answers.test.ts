import { expect, test } from 'vitest';
import { selectStableAnswers } from './stable-answers.js';

const createJob = (seconds: number, id: string, status = 'succeeded') => ({
  job_id: `render:20260102T09304${seconds}-${id}`,
  status,
  created_at: `2026-01-02T09:30:4${seconds}.120000+00:00`,
  input_hash: id.repeat(8),
  location: `/srv/divisor/home/stores/market.${id}`,
  message: `${seconds}74 MiB are free; 256 MiB are needed for writes.`,
});

test('an answer that differs only in times, ids, hashes and free space is not recorded again', () => {
  const storedAnswers = { getJob: createJob(1, '0a1b2c3d') };
  expect(selectStableAnswers(storedAnswers, { getJob: createJob(2, 'ffffffff') })).toEqual(storedAnswers);
});

test('an answer with other differences, a new answer and the order are recorded', () => {
  const recordedAnswers = { listJobs: [createJob(2, 'ffffffff')], getJob: createJob(2, 'ffffffff', 'failed') };
  const answers = selectStableAnswers({ getJob: createJob(1, '0a1b2c3d'), gone: 1 }, recordedAnswers);
  expect(answers).toEqual(recordedAnswers);
  expect(Object.keys(answers)).toEqual(['listJobs', 'getJob']);
});
