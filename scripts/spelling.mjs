// `npm run spelling`: checks documents and sources of the program with cspell. A word is checked once, however often it
// occurs, in a quarter of the processor time. Files with unknown words are then checked whole. This second check
// decides the result and prints the positions.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';

const CONFIG = 'test/words/cspell.json';
const DICTIONARIES = [CONFIG, 'test/words/spelling.txt', 'package-lock.json'];
const FOLDER = 'dist/.build';
/** File of all distinct words, one per line. */
const WORDS = `${FOLDER}/words.txt`;
/** File with the digest of the dictionaries and of the last checked words without an unknown word. */
const PASSED_FILE = `${FOLDER}/spelling-passed`;

/** Folders to check, with the extensions of their files; an empty name stands for the root folder. */
const CHECKED_FOLDERS = [
  ['', /\.md$/],
  ['docs/', /\.md$/],
  ['data/guide/', /\.md$/],
  ['src/', /\.(ts|tsx|md)$/],
  ['kernels/', /\.(ts|md)$/],
  ['workers/', /\.ts$/],
];

const config = JSON.parse(readFileSync(CONFIG, 'utf8'));
const IGNORED_FILES = config.ignorePaths.map(
  (glob) => new RegExp(`^${glob.replaceAll('.', '\\.').replaceAll('**/', '(.*/)?')}$`),
);
const IGNORED_TEXT = config.ignoreRegExpList.map((pattern) => new RegExp(pattern.slice(1, -2), 'g'));

/** Parts of code that contain letters but no words: URLs, fingerprints, escapes, and hexadecimal digits. */
const NON_WORDS = [
  /https?:\/\/\S+|SHA256:\S+/g,
  /\\u[0-9a-f]{4}|\\u\{[0-9a-f]+\}|\\[nrt]/gi,
  /\b(?:0x[0-9a-f_]+|(?=[a-f_]*\d)[0-9a-f_]{4,})n?\b/gi,
];

const wordsByFile = new Map(listFiles().map((file) => [file, wordsIn(readFileSync(file, 'utf8'))]));
const words = [...new Set([...wordsByFile.values()].flatMap((found) => [...found]))].toSorted();
const digest = createHash('sha256').update(words.join('\n'));
for (const file of DICTIONARIES) digest.update(readFileSync(file));
const wanted = digest.digest('hex');
if (existsSync(PASSED_FILE) && readFileSync(PASSED_FILE, 'utf8') === wanted) process.exit(0);

mkdirSync(FOLDER, { recursive: true });
writeFileSync(WORDS, `${words.join('\n')}\n`);
const { stdout, status } = cspell(['--words-only', '--unique', '--no-gitignore', WORDS], 'pipe');
const unknown = new Set(stdout.split('\n').filter((word) => word !== ''));
const suspects = [...wordsByFile].filter(([, found]) => [...found].some((word) => hasUnknown(word)));
rmSync(WORDS);
if (status !== 0 && suspects.length === 0) throw new Error(`cspell ended with ${status}`);
if (suspects.length > 0) {
  const checked = cspell(
    suspects.map(([file]) => file),
    'inherit',
  );
  if (checked.status !== 0) process.exit(checked.status ?? 1);
}
writeFileSync(PASSED_FILE, wanted);

function hasUnknown(word) {
  for (const part of unknown) if (word.includes(part)) return true;
  return false;
}

function listFiles() {
  return CHECKED_FOLDERS.flatMap(([folder, ending]) =>
    readdirSync(folder === '' ? '.' : folder, { recursive: folder !== '' })
      .map((path) => `${folder}${path}`)
      .filter((path) => ending.test(basename(path)) && !IGNORED_FILES.some((ignored) => ignored.test(path))),
  );
}

/** Returns the distinct words of a text; words are also split at capital letters. */
function wordsIn(text) {
  const read = [...IGNORED_TEXT, ...NON_WORDS].reduce((rest, pattern) => rest.replaceAll(pattern, ' '), text);
  return new Set(read.match(/[\p{L}\p{M}][\p{L}\p{M}'’]{2,}/gu));
}

function cspell(words, stdout) {
  return spawnSync(
    process.execPath,
    ['node_modules/cspell/bin.mjs', 'lint', '-c', CONFIG, '--no-progress', '--no-summary', ...words],
    { encoding: 'utf8', stdio: ['ignore', stdout, 'inherit'], maxBuffer: 2 ** 26 },
  );
}
