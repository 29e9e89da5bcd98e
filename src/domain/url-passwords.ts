/**
 * A password in a URL: from the colon after the user to the last at-sign before the path, for it may hold at-signs
 * itself.
 */
const URL_PASSWORD = /(:\/\/[^\s/:@"\\]*):[^\s/"\\]+@/g;

/** A text that may hold URLs, without their passwords. @param mark stands where one was */
export function withoutUrlPasswords(text: string, mark = '***'): string {
  return text.replaceAll(URL_PASSWORD, `$1:${mark}@`);
}
