/** Texts of values that answer more than one request, by the value; they go with it. */
const texts = new WeakMap<object, string>();

/** A value as text, as JSON unless it is written otherwise, written once. @param value that nobody changes */
export function keptText<T extends object>(value: T, write: (value: T) => string = JSON.stringify): string {
  const known = texts.get(value);
  if (known !== undefined) return known;
  const text = write(value);
  texts.set(value, text);
  return text;
}
