import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer } from 'vitest/node';

/** Replaces a module of the program before it is loaded. */
const REPLACING = ['durability/every-call.test.js'];

/**
 * Files that count, time or kill the work of their process, or need fresh memory. Each runs in a separate process, because
 * other files leave servers, idle processes and connections behind. All other files share workers, which load and compile
 * the program once instead of once per file: a file must leave its process unchanged, and shared modules must not register
 * anything for the first importer. Threads of the services of one file also serve those of the next.
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
 * Fills threads of 32 MB until they end. V8 reserves 16 MB for the end of a full thread. A young generation of 32 MB may be
 * promoted there at once and end the whole process, so these workers have the young generation of a service.
 */
const FILLING_HEAPS = ['jobs/pool.test.js'];

/** Durations of the longer files in seconds, by path; `npm run test:timings` updates them. */
const TIMINGS = JSON.parse(readFileSync(new URL('test/timings.json', import.meta.url), 'utf8'));
const TESTS = fileURLToPath(new URL('dist/test/', import.meta.url));
const secondsOf = ({ moduleId }) => TIMINGS[moduleId.replace(TESTS, '').replace(/\.js$/, '.ts')] ?? 0;

/** Starts the longest files first, so that none of them runs alone at the end. */
class LongestFirst extends BaseSequencer {
  async sort(files) {
    // Files of one kind follow each other, because a worker is reused only for the same kind.
    const kindOf = ({ project }) => ['replacing', 'alone', 'filling', 'shared'].indexOf(project.name);
    return files.toSorted((a, b) => kindOf(a) - kindOf(b) || secondsOf(b) - secondsOf(a));
  }
}

/**
 * Node itself loads compiled modules, including tests: nothing is transformed, and loaded modules stay loaded. Only the
 * setup file runs before every file.
 */
const server = { deps: { external: [/\/dist\/(?!test\/keep-threads\.js$)/] } };

/** Except for modules that replace others, which vite must load. */
const replacing = {
  deps: { external: [/\/dist\/(src|kernels|workers)\//, /\/dist\/test\/durability\/counted-calls\.js$/] },
};

/** V8 has this option up to version 11, that of Node 20. */
const HAS_BUDGET = Number.parseInt(process.versions.v8, 10) < 12;

/**
 * A file runs most of the program a few times, so optimising compilation pays later than in a service, and a large heap
 * from the start saves collections: 20 % less processor time than with the defaults of V8. Keeping bytecode for later
 * files saves another 1 % with files of services.
 */
const SHORT_LIVED = ['--no-flush-bytecode', ...(HAS_BUDGET ? ['--interrupt-budget=1000000'] : [])];
const ROOMY = ['--max-semi-space-size=32', '--min-semi-space-size=32', '--initial-old-space-size=256'];

/**
 * Collects garbage in its own thread, which saves a tenth of the processor time on a machine without idle cores. Shared
 * memory is then released later, so files that measure memory run without this option.
 */
const OWN_GARBAGE = '--single-threaded-gc';

/** Common settings of the kinds; not inherited, because an inherited number of workers would override the command line. */
const kind = (name, settings) => ({
  // Vite, like Node, finds compiled modules by the imports of package.json.
  ssr: { resolve: { conditions: ['node-addons', 'node', 'module'] } },
  test: {
    name,
    dir: 'dist/test',
    pool: 'forks',
    execArgv: [...SHORT_LIVED, ...ROOMY],
    // Only for hanging tests: a shared machine may be several times slower for minutes.
    testTimeout: 180_000,
    hookTimeout: process.env.SOAK === undefined ? 180_000 : 3_600_000, // `--testTimeout` of a soak has no effect on hooks.
    expect: { poll: { timeout: 150_000 } },
    ...settings,
  },
});

export default defineConfig({
  test: {
    // One more than cores, because many files wait for processes, disks and time limits. On two cores, two more save no time.
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
