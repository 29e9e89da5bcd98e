import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';

/**
 * Runs the benchmarks one after the other, each in a process of its own: `npm run bench` all of them,
 * `npm run bench -- http` those whose path has the word.
 */
const folder = fileURLToPath(new URL('.', import.meta.url));
const words = process.argv.slice(2);
const benches = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.bench.js') && words.every((word) => file.includes(word)))
  .toSorted();

console.log(`${cpus()[0]?.model ?? 'unknown processor'}, ${cpus().length} cores, Node ${process.version}, ${new Date().toISOString().slice(0, 10)}`);
for (const bench of benches) {
  console.log(`\n${bench.replace('.bench.js', '')}`);
  const child = spawn(process.execPath, [`${folder}${bench}`], { stdio: 'inherit' });
  const [status] = (await once(child, 'close')) as [number | null];
  if (status !== 0) process.exitCode = 1;
}
