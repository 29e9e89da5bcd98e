import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer } from 'vitest/node';

/** Puts a module of its own in place of one of the program's, before that is loaded. */
const REPLACING = ['durability/every-call.test.js'];

/**
 * Count, time or kill what their own process does, has started or opened, or need memory that was nobody's: they get a
 * process each, as other files leave servers, idle processes and connections in theirs. All further files share workers,
 * in which the program is loaded and compiled once instead of once a file: a file leaves its process as it found it, and
 * what several of them import registers nothing for the file that imports it first. Threads of the services of one file,
 * too, serve those of the next: they have compiled the program.
 */
const ALONE = [
  'kernels/memory/paged-memory.test.js',
  'market/panels/gc-pressure.test.js',
  'market/process/*.test.js',
  'market/threads/hashing.test.js',
  'market/threads/scattering.test.js',
  'security/json.test.js',
  'security/regexes.test.js',
  'services/datasets/folder-refresh.test.js',
  'services/runs/export-stream.test.js',
  'store/files/artifact-store.test.js',
  'store/home/home.test.js',
  'store/s3/*.test.js',
];

/**
 * Fills threads of 32 MB until they end. V8 gives a full one 16 MB more to end in, and all of a young generation of 32 MB may
 * move there at once, which ends the whole process: its worker has the young generation of a service.
 */
const FILLING_HEAPS = ['jobs/pool.test.js'];

/** Seconds that the longer files took, by their path; `npm run test:timings` renews them. */
const TIMINGS = JSON.parse(readFileSync(new URL('test/timings.json', import.meta.url), 'utf8'));
const TESTS = fileURLToPath(new URL('dist/test/', import.meta.url));
const secondsOf = ({ moduleId }) => TIMINGS[moduleId.replace(TESTS, '').replace(/\.js$/, '.ts')] ?? 0;

/** The longest files begin first, so that no worker is left with one of them at the end. */
class LongestFirst extends BaseSequencer {
  async sort(files) {
    // Files of one kind of worker follow each other: a worker is handed on only to the next file of its kind.
    const kindOf = ({ project }) => ['replacing', 'alone', 'filling', 'shared'].indexOf(project.name);
    return files.toSorted((a, b) => kindOf(a) - kindOf(b) || secondsOf(b) - secondsOf(a));
  }
}

/**
 * Node loads what was compiled by itself, tests too: nothing is transformed, and what a worker has loaded stays loaded.
 * What is loaded before every file is run before every file.
 */
const server = { deps: { external: [/\/dist\/(?!test\/keep-threads\.js$)/] } };

/** But for what replaces a module: that has to come between. */
const replacing = {
  deps: { external: [/\/dist\/(src|kernels|workers)\//, /\/dist\/test\/durability\/counted-calls\.js$/] },
};

/** V8 has the option below up to its version 11, that of Node 20. */
const HAS_BUDGET = Number.parseInt(process.versions.v8, 10) < 12;

/**
 * A file runs most of the program a few times: compiling a function for speed pays later than in a service, and a heap
 * has room from the start. Together a fifth less processor time than by the defaults of V8. What one file has compiled
 * is kept for a later one that calls it again: a hundredth less with files of services, the same with those that compute.
 */
const SHORT_LIVED = ['--no-flush-bytecode', ...(HAS_BUDGET ? ['--interrupt-budget=1000000'] : [])];
const ROOMY = ['--max-semi-space-size=32', '--min-semi-space-size=32', '--initial-old-space-size=256'];

/**
 * Garbage is collected by the thread that made it: others beside it are for a machine with cores to spare, a tenth of the
 * processor time. Shared memory is given back later so, which the files that weigh it, alone in their process, would see.
 */
const OWN_GARBAGE = '--single-threaded-gc';

/** What the kinds have in common; not inherited from the whole, whose number of workers would then hide that of a command line. */
const kind = (name, settings) => ({
  test: {
    name,
    dir: 'dist/test',
    pool: 'forks',
    execArgv: [...SHORT_LIVED, ...ROOMY],
    // Only what hangs ends by these: machines that others use are several times slower for minutes.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 150_000 } },
    ...settings,
  },
});

export default defineConfig({
  test: {
    // One more than cores: a good part of the files wait for processes that they start, for disks and for limits of time.
    maxWorkers: availableParallelism() + 1,
    sequence: { sequencer: LongestFirst },
    globalSetup: 'test/run-folder.mjs',
    projects: [
      kind('replacing', {
        include: REPLACING,
        setupFiles: 'dist/test/durability/replace-modules.js',
        server: replacing,
      }),
      kind('alone', { include: ALONE, server }),
      kind('filling', { include: FILLING_HEAPS, server, execArgv: SHORT_LIVED }),
      kind('shared', {
        include: ['**/*.test.js'],
        exclude: [...REPLACING, ...ALONE, ...FILLING_HEAPS],
        isolate: false,
        server,
        setupFiles: 'dist/test/keep-threads.js',
        execArgv: [...SHORT_LIVED, ...ROOMY, OWN_GARBAGE],
      }),
    ],
  },
});
