import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { IS_SOAK } from '../soak.js';

/** Number of writes in which system calls are traced. `SOAK=1` traces ten thousand. */
const WRITES = IS_SOAK ? 10_000 : 100;

const canTrace = spawnSync('strace', ['-f', '-e', 'trace=fdatasync', 'true']).status === 0;
if (!canTrace) console.log('Acknowledgements are not watched: this machine has no strace, or does not allow it.');

test.skipIf(!canTrace)(
  `${WRITES} writes are answered only after the disk has flushed them`,
  { timeout: 60_000 + WRITES * 60 },
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'divisor-acknowledged-'));
    const tracePath = join(folder, 'trace');
    // With -D the service is a child of this process. So it can receive signals of this process.
    const words = [
      '-D',
      '-f',
      '-qq',
      '-s',
      '16',
      '-e',
      'signal=none',
      '-e',
      'trace=fdatasync,fsync,msync,read,write,writev',
      '-o',
      tracePath,
    ];
    const child = spawn('strace', [
      ...words,
      process.execPath,
      resolve('dist/src/main.js'),
      'serve',
      '--home',
      join(folder, 'home'),
      '--port',
      '0',
      '--log-level',
      'error',
      '--drain-ms',
      '0',
      '--workers',
      '1',
      '--warm-up',
      'off',
    ]);
    try {
      const url = await new Promise<string>((resolve, reject) => {
        let output = '';
        child.stdout.setEncoding('utf8').on('data', (text: string) => {
          output += text;
          const address = /listening on (\S+)/.exec(output)?.[1];
          if (address !== undefined) resolve(address);
        });
        child.once('exit', (code) => reject(new Error(`ended with ${code}`)));
      });
      for (let i = 0; i < WRITES; i++) {
        const body = JSON.stringify({ name: `v${i}`, identifiers: ['A'] });
        const response = await fetch(`${url}/data/watchlists/w${i % 10}`, {
          method: 'PUT',
          headers: { 'content-type': 'application/json' },
          body,
        });
        expect(response.status).toBe(200);
        await response.text();
      }
    } finally {
      child.kill('SIGTERM');
      await once(child, 'close');
    }
    const earlyAnswers = countEarlyAnswers(await readFile(tracePath, 'utf8'));
    await rm(folder, { recursive: true, force: true });
    expect(earlyAnswers.answers).toBe(WRITES);
    expect(earlyAnswers.unflushed).toBe(0);
  },
);

/**
 * Returns the number of responses in a trace. Also returns the number of responses for which no flush began after the
 * request and ended before the response.
 */
function countEarlyAnswers(trace: string): { readonly answers: number; readonly unflushed: number } {
  let requests = 0;
  let answers = 0;
  let unflushedCount = 0;
  let isFlushed = false;
  /** Number of the latest request when a thread began its flush. */
  const startedWrites = new Map<string, number>();
  for (const line of trace.split('\n')) {
    const [thread = ''] = line.split(' ');
    if (/ read\(\d+, "PUT /.test(line)) {
      requests++;
      isFlushed = false;
    }
    if (/ (?:fdatasync|fsync|msync)\(/.test(line)) startedWrites.set(thread, requests);
    if (/(?:fdatasync|fsync|msync)(?:\(| resumed).*= 0$/.test(line) && startedWrites.get(thread) === requests)
      isFlushed = true;
    if (!/ writev?\(\d+, (?:\[\{iov_base=)?"HTTP\/1\.1 200/.test(line)) continue;
    answers++;
    if (!isFlushed) unflushedCount++;
  }
  return { answers, unflushed: unflushedCount };
}
