// `npm run test:one -- NAME...`: compiles changed sources and runs the test files whose path contains a NAME, such as
// test/store/documents.test.ts, store/documents or documents. Options are passed to vitest: `-t 'part of a title'`.
import { readdirSync } from 'node:fs';
import { parseCLI, startVitest } from 'vitest/node';
import { buildOrEnd, NEEDS_ANSWERS } from './build.mjs';

/** Matches tests that need the whole build: console, pages, engine, guide and documentation. */
const NEEDS_WHOLE_BUILD = /console|^engine|guide|documentation|python-frames|scripts\/release/;

const words = process.argv.slice(2);
if (words.length === 0) fail(64, 'Which tests? npm run test:one -- NAME; `npm run test:all` runs all of them.');

const { filter, options } = parseCLI(['vitest', 'run', ...words]);
const names = filter.map((word) => word.replace(/^(dist\/)?test\//, '').replace(/\.ts$/, ''));
const files = readdirSync('test', { recursive: true }).filter((file) => file.endsWith('.test.ts'));
const chosen = files.filter((file) => names.some((name) => file.includes(name)));
const needs = (pattern) => chosen.some((file) => pattern.test(file));
await buildOrEnd({ compileOnly: !needs(NEEDS_WHOLE_BUILD), answers: needs(NEEDS_ANSWERS) });

const vitest = await startVitest('test', names, options);
const results = vitest.state.getTestModules().flatMap((module) => [...module.children.allTests()]);
await vitest.close();
if (results.every((test) => test.result().state === 'skipped') && !process.exitCode)
  fail(1, 'No test ran: no title has the text of -t, or all are skipped on this machine.');

function fail(status, sentence) {
  process.stderr.write(`${sentence}\n`);
  process.exit(status);
}
