/** Maximum length of a compared word; misspelt names are shorter. */
const LENGTH_MAX = 60;

/**
 * Returns the candidate nearest to a misspelt name: the one that needs the fewest edits, ignoring case and separators.
 * A name of up to four letters may need one edit, a longer name two. Returns undefined if every candidate needs more.
 * @cost O(candidates x length^2)
 */
export function findNearestName(written: string, candidates: Iterable<string>): string | undefined {
  if (written.length > LENGTH_MAX) return undefined;
  const word = simplify(written);
  let best: string | undefined;
  let fewestEdits = Number.POSITIVE_INFINITY;
  for (const candidate of candidates) {
    const name = simplify(candidate);
    if (Math.abs(name.length - word.length) > 2) continue;
    const edits = computeEditDistance(word, name);
    if (edits >= fewestEdits || edits > (name.length <= 4 ? 1 : 2) || edits >= word.length) continue;
    best = candidate;
    fewestEdits = edits;
  }
  return best;
}

/** Minimum number of letters of an abbreviated word. */
const ABBREVIATION_MIN = 3;

/**
 * Returns the first candidate with the same number of words in which each pair of words has the shorter word as a
 * prefix.
 */
function findAbbreviation(written: string, candidates: Iterable<string>): string | undefined {
  const words = splitWords(written);
  if (words.length < 2) return undefined;
  const isSimilar = (a: string, b: string | undefined): boolean =>
    b !== undefined && Math.min(a.length, b.length) >= ABBREVIATION_MIN && (a.startsWith(b) || b.startsWith(a));
  for (const candidate of candidates) {
    const candidateWords = splitWords(candidate);
    if (candidateWords.length === words.length && words.every((word, i) => isSimilar(word, candidateWords[i])))
      return candidate;
  }
  return undefined;
}

/** Minimum number of letters of a contraction. */
const CONTRACTION_MIN = 4;

/**
 * Returns the only candidate from which up to half of the letters can be omitted to obtain a name, as MKT_CAP from
 * MARKET_CAP. Returns undefined if there are none or several.
 */
function findContraction(written: string, candidates: Iterable<string>): string | undefined {
  const word = simplify(written);
  if (word.length < CONTRACTION_MIN || word.length > LENGTH_MAX) return undefined;
  const isContraction = (name: string): boolean => {
    let matched = 0;
    for (const letter of name) if (letter === word[matched]) matched++;
    return name[0] === word[0] && matched === word.length && 2 * word.length >= name.length;
  };
  const results = [...candidates].filter((candidate) => isContraction(simplify(candidate)));
  return results.length === 1 ? results[0] : undefined;
}

/** Splits a name into words at capitals and separators. */
function splitWords(name: string): readonly string[] {
  return name
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[\s_-]+/);
}

/**
 * Number of suggestions in one synchronous check. The names of a request can be many, and a comparison with all
 * candidates is slow.
 */
const SUGGESTIONS_MAX = 20;
let suggestionCount = 0;

/**
 * Returns the question "Did you mean ...?" for a misspelt or abbreviated name, with a leading space. Returns an empty
 * text if no candidate is near, and after the first names of a check.
 */
export function suggestName(written: string, candidates: Iterable<string>): string {
  if (suggestionCount === 0) queueMicrotask(() => (suggestionCount = 0));
  if (++suggestionCount > SUGGESTIONS_MAX) return '';
  const name =
    findNearestName(written, candidates) ??
    findAbbreviation(written, candidates) ??
    findContraction(written, candidates);
  return name === undefined ? '' : ` Did you mean ${name}?`;
}

const simplify = (name: string) => name.toLowerCase().replace(/[\s_-]/g, '');

/**
 * Counts the insertions, deletions, replacements and swaps of neighbours that convert one word into another.
 * @source Damerau (1964), A technique for computer detection and correction of spelling errors; each letter is edited
 *   once.
 */
function computeEditDistance(a: string, b: string): number {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      next[j] = Math.min(
        row[j]! + 1,
        next[j - 1]! + 1,
        row[j - 1]! + Number(a[i - 1] !== b[j - 1]),
        isSwap ? before[j - 2]! + 1 : Number.POSITIVE_INFINITY,
      );
    }
    before = row;
    row = next;
  }
  return row[b.length]!;
}
