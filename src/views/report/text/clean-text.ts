/**
 * Converts text to one printable line: white space is collapsed, control characters, direction marks and lone
 * surrogates are removed, and accents are composed.
 */
export function cleanLine(text: string): string {
  return cleanText(text).replaceAll(/\s+/g, ' ').trim();
}

/** Converts text to printable text, keeping line breaks. */
export function cleanText(text: string): string {
  return text
    .normalize('NFC')
    .replaceAll(/\r\n?|[\u2028\u2029]/g, '\n')
    .replaceAll(/[^\S\n]/g, ' ')
    .replaceAll(/(?!\n)[\p{Cc}\p{Cf}\p{Cs}\uFE00-\uFE0F]/gu, '');
}
