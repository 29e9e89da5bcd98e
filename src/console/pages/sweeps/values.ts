/** The end of a pointer, for the head of a column. */
export function pointerLabel(pointer: string): string {
  const steps = pointer.split('/').slice(2);
  return steps.filter((step) => step !== 'pipeline' && step !== 'params').join(' ');
}

/** A value that a variant sets. */
export function patchText(value: unknown): string {
  return typeof value === 'string' ? value.replaceAll('_', ' ') : JSON.stringify(value);
}
