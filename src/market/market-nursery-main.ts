import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { NurseryNews, NurseryOrder } from './market-nursery.js';

/** The door of the process that starts the processes of market tasks: it hands on what they say and what they are told. */

/** Heap of such a process: a JSON import of the largest accepted size and room to check it. Panels lie outside the heap. */
const HEAP_MEGABYTES = 1536;

/** Time a process has to end after a polite request before it is killed. */
const KILL_AFTER_MS = 500;

const children = new Map<number, ChildProcess>();

process.on('message', (order: NurseryOrder) => {
  if (order.kind === 'start') start(order.id);
  const child = children.get(order.id);
  if (child === undefined) return; // it has ended, which its news says
  if (order.kind === 'end') end(child);
  else if (child.connected) child.send(order.message, (error) => {
    if (error) end(child);
  });
});

// The service is gone; the processes notice that this one is.
process.once('disconnect', () => process.exit(0));

function start(id: number): void {
  const child = fork(fileURLToPath(new URL('./market-process-main.js', import.meta.url)), {
    serialization: 'advanced',
    execArgv: [`--max-old-space-size=${HEAP_MEGABYTES}`],
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  children.set(id, child);
  child.on('message', (message) => tell({ id, kind: 'message', message }));
  child.on('error', () => over(id, { id, kind: 'unstarted' }));
  child.on('close', (code, signal) => over(id, { id, kind: 'ended', code, signal }));
}

function over(id: number, news: NurseryNews): void {
  if (children.delete(id)) tell(news);
}

function end(child: ChildProcess): void {
  child.kill('SIGTERM');
  setTimeout(() => child.kill('SIGKILL'), KILL_AFTER_MS).unref();
}

function tell(news: NurseryNews): void {
  if (process.connected) process.send!(news, () => {}); // started with a channel; a service that is gone needs no news
}
