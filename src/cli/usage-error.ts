/** A command line that cannot be read: exit status 64. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
