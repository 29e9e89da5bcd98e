/** Returns a text without trailing slashes, in linear time. An expression such as `/\/+$/` takes longer. */
export function trimTrailingSlashes(text: string): string {
  let end = text.length;
  while (text[end - 1] === '/') end -= 1;
  return text.slice(0, end);
}
