/**
 * Text of one line as it may be printed: runs of white space are one space; control characters, marks that change the
 * direction of what follows and halves of characters are gone; accents are composed.
 */
export function cleanLine(text: string): string {
  return cleanText(text).replaceAll(/\s+/g, ' ').trim();
}

/** As `cleanLine` for text of several lines, whose breaks are kept. */
export function cleanText(text: string): string {
  return text
    .normalize('NFC')
    .replaceAll(/\r\n?|[\u2028\u2029]/g, '\n')
    .replaceAll(/[^\S\n]/g, ' ')
    .replaceAll(/(?!\n)[\p{Cc}\p{Cf}\p{Cs}\uFE00-\uFE0F]/gu, '');
}
