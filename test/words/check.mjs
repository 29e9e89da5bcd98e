// Finds the phrases of phrases.mjs in prose: Markdown, comments, and strings of several words.
//
//   node test/words/check.mjs            fails when a room has more findings than its ceiling
//   node test/words/check.mjs PATH...    lists the findings of files and folders
//   node test/words/check.mjs --lower    lowers ceilings to the number of findings
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { CEILINGS } from './ceilings.mjs';
import { PHRASES } from './phrases.mjs';

const PAGES = ['README.md', 'CHANGELOG.md', 'SECURITY.md', 'data/guide', 'docs'];
const ROOTS = [...PAGES, 'src', 'kernels', 'workers', 'test', 'bench', 'scripts'];
const PROSE = /\.(?:md|ts|tsx|mjs|py)$/;
/** Files that are not checked: generated files, and the phrases themselves. */
const EXEMPT =
  /^(?:test\/words\/|src\/clients\/(?:python\/divisor\/(?:api|codes|contract)\.py|typescript\/contract\.ts)$)/;
/** If a room has this number of findings fewer than its ceiling, the check requires a lower ceiling. */
const SLACK = 10;
/** Maximum number of findings in a failure message. Files that were edited last come first. */
const LISTED_MAX = 20;

/** Matches a line that may contain any of the phrases. Most lines match none. */
const ANY = new RegExp(PHRASES.map(([{ source }]) => `(?:${source})`).join('|'), 'im');

/** Returns the findings in a text. Each has a line, a phrase and a replacement. */
export function listFindingsIn(path, text) {
  if (!ANY.test(text)) return [];
  return text.split('\n').flatMap((line, i) => {
    const prose = proseOf(path, line);
    if (prose === '' || !ANY.test(prose)) return [];
    return PHRASES.flatMap(([phrase, instead]) => {
      const hit = phrase.exec(prose);
      return hit === null ? [] : [{ path, line: i + 1, phrase: hit[0].trim(), instead }];
    });
  });
}

/** Returns the room of a file. It is the longest key in the table of ceilings that contains the file. */
export function findRoom(path, rooms) {
  const around = rooms.filter((room) => path === room || path.startsWith(`${room}/`));
  return around.toSorted((a, b) => b.length - a.length)[0];
}

/**
 * Returns the prose of a line. For code it is the comment and the strings. For Markdown it is the text without its
 * code.
 */
function proseOf(path, line) {
  if (path.endsWith('.md')) return /^\s{4}|^```|^\|?\s*`/.test(line) ? '' : line.replace(/`[^`]*`/g, '');
  const comment = /(?:^|\s)(?:\/\/|\/?\*\*?|#)\s?(.*)$/.exec(line);
  const strings = line.match(/'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`/g) ?? [];
  const sentences = strings.filter((text) => /\s\S+\s/.test(text)).map((text) => text.replace(/\$\{[^}]*\}/g, 'X'));
  return [...(comment === null ? [] : [comment[0]]), ...sentences].join('  ');
}

/** Returns the files at a path that contain prose. */
function listFilesAt(path) {
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) return PROSE.test(path) ? [path] : [];
  return readdirSync(path, { withFileTypes: true }).flatMap((entry) =>
    entry.name === 'node_modules' || entry.name === '__pycache__' ? [] : listFilesAt(`${path}/${entry.name}`),
  );
}

const listFindingsAt = (paths) =>
  paths
    .flatMap(listFilesAt)
    .filter((path) => !EXEMPT.test(path))
    .flatMap((path) => listFindingsIn(path, readFileSync(path, 'utf8')));

const format = ({ path, line, phrase, instead }) => `${path}:${line}: "${phrase.slice(0, 60)}": write ${instead}`;

/** Returns the findings by room of the table. A file outside all rooms has the room ''. */
function countByRoom(findings) {
  const rooms = new Map([...Object.keys(CEILINGS), ''].map((room) => [room, []]));
  for (const finding of findings) rooms.get(findRoom(finding.path, Object.keys(CEILINGS)) ?? '').push(finding);
  return rooms;
}

/** Describes the latest findings of a room that exceeds its ceiling. */
function listExcess(room, found, ceiling) {
  const edited = new Map(found.map(({ path }) => [path, statSync(path).mtimeMs]));
  const latest = found.toSorted((a, b) => edited.get(b.path) - edited.get(a.path)).slice(0, LISTED_MAX);
  const title = `${room || 'files outside the rooms of test/words/ceilings.mjs'}: ${found.length} findings; at most ${ceiling} are accepted. The latest:`;
  return [title, ...latest.map((finding) => `  ${format(finding)}`)].join('\n');
}

function check(rooms) {
  const counts = [...rooms].map(([room, found]) => ({ room, found, ceiling: CEILINGS[room] ?? 0 }));
  const low = counts.filter(({ found, ceiling }) => found.length < ceiling - SLACK);
  if (low.length > 0)
    console.log(
      `Lower the ceilings by \`node test/words/check.mjs --lower\`: ${low.map(({ room, found, ceiling }) => `${room} ${ceiling} -> ${found.length}`).join(', ')}.`,
    );
  const high = counts.filter(({ found, ceiling }) => found.length > ceiling);
  for (const { room, found, ceiling } of high) console.error(listExcess(room, found, ceiling));
  return high.length === 0;
}

function adjustCeilings(rooms) {
  const file = fileURLToPath(new URL('ceilings.mjs', import.meta.url));
  const ceilings = Object.entries(CEILINGS).map(([room, ceiling]) => [room, Math.min(ceiling, rooms.get(room).length)]);
  const lines = ceilings.map(([room, ceiling]) => `  ${/\W/.test(room) ? `'${room}'` : room}: ${ceiling},\n`).join('');
  writeFileSync(file, readFileSync(file, 'utf8').replace(/\{\n[\s\S]*\}/, `{\n${lines}}`));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const words = process.argv.slice(2);
  if (words.length > 0 && words[0] !== '--lower') console.log(listFindingsAt(words).map(format).join('\n'));
  else {
    const rooms = countByRoom(listFindingsAt(ROOTS));
    if (words[0] === '--lower') adjustCeilings(rooms);
    else if (!check(rooms)) process.exit(1);
  }
}
