// Brings `dist` up to date. A step runs if the contents of its inputs differ from those of its last run, or if one of
// its outputs is missing. If nothing changed, the build only reads the inputs and ends in about 0.1 s.
//
//   node scripts/build.mjs             everything
//   node scripts/build.mjs --compile   only the sources, as tests, lint and the inner loop need
//   node scripts/build.mjs --start     what a start needs; a fresh copy without type checks
//   node scripts/build.mjs --lint      everything, and the linter in parallel on the free core
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findCompiler } from './c-compiler.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const STAMPS = 'dist/.build/stamps.json';
/** Digests of files, each with the state of the file when it was read. */
const DIGESTS = 'dist/.build/digests.json';
/** Time after a change of a file in which another change may leave the same state, because times have steps. */
const SAME_TIME_MS = 2000;
const BUILD_INFO = 'dist/.build/sources.tsbuildinfo';
const DOCUMENTATION = 'dist/documentation/built.json';
const BUILD_NOTE = 'dist/build.json';
const ANSWERS = 'dist/answers.json';
/** Matches tests of the recorded responses to the examples. */
export const NEEDS_ANSWERS = /guide\/examples|documentation|python-frames|scripts\/release/;
/** Inputs of the story of all examples in addition to the program. */
const STORY = ['test/guide/example-story.ts', 'test/guide/record-answers.ts', 'data/calendars', 'data/methodologies'];
const BUNDLE = 'dist/bundle/built.json';
const BUNDLED_PACKAGES = 'scripts/bundled-packages.mjs';
/** Code cache of this Node version: `src/code-cache.ts` looks for no other. */
const CODE_CACHE = `dist/bundle/dispatch-${process.version}-${process.platform}-${process.arch}.cache`;
const COMPILED = ['src', 'kernels', 'workers', 'test', 'bench'];
/** Console for browsers, which is checked and built separately. */
const CONSOLE = 'src/console';
/** Console modules that are compiled with the tests, because tests import them without a browser. */
const CONSOLE_PURE = [
  `${CONSOLE}/words`,
  `${CONSOLE}/pages/data`,
  `${CONSOLE}/pages/sweeps`,
  `${CONSOLE}/components/chart`,
];
/** Client files that the contract determines; they are not in the repository. */
const CLIENT_SOURCES = [
  'src/clients/typescript/contract.ts',
  ...['contract.py', 'api.py', 'aio.pyi', 'codes.py', 'version.py'].map((name) => `src/clients/python/divisor/${name}`),
];
/** Modules from which the clients are generated; `scripts/clients.mjs` writes the list. */
const CLIENT_MODULES = 'dist/.build/clients.json';
/** Files of the packages: every step depends on them, and npm writes the second one at each installation. */
const PACKAGES = ['package.json', 'node_modules/.package-lock.json'];

/** Compiler with one checker: four checkers check shared types once each, which doubles the processor time. */
const TSC = ['node_modules/typescript/bin/tsc', '--checkers', '1'];

/**
 * Build steps. Steps run in parallel; a step starts after the steps in `after`, whose outputs it reads. inputs: files
 * and folders, or a function that lists them; outputs: files that must exist; commands: arguments of node, one process
 * per command.
 */
const STEPS = {
  clients: {
    inputs: () => [
      'scripts/clients.mjs',
      ...['client', 'views', 'batches'].map((name) => `src/clients/python/divisor/${name}.py`),
      ...Object.values(readJson(CLIENT_MODULES)),
    ],
    outputs: [...CLIENT_SOURCES, CLIENT_MODULES],
    commands: [['scripts/clients.mjs']],
  },
  sources: {
    after: ['clients'],
    inputs: [...COMPILED, ...CONSOLE_PURE, 'tsconfig.json'],
    outputs: [BUILD_INFO],
    commands: [[...TSC, '-p', 'tsconfig.json']],
  },
  unchecked: {
    after: ['clients'],
    inputs: ['src', 'kernels', 'workers', 'scripts/transpile.mjs'],
    outputs: ['dist/src/main.js'],
    commands: [['scripts/transpile.mjs']],
  },
  client: {
    after: ['clients'],
    inputs: ['src/clients/typescript', 'tsconfig.json'],
    outputs: ['dist/src/clients/typescript/divisor.d.ts', 'dist/src/clients/typescript/contract.d.ts'],
    commands: [[...TSC, '-p', 'src/clients/typescript/tsconfig.json']],
  },
  engineTypes: {
    after: ['clients'],
    inputs: ['src/engine/api.ts', 'src/clients/typescript', 'tsconfig.json'],
    outputs: ['dist/src/engine/api.d.ts'],
    commands: [[...TSC, '-p', 'src/engine/tsconfig.json']],
  },
  consoleTypes: {
    after: ['clients'],
    inputs: [CONSOLE, 'src/base', 'src/clients/typescript', 'tsconfig.json'],
    outputs: ['dist/.build/console.tsbuildinfo'],
    commands: [[...TSC, '-p', `${CONSOLE}/tsconfig.json`]],
  },
  kernels: {
    inputs: ['kernels/wasm'],
    outputs: ['dist/kernels/wasm/kernels.wasm'],
    commands: [['kernels/wasm/build.mjs']],
  },
  native: {
    inputs: ['kernels/native'],
    outputs: ['dist/kernels/native/built.json'],
    commands: [['kernels/native/build.mjs']],
  },
  bundle: {
    after: ['sources'],
    inputs: ['src', 'kernels', 'workers', 'scripts/bundle.mjs', BUNDLED_PACKAGES],
    outputs: [BUNDLE, 'dist/bundle/packages.json'],
    commands: [['scripts/bundle.mjs']],
  },
  engine: {
    after: ['sources', 'kernels'],
    inputs: [
      'src',
      'kernels',
      'data/calendars',
      'data/page',
      'data/proof/indices.json',
      'scripts/engine.mjs',
      BUNDLED_PACKAGES,
    ],
    outputs: ['dist/engine/built.json', 'dist/engine/packages.json', 'dist/page/examples.json'],
    commands: [['scripts/engine.mjs']],
  },
  guide: {
    after: ['sources'],
    inputs: ['src', 'kernels', 'data/guide'],
    outputs: ['dist/guide.json'],
    commands: [['data/guide/build.mjs']],
  },
  answers: {
    after: ['sources', 'kernels', 'native', 'guide'],
    inputs: ['src', 'kernels', 'workers', ...STORY, 'scripts/answers.mjs'],
    outputs: [ANSWERS, 'dist/.build/examples.json'],
    commands: [['scripts/answers.mjs']],
  },
  documentation: {
    after: ['sources', 'guide', 'answers'],
    inputs: ['src', 'kernels', 'data/guide', ANSWERS],
    outputs: [DOCUMENTATION],
    commands: [['data/guide/compress.mjs']],
  },
  codeCache: {
    after: ['bundle', 'kernels', 'documentation'],
    inputs: ['src', 'kernels', 'workers', 'scripts/bundle.mjs', 'scripts/code-cache.mjs'],
    outputs: [CODE_CACHE],
    commands: [['scripts/code-cache.mjs']],
  },
  console: {
    after: ['clients'],
    inputs: [CONSOLE, 'src/base', 'src/clients/typescript', 'scripts/console.mjs', BUNDLED_PACKAGES],
    outputs: ['dist/console/index.html', 'dist/console/packages.json'],
    commands: [['scripts/console.mjs']],
  },
};

/**
 * Optional products for a service. Without them a service compiles its modules at each start, renders the documentation
 * itself, and reports that the console and the embeddable engine have not been built.
 */
const OPTIONAL_STEPS = ['bundle', 'guide', 'answers', 'documentation', 'codeCache', 'console', 'engine'];

/** Steps with the type checker, which a start omits until a build has run them: they take most of the time. */
const CHECKED_STEPS = ['sources', 'client', 'engineTypes', 'consoleTypes'];

/**
 * Files that prove the time of a build step. A service uses the product of such a step only if it is newer than the
 * compiled files.
 */
const TIMESTAMPED_OUTPUTS = { bundle: BUNDLE, documentation: DOCUMENTATION };

/** The linter of `npm run lint`, run by the same npm. */
const LINT = [process.env.npm_execpath, 'run', '--silent', 'lint'];

/** Maximum number of concurrent commands: one per core, because each keeps a core busy. */
const COMMANDS_MAX = availableParallelism();

/**
 * Brings `dist` up to date.
 * @param compileOnly omits the optional products
 * @param start builds only what a start needs, and names each step: the examples of responses take a minute, so a start
 *   uses those of the last build
 * @param answers records the examples of responses
 * @param lint runs the linter on the sources in parallel
 * @returns the names of the steps that ran
 * @throws BuildFailure if a command fails, after parallel ones have ended; completed steps stay completed
 */
export async function build({
  compileOnly = false,
  start = false,
  answers = !compileOnly && !start,
  lint = false,
} = {}) {
  forgetListedFiles();
  const stamps = readJson(STAMPS);
  const digest = createContentDigest();
  removeStaleOutputs();
  const ran = [];
  const turn = limitConcurrency(COMMANDS_MAX);
  const running = {};
  const isUnchecked = start && !existsSync(at(BUILD_INFO));
  const isOmitted = (name) =>
    (compileOnly && OPTIONAL_STEPS.includes(name)) ||
    (!answers && name === 'answers') ||
    (isUnchecked ? CHECKED_STEPS.includes(name) : name === 'unchecked');
  const runStep = async (name, { after = [], commands }) => {
    await Promise.all(after.map((earlier) => running[earlier]));
    if (isCurrent(name, stamps, digest)) return;
    if (start) process.stderr.write(`Building: ${name}\n`);
    if (name === 'sources' && isOutputMissing()) rmSync(at(BUILD_INFO), { force: true });
    for (const command of commands) await turn(() => run(command));
    forgetListedFiles();
    if (name === 'sources') chmodSync(at('dist/src/main.js'), 0o755);
    stamps[name] = stampOf(name, digest);
    writeJson(STAMPS, stamps);
    ran.push(name);
  };
  if (isUnchecked && !existsSync(at('dist/src/main.js')))
    process.stderr.write('This copy has not been built. Building takes about a minute, once.\n');
  for (const [name, step] of Object.entries(STEPS)) {
    if (isOmitted(name)) continue;
    running[name] = runStep(name, step);
    if (name === 'unchecked') running.sources = running.unchecked;
  }
  if (lint) running.lint = turn(() => run(LINT));
  const ended = await Promise.allSettled(Object.values(running));
  for (const { status, reason } of ended) if (status === 'rejected') throw reason;
  confirmDates(ran, stamps, digest);
  digest.store();
  if (!compileOnly) recordBuild();
  return ran;
}

/** Writes the identity of the sources if it has changed. */
function recordBuild() {
  const commit = findSourceCommit();
  const noted = existsSync(at(BUILD_NOTE)) ? JSON.parse(readFileSync(at(BUILD_NOTE), 'utf8')) : undefined;
  if (noted !== undefined && noted.commit === commit) return;
  writeFileSync(at(BUILD_NOTE), `${JSON.stringify({ commit, built_at: new Date().toISOString() })}\n`);
}

/**
 * Returns the commit of the sources; from the environment if the sources were copied without their repository, for
 * example into an image; null if it is unknown.
 */
function findSourceCommit() {
  if (process.env.DIVISOR_COMMIT) return process.env.DIVISOR_COMMIT;
  const { status, stdout } = spawnSync('git', ['rev-parse', 'HEAD'], { cwd: ROOT, encoding: 'utf8' });
  return status === 0 && existsSync(at('.git')) ? stdout.trim() : null;
}

/**
 * Limits the number of running tasks, which start in the order of their submission; after a failure no other starts.
 */
function limitConcurrency(max) {
  const waiting = [];
  let underWay = 0;
  let failure;
  return async (task) => {
    if (underWay === max) await new Promise((resolve) => waiting.push(resolve));
    else underWay++;
    try {
      if (failure !== undefined) throw failure;
      return await task();
    } catch (cause) {
      failure ??= cause;
      throw failure;
    } finally {
      const next = waiting.shift();
      if (next === undefined) underWay--;
      else next();
    }
  };
}

export class BuildFailure extends Error {}

const at = (path) => ROOT + path;

function isCurrent(name, stamps, digest) {
  if (!STEPS[name].outputs.every((file) => existsSync(at(file)))) return false;
  if (name === 'sources' && isOutputMissing()) return false;
  return stamps[name] === stampOf(name, digest);
}

/**
 * Returns the stamp of a step. The stamp of the sources includes the state of the compiler, because `npx tsc` may have
 * compiled other sources in between; the stamp of the native kernels includes their C compiler, which may have been
 * installed since.
 */
function stampOf(name, digest) {
  const { inputs } = STEPS[name];
  const paths = typeof inputs === 'function' ? inputs() : inputs;
  const hash = createHash('sha256').update(digest([...paths, ...PACKAGES]));
  if (name === 'sources') {
    const { mtimeMs, size } = statSync(at(BUILD_INFO));
    hash.update(`${mtimeMs} ${size}`);
  }
  if (name === 'native') hash.update(findCompiler() ?? 'none');
  return hash.digest('hex');
}

/**
 * Returns a function that digests the contents of files and folders. A file is read if its size or times have changed
 * since the last build: reading and hashing all files takes most of the time of a start.
 */
function createContentDigest() {
  const stored = readJson(DIGESTS);
  const digests = new Map();
  const digestOf = (file) => {
    if (!digests.has(file)) {
      const state = stateOf(file);
      digests.set(file, stored[file]?.[0] === state ? stored[file] : [state, hashFile(file)]);
    }
    return digests.get(file)[1];
  };
  const digest = (paths) => {
    const hash = createHash('sha256');
    for (const path of paths)
      hash.update(
        recall(`digests of ${path}`, () =>
          filesOf(path)
            .map((file) => `${file}\0${digestOf(file)}\n`)
            .join(''),
        ),
      );
    return hash.digest();
  };
  return Object.assign(digest, {
    store() {
      const kept = [...digests].filter(([, [state]]) => state !== null);
      if (kept.some(([file, [state]]) => stored[file]?.[0] !== state))
        writeJson(DIGESTS, { ...stored, ...Object.fromEntries(kept) });
    },
  });
}

/** Returns the state of a file; null if the file has just changed. */
function stateOf(file) {
  const { ino, size, mtimeMs, ctimeMs } = statSync(at(file));
  return Date.now() - Math.max(mtimeMs, ctimeMs) < SAME_TIME_MS ? null : `${ino} ${size} ${mtimeMs} ${ctimeMs}`;
}

const hashFile = (file) =>
  createHash('sha256')
    .update(readFileSync(at(file)))
    .digest('hex');

/** Lists and digests of files since the last command ended. Most steps read the same folders. */
const recalled = new Map();

function recall(key, read) {
  if (!recalled.has(key)) recalled.set(key, read());
  return recalled.get(key);
}

const forgetListedFiles = () => recalled.clear();

/**
 * Lists the files at a path in the same order on every machine: the file, the files of the folder, or none. Files of
 * the console are included only in paths within the console.
 */
const filesOf = (path) => recall(`files of ${path}`, () => listFiles(path));

function listFiles(path) {
  const stats = statSync(at(path), { throwIfNoEntry: false });
  if (stats === undefined) return [];
  if (!stats.isDirectory()) return [path];
  const entries = readdirSync(at(path), { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const files = entries.map((entry) => `${entry.parentPath}/${entry.name}`.slice(ROOT.length)).toSorted();
  return path.startsWith(CONSOLE) ? files : files.filter((file) => !file.startsWith(`${CONSOLE}/`));
}

/** Returns true if a source or a compiled file exists. They are listed once; only those of the console are looked up. */
function hasFile(file) {
  const listed = recall(
    'compiled',
    () => new Set(COMPILED.flatMap((name) => [...filesOf(name), ...filesOf(`dist/${name}`)])),
  );
  return listed.has(file) || (file.startsWith(`${CONSOLE}/`) && existsSync(at(file)));
}

const isCompiled = (file) => /\.c?ts$/.test(file) && !file.endsWith('.d.ts') && !file.startsWith('kernels/wasm/');

/** Returns true if a compiled file is missing, which the compiler does not check. */
function isOutputMissing() {
  const sources = COMPILED.flatMap(filesOf).filter(isCompiled);
  return !sources.every((file) => hasFile(`dist/${file.replace(/\.(c?)ts$/, '.$1js')}`));
}

/** Deletes outputs of deleted source files, which otherwise could still be imported or run as tests. */
function removeStaleOutputs() {
  const outputs = COMPILED.flatMap((folder) => filesOf(`dist/${folder}`)).filter(
    (file) => !/^dist\/kernels\/(?:wasm|native)\//.test(file),
  );
  for (const file of outputs) {
    const source = file.slice('dist/'.length).replace(/(\.d)?\.(c?)(?:js|ts)(?:\.map)?$/, '.$2ts');
    if (hasFile(source)) continue;
    rmSync(at(file));
    forgetListedFiles();
  }
}

/** Updates the dates of products if the compiler has rewritten identical files. */
function confirmDates(ran, stamps, digest) {
  if (!ran.includes('sources')) return;
  const now = new Date();
  for (const [name, file] of Object.entries(TIMESTAMPED_OUTPUTS))
    if (!ran.includes(name) && isCurrent(name, stamps, digest)) utimesSync(at(file), now, now);
}

const readJson = (file) => (existsSync(at(file)) ? JSON.parse(readFileSync(at(file), 'utf8')) : {});

function writeJson(file, value) {
  mkdirSync(dirname(at(file)), { recursive: true });
  writeFileSync(at(file), `${JSON.stringify(value, null, 2)}\n`);
}

/**
 * Environment of the compiler: less frequent garbage collection saves a quarter of its processor time and needs 1.3
 * GB.
 */
const ENVIRONMENT = { GOGC: '400', ...process.env };

/** Runs a command; a signal to the build also ends it. */
async function run(command) {
  const child = spawn(process.execPath, command, {
    cwd: ROOT,
    env: ENVIRONMENT,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const pass = (signal) => {
    child.kill(signal);
    process.exitCode = 130;
  };
  for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, pass);
  const status = await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve));
  for (const signal of ['SIGTERM', 'SIGINT']) process.removeListener(signal, pass);
  if (status !== 0) throw new BuildFailure(`${command.join(' ')} ended with ${status ?? 'a signal'}.`);
}

/** Runs a build, and ends the process if it fails; the failed command has already printed the reason. */
export async function buildOrEnd(options) {
  try {
    return await build(options);
  } catch (failure) {
    if (!(failure instanceof BuildFailure)) throw failure;
    process.stderr.write(`${failure.message}\n`);
    process.exit(process.exitCode ?? 1);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  await buildOrEnd({
    compileOnly: process.argv.includes('--compile'),
    start: process.argv.includes('--start'),
    lint: process.argv.includes('--lint'),
  });
