/** JSON documents and paths in them. */

export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json | undefined };
export type JsonObject = { readonly [name: string]: Json | undefined };
export type Path = readonly (string | number)[];

/** Formats a path as in findings, for example `pipeline.selection[0].params.count`. */
export function formatPath(path: Path): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${step}]`;
    return text === '' ? step : `${text}.${step}`;
  }, '');
}

export function getValueAt(document: Json | undefined, path: Path): Json | undefined {
  return path.reduce<Json | undefined>((value, step) => getMember(value, step), document);
}

function getMember(value: Json | undefined, step: string | number): Json | undefined {
  if (Array.isArray(value)) return (value as readonly Json[])[Number(step)];
  return isObject(value) ? value[step] : undefined;
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Sets a value at a path and returns the changed document. The value undefined deletes the member. Objects that are
 * missing on the path are created.
 */
export function addValue(document: Json | undefined, path: Path, value: Json | undefined): Json {
  const [step, ...rest] = path;
  if (step === undefined) return value ?? null;
  if (typeof step === 'number') {
    const list = Array.isArray(document) ? [...(document as readonly Json[])] : [];
    if (rest.length === 0 && value === undefined) list.splice(step, 1);
    else list[step] = addValue(list[step], rest, value);
    return list;
  }
  const { [step]: before, ...others } = isObject(document) ? document : {};
  if (rest.length === 0 && value === undefined) return others;
  // A member that exists keeps its position. The JSON on the page then does not jump.
  return isObject(document) && step in document
    ? Object.fromEntries(
        Object.entries(document).map(([name, own]) => [name, name === step ? addValue(before, rest, value) : own]),
      )
    : { ...others, [step]: addValue(before, rest, value) };
}

export function moveItem<T>(list: readonly T[], from: number, to: number): readonly T[] {
  const item = list[from];
  if (item === undefined || to < 0 || to >= list.length) return list;
  const otherItems = list.filter((_, i) => i !== from);
  return [...otherItems.slice(0, to), item, ...otherItems.slice(to)];
}

export interface PathDifference {
  readonly path: Path;
  readonly before: Json | undefined;
  readonly after: Json | undefined;
}

/** Returns true if two items of a list are the same row. Their parameters may differ. */
const isSameRow = (before: Json | undefined, after: Json | undefined): boolean =>
  !isObject(before) || !isObject(after) || (before['type'] === after['type'] && before['id'] === after['id']);

/**
 * Returns the paths at which two documents differ. If two lists have different lengths or rows, only the path of the
 * list is returned.
 */
export function listDifferences(
  before: Json | undefined,
  after: Json | undefined,
  path: Path = [],
): readonly PathDifference[] {
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  if (isObject(before) && isObject(after)) {
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    return names.flatMap((name) => listDifferences(before[name], after[name], [...path, name]));
  }
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length) {
    const [items, others] = [before as readonly Json[], after as readonly Json[]];
    if (items.every((item, i) => isSameRow(item, others[i])))
      return items.flatMap((item, i) => listDifferences(item, others[i], [...path, i]));
  }
  return [{ path, before, after }];
}
