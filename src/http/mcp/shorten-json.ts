/** A list, an object or a text of an answer of which only the ends are shown. */
export interface Cut {
  /** Where, as `levels.data`. */
  readonly path: string;
  readonly total: number;
  readonly unit: 'items' | 'members' | 'characters';
}

export interface Shortened {
  readonly text: string;
  /** The longest first; none where the answer is whole. */
  readonly cuts: readonly Cut[];
}

/**
 * Lengths that lists and objects are cut to, one after the other, until the text fits. An object of named fields is kept
 * whole while it can be: only tables by name have more members than the largest record.
 */
const LENGTHS = [1000, 400, 200, 100, 50, 20, 10, 4].map((items) => ({ items, members: Math.max(items, 60) }));
const SHORTEST = [
  { items: 4, members: 20 },
  { items: 2, members: 8 },
  { items: 2, members: 4 },
] as const;
/** Characters of a text for each item of a list. */
const CHARACTERS_AN_ITEM = 100;
/** Cuts that are reported. */
const CUTS_MAX = 12;

/**
 * JSON of a value in at most `bytesMax` bytes: of long lists and objects the first and the last members are kept, as many of
 * each list, so that parallel lists stay parallel.
 * @cost one walk and one text for each length that is tried
 */
export function shortenJson(value: unknown, bytesMax: number): Shortened {
  const whole = JSON.stringify(value);
  if (Buffer.byteLength(whole) <= bytesMax) return { text: whole, cuts: [] };
  for (const lengths of [...LENGTHS, ...SHORTEST]) {
    const cuts = new Map<string, Cut>();
    const text = JSON.stringify(cut(value, { ...lengths, path: '', cuts }));
    if (Buffer.byteLength(text) <= bytesMax) return { text, cuts: longest(cuts) };
  }
  return {
    text: whole.slice(0, Math.floor(bytesMax / 4)), // four bytes a character at most
    cuts: [{ path: '', total: whole.length, unit: 'characters' }],
  };
}

const longest = (cuts: ReadonlyMap<string, Cut>): readonly Cut[] =>
  [...cuts.values()].toSorted((a, b) => b.total - a.total).slice(0, CUTS_MAX);

interface Place {
  readonly items: number;
  readonly members: number;
  readonly path: string;
  readonly cuts: Map<string, Cut>;
}

function cut(value: unknown, place: Place): unknown {
  const { items, members: most, path } = place;
  if (typeof value === 'string') {
    const characters = items * CHARACTERS_AN_ITEM;
    if (value.length <= characters) return value;
    note(place, value.length, 'characters');
    return `${value.slice(0, characters / 2)} … ${value.slice(-characters / 2)}`;
  }
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    if (value.length > items) note(place, value.length, 'items');
    return ends(value, items).map((item) => cut(item, { ...place, path: `${path}[]` }));
  }
  const members = Object.entries(value);
  if (members.length > most) note(place, members.length, 'members');
  return Object.fromEntries(
    ends(members, most).map(([name, member]) => [
      name,
      cut(member, { ...place, path: path === '' ? name : `${path}.${name}` }),
    ]),
  );
}

/** The first and the last items. */
function ends<T>(items: readonly T[], length: number): readonly T[] {
  if (items.length <= length) return items;
  return [...items.slice(0, length / 2), ...items.slice(-length / 2)];
}

function note({ path, cuts }: Place, total: number, unit: Cut['unit']): void {
  const known = cuts.get(path);
  if (known === undefined || known.total < total) cuts.set(path, { path, total, unit });
}
