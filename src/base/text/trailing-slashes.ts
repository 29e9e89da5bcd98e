/** Returns a text without the slashes at its end. Linear time, which an expression such as `/\/+$/` does not have. */
export function withoutTrailingSlashes(text: string): string {
  let end = text.length;
  while (text[end - 1] === '/') end -= 1;
  return text.slice(0, end);
}
