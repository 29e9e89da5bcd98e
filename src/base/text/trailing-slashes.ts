/**
 * Returns a text without trailing slashes, in linear time. A regular expression such as `/\/+$/` can take quadratic
 * time.
 */
export function trimTrailingSlashes(text: string): string {
  let end = text.length;
  while (text[end - 1] === '/') end -= 1;
  return text.slice(0, end);
}
