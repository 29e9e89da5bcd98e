// Checks the subjects of new commits: `area: verb phrase`, at most 100 characters.
// node scripts/commit-subjects.mjs commits of this branch that are not in main
// node scripts/commit-subjects.mjs BASE..HEAD commits of a range
import { execFileSync } from 'node:child_process';
import { pathToFileURL } from 'node:url';

/** Maximum length of a subject: the width of a line of a log. */
const LENGTH_MAX = 100;
const FORM = /^[a-z][a-z0-9/.-]*(, [a-z][a-z0-9/.-]*)*: (\S.*)$/;

/** First words of noun phrases and sentences, which are not verb phrases. */
const NO_VERBS = new Set(
  'a an the this that these those each every all some no not it its we one two new what which whether when where there in of on for with'.split(
    ' ',
  ),
);
/** Inflected verb forms: added, adding, adds. The next constant lists verbs that end this way in their plain form. */
const INFLECTED = /(?:ed|ing|[^s]s)$/;
const PLAIN = new Set(['bring', 'string', 'embed', 'feed', 'speed', 'need', 'seed', 'focus', 'bias', 'canvas']);

/** Returns the error of a subject; undefined if it is valid. */
export function findSubjectError(subject) {
  if (subject.length > LENGTH_MAX) return `has ${subject.length} characters; at most ${LENGTH_MAX} are accepted`;
  const phrase = FORM.exec(subject)?.[2];
  if (phrase === undefined) return 'is not of the form `area: verb phrase`';
  if (phrase.includes(';')) return 'says several things; split the commit or name what they have in common';
  if (phrase.endsWith('.')) return 'ends in a full stop';
  const [first] = phrase.split(/[\s,:]/);
  if (!/^[a-z-]+$/.test(first) || NO_VERBS.has(first) || (INFLECTED.test(first) && !PLAIN.has(first)))
    return `does not begin with a verb in its plain form: ${first}`;
  return undefined;
}

const git = (...words) => execFileSync('git', words, { encoding: 'utf8' });

/** Lists the commits of a range without merges. */
function subjectsIn(range) {
  const lines = git('log', '--no-merges', '--format=%h %s', range).split('\n').filter(Boolean);
  return lines.map((line) => ({
    commit: line.slice(0, line.indexOf(' ')),
    subject: line.slice(line.indexOf(' ') + 1),
  }));
}

/** Finds the main branch, local or remote. */
function mainBranch() {
  const names = git('for-each-ref', '--format=%(refname)', 'refs/heads/main', 'refs/remotes/origin/main').split('\n');
  return names.filter(Boolean).at(-1) ?? 'HEAD';
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const faults = subjectsIn(process.argv[2] ?? `${mainBranch()}..HEAD`).flatMap(({ commit, subject }) => {
    const fault = findSubjectError(subject);
    return fault === undefined ? [] : [`${commit} ${subject}\n  ${fault}`];
  });
  if (faults.length > 0) {
    console.error(faults.join('\n'));
    process.exit(1);
  }
}
