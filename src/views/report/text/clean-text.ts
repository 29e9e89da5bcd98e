/**
 * Text as it may be printed: one space for every control character, tab and line break, no marks that change the
 * direction of what follows, no halves of characters, accents composed.
 */
export function cleanLine(text: string): string {
  return cleanText(text).replaceAll(/\s+/g, ' ').trim();
}

/** The same for text of several lines, whose breaks stay. */
export function cleanText(text: string): string {
  return text
    .replaceAll(/\p{Cs}/gu, '\uFFFD')
    .normalize('NFC')
    .replaceAll(/\r\n?/g, '\n')
    .replaceAll(/[^\S\n]|[\p{Cc}\u2028\u2029]/gu, (character) => (character === '\n' ? '\n' : ' '))
    .replaceAll(/[\p{Cf}\uFE00-\uFE0F]/gu, '');
}
