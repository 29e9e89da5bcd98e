/**
 * Converts text to one printable line. White space is collapsed and accents are composed. Control characters, direction
 * marks and lone surrogates are removed.
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
