import { expect, test } from 'vitest';
import { createSubmissions } from '#jobs/postgres/submissions.js';
import { job } from '../queue-port-world.js';

test('whoever cancels a job waits for its own submissions, and for no others', async () => {
  const written: string[] = [];
  const ends = new Map<string, () => void>();
  const submissions = createSubmissions(async ({ jobId }) => {
    await new Promise<void>((resolve) => void ends.set(jobId, resolve));
    written.push(jobId);
    throw new Error('refused');
  });
  const all = ['first', 'second'].map((id) => submissions.submit(job(id)).catch(() => undefined));
  await submissions.of('backtest:absent');
  const second = submissions.of('backtest:second').then(() => void written.push('told'));
  while (!ends.has('backtest:first')) await Promise.resolve();
  ends.get('backtest:first')!();
  while (!ends.has('backtest:second')) await Promise.resolve();
  expect(written).toEqual(['backtest:first']);
  ends.get('backtest:second')!();
  await Promise.all([...all, second, submissions.idle()]);
  expect(written).toEqual(['backtest:first', 'backtest:second', 'told']);
});
