import { expect, test } from 'vitest';
import { readJobRecord } from '#jobs/port/record.js';

const record = {
  job_id: 'backtest:A',
  kind: 'backtest',
  created_at: '2024-01-02T00:00:00.000000+00:00',
  input_hash: '0'.repeat(64),
  sequence: 1,
  estimated_bytes: 0,
  owner: '',
  status: 'failed',
  attempt: 1,
  crashes: 0,
  progress: 0.5,
  message: 'computing',
  result: null,
  started_at: null,
  finished_at: null,
  heartbeat_at: null,
  request: null,
};
const readError = (error: unknown) => readJobRecord({ ...record, error }, record.job_id)?.error;

test('a failed job that was stored without a code carries UNCLASSIFIED_FAILURE with its message', () => {
  const code = 'UNCLASSIFIED_FAILURE';
  expect(readError('no prices')).toEqual({ code, message: 'no prices', detail: null });
  expect(readError({ message: 'no prices' })).toEqual({ code, message: 'no prices', detail: null });
  expect(readError({ code: null, message: 'no prices', detail: { at: 1 } })).toEqual({
    code,
    message: 'no prices',
    detail: { at: 1 },
  });
  for (const error of [null, undefined, '', {}])
    expect(readError(error)).toEqual({ code, message: 'computing', detail: null });
});

test('a failed job keeps the code with which it was stored', () => {
  const error = { code: 'INFEASIBLE', message: 'The constraints are infeasible.', detail: { proven: true } };
  expect(readError(error)).toEqual(error);
});
