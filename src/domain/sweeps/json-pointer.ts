/** Parsed JSON pointer: its reference tokens. */
export type Pointer = readonly string[];

/** Parses a JSON pointer. Returns undefined if the text is not a pointer. @source RFC 6901 */
export function parsePointer(text: string): Pointer | undefined {
  if (text === '') return [];
  if (!text.startsWith('/') || /~(?![01])/.test(text)) return undefined;
  return text
    .slice(1)
    .split('/')
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** Reason why a value cannot be set at a pointer. */
export interface UnreachablePointer {
  /** Leading part of the pointer that does not exist. */
  readonly at: string;
}

/**
 * Sets a value at a pointer, in place. Replaces a member or an element, adds a member to an object, or appends an
 * element to a list (by its index or `-`).
 * @returns the part of the pointer that does not exist; undefined if the value was set
 */
export function setMember(target: unknown, pointer: Pointer, value: unknown): UnreachablePointer | undefined {
  let holder = target;
  for (let depth = 0; depth < pointer.length - 1; depth++) {
    holder = readMember(holder, pointer[depth]!);
    if (typeof holder !== 'object' || holder === null) return { at: formatPointer(pointer.slice(0, depth + 1)) };
  }
  const last = pointer.at(-1);
  if (last === undefined) return { at: '' };
  if (Array.isArray(holder)) {
    const position = last === '-' ? holder.length : parsePosition(last);
    if (position === undefined || position > holder.length) return { at: formatPointer(pointer) };
    holder[position] = value;
    return undefined;
  }
  if (last === '__proto__') return { at: formatPointer(pointer) };
  (holder as Record<string, unknown>)[last] = value; // an object, like all values along the path
  return undefined;
}

function readMember(holder: unknown, token: string): unknown {
  if (Array.isArray(holder)) return holder[parsePosition(token) ?? -1];
  return typeof holder === 'object' && holder !== null && Object.hasOwn(holder, token)
    ? (holder as Record<string, unknown>)[token]
    : undefined;
}

function parsePosition(token: string): number | undefined {
  return /^(?:0|[1-9]\d{0,8})$/.test(token) ? Number(token) : undefined;
}

function formatPointer(pointer: Pointer): string {
  return pointer.map((token) => `/${token.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}
