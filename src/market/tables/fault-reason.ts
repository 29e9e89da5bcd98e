/** Returns the reason of an error in one line for a finding. The line contains no paths of this machine. */
export function formatReason(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text
    .split('\n')[0]!
    .replace(/[\p{Cc}\ufffd]/gu, '?')
    .replace(/(?<!\w)(["']?)(\/[^\s"':,]+)+\1/g, 'the file')
    .slice(0, 200);
}
