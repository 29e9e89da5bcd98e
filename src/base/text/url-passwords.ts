/**
 * A password in a URL: from the colon after the user to the last at-sign before the path, for it may hold at-signs
 * itself.
 */
const URL_PASSWORD = /(:\/\/[^\s/:@"\\]*):[^\s/"\\]+@/g;
/** One among its parameters. */
const PARAMETER_PASSWORD = /([?&](?:ssl)?password=)[^\s&"\\]+/gi;

/** A text that may hold URLs, without their passwords. @param mark stands where one was */
export function withoutUrlPasswords(text: string, mark = '***'): string {
  return text.replaceAll(URL_PASSWORD, `$1:${mark}@`).replaceAll(PARAMETER_PASSWORD, `$1${mark}`);
}

/** A text that is one URL at most, written as it should be or not, without its password, whatever characters that has. */
export function withoutUrlPassword(text: string): string {
  const user = text.indexOf('://') + '://'.length;
  const colon = text.indexOf(':', user);
  const at = text.lastIndexOf('@');
  const hasPassword = user >= '://'.length && colon !== -1 && colon < at;
  return withoutUrlPasswords(hasPassword ? `${text.slice(0, colon)}:***${text.slice(at)}` : text);
}
