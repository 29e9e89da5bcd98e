/**
 * Matches a password in a URL: from the colon after the user to the last at-sign before the path, because a password
 * may contain at-signs.
 */
const URL_PASSWORD = /(:\/\/[^\s/:@"\\]*):[^\s/"\\]+@/g;
/** Matches a password in the query parameters of a URL. */
const PARAMETER_PASSWORD = /([?&](?:ssl)?password=)[^\s&"\\]+/gi;

/** Masks passwords of URLs in a text. @param mark replaces each password */
export function maskUrlPasswords(text: string, mark = '***'): string {
  return text.replaceAll(URL_PASSWORD, `$1:${mark}@`).replaceAll(PARAMETER_PASSWORD, `$1${mark}`);
}

/**
 * Removes the password from a text that contains at most one URL. The URL may be invalid, and the password may contain
 * any characters.
 */
export function removeUrlPassword(text: string): string {
  const user = text.indexOf('://') + '://'.length;
  const colon = text.indexOf(':', user);
  const offset = text.lastIndexOf('@');
  const hasPassword = user >= '://'.length && colon !== -1 && colon < offset;
  return maskUrlPasswords(hasPassword ? `${text.slice(0, colon)}:***${text.slice(offset)}` : text);
}
