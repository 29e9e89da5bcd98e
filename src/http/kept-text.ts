/** Texts of values that answer more than one request, by the value; they go with it. */
const texts = new WeakMap<object, string>();

/** A value as JSON, written once. @param value that nobody changes */
export function keptText(value: object): string {
  const known = texts.get(value);
  if (known !== undefined) return known;
  const text = JSON.stringify(value);
  texts.set(value, text);
  return text;
}
