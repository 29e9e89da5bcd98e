/** List, object or text of a response that was shortened. */
export interface Cut {
  /** Path, for example `levels.data`. */
  readonly path: string;
  readonly total: number;
  readonly unit: 'items' | 'members' | 'characters';
}

export interface ShortenedText {
  readonly text: string;
  /** Shortened parts, the longest first; empty if the response is complete. */
  readonly cuts: readonly Cut[];
}

/**
 * Lengths to which lists and objects are cut. They are tried one after another until the text fits. An object with
 * named fields is not cut if possible: only tables by name have more members than the largest record.
 */
const LENGTHS = [1000, 400, 200, 100, 50, 20, 10, 4].map((items) => ({ items, members: Math.max(items, 60) }));
const SHORTEST = [
  { items: 4, members: 20 },
  { items: 2, members: 8 },
  { items: 2, members: 4 },
] as const;
/** Number of characters that a text keeps for each item that a list keeps. */
const CHARACTERS_PER_ITEM = 100;
/** Maximum number of reported cuts. */
const CUTS_MAX = 12;

/**
 * Shortens the JSON of a value to at most `bytesMax` bytes. Long lists and objects keep their first and last members.
 * Every list keeps the same number, so that parallel lists stay parallel.
 * @cost one walk and one text for each length that is tried
 */
export function shortenJson(value: unknown, bytesMax: number): ShortenedText {
  const fullText = JSON.stringify(value);
  if (Buffer.byteLength(fullText) <= bytesMax) return { text: fullText, cuts: [] };
  for (const lengths of [...LENGTHS, ...SHORTEST]) {
    const cuts = new Map<string, Cut>();
    const text = JSON.stringify(shortenValue(value, { ...lengths, path: '', cuts }));
    if (Buffer.byteLength(text) <= bytesMax) return { text, cuts: listLongestCuts(cuts) };
  }
  return {
    text: fullText.slice(0, Math.floor(bytesMax / 4)), // a character has at most four bytes
    cuts: [{ path: '', total: fullText.length, unit: 'characters' }],
  };
}

const listLongestCuts = (cuts: ReadonlyMap<string, Cut>): readonly Cut[] =>
  [...cuts.values()].toSorted((a, b) => b.total - a.total).slice(0, CUTS_MAX);

interface ShorteningTerms {
  readonly items: number;
  readonly members: number;
  readonly path: string;
  readonly cuts: Map<string, Cut>;
}

function shortenValue(value: unknown, terms: ShorteningTerms): unknown {
  const { items, members: membersMax, path } = terms;
  if (typeof value === 'string') {
    const characters = items * CHARACTERS_PER_ITEM;
    if (value.length <= characters) return value;
    recordCut(terms, value.length, 'characters');
    return `${value.slice(0, characters / 2)} … ${value.slice(-characters / 2)}`;
  }
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    if (value.length > items) recordCut(terms, value.length, 'items');
    return listFirstAndLast(value, items).map((item) => shortenValue(item, { ...terms, path: `${path}[]` }));
  }
  const members = Object.entries(value);
  if (members.length > membersMax) recordCut(terms, members.length, 'members');
  return Object.fromEntries(
    listFirstAndLast(members, membersMax).map(([name, member]) => [
      name,
      shortenValue(member, { ...terms, path: path === '' ? name : `${path}.${name}` }),
    ]),
  );
}

/** Returns the first and the last items. */
function listFirstAndLast<T>(items: readonly T[], length: number): readonly T[] {
  if (items.length <= length) return items;
  return [...items.slice(0, length / 2), ...items.slice(-length / 2)];
}

function recordCut({ path, cuts }: ShorteningTerms, total: number, unit: Cut['unit']): void {
  const cut = cuts.get(path);
  if (cut === undefined || cut.total < total) cuts.set(path, { path, total, unit });
}
