import { expect, test } from 'vitest';
import { Refusal } from '#domain/base/refusals.js';
import { endIdleProcesses, prepareMarketProcess, runMarketTask } from '#market/serve/market-process.js';
import { listChildren, listReaders } from './reading-processes.js';

/** Runs an import that is refused when it asks to continue. @returns the processes that exist at this time */
async function importRefused(): Promise<readonly number[]> {
  const market = { index: [0], columns: ['identifier', 'date', 'CLOSE'], data: [['A', '2024-01-02', 1]] };
  const body = new TextEncoder().encode(JSON.stringify({ name: 'x', tables: { market } }));
  let workingProcesses: readonly number[] = [];
  const onImport = () => {
    workingProcesses = listReaders(process.pid); // the import waits for the answer
    return Promise.reject(new Refusal('STORE_EXISTS', 'refused'));
  };
  const importingRun = runMarketTask('importBody', {}, { load: null, body, onImport });
  await expect(importingRun).rejects.toMatchObject({ code: 'STORE_EXISTS' });
  return workingProcesses;
}

/** Checks that the process ends after a refusal and that another process waits for tasks. */
async function waitForOtherProcess(working: readonly number[]): Promise<void> {
  await expect
    .poll(() => listReaders(process.pid).map((pid) => (working.includes(pid) ? 'working' : 'waiting')))
    .toEqual(['waiting']);
}

test('an idle process ends, and the next task starts another', async () => {
  prepareMarketProcess(300);
  await expect.poll(() => listReaders(process.pid).length).toBe(1);
  const preparedReaders = listReaders(process.pid);
  await expect.poll(() => listReaders(process.pid).length).toBe(0);
  const working = await importRefused();
  expect(working).toEqual([expect.toSatisfy((pid: number) => !preparedReaders.includes(pid))]);
  await waitForOtherProcess(working);
});

test('a process that was prepared takes the first task, and another waits for the second', async () => {
  prepareMarketProcess();
  prepareMarketProcess();
  await expect.poll(() => listReaders(process.pid).length).toBe(1);
  const preparedReaders = listReaders(process.pid);
  const working = await importRefused();
  expect(working).toEqual(preparedReaders);
  await waitForOtherProcess(working);
});

test('processes that wait for a task end on request, and the next task starts others', async () => {
  prepareMarketProcess();
  await expect.poll(() => listReaders(process.pid).length).toBe(1);
  // The end of the task of an earlier test may not have been reported yet.
  const endAndList = () => {
    endIdleProcesses();
    return listChildren(process.pid, 'process-pool-main');
  };
  await expect.poll(endAndList).toEqual([]);
  expect(await importRefused()).toHaveLength(1);
});

test('a running task is not ended with the processes that wait', async () => {
  const body = new TextEncoder().encode('{');
  const importingRun = runMarketTask('importBody', {}, { load: null, body });
  endIdleProcesses();
  await expect(importingRun).rejects.toMatchObject({ code: 'MALFORMED_REQUEST' });
});

test('a process that was killed while it waited fails no task: another takes it', async () => {
  prepareMarketProcess();
  await expect.poll(() => listReaders(process.pid).length).toBe(1);
  const body = new TextEncoder().encode('{');
  const [pool] = listChildren(process.pid).filter((pid) => listChildren(pid).length > 0);
  const waitingReaders = listReaders(process.pid);
  process.kill(pool!, 'SIGSTOP'); // the pool receives the end and the task at the same time
  waitingReaders.forEach((pid) => process.kill(pid, 'SIGKILL'));
  const importingRun = runMarketTask('importBody', {}, { load: null, body });
  process.kill(pool!, 'SIGCONT');
  await expect(importingRun).rejects.toMatchObject({ code: 'MALFORMED_REQUEST' });
});
